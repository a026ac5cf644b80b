//! `boot check`: will this loader find, read and open this volume, with this passphrase, and when.
//!
//! `grub` asks the oracle of keyway-boot, `installed` looks which GRUB is there,
//! `show` says it, `initramfs` looks into an image.

mod grub;
mod initramfs;
mod installed;
mod show;

pub(in crate::verb) use grub::judge;

use super::options::KERNEL;
use crate::door::{Args, Kind, Opt, shared};
use crate::say::failure::{Exit, Failure, Result};

pub(super) static LOADER: Opt = Opt {
    long: "loader",
    short: None,
    value: "NAME",
    kind: Kind::Choice(&["grub", "initramfs"]),
    help: "grub or initramfs (grub).",
    man: "",
};
pub(super) static GRUB_VERSION: Opt = Opt {
    long: "grub-version",
    short: None,
    value: "VERSION",
    kind: Kind::Text,
    help: "2.06, 2.12, 2.14 (installed).",
    man: "Versions between are judged as the nearest older one. A distribution's own build may differ: Fedora's refuses Argon2.",
};
pub(super) static GRUB_ROOT: Opt = Opt {
    long: "root",
    short: None,
    value: "DIR",
    kind: Kind::Path,
    help: "Where GRUB is installed (/).",
    man: "",
};
pub(super) static KEYBOARD: Opt = Opt {
    long: "keyboard",
    short: None,
    value: "LAYOUT",
    kind: Kind::Text,
    help: "Typed on: us, de, fr, gb ...",
    man: "GRUB has an American layout when it asks, whatever the keyboard shows.",
};
pub(super) static AS_KEY_FILE: Opt =
    Opt { long: "as-key-file", short: None, value: "", kind: Kind::Flag, help: "Nobody types it.", man: "" };
pub(super) static IMAGE: Opt = Opt {
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
    &shared::KEY_FILE,
    &shared::KEYFILE_OFFSET,
    &shared::KEYFILE_SIZE,
    &shared::KEY_SLOT,
    &shared::TYPE,
    &shared::JSON,
    &shared::TIMEOUT,
    &shared::WEAK_CIPHER,
    &shared::MEMORY_BUDGET,
    &shared::TIME_LIMIT,
];

pub(super) fn run(args: &Args) -> Result<()> {
    if args.operand(1).is_none() {
        return Err(Failure::new(Exit::Parameters, "boot check needs a volume: keyway boot check VOLUME."));
    }
    match args.text(&LOADER) {
        Some("initramfs") => initramfs::run(args),
        _ if args.given(&IMAGE) || args.given(&KERNEL) => {
            Err(Failure::new(Exit::Parameters, "--image and --kernel are for --loader initramfs."))
        }
        _ => grub::run(args),
    }
}
