//! A copy of the metadata (libyal, "FVE metadata block"; names of states: dissect.fve; validation: dislocker and
//! cryptsetup 2.7). A volume has three of them, each in an area of its own of 64 KiB (Vista: 16 KiB).
//!
//! | offset | length | field                                                                            |
//! |--------|--------|----------------------------------------------------------------------------------|
//! | 0      | 8      | `-FVE-FS-`                                                                         |
//! | 8      | 2      | length of header and entries; from version 2 on in units of 16 bytes              |
//! | 10     | 2      | version: 1 (Vista), 2                                                              |
//! | 12     | 2      | state; 14: the state it goes to                                                  |
//! | 16     | 8      | how much is encrypted, in bytes from the start (version 2)                        |
//! | 24     | 4      | the length behind it that is being converted                                     |
//! | 28     | 4      | boot sectors that were moved                                                     |
//! | 32     | 3 × 8  | byte offsets of the three copies                                                 |
//! | 56     | 8      | byte offset of the boot sectors; Vista: the cluster of NTFS's second MFT           |
//! | 64     | 4      | length from here to the end of the entries; 68: version, 1; 72: 48; 76: a length    |
//! | 80     | 16     | GUID                                                                              |
//! | 96     | 4      | next nonce                                                                       |
//! | 100    | 2      | method of encryption                                                             |
//! | 104    | 8      | time of creation (FILETIME)                                                      |
//! | 112    |        | entries                                                                          |
//!
//! Behind them: a length (2 bytes), a version (2), CRC-32 of all before it (4), and an entry that wraps SHA-256 of the
//! same with the volume master key.

use super::boot_sector::SIGNATURE;
use super::entry::{Entries, Entry, purpose, value};
use super::{Encryption, Guid, Key, Protector, Wrapped, field, le16, le32, le64, utf16};
use crate::crc32::crc32;
use crate::{Bytes, Error};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use keyway_crypto::{Cpu, Hash, Secret};

/// The most bytes that a copy takes.
pub const METADATA_LEN: usize = 64 << 10;

/// A valid copy: its checksum is right, and its entries are within it.
#[derive(Debug)]
pub struct Metadata {
    bytes: Vec<u8>,
    /// 1 or 2.
    pub version: u16,
    /// What is under way.
    pub state: State,
    /// Where the three copies are.
    pub copies: [Bytes; 3],
    /// The volume's identifier.
    pub guid: Guid,
    /// When it was made, in units of 100 ns since 1601.
    pub created: u64,
    /// How it is encrypted.
    pub encryption: Encryption,
    /// Who made it, where and when, as Windows put it.
    pub description: Option<String>,
    /// The ways to the volume master key.
    pub protectors: Vec<Protector>,
    /// The volume key, wrapped with the volume master key.
    pub volume_key: Wrapped,
    /// Where the volume's first sectors are (version 2).
    pub boot_sectors: Option<BootSectors>,
    digest: Option<Wrapped>,
    validation: Vec<u8>,
}

/// How far encryption or decryption is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct State {
    /// The state.
    pub now: Conversion,
    /// The state that it goes to.
    pub then: Conversion,
    /// The bytes from the start that are encrypted; once all of it is, the size of the volume.
    pub encrypted: Bytes,
    /// The bytes after them that are in work.
    pub converting: Bytes,
}

/// States.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Conversion {
    /// Nothing is encrypted.
    Decrypted,
    /// Sectors are being converted, or were when the power failed.
    Converting,
    /// Partly encrypted: how far, is not in the metadata (dislocker, dissect.fve: encrypt-on-write).
    Partly,
    /// All is encrypted.
    Encrypted,
    /// Between two sectors: what is encrypted ends where the state says (dislocker: paused; dissect.fve: switching).
    Paused,
    /// Another number.
    Unknown(u16),
}

/// The volume's first sectors, whose place the boot sector took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BootSectors {
    /// Where they are now.
    pub offset: Bytes,
    /// Their length.
    pub len: Bytes,
}

