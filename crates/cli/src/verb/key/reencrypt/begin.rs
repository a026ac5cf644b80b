//! Begins what was asked for, with the keys that it needs.

use super::header_backup::copy_to;
use super::{Asked, Extent};
use crate::device::{self, Versions, explain};
use crate::output::failure::{Exit, Failure, Result};
use crate::output::shell;
use crate::output::stdio;
use crate::unlock::{self, passphrase};
use crate::verb::key::keyslot;
use keyway::{Device, Header, Key, Probe, Reencrypt, VolumeKey};
use keyway_crypto::CipherSpec;
use keyway_volume::change::create;
use keyway_volume::device::storage::{Exclusive, File};
use keyway_volume::header::seal::Seal;
use keyway_volume::random::random_uuid;
use keyway_volume::{Access, Error, Luks, OsRandom, Storage};
use std::path::Path;
use std::sync::Arc;

impl Asked {
    /// Another key or cipher.
    pub(super) fn reencrypt(&self, data: &Exclusive) -> Result<()> {
        let device = self.device(data, Access::Write)?;
        let header = self.header_of(&device)?;
        self.check_sectors_offline(header.luks())?;
        self.check_resilience_in_place()?;
        let how = self.new_encryption(&header)?;
        self.confirm_reduction()?;
        let keys = self.keys(&header)?;
        if let Some((key, _)) = keys.first() {
            self.check_blocks(&header, key.expose(), Arc::clone(data))?;
        }
        self.back_up(&header)?;
        let begun = device.begin_reencryption(header, &how, keys).map_err(|e| self.not_begun(&device, e))?;
        self.go_on(begun)
    }

