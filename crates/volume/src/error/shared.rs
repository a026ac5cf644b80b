//! What several modules report, worded once.

use super::{Error, Refusal};
use std::io;
use std::path::Path;

/// An operation that LUKS1 alone has.
pub(crate) fn only_luks1() -> Error {
    Refusal::OnlyLuks1.because("This operation is supported only for LUKS1 device.")
}

/// An operation that LUKS2 alone has.
pub(crate) fn only_luks2() -> Error {
    Refusal::OnlyLuks2.because("This operation is supported only for LUKS2 device.")
}

/// Argon2, in a LUKS1 header.
pub(crate) fn not_in_luks1() -> Error {
    Refusal::OnlyLuks2.because("Requested PBKDF type is not supported for LUKS1.")
}

pub(crate) fn no_free_keyslot() -> Error {
    Refusal::NoFreeKeyslot.because("All key slots full.")
}

pub(crate) fn no_free_digest() -> Error {
    Refusal::NoFreeDigest.because("No more digests fit the header.")
}

/// Another program wrote the header between an edit's reading and writing.
pub(crate) fn edited_meanwhile() -> Error {
    Refusal::ChangedMeanwhile
        .because("Detected attempt for concurrent LUKS metadata update. Aborting operation.")
}

/// Another program wrote the header while the volume was being opened.
pub(crate) fn changed_while_opening() -> Error {
    Refusal::ChangedMeanwhile.because("The header was changed while the volume was being opened: try again.")
}

/// An edit through a header that was opened for reading.
pub(crate) fn not_for_editing() -> Error {
    Refusal::ReadOnly.because("the header was not opened for editing")
}

/// A hash too short for a LUKS header.
pub(crate) fn unsupported_hash(name: &str) -> Error {
    Refusal::Hash.because(format!("Requested LUKS hash {name} is not supported."))
}

/// A volume key of another length than its cipher takes.
pub(crate) fn key_length(has: usize, needs: u32) -> Error {
    Refusal::KeyLength.because(format!("the volume key has {has} bits, not {needs}"))
}

/// Why a header backup could not be written to `file`.
pub(crate) fn backup_not_written(file: &Path, source: io::Error) -> Error {
    let file = file.display();
    match source.kind() {
        io::ErrorKind::AlreadyExists => {
            Refusal::Exists.because(format!("Requested header backup file {file} already exists."))
        }
        _ => Error::Io { what: format!("writing header backup file {file}"), source },
    }
}

/// A zoned device, for something that is written in place ("a volume").
pub(crate) fn zoned(what: &str) -> Error {
    Refusal::Zoned.because(format!("Its zones can only be written from start to end: it cannot hold {what}."))
}

/// A new XTS key that proves the random numbers to be none.
pub(crate) fn equal_halves() -> Error {
    Refusal::Unusable.because("both halves of an XTS key are equal: the system's random bytes are not random")
}

/// A TrueCrypt or VeraCrypt volume that an empty password would open.
pub(crate) fn empty_password() -> Error {
    Refusal::Unusable.because("an empty passphrase needs key files")
}

/// A password that a hidden volume has already.
pub(crate) fn opens_hidden() -> Error {
    Refusal::Exists.because("a hidden volume opens with this passphrase already")
}

pub(crate) fn start_unreadable(source: io::Error) -> Error {
    Error::Io { what: "reading the start of the device".into(), source }
}

/// Storage that returns other bytes than were written to it.
pub(crate) fn other_than_written() -> io::Error {
    io::Error::other("not what was written")
}

/// Why `doing` ("writing") a copy of the LUKS2 header failed.
pub(crate) fn luks2_header(doing: &str, offset: u64, source: io::Error) -> Error {
    Error::Io { what: format!("{doing} the LUKS2 header at offset {offset}"), source }
}
