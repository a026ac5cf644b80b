//! What is on a device becomes a volume.

use super::Asked;
use crate::device::{self, Versions};
use crate::make::output_file;
use crate::output::failure::{Exit, Failure, Result};
use crate::output::stdio;
use keyway::storage::{Exclusive, Storage};
use keyway::{Access, Create, Device, Probe};
use std::path::Path;
use std::sync::Arc;

impl Asked {
    /// What is on the device becomes a volume.
    pub(super) fn encrypt(&self, data: &Exclusive) -> Result<()> {
        self.check_tokens()?;
        self.check_plaintext(data)?;
        if self.versions == Versions::One && (self.target.header.is_some() || self.reduce.is_some()) {
            return self.encrypt_luks1(data);
        }
        match (&self.target.header, self.reduce) {
            (Some(path), None) => self.encrypt_detached(data, path),
            (None, Some(reduce)) => self.encrypt_in_place(data, reduce),
            (Some(_), Some(_)) => {
                Err(Failure::new(Exit::Parameters, REDUCES_DETACHED).hinting(MOVES_NOTHING))
            }
            (None, None) => Err(Failure::new(Exit::Parameters, NO_ROOM_FOR_HEADER)),
        }
    }

    /// Nothing is encrypted twice.
    fn check_plaintext(&self, data: &Exclusive) -> Result<()> {
        let path = self.target.device.display();
        if self.target.header.as_ref().is_some_and(|header| device::is_same(header, &self.target.device)) {
            return Err(Failure::new(
                Exit::Parameters,
                format!("The header cannot be on {path} itself without --reduce-device-size."),
            ));
        }
        let alone = Device::options().over(&self.target.device, Arc::clone(data), Arc::clone(data));
        match alone.probe().map_err(|e| self.failed(e))? {
            Probe::Other(_) | Probe::Nothing => Ok(()),
            _ => Err(Failure::new(
                Exit::Parameters,
                format!("Device {path} is already LUKS device. Aborting operation."),
            )),
        }
    }

    fn encrypt_detached(&self, data: &Exclusive, path: &Path) -> Result<()> {
        self.check_resilience_in_place()?;
        self.check_blocks_of_plaintext(Arc::clone(data))?;
        let claimed =
            if device::exists(path) { Some(self.target.claimed(path, Access::Write)?) } else { None };
        let whole = data.len().saturating_sub(self.offset);
        self.confirm(&format!(
            "This will encrypt {}, in place, with the header in {}.{}",
            self.extent_of(whole),
            path.display(),
            self.fate_of_rest(whole)
        ))?;
        let passphrase = self.new_passphrase(&self.target.device)?;
        let storage: Arc<dyn Storage> = match &claimed {
            Some(claimed) => Arc::clone(claimed),
            None => Arc::new(output_file::new_header(path)?),
        };
        self.create()?.create_on(data, Some(storage), &passphrase)?;
        let device = self.device(data, Access::Write)?;
        let header = device.header()?;
        let found = header.try_key(&passphrase)?;
        let begun = device.begin_encryption(header, &self.how, found).map_err(|e| self.failed(e))?;
        self.go_on(begun)
    }

