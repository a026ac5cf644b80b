//! Options that set the properties of a new keyslot or volume.

use super::{INTEGRITY, INTEGRITY_NO_WIPE, U32, U64, flag, option};
use crate::args::option::{Kind, Opt};
use crate::args::rule::Rule;

/// Ciphers that completion offers; `keyway ciphers` lists all.
pub(crate) const CIPHERS: &[&str] = &[
    "aes-xts-plain64",
    "aes-cbc-essiv:sha256",
    "aes-cbc-plain64",
    "aes-hctr2-plain64",
    "xchacha12,aes-adiantum-plain64",
    "xchacha20,aes-adiantum-plain64",
    "serpent-xts-plain64",
    "twofish-xts-plain64",
    "camellia-xts-plain64",
];

/// Hashes that completion offers.
pub(crate) const HASHES: &[&str] = &[
    "sha256",
    "sha512",
    "sha384",
    "sha224",
    "sha1",
    "sha3-256",
    "sha3-512",
    "ripemd160",
    "whirlpool",
    "blake2b-512",
    "blake2s-256",
];

pub(crate) static CIPHER: Opt = option(
    "cipher",
    Some('c'),
    "SPEC",
    Kind::Words(CIPHERS),
    "Cipher, mode and IV (aes-xts-plain64).",
    "In dm-crypt's notation: cipher-mode-iv. An impossible combination is refused, with the reason.",
);
pub(crate) static KEY_SIZE: Opt = option(
    "key-size",
    Some('s'),
    "BITS",
    Kind::Numbers(u32::MAX as u64, &["128", "192", "256", "384", "512"]),
    "Size of the volume key.",
    "XTS uses two keys and this counts both: 512 bits with aes-xts is AES-256.",
);
pub(crate) static HASH: Opt = option(
    "hash",
    Some('h'),
    "NAME",
    Kind::Words(HASHES),
    "Hash of the header's key derivation (sha256).",
    "Used for PBKDF2, the volume key's digest and the anti-forensic splitter.",
);
pub(crate) static ITER_TIME: Opt = option(
    "iter-time",
    Some('i'),
    "MS",
    U32,
    "Time that cryptsetup takes to unlock (2000).",
    "The cost of key derivation is measured on this machine, by the CPU's time, so that it takes cryptsetup \
     about this many milliseconds here, whatever else runs meanwhile: cryptsetup is the slowest program that \
     opens volumes under Linux. --iter-time-for names another. A warning is printed if that makes the \
     passphrase cheap to guess.",
);
/// Those with a name of their own.
#[rustfmt::skip]
const OPENERS: &[&str] = &[
    "keyway", "cryptsetup", "grub-2.06", "grub-2.12", "grub-2.14", "grub-2.14-accel", "pi3", "pi4",
    "grub-debian-12", "grub-debian-13", "grub-debian-14", "grub-fedora", "grub-rhel-10", "grub-tumbleweed",
    "grub-ubuntu-22.04", "grub-ubuntu-24.04", "grub-ubuntu-26.04",
];
pub(crate) static ITER_TIME_FOR: Opt = option(
    "iter-time-for",
    None,
    "NAME",
    Kind::Words(OPENERS),
    "Program for --iter-time (cryptsetup).",
    "keyway and cryptsetup on this machine; grub-2.06, grub-2.12 and grub-2.14 in firmware on a CPU like this \
     one, grub-2.14-accel where grub.cfg has cryptomount -A; grub-debian-13, grub-fedora, grub-ubuntu-24.04 \
     and the like are distributions' signed images, and a keyslot that these cannot open is refused; pi3 and \
     pi4 are Raspberry Pis. docs/COST.md relates each to the speed measured here: GRUB may take twenty times \
     as long as Keyway.",
);
pub(crate) static PBKDF: Opt = option(
    "pbkdf",
    None,
    "NAME",
    Kind::Words(&["argon2id", "argon2i", "pbkdf2"]),
    "Key derivation: argon2id, argon2i or pbkdf2.",
    "",
);
pub(crate) static PBKDF_FORCE_ITERATIONS: Opt = option(
    "pbkdf-force-iterations",
    None,
    "N",
    U32,
    "Use this cost; do not measure.",
    "Iterations of PBKDF2 (at least 1000) or passes of Argon2 (at least 4). Memory and threads are then used \
     as given. If a derivation would take more than a minute here, you are asked first; without a terminal it \
     is refused unless --batch-mode is given. Called as cryptsetup, Keyway only prints a warning.",
);
pub(crate) static PBKDF_MEMORY: Opt =
    option("pbkdf-memory", None, "KIB", U32, "Memory of Argon2 (1048576).", "");
pub(crate) static PBKDF_PARALLEL: Opt = option("pbkdf-parallel", None, "N", U32, "Lanes of Argon2 (4).", "");
pub(crate) static KEYSLOT_CIPHER: Opt =
    option("keyslot-cipher", None, "SPEC", Kind::Words(CIPHERS), "Cipher of the keyslot's area (LUKS2).", "");
