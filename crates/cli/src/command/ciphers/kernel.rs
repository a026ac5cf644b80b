//! What the running kernel has: dm-crypt, and the crypto API's algorithms.
//!
//! /proc/crypto lists what is loaded or built in and has been used; `modules.alias` ("alias crypto-xts xts") what can be
//! loaded; `modules.builtin.modinfo` ("xts.alias=crypto-xts", parted by zeros) what is built in. Nothing is loaded by
//! looking.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::Path;

/// The running kernel, as far as it can be seen.
pub(super) struct Kernel {
    pub(super) release: String,
    pub(super) dm_crypt: Presence,
    /// Names of /proc/crypto and their first driver.
    used: HashMap<String, String>,
    /// Templates of which /proc/crypto shows an instance, and modules of /sys/module.
    loaded: HashSet<String>,
    built_in: HashSet<String>,
    loadable: HashSet<String>,
    /// Whether the kernel's modules can be looked at.
    modules_seen: bool,
}

/// Where something of the kernel's is; the weakest of several counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Presence {
    Loaded,
    BuiltIn,
    Loadable,
    /// Not seen, and the modules cannot be looked at.
    Unknown,
    Absent,
}

impl Presence {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Loaded => "loaded",
            Self::BuiltIn => "built-in",
            Self::Loadable => "loadable",
            Self::Unknown => "unknown",
            Self::Absent => "absent",
        }
    }
}

impl Kernel {
    /// Looks at the kernel whose /proc, /sys and /lib are below `root`.
    pub(super) fn look(root: &Path) -> Self {
        let read = |path: &str| fs::read(root.join(path)).unwrap_or_default();
        let text = |path: &str| String::from_utf8_lossy(&read(path)).into_owned();
        let release = text("proc/sys/kernel/osrelease").trim().to_owned();
        let modules = format!("lib/modules/{release}");
        let used = used(&text("proc/crypto"));
        let templates = used.keys().filter_map(|name| name.split_once('(')).map(|(name, _)| name.to_owned());
        let entries = fs::read_dir(root.join("sys/module")).into_iter().flatten().flatten();
        let in_sys = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        let mut kernel = Self {
            loaded: templates.chain(in_sys).collect(),
            used,
            built_in: built_in(&text(&format!("{modules}/modules.builtin.modinfo"))),
            loadable: loadable(&text(&format!("{modules}/modules.alias"))),
            modules_seen: root.join(&modules).is_dir(),
            release,
            dm_crypt: Presence::Absent,
        };
        kernel.dm_crypt = kernel.find_dm_crypt(
            &text(&format!("{modules}/modules.dep")),
            &text(&format!("{modules}/modules.builtin")),
        );
        kernel
    }

    fn find_dm_crypt(&self, modules: &str, built_in: &str) -> Presence {
        let listed = |list: &str| list.lines().any(|line| line.contains("/dm-crypt.ko"));
        match () {
            () if self.loaded.contains("dm_crypt") => Presence::Loaded,
            () if listed(built_in) => Presence::BuiltIn,
            () if listed(modules) => Presence::Loadable,
            () if self.modules_seen => Presence::Absent,
            () => Presence::Unknown,
        }
    }

    /// A cipher, hash or template.
    pub(super) fn presence(&self, name: &str) -> Presence {
        match () {
            () if self.used.contains_key(name) || self.loaded.contains(name) => Presence::Loaded,
            () if self.built_in.contains(name) => Presence::BuiltIn,
            () if self.loadable.contains(name) => Presence::Loadable,
            () if self.modules_seen => Presence::Absent,
            () => Presence::Unknown,
        }
    }

    /// A template over a cipher ("xts(aes)"), or all that has to come together for it. The driver, if it is in use.
    pub(super) fn algorithm(&self, name: &str, parts: &[&str]) -> (Presence, Option<&str>) {
        match self.used.get(name) {
            Some(driver) => (Presence::Loaded, Some(driver)),
            None => (parts.iter().map(|part| self.presence(part)).max().unwrap_or(Presence::Unknown), None),
        }
    }
}

/// The names of /proc/crypto and the driver that stands first, which is the one in use.
fn used(text: &str) -> HashMap<String, String> {
    let mut found = HashMap::new();
    let mut name = None;
    for line in text.lines() {
        let Some((field, value)) = line.split_once(':') else { continue };
        match field.trim() {
            "name" => name = Some(value.trim().to_owned()),
            "driver" => {
                if let Some(name) = name.take() {
                    found.entry(name).or_insert_with(|| value.trim().to_owned());
                }
            }
            _ => {}
        }
    }
    found
}

fn loadable(aliases: &str) -> HashSet<String> {
    let names = aliases.lines().filter_map(|line| line.strip_prefix("alias crypto-")?.split(' ').next());
    names.map(str::to_owned).collect()
}

fn built_in(modinfo: &str) -> HashSet<String> {
    let names = modinfo.split('\0').filter_map(|entry| Some(entry.split_once(".alias=crypto-")?.1));
    names.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[(&str, &str)]) -> (std::path::PathBuf, Kernel) {
        let name = format!("keyway-kernel-{}-{}", std::process::id(), files.len());
        let root = std::env::temp_dir().join(name);
        for (path, text) in files {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let kernel = Kernel::look(&root);
        (root, kernel)
    }

    #[test]
    fn a_kernel_with_modules() {
        let (root, kernel) = tree(&[
            ("proc/sys/kernel/osrelease", "6.1.0-test\n"),
            (
                "proc/crypto",
                "name         : xts(aes)\ndriver       : xts-aes-aesni\n\nname : xts(aes)\ndriver : xts(ecb(aes-generic))\n\nname : aes\ndriver : aes-generic\n",
            ),
            ("sys/module/cbc/refcnt", "0\n"),
            (
                "lib/modules/6.1.0-test/modules.alias",
                "alias fs-ext4 ext4\nalias crypto-serpent serpent_generic\nalias crypto-adiantum adiantum\n",
            ),
            (
                "lib/modules/6.1.0-test/modules.builtin.modinfo",
                "sha256_generic.alias=crypto-sha256\0xts.license=GPL\0",
            ),
            (
                "lib/modules/6.1.0-test/modules.dep",
                "kernel/drivers/md/dm-crypt.ko: kernel/drivers/md/dm-mod.ko\n",
            ),
        ]);
        fs::remove_dir_all(root).unwrap();
        assert_eq!((kernel.release.as_str(), kernel.dm_crypt), ("6.1.0-test", Presence::Loadable));
        assert_eq!(kernel.algorithm("xts(aes)", &["xts", "aes"]), (Presence::Loaded, Some("xts-aes-aesni")));
        assert_eq!(kernel.algorithm("xts(serpent)", &["xts", "serpent"]), (Presence::Loadable, None));
        assert_eq!(kernel.algorithm("cbc(aes)", &["cbc", "aes"]), (Presence::Loaded, None));
        assert_eq!(kernel.presence("sha256"), Presence::BuiltIn);
        assert_eq!(kernel.algorithm("hctr2(aes)", &["hctr2", "aes"]), (Presence::Absent, None));
    }

    #[test]
    fn a_kernel_of_which_little_is_seen() {
        let (root, kernel) = tree(&[("proc/sys/kernel/osrelease", "6.18\n")]);
        fs::remove_dir_all(root).unwrap();
        assert_eq!((kernel.dm_crypt, kernel.presence("aes")), (Presence::Unknown, Presence::Unknown));
    }
}
