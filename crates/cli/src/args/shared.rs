//! Options that more than one command takes, named once.
//!
//! Names and letters are cryptsetup's; the words are ours. Options of
//! one command only stand in its own file.

use super::table::{Group, Kind, Opt};

const U32: Kind = Kind::Number(u32::MAX as u64);
const U64: Kind = Kind::Number(u64::MAX);

const fn flag(long: &'static str, short: Option<char>, help: &'static str, man: &'static str) -> Opt {
    Opt { long, short, value: "", kind: Kind::Flag, help, man }
}

const fn option(
    long: &'static str,
    short: Option<char>,
    value: &'static str,
    kind: Kind,
    help: &'static str,
    man: &'static str,
) -> Opt {
    Opt { long, short, value, kind, help, man }
}

// ---- every command ----

pub(crate) static HELP: Opt = flag("help", Some('?'), "Show this help.", "");
pub(crate) static USAGE: Opt = flag("usage", None, "Show the command's synopsis.", "");
pub(crate) static VERSION: Opt = flag("version", Some('V'), "Show the version.", "");
pub(crate) static VERBOSE: Opt = flag("verbose", Some('v'), "Say more, and name the exit code.", "");
pub(crate) static DEBUG: Opt = flag("debug", None, "Show what is done and why; never secrets.", "");
pub(crate) static DEBUG_JSON: Opt = flag("debug-json", None, "Like --debug, with the LUKS2 metadata.", "");
pub(crate) static BATCH_MODE: Opt = flag(
    "batch-mode",
    Some('q'),
    "Ask no questions.",
    "Takes every confirmation as given. Dangerous in a typed command, meant for scripts.",
);
pub(crate) static TEST_ARGS: Opt = flag("test-args", None, "Check the command line and do nothing.", "");
pub(crate) static JSON: Opt = flag("json", None, "Print JSON instead of text.", "");
pub(crate) static MEMORY_BUDGET: Opt = option(
    "memory-budget",
    None,
    "SIZE",
    Kind::Size,
    "Most memory that key derivation may take.",
    "A keyslot with Argon2 names the memory that opening it takes, and a hostile header may name all there is. A keyslot \
     over the budget is refused with the figure. Keyslots that fit together are derived side by side. \
     The default is half of the memory that is available.",
);

pub(crate) static TIME_LIMIT: Opt = option(
    "time-limit",
    None,
    "SECONDS",
    U64,
    "Longest a key derivation may take (3600).",
    "A hostile header may name a cost that takes years. A keyslot over the limit is refused with the figure.",
);

/// Taken by every command.
pub(crate) static EVERYWHERE: &[&Opt] =
    &[&BATCH_MODE, &VERBOSE, &DEBUG, &DEBUG_JSON, &TEST_ARGS, &HELP, &USAGE, &VERSION];

// ---- passphrases and keys ----

pub(crate) static KEY_FILE: Opt = option(
    "key-file",
    Some('d'),
    "FILE",
    Kind::Path,
    "Passphrase from a file; - is standard input.",
    "The whole file is the passphrase, newlines included, up to 8 MiB. With - the same holds for standard input. Without \
     this option a passphrase is asked for on the terminal, or read from standard input up to the first newline when that \
     is no terminal.",
);
pub(crate) static KEYFILE_OFFSET: Opt =
    option("keyfile-offset", None, "BYTES", U64, "Skip this much of the key file.", "");
pub(crate) static KEYFILE_SIZE: Opt = option(
    "keyfile-size",
    Some('l'),
    "BYTES",
    U32,
    "Read this much of the key file.",
    "A file that ends earlier is an error: a truncated key would never open anything.",
);
pub(crate) static NEW_KEYFILE: Opt =
    option("new-keyfile", None, "FILE", Kind::Path, "Take the new passphrase from a file.", "");
pub(crate) static NEW_KEYFILE_OFFSET: Opt =
    option("new-keyfile-offset", None, "BYTES", U64, "Skip this much of the new key file.", "");
pub(crate) static NEW_KEYFILE_SIZE: Opt =
    option("new-keyfile-size", None, "BYTES", U32, "Read this much of the new key file.", "");
pub(crate) static VOLUME_KEY_FILE: Opt = option(
    "volume-key-file",
    None,
    "FILE",
    Kind::Path,
    "The volume key itself, in a file.",
    "Used instead of a passphrase, or as the key of a new volume. With luksDump --dump-volume-key the key is written to \
     this file, which must not exist yet.",
);
pub(crate) static MASTER_KEY_FILE: Opt =
    option("master-key-file", None, "FILE", Kind::Path, "Old name of --volume-key-file.", "");
pub(crate) static VERIFY_PASSPHRASE: Opt =
    flag("verify-passphrase", Some('y'), "Ask twice for a passphrase on a terminal.", "");
pub(crate) static TIMEOUT: Opt =
    option("timeout", Some('t'), "SECONDS", U32, "Give up waiting for a prompt or a server.", SERVER_TIMEOUT);

