//! The first 512 bytes of a physical volume of Core Storage; a copy is at its end.
//!
//! | offset | length | field                                                      |
//! |--------|--------|------------------------------------------------------------|
//! | 0      | 4      | CRC-32C of the bytes from 8 on, not inverted at the end       |
//! | 4      | 4      | the register that it begins with: ffffffff                   |
//! | 8      | 2      | version: 1                                                 |
//! | 10     | 2      | block type: 16                                             |
//! | 64     | 8      | size of the physical volume in bytes                       |
//! | 88     | 2      | "CS"                                                       |
//! | 90     | 4      | checksum's algorithm: 1                                    |
//! | 96     | 4      | bytes in a block                                           |
//! | 100    | 4      | bytes that a label has                                     |
//! | 104    | 4 × 8  | where the labels are, in blocks; 0: there is none            |
//! | 168    | 4      | bytes in the key: 16                                       |
//! | 172    | 4      | cipher: 2 (AES-XTS)                                        |
//! | 176    | 16     | the first half of the metadata's key                       |
//! | 304    | 16     | UUID of the physical volume: the other half                |

use super::Uuid;
use crate::le::{field, le16, le32, le64};
use crate::{Bytes, Error, crc32};
use alloc::format;
use keyway_crypto::{AesXts, Cpu};

/// A physical volume's header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VolumeHeader {
    /// The length of the physical volume.
    pub size: Bytes,
    /// A block, in which places are counted.
    pub block_size: Bytes,
    /// The length of a label.
    pub label_size: Bytes,
    /// Where the labels are; those that there are.
    pub labels: [Option<Bytes>; 4],
    /// The UUID of the physical volume.
    pub uuid: Uuid,
    key: [u8; 16],
}

impl VolumeHeader {
    /// The bytes that are read.
    pub const LEN: usize = 512;

    /// Parses the first [`VolumeHeader::LEN`] bytes of a device; those after them are ignored.
    ///
    /// # Errors
    /// [`Error::Truncated`]; [`Error::Checksum`]; [`Error::Invalid`] with the field.
    pub fn parse(bytes: &[u8]) -> Result<Self, Error> {
        let Some(bytes) = bytes.first_chunk::<{ Self::LEN }>() else {
            return Err(Error::Truncated { needs: Self::LEN as u64, has: bytes.len() as u64 });
        };
        if (le16(bytes, 8), le16(bytes, 10), &bytes[88..90]) != (1, 0x10, b"CS") {
            return Err(Error::invalid("volume header", "it is not Core Storage's"));
        }
        if crc32::crc32c_register(&bytes[8..], le32(bytes, 4)) != le32(bytes, 0) {
            return Err(Error::Checksum);
        }
        let is = |name: &str, at: usize, expected: u32| match le32(bytes, at) {
            found if found == expected => Ok(()),
            found => {
                Err(Error::invalid(format!("volume header: {name}"), format!("{found} is not {expected}")))
            }
        };
        is("algorithm of the checksums", 90, 1)?;
        is("bytes in the key", 168, 16)?;
        is("cipher", 172, 2)?;
        let block_size = le32(bytes, 96);
        if !block_size.is_power_of_two() || !(512..=1 << 20).contains(&block_size) {
            return Err(Error::invalid("volume header: bytes in a block", format!("{block_size}")));
        }
        let block_size = Bytes(block_size.into());
        let mut labels = [None; 4];
        for (number, label) in labels.iter_mut().enumerate() {
            *label = place(le64(bytes, 104 + 8 * number), block_size)?;
        }
        Ok(Self {
            size: Bytes(le64(bytes, 64)),
            block_size,
            label_size: Bytes(le32(bytes, 100).into()),
            labels,
            uuid: Uuid(field(bytes, 304)),
            key: field(bytes, 176),
        })
    }

    /// The cipher of the metadata: a block of them is a data unit, whose number is its place among them.
    pub fn metadata_cipher(&self, cpu: Cpu) -> AesXts {
        let mut key = [0; 32];
        key[..16].copy_from_slice(&self.key);
        key[16..].copy_from_slice(&self.uuid.0);
        AesXts::new(&key, cpu).expect("32 bytes are a key of AES-128-XTS")
    }
}

/// A place in blocks; 0 is none.
pub(super) fn place(block: u64, block_size: Bytes) -> Result<Option<Bytes>, Error> {
    match block.checked_mul(block_size.0) {
        Some(0) => Ok(None),
        Some(at) => Ok(Some(Bytes(at))),
        None => Err(Error::invalid("place", format!("block {block} is beyond every device"))),
    }
}
