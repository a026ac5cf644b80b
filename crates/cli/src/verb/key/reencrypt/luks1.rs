//! LUKS1 volumes: their re-encryption is kept in files of the current directory.

use super::{Asked, What};
use crate::device;
use crate::make::output_file;
use crate::output::failure::{Exit, Failure, Result};
use crate::unlock;
use crate::verb::key::reencrypt::Extent;
use keyway::parts::{Error, Luks};
use keyway::storage::{Exclusive, Storage};
use keyway::{Access, Create, Header, Key, Luks1Change, Luks1Files, Reencrypt, Version};
use keyway_crypto::CipherSpec;
use std::path::Path;
use std::sync::Arc;

impl Asked {
    /// The files of a re-encryption that is under way.
    pub(super) fn luks1_under_way(&self, data: &Exclusive) -> Result<Option<Luks1Files>> {
        let here = |uuid: &str| Luks1Files::new("", uuid);
        let has_header = self.target.header.as_ref().is_none_or(|header| device::exists(header));
        if has_header {
            let device = self.device(data, Access::Write)?;
            if let Some(uuid) = device.luks1_in_reencryption()? {
                let files = here(&uuid);
                return if files.are_there() { Ok(Some(files)) } else { Err(self.without_state(&files)) };
            }
            // Before the header was taken out of use, or after the new one took its place.
            if let Ok(header) = device.header()
                && header.version() == Version::Luks1
                && here(header.uuid()).state().exists()
            {
                return Ok(Some(here(header.uuid())));
            }
        }
        let files = match (self.what, &self.uuid) {
            (What::Decrypt, Some(uuid)) => {
                let files = here(uuid);
                if !files.are_there() {
                    let message = "No decryption in progress, provided UUID can be used only to resume suspended \
                                   decryption process.";
                    return Err(Failure::new(Exit::Parameters, message));
                }
                files
            }
            (What::Encrypt, _) => Luks1Files::of_plaintext(""),
            _ => return Ok(None),
        };
        Ok(Some(files).filter(Luks1Files::are_there))
    }

    pub(super) fn without_state(&self, files: &Luks1Files) -> Failure {
        let device = self.target.header_path().display();
        let message = format!("Device {device} is LUKS1 in reencryption.");
        let way = format!(
            "Resume it in the directory where it was begun: it has the file {}, or cryptsetup's {}. Nothing \
             was changed.",
            files.state().display(),
            files.log_of_cryptsetup().display()
        );
        Failure::new(Exit::Parameters, message).hinting(way)
    }

    /// Another key, cipher or hash.
    pub(super) fn reencrypt_luks1(&self, data: &Exclusive) -> Result<()> {
        let device = self.device(data, Access::Write)?;
        let header = self.header_of(&device)?;
        let how = self.new_luks1(&header)?;
        self.confirm_reduction()?;
        self.confirm_size(
            header.luks().header().data_len_on(data.len()).saturating_sub(self.reduce.unwrap_or(0)),
        )?;
        let keys = self.passphrases(&header)?;
        self.back_up_if_named(&header)?;
        let files = Luks1Files::new("", header.uuid());
        let change = Luks1Change::Reencrypt(header, keys);
        let begun = device.begin_luks1(change, &how, &files).map_err(|e| self.failed(e))?;
        self.go_on_by(begun, &self.again("--resume-only"))
    }

    pub(super) fn decrypt_luks1(&self, data: &Exclusive) -> Result<()> {
        let device = self.device(data, Access::Write)?;
        let header = self.header_of(&device)?;
        let whole = header.luks().header().data_len_on(data.len());
        self.confirm(&format!(
            "This will decrypt {}, in place.{}",
            self.extent_of(whole),
            self.fate_of_rest(whole)
        ))?;
        let (found, _) = self.asked(&header, self.key.keyslot)?;
        self.back_up_if_named(&header)?;
        let uuid = header.uuid().to_owned();
        let files = Luks1Files::new("", &uuid);
        let change = Luks1Change::Decrypt(header, found);
        let begun = device.begin_luks1(change, &self.how, &files).map_err(|e| self.failed(e))?;
        self.go_on_by(begun, &self.again(&format!("--decrypt --uuid {uuid}")))
    }

    /// What is on the device becomes a LUKS1 volume.
    pub(super) fn encrypt_luks1(&self, data: &Exclusive) -> Result<()> {
        self.confirm(&match (&self.target.header, self.reduce.unwrap_or(0)) {
            (Some(header), reduce) => {
                let whole = data.len().saturating_sub(reduce);
                let (extent, rest) = (self.extent_of(whole), self.fate_of_rest(whole));
                format!(
                    "This will encrypt {extent}, in place, with the header in {}.{rest}",
                    header.display()
                )
            }
            (None, reduce) => self.warning_of_encryption(data.len(), reduce),
        })?;
        let key = self.new_passphrase(&self.target.device)?;
        let header: Option<Arc<dyn Storage>> = match &self.target.header {
            Some(path) => Some(self.header_storage(path)?),
            None => None,
        };
        let header = header.unwrap_or_else(|| Arc::clone(data));
        let device = self.target.over(Arc::clone(data), header, true);
        let spec = self.spec(None)?;
        let bits = self.key.key_bits.unwrap_or_else(|| Create::default_key_bits(&spec));
        Version::Luks1.check_key_bits(&spec, bits)?;
        let how = self.how.clone().cipher(&spec.to_string(), bits).data_shift(self.reduce.unwrap_or(0));
        let how = self.with_given_key(how.keyslot(self.keyslot.for_luks1()?), bits)?;
        let keyslot = self.key.keyslot.unwrap_or(0);
        let change = Luks1Change::Encrypt { key, keyslot, uuid: self.uuid.clone() };
        let files = Luks1Files::of_plaintext("");
        if files.new_header().exists() {
            say!("{} exists, from an interrupted attempt: resuming it.", files.new_header().display());
        }
        let begun = device.begin_luks1(change, &how, &files).map_err(|e| self.failed(e))?;
        self.go_on_by(begun, &self.again("--encrypt --type luks1"))
    }

