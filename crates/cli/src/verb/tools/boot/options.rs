//! Options that several verbs of `boot` take.

use crate::args::{Kind, Opt, shared};

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
    man: "- is standard output. It appears under its name when it is complete, readable only by users who can \
          read all of its inputs. An existing file is replaced only with --force. A symbolic link in a directory \
          that others can write to is not followed.",
};

pub(super) static KERNEL: Opt = text(
    "kernel",
    "KERNEL",
    "The kernel: a file; for initramfs its release.",
    "Without it, initramfs needs exactly one kernel in DIR's lib/modules.",
);
pub(super) static LIST: Opt = Opt {
    long: "list",
    short: None,
    value: "",
    kind: Kind::Flag,
    help: "Show an image's contents instead.",
    man: "Checksums and hashes are checked: if one is wrong, the exit code is 1.",
};
pub(super) static RAMDISK: Opt = file("ramdisk", "FILE", "fit, uki: the initramfs.", "");
pub(super) static DTB: Opt = file(
    "dtb",
    "FILE",
    "fit, uki: a device tree.",
    "fit takes several: each gets a configuration, the first is the default, and U-Boot chooses by the board's \
     name in it.",
);
pub(super) static ARCH: Opt = text("arch", "NAME", "fit, script: the architecture (arm64; arm).", "");

/// In the order of help.
pub(super) static ALL: &[&Opt] = &[&OUTPUT, &LIST, &KERNEL, &RAMDISK, &DTB, &ARCH, &shared::FORCE];
