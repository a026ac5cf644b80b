//! Options that several verbs of `boot` take.

use crate::door::{Kind, Opt, shared};

/// An option whose value is text.
pub(super) const fn text(
    long: &'static str,
    value: &'static str,
    help: &'static str,
    man: &'static str,
) -> Opt {
    Opt { long, short: None, value, kind: Kind::Text, help, man }
}

/// An option whose value is a file name.
pub(super) const fn file(
    long: &'static str,
    value: &'static str,
    help: &'static str,
    man: &'static str,
) -> Opt {
    Opt { long, short: None, value, kind: Kind::Path, help, man }
}

pub(super) static OUTPUT: Opt = Opt {
    long: "output",
    short: Some('o'),
    value: "FILE",
    kind: Kind::Path,
    help: "Write the image to this file.",
    man: "- is standard output. It appears under its name when it is complete, and nobody may read it who may not read all that went into \
          it. An existing file is replaced with --force alone. A symbolic link in a directory that others may write is not followed.",
};

pub(super) static KERNEL: Opt = text(
    "kernel",
    "KERNEL",
    "The kernel: a file; for initramfs its release.",
    "For initramfs, without it, DIR's lib/modules has to hold one kernel.",
);
pub(super) static LIST: Opt = Opt {
    long: "list",
    short: None,
    value: "",
    kind: Kind::Flag,
    help: "Show what is in an image instead.",
    man: "Checksums and hashes are checked: with a wrong one it exits with 1.",
};
pub(super) static RAMDISK: Opt = file("ramdisk", "FILE", "fit, uki: the initramfs.", "");
pub(super) static DTB: Opt = file(
    "dtb",
    "FILE",
    "fit, uki: a device tree.",
    "For fit it may be given several times: each gets a configuration, the first one is the default, and U-Boot chooses by the \
     board's name in it.",
);
pub(super) static ARCH: Opt = text("arch", "NAME", "fit, script: U-Boot's name (arm64; arm).", "");

/// In the order of help.
pub(super) static ALL: &[&Opt] = &[&OUTPUT, &LIST, &KERNEL, &RAMDISK, &DTB, &ARCH, &shared::FORCE];
