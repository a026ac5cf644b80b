//! The header: 64 bytes of salt, then what is encrypted. All numbers are big-endian.
//!
//! | offset | length | field                                                          | since    |
//! |--------|--------|----------------------------------------------------------------|----------|
//! | 0      | 64     | salt of the KDF, not encrypted                                 |          |
//! | 64     | 4      | magic `TRUE` or `VERA`                                         |          |
//! | 68     | 2      | version: 1, 2 (before TrueCrypt 5), 3 (5), 4 (6), 5 (7, VeraCrypt) |      |
//! | 70     | 2      | lowest version of the program that can open it                 |          |
//! | 72     | 4      | CRC-32 of bytes 256 to 511                                     |          |
//! | 76     | 8      | time of the volume's creation; later zeros                     |          |
//! | 84     | 8      | time of the header's creation; later zeros                     |          |
//! | 92     | 8      | size of the hidden volume, in its header                       |          |
//! | 100    | 8      | size of the volume                                             | 3        |
//! | 108    | 8      | where the encrypted area starts                                | 3        |
//! | 116    | 8      | size of the encrypted area                                     | 3        |
//! | 124    | 4      | flags: 1 system encryption, 2 encrypted in place               | 4        |
//! | 128    | 4      | sector size                                                    | 5        |
//! | 132    | 120    | zeros                                                          |          |
//! | 252    | 4      | CRC-32 of bytes 64 to 251                                      | 4        |
//! | 256    | 256    | keys, as [`keyway_crypto::Cascade`] takes them                 |          |
//!
//! Fields that a version does not have are kept as they are.

use super::Program;
use crate::crc32::crc32;
use crate::{Bytes, Error};
use alloc::format;
use core::fmt;
use core::ops::Deref;
use keyway_crypto::Secret;

/// Bytes of a header on disk.
pub const HEADER_LEN: usize = 512;
/// Bytes of the salt, which comes first.
pub const SALT_LEN: usize = 64;
/// Bytes of the keys, which come last.
pub const KEYS_LEN: usize = 256;
/// The unit of encryption in bytes, whatever the sector size.
pub const SECTOR: u64 = 512;

/// A decrypted header that fits its checksums. Its [`Fields`] are read through deref.
pub struct Header {
    fields: Fields,
    keys: Secret,
}

/// What a [`Header`] says, but for its keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fields {
    /// Whose magic it has.
    pub program: Program,
    /// The header's version, 1 to 5.
    pub version: u16,
    /// The lowest version of the program that can open it: 0x071a is 7.1a.
    pub required: u16,
    /// Volume and header creation time, in 100 ns since 1601; zero in later versions.
    pub created: [u64; 2],
    /// The size of the hidden volume, in its header; else zero.
    pub hidden_size: Bytes,
    /// The size of the volume (version 3).
    pub volume_size: Bytes,
    /// Where the encrypted area starts (version 3).
    pub area_offset: Bytes,
    /// The size of what is encrypted by now (version 3).
    pub area_size: Bytes,
    /// Flags (version 4).
    pub flags: u32,
    /// The sector size of the device it was made on, in bytes (version 5).
    pub sector_size: u32,
    /// What should be zeros. The last four bytes are the checksum from version 4 on, and then not
    /// read.
    pub reserved: [u8; 124],
}

impl Deref for Header {
    type Target = Fields;

    fn deref(&self) -> &Fields {
        &self.fields
    }
}

impl fmt::Debug for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fields.fmt(f)
    }
}

impl Header {
    /// Reads the decrypted part: 448 bytes; what follows them is ignored. `None` if they do not
    /// start with the program's magic: then key, cipher or KDF are others.
    ///
    /// # Errors
    /// [`Error::Invalid`] with the field: it was decrypted, but is damaged or from a later version.
    pub fn parse(decrypted: &[u8], program: Program) -> Result<Option<Self>, Error> {
        let Some(bytes) = decrypted.first_chunk::<ENCRYPTED_LEN>() else {
            return Err(Error::Truncated { needs: ENCRYPTED_LEN as u64, has: decrypted.len() as u64 });
        };
        if bytes[..4] != *program.magic() {
            return Ok(None);
        }
        let fields = Fields::read(bytes, program);
        let keys = Secret::copy_from(&bytes[KEYS..]);
        fields.check()?;
        check_sum("checksum of the keys", be32(bytes, 8), keys.expose())?;
        if fields.has_checksum() {
            check_sum("checksum of the header", be32(bytes, CHECKSUM), &bytes[..CHECKSUM])?;
        }
        Ok(Some(Self { fields, keys }))
    }

    /// A header of such fields and keys ([`KEYS_LEN`] bytes, unused ones included).
    ///
    /// # Errors
    /// [`Error::Invalid`] with the field.
    pub fn new(fields: Fields, keys: Secret) -> Result<Self, Error> {
        fields.check()?;
        if keys.len() != KEYS_LEN {
            return Err(Error::invalid("keys", format!("{KEYS_LEN} bytes, not {}", keys.len())));
        }
        Ok(Self { fields, keys })
    }