pub(crate) static KEYSLOT_KEY_SIZE: Opt = option(
    "keyslot-key-size",
    None,
    "BITS",
    Kind::Numbers(u32::MAX as u64, &["256", "512"]),
    "Key size of the keyslot's area (LUKS2).",
    "",
);
pub(crate) static SECTOR_SIZE: Opt = option(
    "sector-size",
    None,
    "BYTES",
    Kind::Numbers(u32::MAX as u64, &["512", "1024", "2048", "4096"]),
    "Encryption sector: 512, 1024, 2048 or 4096.",
    "",
);
pub(crate) static OFFSET: Opt =
    option("offset", Some('o'), "SECTORS", U64, "Where the data starts, in 512-byte sectors.", "");
pub(crate) static SKIP: Opt = option(
    "skip",
    Some('p'),
    "SECTORS",
    U64,
    "IV of the first sector (plain).",
    "In 512-byte sectors. To open a part of a larger plain volume, give its offset as both --offset and --skip.",
);
pub(crate) static SIZE: Opt = option(
    "size",
    Some('b'),
    "SECTORS",
    U64,
    "Size of the mapping, in 512-byte sectors.",
    "Without it, a mapping extends to the end of the device.",
);
pub(crate) static DEVICE_SIZE: Opt = option(
    "device-size",
    None,
    "SIZE",
    Kind::Size,
    "Size of the mapping, in bytes or with a unit.",
    "A multiple of 512. Cannot be combined with --size.",
);
pub(crate) static DEVICE_OFFSET: Opt = option(
    "device-offset",
    None,
    "SIZE",
    Kind::Size,
    "Where the data starts on the device (plain).",
    "Does what --offset does for open; in this command --offset is a position in the plaintext.",
);
pub(crate) static IV_LARGE_SECTORS: Opt =
    flag("iv-large-sectors", None, "IVs count sectors, not 512-byte units (plain).", "");
pub(crate) static ALIGN_PAYLOAD: Opt =
    option("align-payload", None, "SECTORS", U32, "Align the data, in 512-byte sectors.", "");
pub(crate) static LUKS2_METADATA_SIZE: Opt = option(
    "luks2-metadata-size",
    None,
    "SIZE",
    Kind::Size,
    "Size of one header copy: 16K to 4M.",
    "A power of two. Two copies are at the start of the volume.",
);
pub(crate) static LUKS2_KEYSLOTS_SIZE: Opt = option(
    "luks2-keyslots-size",
    None,
    "SIZE",
    Kind::Size,
    "Size of the keyslots area, at most 128M.",
    "A multiple of 4096 bytes.",
);
pub(crate) static USE_RANDOM: Opt = flag("use-random", None, "Keys from /dev/random.", "");
pub(crate) static USE_URANDOM: Opt = flag("use-urandom", None, "Keys from /dev/urandom (the default).", "");
pub(crate) static FORCE: Opt = flag("force", None, "Replace an existing file.", "");
pub(crate) static PROGRESS_FREQUENCY: Opt =
    option("progress-frequency", None, "SECONDS", U32, "Seconds between progress lines.", "");
pub(crate) static PROGRESS_JSON: Opt = flag("progress-json", None, "Progress as JSON lines.", "");

pub(crate) static MAKING_RULES: &[Rule] = &[
    Rule::line(
        // Keyway's own verbs name the nearest.
        |a| {
            let is_known = |name| ["pbkdf2", "argon2i", "argon2id"].contains(&name);
            a.is_action() && a.text(&PBKDF).is_some_and(|name| !is_known(name))
        },
        "Password-based key derivation function (PBKDF) can be only pbkdf2 or argon2i/argon2id.",
    ),
    Rule::excludes(&PBKDF_FORCE_ITERATIONS, &[&ITER_TIME])
        .saying("PBKDF forced iterations cannot be combined with iteration time option."),
    Rule::excludes(&PBKDF_FORCE_ITERATIONS, &[&ITER_TIME_FOR])
        .saying("--iter-time-for says whose time is measured: omit --pbkdf-force-iterations."),
    Rule::line(
        |a| a.given(&KEYSLOT_CIPHER) != a.given(&KEYSLOT_KEY_SIZE),
        "Options --keyslot-cipher and --keyslot-key-size must be used together.",
    ),
];

/// Those of a new volume, which come after all others.
pub(crate) static NEW_VOLUME_RULES: &[Rule] = &[
    Rule::excludes(&ALIGN_PAYLOAD, &[&OFFSET]),
    Rule::needs(&INTEGRITY_NO_WIPE, &INTEGRITY)
        .saying("Option --integrity-no-wipe can be used only for format action with integrity extension."),
    Rule::excludes(&USE_RANDOM, &[&USE_URANDOM]).saying("Only one of --use-[u]random options is allowed."),
];

/// cryptsetup's words for a size of a key.
pub(crate) const NOT_BYTES: &str = "Key size must be a multiple of 8 bits";
/// cryptsetup's words for a size of an encryption sector.
pub(crate) const NOT_A_SECTOR: &str = "Unsupported encryption sector size.";
