//! Options that `open` takes in addition to those shared with other commands.

use crate::args::{Kind, Opt};

const fn flag(long: &'static str, help: &'static str, man: &'static str) -> Opt {
    Opt { long, short: None, value: "", kind: Kind::Flag, help, man }
}

pub(crate) static BACKEND: Opt = Opt {
    long: "backend",
    short: None,
    value: "BACKEND",
    kind: Kind::Choice(&["kernel", "nbd", "fuse", "ublk"]),
    help: "How to open: kernel, nbd, fuse or ublk.",
    man: "kernel is dm-crypt, as cryptsetup maps volumes: it needs root, and no process stays. The others are \
          served by a process of the user's: fuse is a directory with one file, the plaintext; nbd is a socket for \
          QEMU, libguestfs, nbdcopy or the kernel's NBD client; ublk is a block device that the kernel asks this \
          process to serve. Without the option, the environment variable KEYWAY_BACKEND names the backend. The default is \
          kernel for root if the kernel has dm-crypt, else fuse if that can be mounted, else nbd; called as \
          cryptsetup, it is always kernel, since what follows expects /dev/mapper/NAME.",
};
pub(crate) static PERSISTENT: Opt = flag(
    "persistent",
    "Store these flags in the header (LUKS2).",
    "--allow-discards and --perf-* flags are then set whenever the volume is opened. They replace those stored before.",
);