    /// Goes on with what is under way.
    pub(super) fn resume_luks1(&self, data: &Exclusive, files: &Luks1Files) -> Result<()> {
        if self.extent == Extent::Begin {
            let message = "LUKS1 reencryption already initialized. Aborting operation.";
            return Err(Failure::new(Exit::Parameters, message));
        }
        if files.state().exists() {
            self.check_size_of_luks1(files, data.len())?;
            say!("{} exists, resuming reencryption.", files.state().display());
        } else {
            say!(
                "Log file {} exists, resuming reencryption. If cryptsetup was killed rather than stopped, \
                 data that it wrote after its last log entry is encrypted twice.",
                files.log_of_cryptsetup().display()
            );
        }
        let header = match &self.target.header {
            Some(path) => self.header_storage(path)?,
            None => Arc::clone(data),
        };
        self.find_named_backup(files);
        let device = self.target.over(Arc::clone(data), header, true);
        let source = self.key.passphrase.existing(unlock::prompt_for(self.target.header_path()));
        let options = self.key.of_keyslot();
        let job = self.key.ask(&source, &options, |passphrase| {
            device.resume_luks1(&self.how, &Key::Passphrase(passphrase), files)
        })?;
        let again = match (self.what, &self.uuid) {
            (What::Decrypt, Some(uuid)) => format!("--decrypt --uuid {uuid}"),
            (What::Encrypt, _) => "--encrypt --type luks1".to_owned(),
            _ => "--resume-only".to_owned(),
        };
        self.go_on_by(job, &self.again(&again))
    }

    /// Refuses another `--device-size` than its state says. (A log of cryptsetup's says none.)
    fn check_size_of_luks1(&self, files: &Luks1Files, device_len: u64) -> Result<()> {
        if self.data_len.is_none() {
            return Ok(());
        }
        let state = device::storage(&files.state(), Access::Probe)?;
        let state = Luks::open_with(state, Access::Probe, self.target.locking)?;
        let why = format!("{} is a LUKS1 volume", self.target.header_path().display());
        self.check_size_stays(&state, device_len, &why)
    }

    /// How the volume is encrypted afterwards. As in cryptsetup, `--key-size` and `--volume-key-file`
    /// are of the new volume key.
    fn new_luks1(&self, header: &Header) -> Result<Reencrypt> {
        if self.new_sector_size.is_some() {
            let message = "LUKS1 has encryption sectors of 512 bytes only.";
            return Err(Failure::new(Exit::Parameters, message));
        }
        let spec = self.spec(header.cipher())?;
        let old = header.key_bits().map(|bits| bits as u32);
        let fits = |bits: &u32| spec.check_key_bits(*bits as usize).is_ok();
        let bits = self.key.key_bits.or(old.filter(fits)).unwrap_or_else(|| Create::default_key_bits(&spec));
        Version::Luks1.check_key_bits(&spec, bits)?;
        let how = self.how.clone().cipher(&spec.to_string(), bits).data_shift(self.reduce.unwrap_or(0));
        self.with_given_key(how.keyslot(self.keyslot.for_luks1()?), bits)
    }

    fn spec(&self, old: Option<String>) -> Result<CipherSpec> {
        let cipher = self.cipher.clone().or(old).unwrap_or_else(|| CipherSpec::DEFAULT.to_owned());
        Ok(CipherSpec::parse(&cipher).map_err(Error::from)?)
    }

    fn with_given_key(&self, how: Reencrypt, bits: u32) -> Result<Reencrypt> {
        let len = bits as usize / 8;
        Ok(match self.key.volume_key.as_ref().or(self.new_key.as_ref()) {
            Some(given) => how.volume_key(given.read(len)?),
            None => how,
        })
    }

    /// The line that goes on.
    pub(super) fn again(&self, options: &str) -> String {
        let header = self.target.header.as_ref().map(|header| format!(" --header {}", header.display()));
        let device = self.target.device.display();
        let backup = self.backup.again();
        format!("keyway reencrypt {options}{}{backup} {device}", header.unwrap_or_default())
    }

    /// A detached header, which may have to be made.
    fn header_storage(&self, path: &Path) -> Result<Arc<dyn Storage>> {
        if device::exists(path) {
            return self.target.storage(path, Access::Write);
        }
        Ok(Arc::new(output_file::new_header(path)?))
    }
}
