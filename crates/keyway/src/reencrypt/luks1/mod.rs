//! LUKS1 volumes, whose re-encryption is kept in files.

mod files;
mod headers;
mod log;

pub use files::Luks1Files;

use super::{Reencrypt, Reencryption, Work};
use crate::error::At;
use crate::{Device, Error, Header, Key, Location, Result, VolumeKey};
use headers::{first_header, left_header, new_header};
use keyway_crypto::Secret;
use keyway_volume::change::backup;
use keyway_volume::device::storage::File;
use keyway_volume::reencrypt::luks1::{
    Done, Side, advance, has_begun, install, mark, marked, prepare, wipe_rest,
};
use keyway_volume::reencrypt::{Job, VolumeKeys};
use keyway_volume::unlock;
use keyway_volume::{Access, Luks, OsRandom, Storage};
use std::path::PathBuf;
use std::sync::Arc;

/// What a LUKS1 volume is to become. See [`Device::begin_luks1`].
#[derive(Debug)]
#[non_exhaustive]
pub enum Luks1Change {
    /// Another key, cipher or hash: what [`Header::try_key`] found, with the passphrases that are to
    /// open the new volume.
    Reencrypt(Header, Vec<(VolumeKey, Key)>),
    /// Plaintext becomes a volume that this passphrase opens.
    Encrypt {
        /// The passphrase.
        key: Key,
        /// Its keyslot.
        keyslot: u32,
        /// The new volume's UUID; random when absent.
        uuid: Option<String>,
    },
    /// The volume becomes plaintext.
    Decrypt(Header, VolumeKey),
}

/// The headers before and after, with their volume keys; one where the other side is plaintext.
struct Both {
    old: Option<(Luks, Secret)>,
    new: Option<(Luks, Secret)>,
}

/// What is left to do when the data is done.
pub(super) struct Finish {
    header: Arc<dyn Storage>,
    data: Arc<dyn Storage>,
    holds_data: bool,
    files: Luks1Files,
}

impl Finish {
    /// The new header takes its place, or what is left of the old one goes.
    pub(super) fn run(&self) -> Result<()> {
        let new = self.files.new_header();
        let place = Location::from(new.clone());
        if new.exists() {
            let new = self.files.open(new, Access::Read)?;
            install(&new, &*self.header, self.holds_data, &mut OsRandom).at(&place)?;
        } else {
            let old = self.files.open(self.files.old_header(), Access::Read)?;
            wipe_rest(&old, &*self.data).at(&place)?;
        }
        self.files.remove();
        Ok(())
    }
}

impl Device {
    /// The UUID of a LUKS1 header that a re-encryption has taken out of use, by this library or by
    /// cryptsetup. See [`Device::begin_luks1`].
    ///
    /// # Errors
    /// The header cannot be read.
    pub fn luks1_in_reencryption(&self) -> Result<Option<String>> {
        marked(&*self.header_storage()).at(self.header_place())
    }

