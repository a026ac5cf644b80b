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
use crate::args::{Args, Kind, Opt, Request, shared};
use crate::device::{self};
use crate::output::failure::{Exit, Failure, Result};
use crate::output::stdio;
use crate::verb::tools::cpu::{Cpu, RATE_FILE, SAMPLE_BUDGET};
use given::Given;
use grub::Grub;
use initramfs::Ramdisk;
use installed::Named;
use keyway_boot::loader::grub::{Distribution, Version};
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
    kind: Kind::Words(GRUBS),
    help: "2.06, 2.12, 2.14, fedora ... (installed).",
    man: "Versions in between are judged as the nearest older one. A distribution's name (ubuntu-24.04) stands for the EFI image that it \
          signs: it reads only what is built into it. docs/BOOTING.md in the source has them all, each with its origin.",
};
static GRUB_ROOT: Opt = Opt {
    long: "root",
    short: None,
    value: "DIR",
    kind: Kind::Path,
    help: "Root directory of the installed GRUB (/).",
    man: "",
};
static KEYBOARD: Opt = Opt {
    long: "keyboard",
    short: None,
    value: "LAYOUT",
    kind: Kind::Words(LAYOUTS),
    help: "Keyboard layout: us, de, fr, gb ...",
    man: "GRUB's prompt uses the US layout, whatever the keyboard shows, and so does that of an initramfs \
          without a keymap.",
};
static AS_KEY_FILE: Opt = Opt {
    long: "as-key-file",
    short: None,
    value: "",
    kind: Kind::Flag,
    help: "A key file opens it at boot; no keyboard.",
    man: "",
};
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
    &SAMPLE_BUDGET,
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
            named: args.text(&GRUB_VERSION).map(named).transpose()?,
            root: args.path(&GRUB_ROOT).unwrap_or(Path::new("/")).to_owned(),
            cpu: Cpu::from_args(args)?,
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

#[rustfmt::skip]
const GRUBS: &[&str] = &[
    "2.06", "2.12", "2.14", "debian-12", "debian-13", "debian-14", "fedora", "rhel-10", "tumbleweed",
    "ubuntu-22.04", "ubuntu-24.04", "ubuntu-26.04",
];

/// A release, or a distribution's signed image.
fn named(text: &str) -> Result<Named> {
    let distribution = Distribution::find(text).map(Named::Distribution);
    // Any other name is no version, whatever is in it.
    let bare = text.to_ascii_lowercase();
    let bare = bare.strip_prefix("grub-").unwrap_or(&bare);
    let version = || Version::parse(bare).filter(|_| bare.starts_with("2."));
    distribution.or_else(|| version().map(Named::Version)).ok_or_else(|| {
        let (versions, others) = GRUBS.split_at(Version::ALL.len());
        let (versions, others) = (versions.join(", "), others.join(", "));
        let known = format!("{versions} are known, versions between, and {others}");
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
        assert!(versions.iter().all(|text| named(text).is_ok()));
        let all = Distribution::all().map(|it| it.name.trim_start_matches("grub-"));
        assert!(all.eq(versions[Version::ALL.len()..].iter().copied()));
        assert!(matches!(named("grub-fedora"), Ok(Named::Distribution(it)) if it.title == "Fedora 41 to 45"));
        assert!(matches!(named("grub-2.12"), Ok(Named::Version(Version::V2_12))));
        for text in ["ubuntu-25.10", "suse-2.12", "grub", ""] {
            assert!(named(text).is_err(), "{text}");
        }
    }
}
