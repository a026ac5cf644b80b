//! The content of Keyway's archive in an initramfs: the interface between the program that makes
//! the image and the `keyway` that the kernel runs in it.
//!
//! ```text
//! /init                  link to /keyway/keyway. A link, because the kernel then removes what stood there; a file would be
//!                        written into it, and into everything that is hard-linked with it (Linux, init/initramfs.c)
//! /keyway/keyway         the program, static. Run as process 1 by a name that ends in "init" it is `keyway unlock --init`
//! /keyway/original-init  the image's own /init: a copy of the file with its mode, or the same symbolic link (a relative one
//!                        leads somewhere only from /). To hand over: rename it to /init and execute /init, with the
//!                        arguments and the environment that the kernel gave. Not there in images without an original:
//!                        the root file system is then mounted, and switched to, by `keyway unlock --init` itself
//! /keyway/unlock.conf    what to open when the kernel's command line and /etc/crypttab name nothing: crypttab(5)
//! /keyway/policy.toml    what every volume must be that is opened there, whoever names it
//! /keyway/keymap         the map of the keyboard at which the passphrase is typed, binary (crate::keymap)
//! /keyway/keymap.name    what kbd, or X, calls it: the kernel's command line may name that one, or another
//! /keyway/keys/NAME      key file of the volume NAME, only where that was asked for
//! /keyway/headers/NAME   detached header of the volume NAME
//! /keyway/demands/NAME.N file that an option of the volume NAME demands something by: a policy, the seal's context
//! /keyway/modules        kernel modules to load, a path a line, in this order, before anything else; those that are loaded
//!                        already or built in are passed over, and one that fails is said and passed over
//! /keyway/modules.d/…    these modules, unpacked, whatever they were packed with
//! /keyway/firmware/NAME  firmware that they may ask for, unpacked: the kernel looks there while they are loaded
//! ```
//!
//! Nothing is added elsewhere to an existing image: adding a directory where the image has a link
//! (/lib → usr/lib) would replace the link.

use super::writer::{Node, Tree};
use crate::crypttab::Entry;

/// Keyway's own directory.
pub const DIRECTORY: &str = "keyway";
/// The program.
pub const PROGRAM: &str = "keyway/keyway";
/// The image's original /init.
pub(crate) const ORIGINAL_INIT: &str = "keyway/original-init";
/// The volumes to open.
pub const CONFIG: &str = "keyway/unlock.conf";
/// The policy for all volumes.
pub const POLICY: &str = "keyway/policy.toml";
/// The map of the keyboard.
pub const KEYMAP: &str = "keyway/keymap";
/// Its name.
pub const KEYMAP_NAME: &str = "keyway/keymap.name";
/// Key files, by the volume's name.
pub const KEYS: &str = "keyway/keys";
/// Detached headers, by the volume's name.
pub const HEADERS: &str = "keyway/headers";
/// Files by which options of a volume demand something, by the volume's name and a number.
pub const DEMANDS: &str = "keyway/demands";
/// The list of modules to load.
pub const MODULES: &str = "keyway/modules";
/// The directory with these modules.
pub(crate) const MODULES_DIRECTORY: &str = "keyway/modules.d";
/// The directory with firmware for these modules.
pub const FIRMWARE: &str = "keyway/firmware";
/// The program that the kernel runs.
pub const INIT: &str = "init";

/// What is added to an image.
#[derive(Debug, Clone, Default)]
pub struct Contents {
    /// The static program.
    pub program: Vec<u8>,
    /// The volumes that it opens.
    pub volumes: Vec<Entry>,
    /// A policy for all of them.
    pub policy: Option<Vec<u8>>,
    /// The map of the keyboard.
    pub keymap: Option<Vec<u8>>,
    /// Its name, if it has one.
    pub keymap_name: Option<String>,
    /// Key files by the volume's name.
    pub keys: Vec<(String, Vec<u8>)>,
    /// Detached headers by the volume's name.
    pub headers: Vec<(String, Vec<u8>)>,
    /// Files that options name, by their own names here ("root.1").
    pub demands: Vec<(String, Vec<u8>)>,
    /// Modules by the name of their file ("dm-crypt.ko"), unpacked, in the order of loading.
    pub modules: Vec<(String, Vec<u8>)>,
    /// Firmware by its name ("vendor/file.bin"), unpacked.
    pub firmware: Vec<(String, Vec<u8>)>,
}

impl Contents {
    /// The tree to append to an image whose own /init is `original_init`. A stand-alone image has
    /// none, and gets the directories and the console that a kernel needs.
    pub fn tree(&self, original_init: Option<Node>) -> Tree {
        let mut tree = Tree::default();
        match original_init {
            Some(init) => tree.add(ORIGINAL_INIT, init),
            None => {
                for name in ["dev", "proc", "sys", "run", "sysroot"] {
                    tree.add(name, Node::directory(0o755));
                }
                // Before devtmpfs is mounted there is no other way to print messages.
                tree.add("dev/console", Node::character(0o600, 5, 1));
            }
        }
        tree.add(INIT, Node::link(&format!("/{PROGRAM}")));
        // Only root may access it, because it may contain keys.
        tree.add(DIRECTORY, Node::directory(0o700));
        tree.add(PROGRAM, Node::file(0o755, self.program.as_slice()));
        tree.add(CONFIG, Node::file(0o600, self.config()));
        if let Some(policy) = &self.policy {
            tree.add(POLICY, Node::file(0o644, policy.as_slice()));
        }
        if let Some(keymap) = &self.keymap {
            tree.add(KEYMAP, Node::file(0o644, keymap.as_slice()));
            if let Some(name) = &self.keymap_name {
                tree.add(KEYMAP_NAME, Node::file(0o644, name.as_bytes()));
            }
        }
        for (name, key) in &self.keys {
            tree.add(&format!("{KEYS}/{name}"), Node::file(0o400, key.as_slice()));
        }
        for (name, header) in &self.headers {
            tree.add(&format!("{HEADERS}/{name}"), Node::file(0o400, header.as_slice()));
        }
        for (name, demand) in &self.demands {
            tree.add(&format!("{DEMANDS}/{name}"), Node::file(0o400, demand.as_slice()));
        }
        let mut list = String::new();
        for (file, object) in &self.modules {
            let path = format!("{MODULES_DIRECTORY}/{file}");
            tree.add(&path, Node::file(0o644, object.as_slice()));
            list += &format!("/{path}\n");
        }
        for (name, content) in &self.firmware {
            tree.add(&format!("{FIRMWARE}/{name}"), Node::file(0o644, content.as_slice()));
        }
        if !list.is_empty() {
            tree.add(MODULES, Node::file(0o644, list));
        }
        tree
    }

    fn config(&self) -> Vec<u8> {
        let mut text =
            b"# What keyway opens when neither the kernel's command line nor /etc/crypttab names a volume.\n"
                .to_vec();
        for volume in &self.volumes {
            text.extend(volume.line());
            text.push(b'\n');
        }
        text
    }
}
