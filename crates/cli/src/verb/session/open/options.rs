//! What `open` takes beside the options that other commands share.

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
pub(crate) static ALLOW_DISCARDS: Opt = flag(
    "allow-discards",
    "Pass discards (TRIM) on to the device.",
    "Whoever sees the device then sees which parts of it are unused.",
);
pub(crate) static PERF_SAME_CPU: Opt =
    flag("perf-same_cpu_crypt", "Encrypt on the CPU that asks (dm-crypt).", "");
pub(crate) static PERF_SUBMIT: Opt =
    flag("perf-submit_from_crypt_cpus", "Submit writes where they are encrypted (dm-crypt).", "");
pub(crate) static PERF_NO_READ: Opt =
    flag("perf-no_read_workqueue", "Decrypt without a work queue (dm-crypt).", "");
pub(crate) static PERF_NO_WRITE: Opt =
    flag("perf-no_write_workqueue", "Encrypt without a work queue (dm-crypt).", "");
pub(crate) static PERF_HIGH_PRIORITY: Opt =
    flag("perf-high_priority", "Work queues of high priority (dm-crypt).", "Needs Linux 6.10.");
pub(crate) static LINK_VK: Opt = Opt {
    long: "link-vk-to-keyring",
    short: None,
    value: "KEYRING::KEY",
    kind: Kind::Text,
    help: "Leave the volume key in this keyring too.",
    man: "KEYRING is @s, @u, @us, %:NAME or a number, KEY a description, with its type before it: %user:NAME or %logon:NAME. \
          The key stays there when the mapping is closed: remove it with keyctl.",
};
pub(crate) static SERIALIZE: Opt = flag(
    "serialize-memory-hard-pbkdf",
    "Derive Argon2 keys one program at a time.",
    "For machines that open many volumes at boot and would run out of memory. cryptsetup waits for the same lock.",
);
