//! Options that say which volumes are accepted, and how a volume is used.

use super::{flag, option};
use crate::args::option::{Kind, Opt};
use crate::args::rule::Rule;

pub(crate) static SHARED: Opt = flag(
    "shared",
    None,
    "Share the volume with other programs.",
    "By default a volume that QEMU or another Keyway writes to is refused, as is one that is mounted or mapped: \
     two writers that do not know of each other destroy its content. This option vouches that they cooperate.",
);
pub(crate) static WEAK_CIPHER: Opt = flag(
    "allow-weak-cipher",
    None,
    "Accept a weak cipher, or none.",
    "Refused by default: no encryption at all (cipher_null), ECB, ciphers and modes that make a key stream \
     (arc4, ctr, xctr, cfb, ofb: two versions of a sector reveal each other), the IV null, and keys of less \
     than 128 bits (for XTS: each half). An attacker who can write the header can put one there and read what \
     is written afterwards. When called as cryptsetup, Keyway accepts them with a warning.",
);
pub(crate) static LINEAR_SEGMENTS: Opt = flag(
    "allow-linear-segments",
    None,
    "Read segments that are not encrypted.",
    "A LUKS2 header may describe data that is not encrypted. Normally only reencryption makes such a \
     volume, but an attacker who can write the header can, too. This option reads such data, to examine a volume.",
);
pub(crate) static REQUIRE: Opt = option(
    "require",
    None,
    "FILE",
    Kind::Path,
    "Open the volume only if it meets this policy.",
    "A TOML file with one demand per line: formats, ciphers, modes, min-key-bits, sector-sizes, linear-segments \
     = false, allowed-flags, allowed-tokens, uuid, label, subsystem, size, min-size, max-size, max-keyslots, kdfs, \
     min-pbkdf2-iterations, min-argon2-memory, min-argon2-passes, sealed = true, seal-context; keyway-inspect(8) \
     explains each one. Only what is demanded is checked; an unknown demand is refused with its line. The header is \
     judged before a passphrase is asked for, and again with the volume key; a volume that does not meet a demand is \
     refused with exit code 6. --require sealed demands a seal and needs no file (for a file of that name, write \
     ./sealed). May be given several times: all must be met. In crypttab: x-keyway.require=FILE, \
     which \"open\" and \"unlock\" heed; at boot: keyway.require=FILE.",
);
pub(crate) static SEAL_CONTEXT: Opt = option(
    "seal-context",
    None,
    "STRING",
    Kind::Text,
    "The string that the seal is bound to.",
    "A volume that is not sealed, or was sealed with another string, is refused. The string is not in the \
     header: it distinguishes volumes sealed with the same key, such as those of two machines, or of this \
     year and last year. Other users can see it in the process list: --seal-context-file and the environment \
     variable KEYWAY_SEAL_CONTEXT hide it. The variable applies if neither option is given and it is not \
     empty.",
);
pub(crate) static SEAL_CONTEXT_FILE: Opt = option(
    "seal-context-file",
    None,
    "FILE",
    Kind::Path,
    "The same string, from a file.",
    "The file holds the string of --seal-context: UTF-8, at most 64 KiB; one trailing newline is dropped. The \
     process list does not show it. In crypttab: x-keyway.seal-context-file=FILE.",
);
pub(crate) static IGNORE_SEAL: Opt = flag(
    "ignore-seal",
    None,
    "Open the volume although its seal is broken.",
    "By default a volume whose header differs from its seal is refused. For repair, and if you changed the \
     header yourself; a policy that demands a seal still refuses it.",
);
pub(crate) static DIRECT_IO: Opt = flag(
    "direct-io",
    None,
    "Bypass the page cache.",
    "Reads and writes the volume's file or device without the page cache (O_DIRECT). For volumes whose \
     plaintext is already cached by its user, a virtual machine or a file system: the ciphertext then takes no \
     memory beside it, and a large copy evicts nothing else. Data that is not cached is slower to read.",
);
pub(crate) static READONLY: Opt = flag("readonly", Some('r'), "Open read-only: every write is refused.", "");
pub(crate) static ALLOW_DISCARDS: Opt = flag(
    "allow-discards",
    None,
    "Pass discards (TRIM) on to the device.",
    "The device then shows which parts of it are unused.",
);
pub(crate) static PERF_SAME_CPU: Opt =
    flag("perf-same_cpu_crypt", None, "Encrypt on the requesting CPU (dm-crypt).", "");
pub(crate) static PERF_SUBMIT: Opt =
    flag("perf-submit_from_crypt_cpus", None, "Submit writes on the CPU that encrypts (dm-crypt).", "");
pub(crate) static PERF_NO_READ: Opt =
    flag("perf-no_read_workqueue", None, "Decrypt without a work queue (dm-crypt).", "");
pub(crate) static PERF_NO_WRITE: Opt =
    flag("perf-no_write_workqueue", None, "Encrypt without a work queue (dm-crypt).", "");
pub(crate) static PERF_HIGH_PRIORITY: Opt =
    flag("perf-high_priority", None, "High-priority work queues (dm-crypt).", "Needs Linux 6.10.");
pub(crate) static SERIALIZE: Opt = flag(
    "serialize-memory-hard-pbkdf",
    None,
    "Derive Argon2 keys one program at a time.",
    "For machines that open many volumes at boot and would otherwise run out of memory. cryptsetup uses the \
    same lock.",
);
pub(crate) static TEST_PASSPHRASE: Opt = flag("test-passphrase", None, "Only check the passphrase.", "");
pub(crate) static REFRESH: Opt = flag(
    "refresh",
    None,
    "Set these flags on an open mapping.",
    "The mapping stays in use. Flags that are neither given now nor stored in the header are dropped.",
);
pub(crate) static LINK_VK: Opt = option(
    "link-vk-to-keyring",
    None,
    "KEYRING::KEY",
    Kind::Text,
    "Also leave the volume key in this keyring.",
    "KEYRING is @s, @u, @us, %:NAME or a number, KEY a description, with its type before it: %user:NAME or \
     %logon:NAME. The key stays there when the mapping is closed: remove it with keyctl. A volume in the \
     middle of a reencryption has two keys, the old one and the new one: give the option twice.",
);

pub(crate) static OPENING_RULES: &[Rule] = &[Rule::excludes(&SEAL_CONTEXT, &[&SEAL_CONTEXT_FILE])
    .saying("--seal-context and --seal-context-file cannot be combined; omit one.")];

/// cryptsetup's words for three links or more.
pub(crate) const TOO_MANY_LINKS: &str = "At most 2 keyring link specifications can be supplied.";