    fn encrypt_in_place(&self, data: &Exclusive, reduce: u64) -> Result<()> {
        let reduce = self.reduction(reduce)?;
        let offset = reduce / 2;
        self.check_reduction(data.len(), reduce)?;
        self.check_blocks_of_plaintext(Arc::clone(data))?;
        self.confirm(&self.warning_of_encryption(data.len(), reduce))?;
        let passphrase = self.new_passphrase(&self.target.device)?;
        let uuid = self.uuid.clone().map_or_else(Create::random_uuid, Ok)?;
        let path = Path::new(".").join(format!("LUKS2-temp-{uuid}.new"));
        let create = self.create()?.uuid(&uuid).data_offset(offset / 512);
        let file: Arc<dyn Storage> = Arc::new(output_file::new_header(&path)?);
        let manner = self.target.manner;
        stdio::verbose(
            manner,
            &format!("The header is kept in {} until it is on the device.", path.display()),
        )?;
        let begun = create.create_on(data, Some(Arc::clone(&file)), &passphrase).and_then(|_| {
            let options = Device::options().write(true).header(path.clone());
            let header = options.over(&self.target.device, Arc::clone(data), Arc::clone(&file)).header()?;
            let found = header.try_key(&passphrase)?;
            let device = self.target.over(Arc::clone(data), Arc::clone(data), true);
            device.begin_encryption_in_place(header, &self.how, found)
        });
        match begun {
            Ok(begun) => {
                let _ = std::fs::remove_file(&path);
                self.go_on(begun)
            }
            Err(error) => Err(self.failed(error).hinting(format!(
                "If {} cannot be used as before, resume with \"keyway reencrypt --resume-only --header {} \
                 {}\".",
                self.target.device.display(),
                path.display(),
                self.target.device.display()
            ))),
        }
    }

    /// The question where the data moves back by `reduce` bytes, of a device of `len`.
    pub(super) fn warning_of_encryption(&self, len: u64, reduce: u64) -> String {
        let whole = len.saturating_sub(reduce);
        format!(
            "This will encrypt {} in place, and overwrite the last {reduce} bytes of the device: the file system must \
             end before them.{}",
            self.extent_of(whole),
            self.fate_of_rest(whole)
        )
    }

    /// The header of what is to be encrypted. A file system that is there already may have blocks of
    /// 512 bytes, which larger sectors could not store.
    pub(super) fn create(&self) -> Result<Create> {
        let create = self.header.create()?;
        Ok(if self.new_sector_size.is_some() { create } else { create.sector_size(512) })
    }

    /// Where `--offset` says where the data is to begin, no more room is made.
    fn reduction(&self, reduce: u64) -> Result<u64> {
        match self.offset {
            0 => Ok(reduce),
            offset if offset > reduce / 2 => Err(Failure::new(Exit::Parameters, OFFSET_TOO_LARGE)),
            offset if offset < reduce / 2 => {
                let sectors = 2 * offset / 512;
                say!("Adjusting --reduce-device-size value to twice the --offset {sectors} (sectors).");
                Ok(2 * offset)
            }
            _ => Ok(reduce),
        }
    }

    /// Twice the header must fit.
    pub(super) fn check_reduction(&self, len: u64, reduce: u64) -> Result<()> {
        let refuse = |message: String| Err(Failure::new(Exit::Parameters, message));
        if !reduce.is_multiple_of(1024) || reduce / 2 < LEAST_HEADER {
            return refuse(format!(
                "--reduce-device-size {reduce} is too small: half of it is the header, which takes {LEAST_HEADER} bytes; \
                 32M is usual. Nothing was written."
            ));
        }
        if len <= reduce {
            return refuse(format!(
                "Device {} is too small: it has {} bytes, and --reduce-device-size takes {reduce}.",
                self.target.device.display(),
                len
            ));
        }
        Ok(())
    }
}

/// What is refused, with an estimate too.
pub(super) const REDUCES_DETACHED: &str =
    "With a header on another device (--header) the data needs no --reduce-device-size.";
const MOVES_NOTHING: &str = "Without it the data stays where it is; without --header it moves back, and the header goes before it. (cryptsetup \
     takes both, moves nothing, and protects nothing from a power failure.) Nothing was written.";
const OFFSET_TOO_LARGE: &str =
    "Requested data offset must be less than or equal to half of --reduce-device-size parameter.";
pub(super) const NO_ROOM_FOR_HEADER: &str = "Encryption without detached header (--header) is not possible without data \
     device size reduction (--reduce-device-size).";

/// The smallest header with room for two keyslots and what protects a re-encryption.
const LEAST_HEADER: u64 = 1 << 20;
