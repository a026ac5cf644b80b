//! Begins what was asked for, with the keys that it needs.

use super::{Asked, Extent};
use crate::device::explain;
use crate::make::header::NO_PATTERN;
use crate::output::failure::{Exit, Failure, Result};
use crate::output::shell;
use crate::unlock::{self, GivenKey};
use crate::verb::key::keyslot;
use keyway::parts::{Error, Luks};
use keyway::storage::Exclusive;
use keyway::{Access, Create, Device, Header, Key, Reencrypt, Version, VolumeKey, trust};
use keyway_crypto::CipherSpec;
use std::path::Path;

impl Asked {
    /// Another key or cipher.
    pub(super) fn reencrypt(&self, data: &Exclusive) -> Result<()> {
        let device = self.device(data, Access::Write)?;
        let header = self.header_of(&device)?;
        self.check_sectors_offline(header.luks())?;
        self.check_resilience_in_place()?;
        let how = self.new_encryption(&header)?;
        self.confirm_reduction()?;
        self.confirm_size(
            header.luks().header().data_len_on(data.len()).saturating_sub(self.reduce.unwrap_or(0)),
        )?;
        let keys = self.keys(&header)?;
        if let Some((key, _)) = keys.first() {
            self.check_blocks(&device, &header, key)?;
        }
        self.back_up(&header)?;
        let begun = device.begin_reencryption(header, &how, keys).map_err(|e| self.not_begun(&device, e))?;
        self.go_on(begun)
    }

    /// As in cryptsetup, nobody is asked before what loses nothing: whatever stops it, it goes on.
    pub(super) fn confirm_reduction(&self) -> Result<()> {
        let Some(reduce) = self.reduce else { return Ok(()) };
        self.confirm(&format!(
            "This will move the data of the volume on {} back by {reduce} bytes, and overwrite its last \
             {reduce} bytes: the file system must end before them.",
            self.target.device.display()
        ))
    }

    /// Goes on with what is under way.
    pub(super) fn resume(&self, data: &Exclusive) -> Result<()> {
        if self.extent == Extent::Begin {
            return Err(Failure::new(Exit::Parameters, super::ALREADY_BEGUN));
        }
        let device = self.device(data, Access::Write)?;
        let header = device.header_with(&self.key.terms())?;
        self.check_under_way(&header)?;
        self.check_size(&header)?;
        drop(header);
        self.find_backup(&device);
        let path = self.target.header_path();
        if self.extent == Extent::Whole {
            self.confirm(&format!(
                "Device {} is already in LUKS2 reencryption; it is resumed.",
                path.display()
            ))?;
        }
        if self.key.volume_key.is_some() || self.new_key.is_some() {
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
        let len = |given: &GivenKey, bits: Option<u32>, option: &str| {
            let bits = bits.map(|bits| bits as usize / 8).or(header.key_bits().map(|bits| bits / 8));
            given.own_len()?.or(bits).ok_or_else(|| {
                let message = "Cannot determine volume key size for LUKS without keyslots";
                Failure::new(Exit::Parameters, format!("{message}, please use --{option} option."))
            })
        };
        let Some(given) = &self.key.volume_key else {
            let message = "The new volume key is the second one: give the first with --volume-key-file or \
                           --volume-key-keyring.";
            return Err(Failure::new(Exit::Parameters, message));
        };
        let key = given.read(len(given, self.key.key_bits, "key-size")?)?;
        let new = self.new_key.as_ref();
        let new = new.map(|given| given.read(len(given, self.new_key_bits, "new-key-size")?)).transpose()?;
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
            format!("Device {} is sealed with the key that will be replaced.", self.target.device.display());
        let word = |path: &Path| shell::word(&path.to_string_lossy());
        let header = self.target.header.as_deref().map(|header| format!("--header {} ", word(header)));
        let of = header.unwrap_or_default() + &word(&self.target.device);
        // The string itself is not in the header.
        let bound = trust::seal_has_context(luks);
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
            return Err(Failure::new(Exit::Parameters, NO_PATTERN));
        }
        let kept = header.key_bits().map(|bits| bits as u32).filter(|_| cipher == old);
        let own = self.new_key.as_ref().map_or(Ok(None), GivenKey::own_len)?.map(|len| len as u32 * 8);
        let bits = own.or(self.new_key_bits).or(kept).unwrap_or_else(|| Create::default_key_bits(&spec));
        Version::Luks2.check_key_bits(&spec, bits)?;
        how = how.cipher(&spec.to_string(), bits);
        if let Some(given) = &self.new_key {
            if own.is_none() && self.new_key_bits.is_none() {
                let message = "Option --new-volume-key-file must be paired with --new-key-size";
                return Err(Failure::new(Exit::Parameters, message));
            }
            how = how.volume_key(given.read(bits as usize / 8)?);
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
        if let Some(found) = self.by_tokens_alone(header)? {
            return Ok(found);
        }
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
