//! Metadata in the making: new ones, or those of a volume with other protectors. What is not touched stays as it is, to
//! the byte. Each is sealed with a checksum and a digest of its own; the layout is [`Metadata`]'s.

use super::boot_sector::SIGNATURE;
use super::entry::{Entries, bytes_of, purpose, value};
use super::metadata::{BLOCK_HEADER, DATASET_HEADER, HEADERS, MOST_PROTECTORS, SHA_256, VALIDATION};
use super::{BootSectors, Encryption, Guid, Key, METADATA_LEN, Metadata, Nonces, Wrapped, le32};
use crate::crc32::crc32;
use crate::{Bytes, Error};
use alloc::format;
use alloc::vec::Vec;
use keyway_crypto::{Cpu, Hash, Secret};

/// What metadata of a new volume say, but for its protectors.
pub struct NewMetadata<'a> {
    /// How long the volume is.
    pub len: Bytes,
    /// Where the three copies are.
    pub copies: [Bytes; 3],
    /// Where the volume's first sectors are.
    pub boot_sectors: BootSectors,
    /// The length of a sector.
    pub sector_size: Bytes,
    /// The volume's identifier.
    pub guid: Guid,
    /// When it is made, in units of 100 ns since 1601.
    pub created: u64,
    /// How it is encrypted.
    pub encryption: Encryption,
    /// Who makes it, where and when.
    pub description: &'a str,
    /// The key of its data.
    pub volume_key: &'a Secret,
}

impl NewMetadata<'_> {
    /// The metadata, still without protectors.
    ///
    /// # Errors
    /// [`Error::Invalid`]: the description is too long, or the master key is none of AES.
    pub fn draft(&self, master_key: &Secret, nonces: &mut Nonces, cpu: Cpu) -> Result<Draft, Error> {
        let text: Vec<u8> = self.description.encode_utf16().chain([0]).flat_map(u16::to_le_bytes).collect();
        if text.len() > LONGEST_TEXT || self.description.contains('\0') {
            let why = format!("at most {} characters of UTF-16, none of them NUL, fit", LONGEST_TEXT / 2 - 1);
            return Err(Error::invalid("description", why));
        }
        let key = Key { method: self.encryption.method, bytes: Secret::copy_from(self.volume_key.expose()) };
        let wrapped = Wrapped::wrap(&key, master_key, nonces.take(), cpu)?;
        let place = [self.boot_sectors.offset.0, self.boot_sectors.len.0].map(u64::to_le_bytes);
        let entries = [
            bytes_of(purpose::DESCRIPTION, value::TEXT, &text),
            bytes_of(purpose::VOLUME_KEY, value::WRAPPED, &wrapped.to_bytes()),
            bytes_of(purpose::BOOT_SECTORS, value::PLACE, place.as_flattened()),
        ];
        Ok(Draft { bytes: [self.headers().to_vec(), entries.concat()].concat() })
    }

    /// Both headers; what depends on the entries is put in last.
    fn headers(&self) -> [u8; HEADERS] {
        let mut bytes = [0; HEADERS];
        bytes[..8].copy_from_slice(SIGNATURE);
        for (at, field) in [(10, VERSION), (12, ENCRYPTED), (14, ENCRYPTED), (100, self.encryption.method)] {
            bytes[at..at + 2].copy_from_slice(&field.to_le_bytes());
        }
        bytes[102..104].copy_from_slice(&self.encryption.method.to_le_bytes());
        let sectors = self.boot_sectors.len.0 / self.sector_size.0.max(1);
        for (at, field) in [(28, sectors as u32), (68, 1), (72, DATASET_HEADER as u32)] {
            bytes[at..at + 4].copy_from_slice(&field.to_le_bytes());
        }
        let [one, two, three] = self.copies;
        let places = [(32, one), (40, two), (48, three), (56, self.boot_sectors.offset)];
        for (at, field) in [(16, self.len)].into_iter().chain(places) {
            bytes[at..at + 8].copy_from_slice(&field.0.to_le_bytes());
        }
        bytes[80..96].copy_from_slice(&self.guid.0);
        bytes[104..112].copy_from_slice(&self.created.to_le_bytes());
        bytes
    }
}

/// Headers and entries that are not sealed yet.
pub struct Draft {
    bytes: Vec<u8>,
}

