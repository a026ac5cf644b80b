//! Options that say which volumes are accepted, and how a volume is used.

use super::{flag, option};
use crate::door::table::{Kind, Opt};

pub(crate) static SHARED: Opt = flag(
    "shared",
    None,
    "Use it although others do.",
    "A volume that QEMU or another Keyway writes to is refused, and so is one that is mounted or mapped: two writers that \
     do not know of each other destroy what is on it. With this option they are taken to know.",
);
pub(crate) static WEAK_CIPHER: Opt = flag(
    "weak-cipher-is-fine",
    None,
    "Take a cipher that protects little.",
    "No encryption at all (cipher_null), ECB, ciphers and modes that make a key stream (arc4, ctr, xctr, cfb, ofb: each version \
     of a sector gives the others away), the IV null, and keys of less than 128 bits (of XTS: each half) are refused otherwise: \
     whoever can write the header can put them there, and reads what is then written. Called by the name cryptsetup, they are \
     taken with a warning.",
);
pub(crate) static LINEAR_SEGMENTS: Opt = flag(
    "linear-segments-are-fine",
    None,
    "Read segments that are not encrypted.",
    "A LUKS2 header may describe data that is not encrypted. No volume is like that outside of a reencryption, but whoever can \
     write the header can make it so. With this option what stands there is read, for whoever examines such a header.",
);
pub(crate) static REQUIRE: Opt = option(
    "require",
    None,
    "FILE",
    Kind::Path,
    "Open it only if it meets this policy.",
    "A text (TOML) with demands, one a line: formats, ciphers, modes, min-key-bits, sector-sizes, linear-segments = false, \
     allowed-flags, allowed-tokens, uuid, label, subsystem, size, min-size, max-size, max-keyslots, kdfs, min-pbkdf2-iterations, \
     min-argon2-memory, min-argon2-passes, sealed = true, seal-context; keyway-inspect(8) says what each one means. What is not \
     demanded is not looked at; a demand that is not known is refused with its line. The header is judged before a passphrase is \
     asked for, and again with the volume key; a volume that does not meet a demand is refused with exit code 6. \
     --require sealed demands a seal and needs no file (a file of that name is ./sealed). May be given several times: all must be \
     met. In crypttab: x-keyway.require=FILE; at boot: keyway.require=FILE.",
);
pub(crate) static SEAL_CONTEXT: Opt = option(
    "seal-context",
    None,
    "STRING",
    Kind::Text,
    "The string that the seal is bound to.",
    "A volume that is not sealed, or was sealed with another string, is refused. The string stands nowhere in the header: it \
     tells apart volumes that have been sealed with one key, such as a machine's from another's, or today's from last year's.",
);
pub(crate) static IGNORE_SEAL: Opt = flag(
    "ignore-seal",
    None,
    "Open it although its seal does not hold.",
    "A volume whose header is not what was sealed is refused otherwise. For repair, and for who has changed the header; a \
     policy that demands a seal refuses it all the same.",
);
pub(crate) static DIRECT_IO: Opt = flag(
    "direct-io",
    None,
    "Go past the page cache.",
    "The volume's file or device is read and written without the page cache (O_DIRECT). That is for volumes whose plaintext is \
     cached already by whoever uses it, a virtual machine or a file system: the ciphertext then takes no memory beside it, \
     and a large copy pushes nothing else out. What is not cached is slower.",
);
pub(crate) static READONLY: Opt =
    flag("readonly", Some('r'), "Open it read-only: every write is refused.", "");
pub(crate) static VERACRYPT: Opt = flag("veracrypt", None, "Try VeraCrypt's formats too.", "");
pub(crate) static ACTIVE_NAME: Opt =
    option("active-name", None, "NAME", Kind::Text, "The device's mapping.", "");
pub(crate) static ALLOW_DISCARDS: Opt = flag(
    "allow-discards",
    None,
    "Pass discards (TRIM) on to the device.",
    "Whoever sees the device then sees which parts of it are unused.",
);
pub(crate) static PERF_SAME_CPU: Opt =
    flag("perf-same_cpu_crypt", None, "Encrypt on the CPU that asks (dm-crypt).", "");
pub(crate) static PERF_SUBMIT: Opt =
    flag("perf-submit_from_crypt_cpus", None, "Submit writes where they are encrypted (dm-crypt).", "");
pub(crate) static PERF_NO_READ: Opt =
    flag("perf-no_read_workqueue", None, "Decrypt without a work queue (dm-crypt).", "");
pub(crate) static PERF_NO_WRITE: Opt =
    flag("perf-no_write_workqueue", None, "Encrypt without a work queue (dm-crypt).", "");
pub(crate) static PERF_HIGH_PRIORITY: Opt =
    flag("perf-high_priority", None, "Work queues of high priority (dm-crypt).", "Needs Linux 6.10.");
pub(crate) static SERIALIZE: Opt = flag(
    "serialize-memory-hard-pbkdf",
    None,
    "Derive Argon2 keys one program at a time.",
    "For machines that open many volumes at boot and would run out of memory. cryptsetup waits for the same lock.",
);
