//! A volume becomes plaintext.

use super::Asked;
use super::header_backup::copy_to;
use crate::device;
use crate::output::failure::{Exit, Failure, Result};
use keyway::storage::Exclusive;
use keyway::{Access, Device, Header};
use std::path::Path;
use std::sync::Arc;

impl Asked {
    /// The volume becomes plaintext; its header is elsewhere already.
    pub(super) fn decrypt(&self, data: &Exclusive) -> Result<()> {
        let Some(path) = &self.target.header else {
            return Err(Failure::new(Exit::Parameters, NEEDS_HEADER));
        };
        let device = self.device(data, Access::Write)?;
        let header = self.header_of(&device)?;
        if has_data_behind(&header) && self.is_left_of_export(data, path)? {
            return self.export_and_decrypt(data);
        }
        if has_data_behind(&header) {
            return Err(Failure::new(Exit::Parameters, NOT_DETACHED));
        }
        self.check_resilience_in_place()?;
        self.confirm(&self.warning_of_plaintext(path, header.luks().header().data_len_on(data.len())))?;
        let found = self.one_key(&header)?;
        self.back_up(&header)?;
        let begun =
            device.begin_decryption(header, &self.how, found).map_err(|e| self.not_begun(&device, e))?;
        self.go_on(begun)
    }

    /// The volume becomes plaintext; its header moves to a file that does not exist yet.
    pub(super) fn export_and_decrypt(&self, data: &Exclusive) -> Result<()> {
        let Some(path) = &self.target.header else {
            return Err(Failure::new(Exit::Parameters, NEEDS_HEADER));
        };
        self.check_resilience_of_shift()?;
        let own = Device::options().write(true).over(&self.target.device, Arc::clone(data), Arc::clone(data));
        let header = self.header_of(&own)?;
        self.confirm(&self.warning_of_plaintext(path, header.luks().header().data_len_on(data.len())))?;
        // Before anything is written, the key must be there.
        let (_, key) = self.asked(&header, None)?;
        self.back_up(&header)?;
        copy_to(path, &header).map_err(|e| self.not_begun(&own, e))?;
        let device = self.device(data, Access::Write)?;
        let header = device.header()?;
        let found = header.try_key(&key)?;
        let begun = device.begin_decryption(header, &self.how, found).map_err(|e| {
            let way = format!("The header is in {}, too.", path.display());
            self.not_begun(&device, e).hinting(way)
        })?;
        self.go_on(begun)
    }

    /// Whether `--header` names a file that is to be made of the header on the device.
    pub(super) fn is_to_be_exported(&self) -> bool {
        self.target.header.as_ref().is_some_and(|header| !device::exists(header))
    }

    /// Whether an attempt was cut off after it had made this file of the header on the device, and before anything else.
    fn is_left_of_export(&self, data: &Exclusive, path: &Path) -> Result<bool> {
        let own = Device::options().over(&self.target.device, Arc::clone(data), Arc::clone(data));
        match own.header() {
            Ok(header) if !device::is_same(path, &self.target.device) => Ok(header.is_backed_up_in(path)?),
            _ => Ok(false),
        }
    }

    pub(super) fn warning_of_plaintext(&self, header: &Path, whole: u64) -> String {
        format!(
            "This will decrypt {}, in place.{} The header is kept in {} until that is done.",
            self.extent_of(whole),
            self.fate_of_rest(whole),
            header.display()
        )
    }
}

/// Whether the data begins behind a header, so that it moves where it is decrypted.
pub(super) fn has_data_behind(header: &Header) -> bool {
    header.segments().first().is_none_or(|segment| segment.offset > 0)
}

/// What is refused, with an estimate too; cryptsetup's words where it has some.
pub(super) const NEEDS_HEADER: &str = "LUKS2 decryption requires --header option.";
pub(super) const NOT_DETACHED: &str =
    "LUKS2 decryption is supported with detached header device only (with data offset set to 0).";