impl Metadata {
    /// Parses a copy, of which `bytes` are at most [`METADATA_LEN`]; more are ignored.
    ///
    /// # Errors
    /// [`Error::Truncated`], [`Error::Checksum`], or [`Error::Invalid`] with the field.
    pub fn parse(bytes: &[u8]) -> Result<Self, Error> {
        let bytes = &bytes[..bytes.len().min(METADATA_LEN)];
        let len = checked_len(bytes)?;
        let (bytes, validation) = bytes.split_at(len);
        if crc32(bytes) != le32(validation, 4) {
            return Err(Error::Checksum);
        }
        let mut content = Content::default();
        for entry in entries(bytes)? {
            content.take(&entry?)?;
        }
        let volume_key =
            content.volume_key.ok_or_else(|| Error::invalid("metadata", "they hold no volume key"))?;
        Ok(Self {
            version: le16(bytes, 10),
            state: State::of(bytes),
            copies: [32, 40, 48].map(|at| Bytes(le64(bytes, at))),
            guid: Guid::at(bytes, 80),
            created: le64(bytes, 104),
            encryption: Encryption::of(le16(bytes, 100))?,
            description: content.description,
            protectors: content.protectors,
            volume_key,
            boot_sectors: content.boot_sectors,
            digest: digest(validation, len)?,
            validation: validation[..validation_len(validation)].to_vec(),
            bytes: bytes.to_vec(),
        })
    }

    /// Header and entries as they are on disk.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// How many sectors were moved from the volume's start.
    pub fn moved_sectors(&self) -> u32 {
        le32(&self.bytes, 28)
    }

    /// The copy as it is on disk, with its checksum and digest.
    pub fn to_bytes(&self) -> Vec<u8> {
        [&self.bytes[..], &self.validation].concat()
    }

    /// Its entries.
    pub fn entries(&self) -> Entries<'_> {
        Entries::of(self.bytes.get(HEADERS..self.end()).unwrap_or_default(), HEADERS)
    }

    /// Vista: the cluster of NTFS's second MFT, which the boot sector said before.
    pub fn second_mft(&self) -> u64 {
        le64(&self.bytes, 56)
    }

    /// Whether there is a digest, by which a master key vouches for it; Windows 7 and later always write one.
    pub fn has_digest(&self) -> bool {
        self.digest.is_some()
    }

    /// Whether `master_key` vouches for every byte of it; false where there is no digest.
    ///
    /// # Errors
    /// The digest is of another kind than SHA-256.
    pub fn is_vouched_for(&self, master_key: &Secret, cpu: Cpu) -> Result<bool, Error> {
        let Some(wrapped) = &self.digest else { return Ok(false) };
        match wrapped.unwrap(master_key, cpu)? {
            Some(Key { method: SHA_256, bytes }) => Ok(bytes.ct_eq(&Hash::Sha256.digest(&[&self.bytes]))),
            Some(Key { method, .. }) => {
                Err(Error::invalid("metadata digest", format!("its method {method:#06x} is not known")))
            }
            None => Ok(false),
        }
    }

    /// The volume key.
    ///
    /// # Errors
    /// `master_key` is not the right one, or what it unwraps is no key for the volume's cipher.
    pub fn unwrap_volume_key(&self, master_key: &Secret, cpu: Cpu) -> Result<Secret, Error> {
        let key = self.volume_key.unwrap(master_key, cpu)?;
        let key =
            key.ok_or_else(|| Error::invalid("volume key", "the volume master key does not unwrap it"))?;
        if key.method != self.encryption.method {
            let why = format!(
                "it is for method {:#06x}, but the volume uses {:#06x}",
                key.method, self.encryption.method
            );
            return Err(Error::invalid("volume key", why));
        }
        self.encryption.volume_key(&key.bytes)
    }

    /// The end of its entries.
    pub(super) fn end(&self) -> usize {
        BLOCK_HEADER + le32(&self.bytes, 64) as usize
    }
}

/// The length of header and entries, after the checks that need nothing else.
fn checked_len(bytes: &[u8]) -> Result<usize, Error> {
    let truncated = |needs: usize| Err(Error::Truncated { needs: needs as u64, has: bytes.len() as u64 });
    if bytes.len() < HEADERS {
        return truncated(HEADERS);
    }
    if !bytes.starts_with(SIGNATURE) {
        return Err(Error::invalid("metadata", "they do not begin with -FVE-FS-"));
    }
    let units = usize::from(le16(bytes, 8));
    let len = match le16(bytes, 10) {
        1 => units,
        2 => 16 * units,
        other => return Err(Error::invalid("metadata version", format!("{other} is not 1 or 2"))),
    };
    if len < HEADERS {
        return Err(Error::invalid(
            "metadata length",
            format!("{len} bytes, the headers alone are {HEADERS}"),
        ));
    }
    if len + VALIDATION > METADATA_LEN {
        return Err(Error::invalid("metadata length", format!("{len} bytes, at most {METADATA_LEN} fit")));
    }
    if len + VALIDATION > bytes.len() { truncated(len + VALIDATION) } else { Ok(len) }
}