/// One word for both: whoever runs this without a person in front of
/// it wants an end to all waiting.
const SERVER_TIMEOUT: &str = "At the prompt nothing ends the waiting without it. A server is given up when it has brought nothing, or next to \
     nothing, for so long: http, https and s3 after 60 seconds, repetitions included; nbd after 15 seconds of connecting, \
     or 120 without an answer, where a read is asked once more over a new connection. With this option it is as many \
     seconds as it says, but never fewer than 120 while an nbd server has changes to write. After 5 seconds a line on \
     standard error says what is waited for.";
pub(crate) static TRIES: Opt =
    option("tries", Some('T'), "N", U32, "How often to ask for a passphrase (3).", "");
pub(crate) static FORCE_PASSWORD: Opt =
    flag("force-password", None, "Accepted; there is no password quality check.", "");
pub(crate) static KEY_SLOT: Opt = option(
    "key-slot",
    Some('S'),
    "N",
    Kind::Number(i32::MAX as u64),
    "Use this keyslot only.",
    "LUKS1 has keyslots 0 to 7, LUKS2 0 to 31. For a new key the default is the first free one.",
);
pub(crate) static UNBOUND: Opt = flag(
    "unbound",
    None,
    "A keyslot whose key opens no data (LUKS2).",
    "An unbound keyslot stores any key under a passphrase and opens no data.",
);
pub(crate) static TOKEN_ID: Opt =
    option("token-id", None, "N", Kind::Number(i32::MAX as u64), "Use this token.", "");
pub(crate) static TOKEN_ONLY: Opt = flag("token-only", None, "Ask for no passphrase when tokens fail.", "");
pub(crate) static TOKEN_TYPE: Opt =
    option("token-type", None, "TYPE", Kind::Text, "Use tokens of this type only.", "");

// ---- the volume ----

pub(crate) static HEADER: Opt = option(
    "header",
    None,
    "FILE",
    Kind::Path,
    "The file that holds the LUKS header.",
    "A detached header: DEVICE then holds the encrypted data alone.",
);
pub(crate) static TYPE: Opt = option(
    "type",
    Some('M'),
    "TYPE",
    Kind::Text,
    "The format: luks, luks1, luks2 or plain.",
    "luks means either version; a new volume is LUKS2. Plain volumes have no header: everything about them is said by \
     options, and a wrong passphrase shows as noise.",
);
pub(crate) static DISABLE_LOCKS: Opt = flag(
    "disable-locks",
    None,
    "Do not lock the LUKS2 header.",
    "Without the lock, another process may change the header at the same time. A damaged copy is not recovered.",
);
pub(crate) static UUID: Opt = option("uuid", None, "UUID", Kind::Text, "Give the volume this UUID.", "");
pub(crate) static LABEL: Opt =
    option("label", None, "TEXT", Kind::Text, "Label, at most 47 bytes (LUKS2).", "");
pub(crate) static SUBSYSTEM: Opt =
    option("subsystem", None, "TEXT", Kind::Text, "Subsystem label, at most 47 bytes (LUKS2).", "");

// ---- making keys and volumes ----

pub(crate) static CIPHER: Opt = option(
    "cipher",
    Some('c'),
    "SPEC",
    Kind::Text,
    "Cipher, mode and IV (aes-xts-plain64).",
    "Written as dm-crypt writes it: cipher-mode-iv. A combination that cannot exist is refused by name.",
);
pub(crate) static KEY_SIZE: Opt = option(
    "key-size",
    Some('s'),
    "BITS",
    U32,
    "Size of the volume key.",
    "XTS uses two keys and this counts both: 512 bits with aes-xts is AES-256.",
);
pub(crate) static HASH: Opt = option(
    "hash",
    Some('h'),
    "NAME",
    Kind::Text,
    "Hash of the header's key derivation (sha256).",
    "Used for PBKDF2, the volume key's digest and the anti-forensic splitter.",
);
pub(crate) static ITER_TIME: Opt = option(
    "iter-time",
    Some('i'),
    "MS",
    U32,
    "Time that one guess shall take here (2000).",
    "The cost of the key derivation is measured on this machine so that opening takes about this many milliseconds.",
);
pub(crate) static PBKDF: Opt =
    option("pbkdf", None, "NAME", Kind::Text, "Key derivation: argon2id, argon2i or pbkdf2.", "");
pub(crate) static PBKDF_FORCE_ITERATIONS: Opt = option(
    "pbkdf-force-iterations",
    None,
    "N",
    U32,
    "Take this cost, do not measure.",
    "Iterations of PBKDF2 (at least 1000) or passes of Argon2 (at least 4). Memory and threads are then taken as given.",
);
pub(crate) static PBKDF_MEMORY: Opt =
    option("pbkdf-memory", None, "KIB", U32, "Memory of Argon2 (1048576).", "");
