//! Options of `reencrypt`.

use super::operands::OPEN_VOLUME;
use super::{U32, flag, option};
use crate::args::option::{Kind, Opt};

const fn plain(long: &'static str, help: &'static str) -> Opt {
    flag(long, None, help, "")
}

pub(crate) static ENCRYPT: Opt = plain("encrypt", "Encrypt the content of the device.");
pub(crate) static NEW: Opt = flag("new", Some('N'), "Old name of --encrypt.", "");
pub(crate) static DECRYPT: Opt = plain("decrypt", "Decrypt the volume.");
pub(crate) static INIT_ONLY: Opt = plain("init-only", "Write the header, change no data yet.");
pub(crate) static RESUME_ONLY: Opt = plain("resume-only", "Only resume a reencryption.");
pub(crate) static ACTIVE_NAME: Opt = option("active-name", None, "NAME", Kind::Text, OPEN_VOLUME.help, "");
pub(crate) static HOTZONE_SIZE: Opt =
    option("hotzone-size", None, "SIZE", Kind::Size, "Amount of data written at a time.", "");
pub(crate) static REDUCE_DEVICE_SIZE: Opt =
    option("reduce-device-size", None, "SIZE", Kind::Size, "Free space at the end, to move data into.", "");
pub(crate) static RESILIENCE: Opt = option(
    "resilience",
    None,
    "MODE",
    Kind::Words(&["checksum", "journal", "none", "datashift"]),
    "Protection of the part being written.",
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
    "Bytes per second, on average.",
    "Pauses between two parts leave the device to other programs: 200M is 200 MiB per second.",
);
pub(crate) static ESTIMATE: Opt = plain("estimate", "Only say how long it would take.");
pub(crate) static IF_MARKED: Opt = flag(
    "if-marked",
    None,
    "Only if marked for its first boot.",
    "Reencrypts only a volume made with build --rekey-at-first-boot whose key was not replaced yet. Any other \
     volume is left as it is, with exit code 0. For a unit that runs at every boot.",
);
pub(crate) static KEEP_HEADER_BACKUP: Opt =
    plain("keep-header-backup", "Keep the header backup, with the old key.");
pub(crate) static NO_HEADER_BACKUP: Opt = plain("no-header-backup", "Make no header backup.");
pub(crate) static KEEP_KEY: Opt = plain("keep-key", "Keep the volume key: change the cipher.");
pub(crate) static BLOCK_SIZE: Opt =
    option("block-size", Some('B'), "MIB", U32, "Accepted, no effect (LUKS1).", "");
pub(crate) static USE_DIRECTIO: Opt = plain("use-directio", "Accepted, no effect.");
pub(crate) static USE_FSYNC: Opt = plain("use-fsync", "Accepted, no effect: always done.");
pub(crate) static WITHOUT_FLUSH: Opt = plain("without-flush", "Accept an NBD server without flush.");
pub(crate) static WRITE_LOG: Opt = plain("write-log", "Accepted, no effect: always done.");
pub(crate) static FORCE_OFFLINE_REENCRYPT: Opt =
    plain("force-offline-reencrypt", "Refuse if the volume is open.");
pub(crate) static FORCE_NO_KEYSLOTS: Opt =
    plain("force-no-keyslots", "Remove all keyslots; needs volume keys.");
pub(crate) static NEW_KEY_SIZE: Opt =
    option("new-key-size", None, "BITS", U32, "Size of the new volume key.", "");
pub(crate) static NEW_VOLUME_KEY_FILE: Opt =
    option("new-volume-key-file", None, "FILE", Kind::Path, "New volume key from a file.", "");
pub(crate) static NEW_VOLUME_KEY_KEYRING: Opt =
    option("new-volume-key-keyring", None, "KEY", Kind::Text, "New volume key from the keyring.", "");
