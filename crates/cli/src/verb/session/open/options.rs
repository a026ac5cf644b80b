//! Options that `open` takes in addition to those shared with other commands.

use crate::door::{Kind, Opt};

const fn flag(long: &'static str, help: &'static str, man: &'static str) -> Opt {
    Opt { long, short: None, value: "", kind: Kind::Flag, help, man }
}

pub(crate) static BACKEND: Opt = Opt {
    long: "backend",
    short: None,
    value: "DOOR",
    kind: Kind::Choice(&["kernel", "nbd", "fuse", "ublk"]),
    help: "Which door: kernel, nbd, fuse or ublk.",
    man: "kernel is dm-crypt, as cryptsetup maps volumes: it needs root, and no process stays. The others are served by a \
          process of the user's own: fuse is a directory with one file, the plaintext; nbd a socket for QEMU, libguestfs, \
          nbdcopy or the kernel's NBD client; ublk a block device that the kernel asks this process to serve. Without \
          this option it is kernel for root where the kernel has dm-crypt, else fuse where that can be mounted, else nbd.",
};
pub(crate) static TEST_PASSPHRASE: Opt = flag("test-passphrase", "Only check the passphrase.", "");
pub(crate) static REFRESH: Opt = flag(
    "refresh",
    "Give an open mapping these flags.",
    "The mapping stays in use meanwhile. Flags that are neither given now nor kept in the header are dropped.",
);
pub(crate) static PERSISTENT: Opt = flag(
    "persistent",
    "Keep these flags in the header (LUKS2).",
    "--allow-discards and --perf-* flags are then set whenever the volume is opened. They replace those kept before.",
);
pub(crate) static LINK_VK: Opt = Opt {
    long: "link-vk-to-keyring",
    short: None,
    value: "KEYRING::KEY",
    kind: Kind::Text,
    help: "Leave the volume key in this keyring too.",
    man: "KEYRING is @s, @u, @us, %:NAME or a number, KEY a description, with its type before it: %user:NAME or %logon:NAME. \
          The key stays there when the mapping is closed: remove it with keyctl.",
};