pub(crate) static PBKDF_PARALLEL: Opt = option("pbkdf-parallel", None, "N", U32, "Lanes of Argon2 (4).", "");
pub(crate) static KEYSLOT_CIPHER: Opt =
    option("keyslot-cipher", None, "SPEC", Kind::Text, "Cipher of the keyslot's area (LUKS2).", "");
pub(crate) static KEYSLOT_KEY_SIZE: Opt =
    option("keyslot-key-size", None, "BITS", U32, "Key size of the keyslot's area (LUKS2).", "");
pub(crate) static SECTOR_SIZE: Opt =
    option("sector-size", None, "BYTES", U32, "Encryption sector: 512, 1024, 2048 or 4096.", "");
pub(crate) static OFFSET: Opt =
    option("offset", Some('o'), "SECTORS", U64, "Where the data starts, in 512-byte sectors.", "");
pub(crate) static SKIP: Opt = option(
    "skip",
    Some('p'),
    "SECTORS",
    U64,
    "IV of the first sector (plain).",
    "In 512-byte sectors. A part of a larger plain volume opens by its offset as both --offset and --skip.",
);
pub(crate) static SIZE: Opt = option(
    "size",
    Some('b'),
    "SECTORS",
    U64,
    "Size of the mapping, in 512-byte sectors.",
    "Without it a mapping reaches to the end of the device.",
);
pub(crate) static DEVICE_SIZE: Opt = option(
    "device-size",
    None,
    "SIZE",
    Kind::Size,
    "The same in bytes, or with a unit.",
    "A multiple of 512. Cannot be combined with --size.",
);
pub(crate) static DEVICE_OFFSET: Opt = option(
    "device-offset",
    None,
    "SIZE",
    Kind::Size,
    "Where the data starts on the device (plain).",
    "What --offset is to open; here --offset counts in the plaintext.",
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
    "A power of two. Two copies stand at the start of the volume.",
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

// ---- taken so that cryptsetup's scripts run; without effect where a
// command has no use for them ----

pub(crate) static JSON_FILE: Opt =
    option("json-file", None, "FILE", Kind::Path, "Where a token's JSON is read or written.", "");
pub(crate) static HEADER_BACKUP_FILE: Opt =
    option("header-backup-file", None, "FILE", Kind::Path, "The file that keeps the header's copy.", "");
pub(crate) static DISABLE_EXTERNAL_TOKENS: Opt =
    flag("disable-external-tokens", None, "Accepted; token plugins are never loaded.", "");
pub(crate) static EXTERNAL_TOKENS_PATH: Opt =
    option("external-tokens-path", None, "DIR", Kind::Path, "Accepted; token plugins are never loaded.", "");
pub(crate) static VOLUME_KEY_KEYRING: Opt =
    option("volume-key-keyring", None, "KEY", Kind::Text, "Refused: no kernel keyring is used.", "");
pub(crate) static DISABLE_BLKID: Opt =
    flag("disable-blkid", None, "Accepted; signatures are found without blkid.", "");
pub(crate) static DISABLE_KEYRING: Opt = flag(
    "disable-keyring",
    None,
    "Hand the volume key to dm-crypt itself.",
    "A LUKS2 volume's key otherwise goes through the kernel's keyring, so that the mapping's table does not show it. \
     Doors of Keyway's own use no keyring.",
);
// ---- what is accepted of a volume, and how it is used ----

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

/// cryptsetup takes these with every command, used or not.
pub(crate) static CRYPTSETUP_EVERYWHERE: &[&Opt] = &[
    &KEY_FILE,
    &KEYFILE_OFFSET,
    &KEYFILE_SIZE,
    &NEW_KEYFILE_OFFSET,
    &NEW_KEYFILE_SIZE,
    &VOLUME_KEY_FILE,
    &MASTER_KEY_FILE,
    &VERIFY_PASSPHRASE,
    &TIMEOUT,
    &TRIES,
    &FORCE_PASSWORD,
    &HEADER,
    &TYPE,
    &CIPHER,
    &HASH,
    &PBKDF_MEMORY,
    &PBKDF_PARALLEL,
    &MEMORY_BUDGET,
    &TIME_LIMIT,
    &TOKEN_ID,
    &TOKEN_ONLY,
    &TOKEN_TYPE,
    &JSON_FILE,
    &HEADER_BACKUP_FILE,
    &DISABLE_LOCKS,
    &DISABLE_KEYRING,
    &DISABLE_EXTERNAL_TOKENS,
    &READONLY,
    &VERACRYPT,
    &PROGRESS_FREQUENCY,
    &ACTIVE_NAME,
];

/// What commands of a group take beside their own options and [`EVERYWHERE`].
pub(crate) fn accepted_by(group: Group) -> &'static [&'static Opt] {
    match group {
        Group::Cryptsetup(_) | Group::Absent => CRYPTSETUP_EVERYWHERE,
        Group::Rootless | Group::Hidden => &[],
    }
}
