//! What VeraCrypt makes: version 5 of the header, XTS, and its limits for new volumes.
//!
//! ```text
//! 0                  header
//! 65536              header of the hidden volume, or random bytes
//! 131072             data; a hidden volume is its end
//! length - 131072    backup header
//! length - 65536     backup header of the hidden volume, or random bytes
//! ```
//!
//! All that lies between these is random. ("VeraCrypt User's Guide", VeraCrypt Volume Format
//! Specification, PIM; the smallest sizes as in its src/Common/Volumes.h.)

use super::kdf::ARGON2_PIM;
use super::{CIPHERS, Cipher, Fields, KDFS, Kdf, Position, Program, SECTOR, Stretch};
use crate::{Bytes, Error};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;
use keyway_crypto::{CascadeMode, Secret};

/// Bytes at either end that are not data.
pub const RESERVED: u64 = 131_072;
/// The hash of a new volume, unless another is named.
pub const NEW_HASH: &str = "sha512";
/// The ciphers of a new volume, unless others are named.
pub const NEW_CIPHER: &str = "aes";
/// What the length of a hidden volume is a multiple of.
const HIDDEN_UNIT: u64 = 4096;
/// What stays free behind a hidden volume, and behind one that is not small. (src/Common/Volumes.c.)
const FREE_END: u64 = 4096;
const LARGE_FREE_END: u64 = 131_072;
/// The size from which on a hidden volume is not small.
const FREE_END_ABOVE: u64 = 2 << 20;

impl Fields {
    /// Those of a new volume whose data is there.
    pub fn of_new(data: Range<u64>, sector_size: u32, is_hidden: bool) -> Self {
        let len = Bytes(data.end - data.start);
        Self {
            program: Program::VeraCrypt,
            version: 5,
            required: REQUIRED,
            created: [0; 2],
            hidden_size: if is_hidden { len } else { Bytes(0) },
            volume_size: len,
            area_offset: Bytes(data.start),
            area_size: len,
            flags: 0,
            sector_size,
            reserved: [0; 124],
        }
    }
}

/// Bytes of a header backup file: the first half begins with the header, the second one with that of
/// the hidden volume; all the rest is random. ("VeraCrypt User's Guide", Tools, Backup Volume
/// Header; src/Main/TextUserInterface.cpp, `BackupVolumeHeaders`.)
pub const BACKUP_FILE_LEN: usize = 131_072;
/// The flag of an encrypted system's header.
const SYSTEM: u32 = 1;

impl Fields {
    /// Whether it is an encrypted system's.
    pub fn is_of_system(&self) -> bool {
        self.flags & SYSTEM != 0
    }

    /// Whether its program keeps a copy of it at the end of the device (since TrueCrypt 6).
    pub fn has_backup(&self) -> bool {
        self.version >= 4
    }
}

/// Where the data of a new volume is on a device of this length.
///
/// # Errors
/// [`Error::Invalid`]: VeraCrypt makes none there.
pub fn data_of_new(device_len: u64, sector_size: u32) -> Result<Range<u64>, Error> {
    let unit = u64::from(sector_size);
    if device_len < SMALLEST {
        let why = format!("{device_len} bytes, but VeraCrypt's smallest has {SMALLEST}");
        return Err(Error::invalid("length of the volume", why));
    }
    if !device_len.is_multiple_of(unit) {
        let why = format!("{device_len} bytes are not a multiple of {unit}");
        return Err(Error::invalid("length of the volume", why));
    }
    Ok(RESERVED..device_len - RESERVED)
}

/// The length in bytes of a new file with room for so many bytes of data. `None`: it has none.
pub fn len_of_new(data: u64) -> Option<u64> {
    let whole = data.checked_next_multiple_of(SECTOR)?;
    Some(whole.checked_add(2 * RESERVED)?.max(SMALLEST)).filter(|len| i64::try_from(*len).is_ok())
}

/// Where the data of a new hidden volume of `size` bytes is, whose outer one has its data in
/// `outer`.
///
/// # Errors
/// [`Error::Invalid`]: it has no such length, or does not fit.
pub fn data_of_new_hidden(outer: &Range<u64>, device_len: u64, size: u64) -> Result<Range<u64>, Error> {
    let refuse = |why: String| Err(Error::invalid("size of the hidden volume", why));
    if !size.is_multiple_of(HIDDEN_UNIT) {
        return refuse(format!("{size} bytes are not a multiple of {HIDDEN_UNIT}"));
    }
    if size < SMALLEST_DATA {
        return refuse(format!("{size} bytes, but VeraCrypt's smallest has {SMALLEST_DATA}"));
    }
    // The outer volume's last sectors stay free: FAT writes its last one when it is made.
    let free = if size < FREE_END_ABOVE { FREE_END } else { LARGE_FREE_END };
    let end = Position::Backup.offset(device_len).unwrap_or(0).saturating_sub(free);
    let least = outer.start.saturating_add(SMALLEST_DATA);
    match end.checked_sub(size).filter(|start| *start >= least && end <= outer.end) {
        Some(start) => Ok(start..end),
        None => {
            let room =
                if end > outer.end { 0 } else { end.saturating_sub(least) / HIDDEN_UNIT * HIDDEN_UNIT };
            refuse(format!("{size} bytes, but the outer volume has room for {room}"))
        }
    }
}