    /// Begins to re-encrypt a LUKS1 volume. When this returns, nothing opens the volume until it has
    /// ended, and not a sector has changed. [`Reencrypt::cipher`] says how it is encrypted
    /// afterwards, [`Reencrypt::keyslot`] has the hash.
    ///
    /// ```
    /// # use keyway::*;
    /// # let directory = std::env::temp_dir().join(format!("keyway-luks1-{}", std::process::id()));
    /// # std::fs::create_dir_all(&directory)?;
    /// # let path = directory.join("disk.luks");
    /// let key = Key::passphrase("correct horse");
    /// Create::luks1().kdf(NewKdf::pbkdf2(1000)).size(1 << 20).create(&path, &key)?;
    ///
    /// let device = Device::open_rw(&path)?;
    /// let header = device.header()?;
    /// let files = Luks1Files::new(&directory, header.uuid());
    /// let how = Reencrypt::new().cipher("aes-xts-plain64", 256);
    /// let found = header.try_key(&key)?;
    /// let change = Luks1Change::Reencrypt(header, vec![(found, key)]);
    /// let begun = device.begin_luks1(change, &how, &files)?;
    /// drop(begun); // the power fails
    /// assert_eq!(device.luks1_in_reencryption()?.is_some(), true);
    ///
    /// let key = Key::passphrase("correct horse");
    /// let mut resumed = device.resume_luks1(&how, &key, &files)?;
    /// while !resumed.step()? {}
    /// drop(resumed);
    /// assert_eq!(device.header()?.key_bits(), Some(256));
    /// # std::fs::remove_dir_all(&directory)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// A re-encryption is under way already; a cipher or a size that LUKS1 cannot express; the files
    /// cannot be written. The header that plaintext is to have may be there already, from an attempt that was
    /// cut off: it is taken as it is, or refused where the key does not open it or it is another one.
    pub fn begin_luks1(
        &self,
        change: Luks1Change,
        how: &Reencrypt,
        files: &Luks1Files,
    ) -> Result<Reencryption> {
        self.check_durable(how)?;
        how.check_nothing_is_skipped("It is for LUKS2 volumes.").at(self.place())?;
        if let Luks1Change::Reencrypt(header, _) | Luks1Change::Decrypt(header, _) = &change
            && !files.are_there()
            && backup::is_backup(&header.luks, &files.old_header()).at(self.header_place())?
        {
            // The header is in use as it was: an attempt was cut off before it changed anything.
            files.remove();
        }
        let is_left = matches!(change, Luks1Change::Encrypt { .. }) && files.new_header().exists();
        self.check_free(files, is_left)?;
        let data = self.claim(&how.unlock)?;
        let begun = self.prepare_luks1(&change, how, files, &*data);
        let keys = match begun {
            Ok(keys) => keys,
            Err(error) => {
                if !is_left {
                    files.remove();
                }
                return Err(error);
            }
        };
        if let Luks1Change::Reencrypt(header, _) | Luks1Change::Decrypt(header, _) = &change {
            mark(&header.luks).at(self.header_place())?;
        }
        self.run_luks1(keys, data, how, files)
    }

    /// Goes on with [`Device::begin_luks1`]. `key` opens a keyslot of either header.
    ///
    /// # Errors
    /// There is no state in these files; the key is wrong; the device fails.
    pub fn resume_luks1(&self, how: &Reencrypt, key: &Key, files: &Luks1Files) -> Result<Reencryption> {
        self.check_durable(how)?;
        let passphrase = key.read_passphrase().at(self.place())?;
        let opened = |path: PathBuf| {
            if !path.exists() {
                return Ok(None);
            }
            let place = Location::from(path.clone());
            let luks = files.open(path, Access::Read)?;
            let found = unlock(&luks, &passphrase, &keyway_volume::UnlockOptions::default()).at(&place)?;
            Ok::<_, Error>(Some(found.volume_key))
        };
        let data = self.claim(&how.unlock)?;
        if !files.state().exists() && files.log_of_cryptsetup().exists() {
            self.adopt_log(how, &passphrase, files, &*data)?;
        }
        // That it opens the new header makes sure that the volume opens afterwards.
        let new = opened(files.new_header())?;
        let old = opened(files.old_header())?;
        self.mark_again(files)?;
        self.run_luks1(VolumeKeys::new(old, new), data, how, files)
    }

    /// Takes the header out of use if it was cut off before that.
    fn mark_again(&self, files: &Luks1Files) -> Result<()> {
        let place = self.header_place();
        if has_begun(&files.open(files.state(), Access::Read)?).at(place)?
            || !files.old_header().exists()
            || self.luks1_in_reencryption()?.is_some()
        {
            return Ok(());
        }
        let (header, old) = (self.header()?, files.open(files.old_header(), Access::Read)?);
        match header.luks.is_same(&old) {
            true => mark(&header.luks).at(place),
            false => Err(Error::refused(format!(
                "the header is not {}, with which the reencryption began",
                files.old_header().display()
            ))
            .at(place)),
        }
    }

    /// Refuses to begin over something that is under way. The new header may be there where it `is_left` to go on with.
    fn check_free(&self, files: &Luks1Files, is_left: bool) -> Result<()> {
        let (state, log) = (files.state(), files.log_of_cryptsetup());
        if log.exists() {
            return Err(Error::refused(format!(
                "{} says that cryptsetup is reencrypting this volume",
                log.display()
            )));
        }
        if state.exists() {
            return Err(Error::refused(format!("{} says that a reencryption is under way", state.display())));
        }
        let new = Some(files.new_header()).filter(|_| !is_left);
        match new.into_iter().chain([files.old_header()]).find(|path| path.exists()) {
            Some(path) => Err(Error::refused(format!("{}{KEEP_IT}", path.display()))),
            None => Ok(()),
        }
    }