impl Draft {
    /// Those of a volume.
    pub fn of(metadata: &Metadata) -> Self {
        Self { bytes: metadata.as_bytes()[..metadata.end()].to_vec() }
    }

    /// Puts a protector behind the others. `entry` is what
    /// [`NewProtector::entry`](super::NewProtector::entry) gives.
    ///
    /// # Errors
    /// [`Error::Invalid`]: there are as many as are read.
    pub fn add(&mut self, entry: &[u8]) -> Result<(), Error> {
        let protectors = self.places(purpose::PROTECTOR);
        if protectors.len() >= MOST_PROTECTORS {
            return Err(Error::invalid("protectors", format!("there are {MOST_PROTECTORS} already")));
        }
        let first_key = || self.places(purpose::VOLUME_KEY).first().map(|key| key.start);
        let at = protectors.last().map(|last| last.end).or_else(first_key).unwrap_or(HEADERS);
        self.bytes.splice(at..at, entry.iter().copied());
        Ok(())
    }

    /// Removes a protector, by its number among those of [`Metadata::protectors`].
    ///
    /// # Errors
    /// [`Error::Invalid`]: there is none of that number.
    pub fn remove(&mut self, number: usize) -> Result<(), Error> {
        let place = self.places(purpose::PROTECTOR).get(number).cloned();
        let place =
            place.ok_or_else(|| Error::invalid("protectors", format!("there is no number {number}")))?;
        self.bytes.drain(place);
        Ok(())
    }

    /// A copy as it goes to the disk, all [`METADATA_LEN`] bytes: Windows counts what is behind the digest as its own, too.
    ///
    /// # Errors
    /// [`Error::Invalid`]: it has become too long, or the master key is none of AES.
    pub fn sealed(self, master_key: &Secret, nonces: &mut Nonces, cpu: Cpu) -> Result<Vec<u8>, Error> {
        let Self { mut bytes } = self;
        let entries = (bytes.len() - BLOCK_HEADER) as u32;
        bytes.resize(bytes.len().next_multiple_of(16), 0);
        if bytes.len() + VALIDATION + DIGEST > METADATA_LEN {
            return Err(Error::invalid("metadata length", format!("at most {METADATA_LEN} bytes fit")));
        }
        let units = (bytes.len() / 16) as u16;
        bytes[8..10].copy_from_slice(&units.to_le_bytes());
        for (at, field) in [(64, entries), (76, entries), (96, nonces.after(1))] {
            bytes[at..at + 4].copy_from_slice(&u32::to_le_bytes(field));
        }
        let digest = Key { method: SHA_256, bytes: Secret::copy_from(&Hash::Sha256.digest(&[&bytes])) };
        let wrapped = Wrapped::wrap(&digest, master_key, nonces.take_for_digest(), cpu)?;
        let digest = bytes_of(purpose::PROPERTY, value::WRAPPED, &wrapped.to_bytes());
        let (len, sum) = ((METADATA_LEN - bytes.len()) as u16, crc32(&bytes));
        bytes.extend([len.to_le_bytes(), VALIDATION_VERSION.to_le_bytes()].as_flattened());
        bytes.extend(sum.to_le_bytes());
        bytes.extend(digest);
        bytes.resize(METADATA_LEN, 0);
        Ok(bytes)
    }

    /// The counter of the next nonce.
    pub fn next_nonce(&self) -> u32 {
        le32(&self.bytes, 96)
    }

    /// Where the entries of a purpose are.
    fn places(&self, of: u16) -> Vec<core::ops::Range<usize>> {
        let entries = Entries::of(&self.bytes[HEADERS..], HEADERS).map_while(Result::ok);
        let chosen = entries.filter(|entry| entry.purpose == of);
        chosen.map(|entry| entry.at - super::entry::HEADER..entry.at + entry.data.len()).collect()
    }
}

/// Windows 7 and later.
const VERSION: u16 = 2;
/// The number of [`Conversion::Encrypted`](super::Conversion::Encrypted).
const ENCRYPTED: u16 = 4;
/// What Windows writes before a checksum.
const VALIDATION_VERSION: u16 = 2;
/// An entry that wraps a digest.
const DIGEST: usize = 80;
/// A description's bytes; Windows' are far shorter.
const LONGEST_TEXT: usize = 512;

#[cfg(test)]
mod tests;
