//! `boot check`: predicts whether a loader will find, read and open a volume with a given
//! passphrase, and how long that takes.
//!
//! `given` is a passphrase to be judged, `grub` asks the prediction code of keyway-boot, `installed` finds the
//! installed GRUB, `show` prints the verdict, `initramfs` examines an image, `typed` its keyboard.

mod given;
mod grub;
mod initramfs;
mod installed;
mod show;
mod typed;

use super::options::KERNEL;
use crate::device::{self};
use crate::door::{Args, Kind, Opt, Request, shared};
use crate::output::failure::{Exit, Failure, Result};
use crate::output::stdio;
use crate::verb::tools::cpu::{Cpu, RATE_FILE};
use given::Given;
use grub::Grub;
use initramfs::Ramdisk;
use keyway_boot::loader::grub::Version;
use std::path::Path;

static LOADER: Opt = Opt {
    long: "loader",
    short: None,
    value: "NAME",
    kind: Kind::Choice(&["grub", "initramfs"]),
    help: "grub or initramfs (grub).",
    man: "",
};
static GRUB_VERSION: Opt = Opt {
    long: "grub-version",
    short: None,
    value: "VERSION",
    kind: Kind::Words(&["2.06", "2.12", "2.14"]),
    help: "2.06, 2.12, 2.14 (installed).",
    man: "Versions in between are judged as the nearest older one. A distribution's own build may differ: Fedora's refuses Argon2.",
};
static GRUB_ROOT: Opt = Opt {
    long: "root",
    short: None,
    value: "DIR",
    kind: Kind::Path,
    help: "Where GRUB is installed (/).",
    man: "",
};
static KEYBOARD: Opt = Opt {
    long: "keyboard",
    short: None,
    value: "LAYOUT",
    kind: Kind::Words(LAYOUTS),
    help: "Typed on: us, de, fr, gb ...",
    man: "GRUB's prompt uses the US layout, whatever the keyboard shows, and so does that of an initramfs without a map of \
          the keyboard.",
};
static AS_KEY_FILE: Opt =
    Opt { long: "as-key-file", short: None, value: "", kind: Kind::Flag, help: "Nobody types it.", man: "" };
static IMAGE: Opt = Opt {
    long: "image",
    short: None,
    value: "FILE",
    kind: Kind::Path,
    help: "The initramfs image.",
    man: "",
};
pub(super) const OPTIONS: &[&Opt] = &[
    &LOADER,
    &GRUB_VERSION,
    &GRUB_ROOT,
    &KEYBOARD,
    &AS_KEY_FILE,
    &IMAGE,
    &RATE_FILE,
    &shared::KEY_FILE,
    &shared::KEYFILE_OFFSET,
    &shared::KEYFILE_SIZE,
    &shared::PASSWORD_COMMAND,
    &shared::KEY_SLOT,
    &shared::TYPE,
    &shared::JSON,
    &shared::TIMEOUT,
    &shared::WEAK_CIPHER,
    &shared::MEMORY_BUDGET,
    &shared::TIME_LIMIT,
];

/// `keyway boot check`.
pub(super) struct Check {
    loader: Loader,
    as_json: bool,
}

/// The loader that has to open the volume.
enum Loader {
    Grub(Box<Grub>),
    /// A program in an initramfs.
    Initramfs(Box<Ramdisk>),
}

impl Request for Check {
    fn from_args(args: &Args) -> Result<Self> {
        let wrong = |what: &str| Failure::new(Exit::Parameters, what);
        let Some(device) = args.operand(1).map(device::resolve) else {
            return Err(wrong("boot check needs a volume: keyway boot check VOLUME."));
        };
        let as_json = args.given(&shared::JSON);
        if args.text(&LOADER) == Some("initramfs") {
            let missing = || wrong("--loader initramfs needs --image FILE: the initramfs to check.");
            let image = args.path(&IMAGE).ok_or_else(missing)?.to_owned();
            let header = args.path(&shared::HEADER).map(device::resolve).unwrap_or(device);
            let (locking, kernel) = (device::locking(args), args.text(&KERNEL).map(str::to_owned));
            let passphrase = Given::from_args(args)?;
            let loader = Loader::Initramfs(Box::new(Ramdisk { header, locking, image, kernel, passphrase }));
            return Ok(Self { loader, as_json });
        }
        if args.given(&IMAGE) || args.given(&KERNEL) {
            return Err(wrong("--image and --kernel are for --loader initramfs."));
        }
        let grub = Grub {
            version: args.text(&GRUB_VERSION).map(version).transpose()?,
            root: args.path(&GRUB_ROOT).unwrap_or(Path::new("/")).to_owned(),
            cpu: Cpu::find(args.path(&RATE_FILE))?,
            device,
            header: args.path(&shared::HEADER).map(device::resolve),
            locking: device::locking(args),
            passphrase: Given::from_args(args)?,
        };
        Ok(Self { loader: Loader::Grub(Box::new(grub)), as_json })
    }

    fn run(self) -> Result<()> {
        let (page, opens) = match self.loader {
            Loader::Grub(grub) => {
                let outcome = grub.judge()?;
                (show::show(&outcome, self.as_json), outcome.opens())
            }
            Loader::Initramfs(ramdisk) => ramdisk.look(self.as_json)?,
        };
        stdio::print(&page)?;
        if opens { Ok(()) } else { Err(Failure::silent(Exit::Parameters)) }
    }
}

/// Those whose differences from the US layout are known.
const LAYOUTS: &[&str] = &[
    "us", "de", "fr", "gb", "es", "it", "pt", "se", "no", "dk", "fi", "ch", "be", "br", "latam", "cz", "hu",
    "tr", "jp",
];

fn version(text: &str) -> Result<Version> {
    Version::parse(text).ok_or_else(|| {
        let known = "2.06, 2.12 and 2.14 are known, and versions between";
        Failure::new(Exit::Parameters, format!("--grub-version {text}: {known}."))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use keyway_boot::loader::grub::typing::Layout;

    #[test]
    fn what_shells_offer_is_known() {
        assert!(Layout::all().map(|layout| layout.name).eq(LAYOUTS.iter().copied()));
        let Kind::Words(versions) = GRUB_VERSION.kind else { panic!("words") };
        assert!(versions.iter().all(|text| version(text).is_ok()));
    }
}