fn entries(bytes: &[u8]) -> Result<Entries<'_>, Error> {
    let [len, version, header] = [64, 68, 72].map(|at| le32(bytes, at));
    if (version, header) != (1, DATASET_HEADER as u32) {
        let why = format!("version {version} and {header} bytes, not 1 and {DATASET_HEADER}");
        return Err(Error::invalid("metadata header", why));
    }
    let room = bytes.len() - BLOCK_HEADER;
    let len = len as usize;
    if len < DATASET_HEADER || len > room {
        let why = format!("{len} bytes, between {DATASET_HEADER} and {room} fit");
        return Err(Error::invalid("length of the entries", why));
    }
    Ok(Entries::of(&bytes[HEADERS..BLOCK_HEADER + len], HEADERS))
}

/// What vouches for the metadata, behind them.
fn digest(validation: &[u8], at: usize) -> Result<Option<Wrapped>, Error> {
    let end = validation_len(validation);
    let first = Entries::of(&validation[VALIDATION..end], at + VALIDATION).next().transpose()?;
    first.filter(|entry| entry.value == value::WRAPPED).map(|entry| Wrapped::of(&entry)).transpose()
}

/// The length that the validation says, as far as it is there.
fn validation_len(validation: &[u8]) -> usize {
    usize::from(le16(validation, 0)).clamp(VALIDATION, validation.len())
}

/// What the entries say.
#[derive(Default)]
struct Content {
    description: Option<String>,
    protectors: Vec<Protector>,
    volume_key: Option<Wrapped>,
    boot_sectors: Option<BootSectors>,
}

impl Content {
    fn take(&mut self, entry: &Entry<'_>) -> Result<(), Error> {
        match entry.purpose {
            purpose::DESCRIPTION => self.description = Some(utf16(entry.data)),
            purpose::PROTECTOR if self.protectors.len() == MOST_PROTECTORS => {
                return Err(entry.refused("protector", format!("there are more than {MOST_PROTECTORS}")));
            }
            purpose::PROTECTOR => self.protectors.push(Protector::of(entry)?),
            purpose::VOLUME_KEY if self.volume_key.is_some() => {
                return Err(entry.refused("volume key", "there is one already"));
            }
            purpose::VOLUME_KEY if entry.value == value::WRAPPED => {
                self.volume_key = Some(Wrapped::of(entry)?)
            }
            purpose::BOOT_SECTORS if entry.value == value::PLACE => {
                entry.check_len(16, "place of the boot sectors")?;
                let [offset, len] = [0, 8].map(|at| Bytes(u64::from_le_bytes(field(entry.data, at))));
                self.boot_sectors = Some(BootSectors { offset, len });
            }
            _ => {}
        }
        Ok(())
    }
}

impl State {
    fn of(bytes: &[u8]) -> Self {
        Self {
            now: Conversion::of(le16(bytes, 12)),
            then: Conversion::of(le16(bytes, 14)),
            encrypted: Bytes(le64(bytes, 16)),
            converting: Bytes(le32(bytes, 24).into()),
        }
    }
}

impl Conversion {
    fn of(number: u16) -> Self {
        match number {
            1 => Self::Decrypted,
            2 => Self::Converting,
            3 => Self::Partly,
            4 => Self::Encrypted,
            5 => Self::Paused,
            other => Self::Unknown(other),
        }
    }
}

/// The header of a copy.
pub(super) const BLOCK_HEADER: usize = 64;
/// The header of its entries.
pub(super) const DATASET_HEADER: usize = 48;
pub(super) const HEADERS: usize = BLOCK_HEADER + DATASET_HEADER;
/// What is behind the entries, without the digest.
pub(super) const VALIDATION: usize = 8;
/// More than Windows makes; each costs a derivation.
pub(super) const MOST_PROTECTORS: usize = 32;
/// The method of a key that is a digest.
pub(super) const SHA_256: u16 = 0x2005;

#[cfg(test)]
mod tests;