    /// Writes the files.
    fn prepare_luks1(
        &self,
        change: &Luks1Change,
        how: &Reencrypt,
        files: &Luks1Files,
        data: &dyn Storage,
    ) -> Result<VolumeKeys> {
        let place = self.header_place();
        let (old, new) = match change {
            Luks1Change::Reencrypt(header, keys) => {
                keys.iter().try_for_each(|(found, _)| header.check_own(found))?;
                let Some((first, _)) = keys.first() else {
                    return Err(Error::no_key().at(place));
                };
                header.backup(files.old_header())?;
                let new = new_header(header, how, keys, files).at(place)?;
                (Some((header, Secret::copy_from(first.secret.expose()))), Some(new))
            }
            Luks1Change::Encrypt { key, keyslot, uuid } => {
                let (keyslot, uuid) = (*keyslot, uuid.as_deref());
                let new = match files.new_header().exists() {
                    true => left_header(how, key, uuid, files)?,
                    false => first_header(how, key, (keyslot, uuid), files).at(place)?,
                };
                (None, Some(new))
            }
            Luks1Change::Decrypt(header, found) => {
                header.check_own(found)?;
                header.backup(files.old_header())?;
                (Some((header, Secret::copy_from(found.secret.expose()))), None)
            }
        };
        let of = |(header, key): (&Header, Secret)| (header.luks.clone_for_reading(), key);
        let both = Both { old: old.map(of), new };
        self.write_state(&both, how, files, data, None)?;
        Ok(VolumeKeys::new(both.old.map(|(_, key)| key), both.new.map(|(_, key)| key)))
    }

    /// Writes the state: under its name, it is complete.
    fn write_state(
        &self,
        both: &Both,
        how: &Reencrypt,
        files: &Luks1Files,
        data: &dyn Storage,
        done: Option<Done>,
    ) -> Result<()> {
        let place = self.header_place();
        let side = |side: &Option<(Luks, Secret)>| match side.as_ref().map(|(luks, _)| luks.header()) {
            Some(keyway_volume::Header::Luks1(header)) => Ok(Some(header.clone())),
            Some(keyway_volume::Header::Luks2 { .. }) => Err(Error::refused("this is LUKS2").at(place)),
            None => Ok(None),
        };
        let (old, new) = (side(&both.old)?, side(&both.new)?);
        let sides = (
            old.as_ref().zip(both.old.as_ref()).map(|(header, (_, key))| Side { header, key }),
            new.as_ref().zip(both.new.as_ref()).map(|(header, (_, key))| Side { header, key }),
        );
        let draft = files.state().with_extension("part");
        let io = |source| keyway_volume::Error::Io { what: format!("writing {}", draft.display()), source };
        let _ = std::fs::remove_file(&draft);
        let file: Arc<dyn Storage> = Arc::new(File::create_new(&draft).map_err(io).at(place)?);
        let terms = self.terms(how, false);
        let named = prepare(Arc::clone(&file), data, sides, &terms, &mut OsRandom)
            .and_then(|()| done.map_or(Ok(()), |done| advance(file, done, data.len(), &mut OsRandom)))
            .and_then(|()| std::fs::rename(&draft, files.state()).and_then(|()| files.sync()).map_err(io));
        if named.is_err() {
            let _ = std::fs::remove_file(&draft);
        }
        named.at(place)
    }

    /// From the state in the file to the end.
    fn run_luks1(
        &self,
        keys: VolumeKeys,
        data: Arc<dyn Storage>,
        how: &Reencrypt,
        files: &Luks1Files,
    ) -> Result<Reencryption> {
        let place = Location::from(files.state());
        let state = files.open(files.state(), Access::Write)?;
        let finish = Finish {
            header: self.header_storage(),
            data: Arc::clone(&data),
            holds_data: self.data_device().holds_header,
            files: files.clone(),
        };
        let is_done = state.check_requirements().is_ok();
        let work = match is_done {
            true => Work::Done,
            false => {
                let options = how.options(false);
                let job = Job::resume(state, data, &keys, &options, &mut OsRandom).at(&place)?;
                Work::Offline(Box::new(job))
            }
        };
        Ok(Reencryption { work, finish: Some(finish), place })
    }
}

/// After the name of a header's file that nothing says what it belongs to.
const KEEP_IT: &str = " already exists, and may hold the only key of a volume: move it elsewhere, or begin in \
    another directory. Nothing was changed";