/// The KDF of that name, for a new volume of VeraCrypt's: a table's name, or VeraCrypt's.
///
/// # Errors
/// [`Error::Invalid`]: VeraCrypt makes none with it.
pub fn kdf_of_new(name: &str) -> Result<&'static Kdf, Error> {
    kdf_of_program(Program::VeraCrypt, name)
}

/// The same for a volume of either program that gets another key.
///
/// # Errors
/// [`Error::Invalid`]: the program makes none with it.
pub fn kdf_of_program(program: Program, name: &str) -> Result<&'static Kdf, Error> {
    let name = name.to_ascii_lowercase();
    let wanted = SYNONYMS.iter().find(|(other, _)| *other == name).map_or(&*name, |(_, known)| known);
    let known = || KDFS.iter().filter(|kdf| kdf.program == program && is_made(kdf));
    let found = known().find(|kdf| kdf.name == wanted);
    found.ok_or_else(|| unknown(program, "hash", &name, known().map(|kdf| kdf.name)))
}

/// The ciphers of that name, for a new volume.
///
/// # Errors
/// [`Error::Invalid`]: VeraCrypt makes none with them.
pub fn cipher_of_new(name: &str) -> Result<&'static Cipher, Error> {
    let known = || CIPHERS.iter().filter(|it| it.mode == CascadeMode::Xts && it.is_of(Program::VeraCrypt));
    let chain = name.strip_suffix("-xts-plain64").unwrap_or(name);
    let found = known().find(|cipher| cipher.chain == chain);
    found.ok_or_else(|| unknown(Program::VeraCrypt, "cipher", name, known().map(|cipher| cipher.chain)))
}

impl Kdf {
    /// Refuses a passphrase that the program takes for no new header: one that is too long, or one
    /// that is too short for a PIM below the usual.
    ///
    /// # Errors
    /// [`Error::Invalid`], without the PIM.
    pub fn check_new(&self, pim: Option<u32>, passphrase: &Secret) -> Result<(), Error> {
        self.program.check_passphrase(passphrase)?;
        let usual = match self.stretch(None) {
            Some(Stretch::Argon2id(_)) => ARGON2_PIM,
            _ => USUAL_PIM,
        };
        match pim.is_some_and(|pim| pim < usual) && passphrase.len() < SHORT {
            true => {
                let why = format!(
                    "VeraCrypt takes one below {usual} only with a passphrase of {SHORT} bytes or more"
                );
                Err(Error::invalid("PIM", why))
            }
            false => Ok(()),
        }
    }
}

/// RIPEMD-160 left VeraCrypt in 1.26, SHA-1 left TrueCrypt in 5.
fn is_made(kdf: &Kdf) -> bool {
    let left = match kdf.program {
        Program::TrueCrypt => "sha1",
        Program::VeraCrypt => "ripemd160",
    };
    !kdf.boot && kdf.name != left
}

fn unknown(program: Program, field: &str, name: &str, known: impl Iterator<Item = &'static str>) -> Error {
    let known: Vec<&str> = known.collect();
    Error::invalid(
        field,
        format!("{program} makes no volumes with \"{name}\", only with {}", known.join(", ")),
    )
}

/// The version of VeraCrypt that opens what is made.
const REQUIRED: u16 = 0x010b;
/// VeraCrypt's smallest volume and the smallest data of one, in bytes.
const SMALLEST: u64 = 2 * RESERVED + SMALLEST_DATA;
const SMALLEST_DATA: u64 = 9 * 4096;
/// The PIM of PBKDF2 that stands for what is derived without one.
const USUAL_PIM: u32 = 485;
/// Passphrases below this length in bytes take no smaller PIM.
const SHORT: usize = 20;
/// VeraCrypt's names, and the table's.
const SYNONYMS: [(&str, &str); 6] = [
    ("streebog", "stribog512"),
    ("streebog512", "stribog512"),
    ("blake2s", "blake2s-256"),
    ("sha-512", "sha512"),
    ("sha-256", "sha256"),
    ("argon2", "argon2id"),
];
