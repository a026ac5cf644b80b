//! Keyway's own front ends: a background process of the user holds the key and serves the plaintext.

use super::backend::Backend;
use super::flags::PersistentFlags;
use crate::device::{self, Target};
use crate::output::failure::{Exit, Failure, Result};
use crate::output::sentence;
use crate::process::encoding::encoded;
use crate::session::{self, BackgroundRequest, Shown};
use crate::volume::{Data, Opening};
use keyway::devices;
use keyway_attach::local::Directory;
use keyway_attach::nbd::server::Server;
use keyway_attach::session::{Facts, Name, Opened};
use keyway_attach::{Export, FrontEnd, fuse, nbd, ublk};
use keyway_volume::Rights;
use std::fmt::Write;
use std::sync::Arc;

/// A volume to be opened by a background process.
#[derive(Debug)]
pub(in crate::verb::session) struct OwnFrontEnd {
    pub(super) name: String,
    pub(super) backend: Backend,
    pub(super) opening: Opening,
    pub(super) flags: PersistentFlags,
    pub(super) read_only: bool,
    /// Where it is, is said by the caller: cryptsetup prints nothing on standard output.
    pub(super) is_told: bool,
}

encoded!(OwnFrontEnd { name, backend, opening, flags, read_only, is_told });

impl BackgroundRequest for OwnFrontEnd {
    const KIND: u8 = b'o';

    fn name(&self) -> Name {
        Name::Exactly(self.name.clone())
    }

    fn target(&self) -> &Target {
        &self.opening.target
    }

    fn open(&self, directory: &Directory) -> Result<Shown> {
        let target = &self.opening.target;
        let device = &target.device;
        let cannot_write = !device::is_url(device) && devices::is_read_only(device);
        let read_only = self.read_only || cannot_write || device::is_read_only(device);
        let data = if read_only { Data::Show } else { Data::Write };
        let unlocked = self.opening.unlock(data)?;
        self.flags.keep(target, &unlocked);
        let discards = self.flags.pass_discards(unlocked.parts.header.as_ref());
        let (device, mut facts) = session::suspendable(unlocked, Rights { read_only, discards })?;
        let device = Arc::new(device);
        let is_quiet = target.manner.batch_mode || self.is_told;
        let header = target.header.as_deref().map(device::absolute);
        facts.header = header.map(|header| header.display().to_string()).unwrap_or_default();
        let export = Export {
            name: String::new(),
            description: target.device.display().to_string(),
            storage: Arc::clone(&device) as _,
            // For NBD, clients are always offered discards; the suspendable device decides whether they pass,
            // since `refresh` may permit them later.
            rights: Rights { discards: discards || self.backend == Backend::Nbd, ..device.rights() },
        };
        let (front_end, kind) = open_front_end(export, self.backend, directory)?;
        facts.backend = kind.to_owned();
        let message = match is_quiet {
            true => String::new(),
            false => usage(&self.name, &front_end.place(), &facts),
        };
        Ok(Shown { opened: Opened { front_end, device, facts }, message })
    }
}

fn open_front_end(
    export: Export,
    backend: Backend,
    directory: &Directory,
) -> Result<(Arc<dyn FrontEnd>, &'static str)> {
    let failed = |e| sentence::attaching(&e);
    match backend {
        Backend::Nbd => {
            let options = nbd::server::Options { own_user_only: true, ..Default::default() };
            let server = Server::new(vec![export], options);
            Ok((Arc::new(server.unix(&directory.path().join("nbd")).map_err(failed)?), "nbd"))
        }
        Backend::Fuse => {
            let place = directory.enter_or_make("fuse").map_err(failed)?;
            let mut options = fuse::Options::default();
            options.source = export.description.clone();
            Ok((
                Arc::new(fuse::Mount::new(export, place.path(), options).map_err(|e| sentence::fuse(&e))?),
                "fuse",
            ))
        }
        Backend::Ublk => {
            let device = ublk::Device::add(export, ublk::Options::default()).map_err(failed)?;
            Ok((Arc::new(device), "ublk"))
        }
        Backend::Kernel => {
            Err(Failure::new(Exit::Parameters, "The kernel's backend needs no process of the user's."))
        }
    }
}

/// The text that names the front end, with command lines that use it.
fn usage(name: &str, place: &str, facts: &Facts) -> String {
    let mode = if facts.read_only { "read-only" } else { "read/write" };
    let mut text =
        format!("{name} is open through {} ({mode}, {} bytes) at {place}\n", facts.backend, facts.size);
    let read_only = if facts.read_only { ",readonly=on" } else { "" };
    let qemu = format!("qemu-system-x86_64 -drive 'file={place},format=raw,if=virtio{read_only}'");
    let lines = match facts.backend.as_str() {
        // FUSE shows the mounts of a user to that user alone, not even to root.
        "fuse" if !rustix::process::geteuid().is_root() => {
            vec![format!("fuse2fs -o fakeroot '{place}' DIR    (an ext file system)"), qemu]
        }
        "fuse" => vec![
            format!("mount -o loop '{place}' /mnt    (as root)"),
            format!("fuse2fs -o fakeroot '{place}' DIR    (an ext file system, without root)"),
            qemu,
        ],
        "nbd" => vec![
            format!("nbdinfo '{place}'"),
            qemu,
            format!("nbd-client -unix '{}' /dev/nbd0    (as root)", socket_of(place)),
        ],
        _ => vec![format!("mount {place} /mnt")],
    };
    for line in lines.iter().chain([&format!("keyway close {name}")]) {
        let _ = writeln!(text, "  {line}");
    }
    text
}

/// The path in "nbd+unix:///?socket=PATH".
fn socket_of(place: &str) -> &str {
    place.split_once("socket=").map_or(place, |(_, path)| path)
}
