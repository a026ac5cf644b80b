//! Options for what cryptsetup has and this program has not: parsed as cryptsetup parses them, so
//! that a command can say by name what it does not do. Help does not list them.

use super::{U32, flag, option};
use crate::door::table::{Kind, Opt};

const fn no(long: &'static str, help: &'static str) -> Opt {
    flag(long, None, help, "")
}

// ---- self-encrypting drives and integrity protection ----

pub(crate) static HW_OPAL: Opt = no("hw-opal", "Refused: no self-encrypting drives.");
pub(crate) static HW_OPAL_ONLY: Opt = no("hw-opal-only", "Refused: see --hw-opal.");
pub(crate) static HW_OPAL_FACTORY_RESET: Opt = no("hw-opal-factory-reset", "Refused: see --hw-opal.");
pub(crate) static INTEGRITY: Opt =
    option("integrity", Some('I'), "SPEC", Kind::Text, "Refused: integrity is not implemented yet.", "");
pub(crate) static INTEGRITY_INLINE: Opt = no("integrity-inline", "Refused with --integrity.");
pub(crate) static INTEGRITY_NO_WIPE: Opt = no("integrity-no-wipe", "Refused with --integrity.");
pub(crate) static INTEGRITY_NO_JOURNAL: Opt = no("integrity-no-journal", "No effect without --integrity.");
pub(crate) static INTEGRITY_LEGACY_PADDING: Opt =
    no("integrity-legacy-padding", "No effect without --integrity.");
pub(crate) static INTEGRITY_KEY_SIZE: Opt =
    option("integrity-key-size", None, "BITS", U32, "No effect without --integrity.", "");
pub(crate) static DISABLE_SUM: Opt = no("disable-sum", "Accepted, no effect.");

// ---- changing the volume key in place ----

pub(crate) static ENCRYPT: Opt = no("encrypt", "Encrypt a plain device in place.");
pub(crate) static NEW: Opt = flag("new", Some('N'), "Old name of --encrypt.", "");
pub(crate) static DECRYPT: Opt = no("decrypt", "Decrypt a volume in place.");
pub(crate) static INIT_ONLY: Opt = no("init-only", "Prepare the header, move no data.");
pub(crate) static RESUME_ONLY: Opt = no("resume-only", "Resume what was begun.");
pub(crate) static HOTZONE_SIZE: Opt =
    option("hotzone-size", None, "SIZE", Kind::Size, "Limit for the data in flight.", "");
pub(crate) static REDUCE_DEVICE_SIZE: Opt = option(
    "reduce-device-size",
    None,
    "SIZE",
    Kind::Size,
    "Shrink the data to make room for the header.",
    "",
);
pub(crate) static RESILIENCE: Opt = option(
    "resilience",
    None,
    "MODE",
    Kind::Words(&["checksum", "journal", "none", "datashift"]),
    "How to survive a crash.",
    "",
);
pub(crate) static RESILIENCE_HASH: Opt = option(
    "resilience-hash",
    None,
    "NAME",
    Kind::Words(&["sha256", "sha512", "sha1"]),
    "Hash of the checksums.",
    "",
);
pub(crate) static KEEP_KEY: Opt = no("keep-key", "Change the header only.");
pub(crate) static BLOCK_SIZE: Opt = option("block-size", Some('B'), "MIB", U32, "Size of a step.", "");
pub(crate) static USE_DIRECTIO: Opt = no("use-directio", "Bypass the page cache.");
pub(crate) static USE_FSYNC: Opt = no("use-fsync", "Synchronise after each step.");
pub(crate) static WRITE_LOG: Opt = no("write-log", "Log each step to a file.");
pub(crate) static FORCE_OFFLINE_REENCRYPT: Opt = no("force-offline-reencrypt", "Do not look for a mapping.");
pub(crate) static FORCE_NO_KEYSLOTS: Opt = no("force-no-keyslots", "Erase the other keyslots.");
pub(crate) static NEW_KEY_SIZE: Opt =
    option("new-key-size", None, "BITS", U32, "Size of the new volume key.", "");
pub(crate) static NEW_VOLUME_KEY_FILE: Opt =
    option("new-volume-key-file", None, "FILE", Kind::Path, "New volume key from a file.", "");
pub(crate) static NEW_VOLUME_KEY_KEYRING: Opt =
    option("new-volume-key-keyring", None, "KEY", Kind::Text, "New volume key from a keyring.", "");

// ---- TrueCrypt and VeraCrypt ----

pub(crate) static TCRYPT_HIDDEN: Opt = no("tcrypt-hidden", "The hidden volume.");
pub(crate) static TCRYPT_SYSTEM: Opt = no("tcrypt-system", "A system disk.");
pub(crate) static TCRYPT_BACKUP: Opt = no("tcrypt-backup", "The backup header.");
pub(crate) static VERACRYPT: Opt = no("veracrypt", "Try VeraCrypt's formats too.");
pub(crate) static VERACRYPT_PIM: Opt =
    option("veracrypt-pim", None, "N", U32, "VeraCrypt's iteration multiplier.", "");
pub(crate) static VERACRYPT_QUERY_PIM: Opt = no("veracrypt-query-pim", "Ask for the multiplier.");
pub(crate) static DISABLE_VERACRYPT: Opt = no("disable-veracrypt", "Try TrueCrypt's formats only.");
