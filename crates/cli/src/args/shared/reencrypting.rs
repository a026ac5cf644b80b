//! Options of `reencrypt`.

use super::{U32, flag, option};
use crate::args::option::{Kind, Opt};

const fn plain(long: &'static str, help: &'static str) -> Opt {
    flag(long, None, help, "")
}

pub(crate) static ENCRYPT: Opt = plain("encrypt", "Encrypt what is on the device.");
pub(crate) static NEW: Opt = flag("new", Some('N'), "Old name of --encrypt.", "");
pub(crate) static DECRYPT: Opt = plain("decrypt", "Decrypt the volume.");
pub(crate) static INIT_ONLY: Opt = plain("init-only", "Write the header, change no data yet.");
pub(crate) static RESUME_ONLY: Opt = plain("resume-only", "Only go on with what was begun.");
pub(crate) static ACTIVE_NAME: Opt =
    option("active-name", None, "NAME", Kind::Text, "The volume is open under this name.", "");
pub(crate) static HOTZONE_SIZE: Opt =
    option("hotzone-size", None, "SIZE", Kind::Size, "Write so much at a time.", "");
pub(crate) static REDUCE_DEVICE_SIZE: Opt =
    option("reduce-device-size", None, "SIZE", Kind::Size, "Move the data back; so much must be free.", "");
pub(crate) static RESILIENCE: Opt = option(
    "resilience",
    None,
    "MODE",
    Kind::Words(&["checksum", "journal", "none", "datashift"]),
    "What protects the part being written.",
    "",
);
pub(crate) static RESILIENCE_HASH: Opt = option(
    "resilience-hash",
    None,
    "NAME",
    Kind::Words(&["sha256", "sha512", "sha1"]),
    "Hash of the checksums (sha256).",
    "",
);
pub(crate) static LIMIT_RATE: Opt = option(
    "limit-rate",
    None,
    "SIZE",
    Kind::Size,
    "Bytes a second, on average.",
    "Waits between two parts, so that others get their share of the device: 200M is 200 MiB a second.",
);
pub(crate) static ESTIMATE: Opt = plain("estimate", "Only say how long it would take.");
pub(crate) static IF_MARKED: Opt = flag(
    "if-marked",
    None,
    "Only if it waits for its first boot.",
    "A volume of build --rekey-at-first-boot whose key was not replaced yet. For any other nothing is done, and the \
     exit code is 0: for a unit that runs at every boot.",
);
pub(crate) static KEEP_HEADER_BACKUP: Opt =
    plain("keep-header-backup", "Keep the header backup: it has the old key.");
pub(crate) static NO_HEADER_BACKUP: Opt = plain("no-header-backup", "Make no header backup before.");
pub(crate) static KEEP_KEY: Opt = plain("keep-key", "Keep the volume key: change the cipher.");
pub(crate) static BLOCK_SIZE: Opt =
    option("block-size", Some('B'), "MIB", U32, "Accepted, no effect (LUKS1).", "");
pub(crate) static USE_DIRECTIO: Opt = plain("use-directio", "Accepted, no effect.");
pub(crate) static USE_FSYNC: Opt = plain("use-fsync", "Accepted, no effect: always done.");
pub(crate) static WITHOUT_FLUSH: Opt = plain("without-flush", "Also where the NBD server has no flush.");
pub(crate) static WRITE_LOG: Opt = plain("write-log", "Accepted: how far it is, is always written.");
pub(crate) static FORCE_OFFLINE_REENCRYPT: Opt =
    plain("force-offline-reencrypt", "Never while the volume is open.");
pub(crate) static FORCE_NO_KEYSLOTS: Opt = plain("force-no-keyslots", "With volume keys: no keyslot stays.");
pub(crate) static NEW_KEY_SIZE: Opt =
    option("new-key-size", None, "BITS", U32, "Size of the new volume key.", "");
pub(crate) static NEW_VOLUME_KEY_FILE: Opt =
    option("new-volume-key-file", None, "FILE", Kind::Path, "New volume key from a file.", "");
pub(crate) static NEW_VOLUME_KEY_KEYRING: Opt =
    option("new-volume-key-keyring", None, "KEY", Kind::Text, "New volume key from the keyring.", "");