    /// As in cryptsetup, nobody is asked before what loses nothing: whatever stops it, it goes on.
    pub(super) fn confirm_reduction(&self) -> Result<()> {
        let Some(reduce) = self.reduce else { return Ok(()) };
        self.confirm(&format!(
            "This will move the data of the volume on {} back by {reduce} bytes, over what it holds in its last {reduce} \
             bytes: the file system must end before them.",
            self.target.device.display()
        ))
    }

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
        self.confirm(&format!(
            "This will encrypt all data on {}, in place, with the header in {}.",
            self.target.device.display(),
            path.display()
        ))?;
        let passphrase = self.new_passphrase(&self.target.device)?;
        let storage: Arc<dyn Storage> = match &claimed {
            Some(claimed) => Arc::clone(claimed),
            None => Arc::new(new_file(path)?),
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
        self.confirm(&format!(
            "This will encrypt all data on {} in place, and overwrite its last {reduce} bytes: the file system must end \
             before them.",
            self.target.device.display()
        ))?;
        let passphrase = self.new_passphrase(&self.target.device)?;
        let uuid = self.uuid.clone().map_or_else(|| random_uuid(&mut OsRandom), Ok)?;
        let path = Path::new(".").join(format!("LUKS2-temp-{uuid}.new"));
        let create = self.create()?.uuid(&uuid).data_offset(offset / 512);
        let file: Arc<dyn Storage> = Arc::new(new_file(&path)?);
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
                "If {} cannot be used as it was, \"keyway reencrypt --resume-only --header {} {}\" goes on from here.",
                self.target.device.display(),
                path.display(),
                self.target.device.display()
            ))),
        }
    }

    /// The header of what is to be encrypted. A file system that is there already may have blocks of
    /// 512 bytes, which larger sectors could not store.
    pub(super) fn create(&self) -> Result<keyway::Create> {
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

    /// The volume becomes plaintext; its header is elsewhere already.
    pub(super) fn decrypt(&self, data: &Exclusive) -> Result<()> {
        let Some(path) = &self.target.header else {
            return Err(Failure::new(Exit::Parameters, NEEDS_HEADER));
        };
        let device = self.device(data, Access::Write)?;
        let header = self.header_of(&device)?;
        if has_data_behind(&header) {
            return Err(Failure::new(Exit::Parameters, NOT_DETACHED));
        }
        self.check_resilience_in_place()?;
        self.confirm(&self.warning_of_plaintext(path))?;
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
        self.confirm(&self.warning_of_plaintext(path))?;
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

    pub(super) fn warning_of_plaintext(&self, header: &Path) -> String {
        format!(
            "This will decrypt all data on {}, in place. Its header is kept in {} until that is done.",
            self.target.device.display(),
            header.display()
        )
    }

    /// Goes on with what is under way.
    pub(super) fn resume(&self, data: &Exclusive) -> Result<()> {
        if self.extent == Extent::Begin {
            let message = "LUKS2 reencryption already initialized. Aborting operation.";
            return Err(Failure::new(Exit::Parameters, message));
        }
        let device = self.device(data, Access::Write)?;
        let header = device.header_with(&self.key.terms())?;
        self.check_under_way(&header)?;
        self.check_size(&header, data.len())?;
        drop(header);
        self.find_backup(&device);
        let path = self.target.header_path();
        if self.extent == Extent::Whole {
            self.confirm(&format!(
                "Device {} is already in LUKS2 reencryption; it is resumed.",
                path.display()
            ))?;
        }
        if self.key.volume_key.is_some() || self.new_key_file.is_some() {
            return self.go_on(self.resumed_by_keys(&device)?);
        }
        if let Some(key) = self.key_by_token(&device.header_with(&self.key.terms())?)? {
            let header = device.header_with(&self.key.terms())?;
            let job = device.resume_reencryption(header, &self.how, &key).map_err(|e| self.failed(e))?;
            return self.go_on(job);
        }
        let source = self.key.passphrase.existing(unlock::prompt_for(path));
        let options = self.key.of_keyslot();
        let job = self.key.ask(&source, &options, |passphrase| {
            let header = device.header_with(&self.key.terms())?;
            device.resume_reencryption(header, &self.how, &Key::Passphrase(passphrase))
        })?;
        self.go_on(job)
    }

    /// Volume keys in place of a passphrase: there may be no keyslot for either.
    fn resumed_by_keys(&self, device: &Device) -> Result<keyway::Reencryption> {
        let header = device.header_with(&self.key.terms())?;
        let len = |bits: Option<u32>, option: &str| {
            let bits = bits.map(|bits| bits as usize).or(header.key_bits());
            bits.map(|bits| bits / 8).ok_or_else(|| {
                let message = "Cannot determine volume key size for LUKS without keyslots";
                Failure::new(Exit::Parameters, format!("{message}, please use --{option} option."))
            })
        };
        let Some(given) = &self.key.volume_key else {
            let message = "--new-volume-key-file is the second key: give the first with --volume-key-file.";
            return Err(Failure::new(Exit::Parameters, message));
        };
        let key = given.read(len(self.key.key_bits, "key-size")?)?;
        let new = self
            .new_key_file
            .as_ref()
            .map(|file| passphrase::volume_key(file, len(self.new_key_bits, "new-key-size")?));
        let new = new.transpose()?;
        device.resume_reencryption_with_keys(header, &self.how, key, new).map_err(|e| self.failed(e))
    }

    pub(super) fn header_of(&self, device: &Device) -> Result<Header> {
        let options = self.key.terms_without_seal();
        let header = device.header_with(&options)?;
        header.check()?;
        if header.is_sealed() {
            return Err(self.sealed(header.luks()));
        }
        Ok(header)
    }

    /// The refusal of a header whose seal would not hold any more, with the commands that lead on.
    pub(super) fn sealed(&self, luks: &Luks) -> Failure {
        let message =
            format!("Device {} is sealed with the key that is to go.", self.target.device.display());
        let word = |path: &Path| shell::word(&path.to_string_lossy());
        let header = self.target.header.as_deref().map(|header| format!("--header {} ", word(header)));
        let of = header.unwrap_or_default() + &word(&self.target.device);
        // The string itself is not in the header.
        let bound = matches!(Seal::of(luks.header()), Ok(Some(seal)) if seal.has_context());
        let context = if bound { "--seal-context STRING " } else { "" };
        let way = format!(
            "\"keyway seal --remove {of}\", then \"keyway reencrypt {of}\" with the options as now, then \"keyway seal \
             {context}{of}\". Nothing was changed."
        );
        Failure::new(Exit::Parameters, message).hinting(way)
    }

    /// How the new volume is encrypted.
    pub(super) fn new_encryption(&self, header: &Header) -> Result<Reencrypt> {
        let how = self.how.clone().keyslot(self.keyslot.as_said()?);
        let mut how = how.data_shift(self.reduce.unwrap_or(0));
        let old = header.cipher().unwrap_or_default();
        let cipher = match &self.cipher {
            Some(cipher) => cipher.clone(),
            None if CipherSpec::parse(&old).is_ok_and(|spec| spec.is_null()) => {
                say!("Switching data encryption cipher to {}.", CipherSpec::DEFAULT);
                CipherSpec::DEFAULT.to_owned()
            }
            None => old.clone(),
        };
        let spec = CipherSpec::parse(&cipher).map_err(Error::from)?;
        let names_driver = |spec: &CipherSpec| self.is_cryptsetup && spec.names_driver();
        if names_driver(&spec) || CipherSpec::parse(&old).is_ok_and(|old| names_driver(&old)) {
            let message = "No known cipher specification pattern detected.";
            return Err(Failure::new(Exit::Parameters, message));
        }
        let kept = header.key_bits().map(|bits| bits as u32).filter(|_| cipher == old);
        let bits = self.new_key_bits.or(kept).unwrap_or_else(|| create::default_key_bits(&spec));
        create::check_key_bits(&spec, bits, 2)?;
        how = how.cipher(&spec.to_string(), bits);
        if let Some(file) = &self.new_key_file {
            if self.new_key_bits.is_none() {
                let message = "Option --new-volume-key-file must be paired with --new-key-size";
                return Err(Failure::new(Exit::Parameters, message));
            }
            how = how.volume_key(passphrase::volume_key(file, bits as usize / 8)?);
        }
        Ok(how)
    }

    /// The keys that are to open the new volume: one passphrase per keyslot.
    pub(super) fn keys(&self, header: &Header) -> Result<Vec<(VolumeKey, Key)>> {
        if let Some(given) = self.key.given_key(header)? {
            if !header.keyslots().is_empty() && !self.no_keyslots {
                let message = "Use --force-no-keyslots to reencrypt device with active keyslots by passing volume keys \
                               directly.";
                return Err(Failure::new(Exit::Parameters, message));
            }
            let key = Key::VolumeKey(keyway::Secret::copy_from(given.expose().expose()));
            return Ok(vec![(given, key)]);
        }
        self.passphrases(header)
    }

    /// One passphrase per keyslot that is kept.
    pub(super) fn passphrases(&self, header: &Header) -> Result<Vec<(VolumeKey, Key)>> {
        let bound = header.luks().bound_keyslots();
        let wanted: Vec<u32> = match self.key.keyslot {
            Some(number) => {
                keyslot::check_active(header, number)?;
                vec![number]
            }
            None => bound,
        };
        if wanted.is_empty() {
            return Err(Failure::new(Exit::Parameters, "No usable keyslot is available."));
        }
        let by_token = wanted.iter().map(|number| self.found_by_token(header, Some(*number)));
        let by_token = by_token.collect::<Result<Vec<_>>>()?;
        let asked_for = by_token.iter().filter(|found| found.is_none()).count();
        if asked_for > 1 && self.key.passphrase.key_file.is_some() {
            let message = "Key file can be used only with --key-slot or with exactly one key slot active.";
            return Err(Failure::new(Exit::Parameters, message));
        }
        let all = wanted.into_iter().zip(by_token);
        all.map(|(number, found)| found.map_or_else(|| self.asked_for(header, Some(number)), Ok)).collect()
    }

    /// The volume key, by any passphrase or as given.
    pub(super) fn one_key(&self, header: &Header) -> Result<VolumeKey> {
        match self.key.given_key(header)? {
            Some(key) => Ok(key),
            None => Ok(self.asked(header, self.key.keyslot)?.0),
        }
    }

    /// The passphrase of one keyslot or of any, by a token or from the user.
    pub(super) fn asked(&self, header: &Header, keyslot: Option<u32>) -> Result<(VolumeKey, Key)> {
        match self.found_by_token(header, keyslot)? {
            Some(found) => Ok(found),
            None => self.asked_for(header, keyslot),
        }
    }

    fn asked_for(&self, header: &Header, keyslot: Option<u32>) -> Result<(VolumeKey, Key)> {
        let prompt = match keyslot {
            Some(number) => format!("Enter passphrase for key slot {number}: "),
            None => unlock::prompt_for(self.target.header_path()),
        };
        let source = self.key.passphrase.existing(prompt);
        let options = self.key.limits();
        let found = self.key.ask(&source, &options, |passphrase| {
            let key = Key::Passphrase(passphrase);
            let found = match keyslot {
                Some(number) => header.try_key_on(number, &key),
                None => header.try_key(&key),
            };
            found.map(|found| (found, key))
        })?;
        unlock::note_found(self.target.manner, &found.0)?;
        Ok(found)
    }

    pub(super) fn new_passphrase(&self, device: &Path) -> Result<Key> {
        let passphrase = self.key.passphrase.first(unlock::prompt_for(device), None).read()?;
        if let Some(opened) = &self.opened {
            opened.keep(&passphrase);
        }
        Ok(Key::Passphrase(passphrase))
    }

    pub(super) fn failed(&self, error: keyway::Error) -> Failure {
        explain::opening(&self.target.device, self.target.header_path(), error)
    }
}

/// Whether the data begins behind a header, so that it moves where it is decrypted.
pub(super) fn has_data_behind(header: &Header) -> bool {
    header.segments().first().is_none_or(|segment| segment.offset > 0)
}

fn new_file(path: &Path) -> Result<File> {
    let file = File::create_new(path);
    file.map_err(|e| {
        Failure::new(Exit::Parameters, format!("Cannot create header file {}: {e}.", path.display()))
    })
}

/// What is refused, with an estimate too; cryptsetup's words where it has some.
pub(super) const NEEDS_HEADER: &str = "LUKS2 decryption requires --header option.";
pub(super) const NOT_DETACHED: &str =
    "LUKS2 decryption is supported with detached header device only (with data offset set to 0).";
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