    /// The decrypted part, with its checksums; parsing it gives the same header.
    pub fn to_bytes(&self) -> Secret {
        let mut secret = Secret::zeroed(ENCRYPTED_LEN);
        let bytes = secret.expose_mut();
        bytes[KEYS..].copy_from_slice(self.keys.expose());
        self.fields.write(&mut bytes[..KEYS]);
        bytes[8..12].copy_from_slice(&crc32(self.keys.expose()).to_be_bytes());
        if self.fields.has_checksum() {
            let sum = crc32(&bytes[..CHECKSUM]).to_be_bytes();
            bytes[CHECKSUM..KEYS].copy_from_slice(&sum);
        }
        secret
    }

    /// The keys of the data, [`KEYS_LEN`] bytes; those that the cipher does not need are random.
    pub fn keys(&self) -> &Secret {
        &self.keys
    }
}

impl Fields {
    fn read(bytes: &[u8; ENCRYPTED_LEN], program: Program) -> Self {
        let mut reserved = [0; 124];
        reserved.copy_from_slice(&bytes[68..KEYS]);
        let mut fields = Self {
            program,
            version: be16(bytes, 4),
            required: be16(bytes, 6),
            created: [be64(bytes, 12), be64(bytes, 20)],
            hidden_size: Bytes(be64(bytes, 28)),
            volume_size: Bytes(be64(bytes, 36)),
            area_offset: Bytes(be64(bytes, 44)),
            area_size: Bytes(be64(bytes, 52)),
            flags: be32(bytes, 60),
            sector_size: be32(bytes, 64),
            reserved,
        };
        if fields.has_checksum() {
            fields.reserved[120..].fill(0);
        }
        fields
    }

    /// Everything before the keys, but for the checksums.
    fn write(&self, bytes: &mut [u8]) {
        bytes[..4].copy_from_slice(self.program.magic());
        bytes[4..6].copy_from_slice(&self.version.to_be_bytes());
        bytes[6..8].copy_from_slice(&self.required.to_be_bytes());
        let sizes = [self.hidden_size, self.volume_size, self.area_offset, self.area_size].map(|size| size.0);
        for (bytes, number) in bytes[12..60].chunks_exact_mut(8).zip(self.created.into_iter().chain(sizes)) {
            bytes.copy_from_slice(&number.to_be_bytes());
        }
        bytes[60..64].copy_from_slice(&self.flags.to_be_bytes());
        bytes[64..68].copy_from_slice(&self.sector_size.to_be_bytes());
        bytes[68..].copy_from_slice(&self.reserved);
    }

    /// What no version of the programs writes.
    fn check(&self) -> Result<(), Error> {
        if !(1..=LAST_VERSION).contains(&self.version) {
            let why = format!("{} is not one of 1 to {LAST_VERSION}", self.version);
            return Err(Error::invalid("header version", why));
        }
        let size = self.sector_size;
        if self.version >= 5 && (!(512..=4096).contains(&size) || !size.is_multiple_of(512)) {
            return Err(Error::invalid("sector size", format!("{size} is not 512, 1024, 2048 or 4096")));
        }
        Ok(())
    }

    /// The sector size that the dump shows, in bytes; 512 where the header names none.
    pub fn shown_sector_size(&self) -> u32 {
        if self.sector_size == 0 { 512 } else { self.sector_size }
    }

    /// Where the dump shows the encrypted area to start; 512 where the header does not say.
    pub fn shown_offset(&self) -> Bytes {
        if self.area_offset.0 == 0 { Bytes(SECTOR) } else { self.area_offset }
    }

    fn has_checksum(&self) -> bool {
        self.version >= 4
    }
}

fn check_sum(name: &str, written: u32, bytes: &[u8]) -> Result<(), Error> {
    match crc32(bytes) == written {
        true => Ok(()),
        false => Err(Error::invalid(name, "it does not match: the header is damaged")),
    }
}

fn be16(bytes: &[u8; ENCRYPTED_LEN], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

fn be32(bytes: &[u8; ENCRYPTED_LEN], at: usize) -> u32 {
    u32::from(be16(bytes, at)) << 16 | u32::from(be16(bytes, at + 2))
}

fn be64(bytes: &[u8; ENCRYPTED_LEN], at: usize) -> u64 {
    u64::from(be32(bytes, at)) << 32 | u64::from(be32(bytes, at + 4))
}

/// Bytes of the encrypted part.
const ENCRYPTED_LEN: usize = HEADER_LEN - SALT_LEN;
/// Where the keys begin in the encrypted part.
const KEYS: usize = ENCRYPTED_LEN - KEYS_LEN;
/// Where the checksum of the header is.
const CHECKSUM: usize = KEYS - 4;
const LAST_VERSION: u16 = 5;
