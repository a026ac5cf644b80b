//! Which bytes of the device a volume is, and the number of its first sector.
//!
//! | header                   | starts at                       | length         | number in XTS | LRW | CBC |
//! |--------------------------|---------------------------------|----------------|---------------|-----|-----|
//! | normal, version 1 and 2  | 512                             | to the end     | -             | 0   | 1   |
//! | normal, version 3        | encrypted area, or else 512     | volume size    | start / 512   | -   | -   |
//! | normal, from 4           | encrypted area                  | volume size    | start / 512   | -   | -   |
//! | hidden, up to 3          | end of the device - 1536 - size | hidden size    | start / 512   | 0   | 1   |
//! | hidden, from 4           | encrypted area                  | hidden size    | start / 512   | -   | -   |
//! | system                   | encrypted area                  | volume size    | start / 512   | -   | -   |
//!
//! (cryptsetup, lib/tcrypt/tcrypt.c, `TCRYPT_get_data_offset` and `TCRYPT_get_iv_offset`.) Numbers
//! count 512 bytes whatever the sector size.

use super::{Fields, Position, SECTOR};
use crate::{Bytes, Error};
use alloc::format;
use keyway_crypto::CascadeMode;

/// Where the sectors of a volume are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DataArea {
    /// The first byte on the device.
    pub offset: Bytes,
    /// The length; `None`: to the end of the device.
    pub len: Option<Bytes>,
    /// The number of the first sector, for its IV.
    pub first: u64,
}

impl Fields {
    /// The volume that a header in such a position describes. `device_len` is the length of the
    /// device that the header is on.
    ///
    /// # Errors
    /// [`Error::Invalid`] with the field: no such volume can be. Whether it ends within the data's
    /// device is for whoever knows that.
    pub fn data_area(
        &self,
        position: Position,
        mode: CascadeMode,
        device_len: Bytes,
    ) -> Result<DataArea, Error> {
        let len = self.len(position)?;
        let offset = match position.is_hidden() && self.version < 4 {
            true => self.before_its_header(len.unwrap_or_default(), device_len)?,
            false if self.version < 4 => self.shown_offset(),
            false => self.area_offset,
        };
        if !offset.0.is_multiple_of(SECTOR) {
            return Err(Error::invalid("start of the encrypted area", not_sectors(offset)));
        }
        if let Some(len) = len
            && offset.0.checked_add(len.0).is_none()
        {
            let why = format!("{} bytes from byte {} on exceed any device", len.0, offset.0);
            return Err(Error::invalid("volume size", why));
        }
        let first = match mode {
            CascadeMode::Xts => offset.0 / SECTOR,
            CascadeMode::Lrw => 0,
            CascadeMode::Cbc => 1,
        };
        Ok(DataArea { offset, len, first })
    }

    fn len(&self, position: Position) -> Result<Option<Bytes>, Error> {
        let (name, len) = match position.is_hidden() {
            true => ("size of the hidden volume", self.hidden_size),
            false if self.version < 3 => return Ok(None),
            false => ("volume size", self.volume_size),
        };
        if len.0 == 0 {
            return Err(Error::invalid(name, "it is 0"));
        }
        if !len.0.is_multiple_of(SECTOR) {
            return Err(Error::invalid(name, not_sectors(len)));
        }
        if self.version >= 4 && self.area_size < self.volume_size {
            let why = format!(
                "{} of {} bytes: in-place encryption or decryption is unfinished; let {} finish it",
                self.area_size.0, self.volume_size.0, self.program
            );
            return Err(Error::invalid("size of the encrypted area", why));
        }
        if self.version >= 4 && position.is_hidden() && self.volume_size != len {
            let why = format!("{} bytes, but the volume size is {}", len.0, self.volume_size.0);
            return Err(Error::invalid(name, why));
        }
        Ok(Some(len))
    }

    /// Where a hidden volume of that length starts that ends before its header.
    fn before_its_header(&self, len: Bytes, device_len: Bytes) -> Result<Bytes, Error> {
        let header = Position::OldHidden.offset(device_len.0).unwrap_or(0);
        let start = header.checked_sub(len.0).filter(|start| *start >= SECTOR);
        start.map(Bytes).ok_or_else(|| {
            let why = format!("{} bytes do not fit before its header at byte {header}", len.0);
            Error::invalid("size of the hidden volume", why)
        })
    }
}

fn not_sectors(bytes: Bytes) -> alloc::string::String {
    format!("{} is not a multiple of {SECTOR}", bytes.0)
}
