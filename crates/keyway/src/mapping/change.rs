//! Changes to a mapping in use: its key goes for a while, its flags change.

use super::{KeyLinks, MapOptions, Mapping, MappingStep, Reopened, Unchanged};
use crate::error::At;
use crate::{Error, Result};
use keyway_attach::dm::crypt::{Features, Key, Line};
use keyway_attach::dm::volume::KeyPlace;
use keyway_attach::dm::{self, Flags, Mapper, Step, Target};

impl Mapping {
    /// Holds all requests back, and makes the kernel forget the key, until [`Mapping::resume`]. What was written
    /// reaches the device first. Never suspend the volume that this program or its libraries are on.
    ///
    /// ```no_run
    /// # use keyway::*;
    /// let mapping = Mapping::find("home")?;
    /// if let Err(error) = mapping.suspend() {
    ///     let why = std::error::Error::source(&error).and_then(|why| why.downcast_ref::<Unchanged>());
    ///     println!("is it suspended already? {}", matches!(why, Some(Unchanged::Suspended)));
    /// }
    /// # Ok::<(), keyway::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those whose source is [`Unchanged`]: only LUKS volumes can be suspended, and none in the middle of a
    /// re-encryption; [`ErrorKind::NotFound`](crate::ErrorKind::NotFound) if it is gone, as of all that changes one.
    pub fn suspend(&self) -> Result<()> {
        if !self.is_luks() {
            return Err(self.stays(Unchanged::Kind(self.kind().unwrap_or_default().to_owned())));
        }
        self.now()?.check_not_suspended()?;
        let mapper = Mapper::open().at(&self.name())?;
        // The kernel's message reaches one segment alone.
        if mapper.table(self.name(), false).at(&self.name())?.len() > 1 {
            return Err(self.stays(Unchanged::InReencryption));
        }
        let suspended = mapper.suspend_without_key(self.name());
        suspended.map_err(|error| self.failed(MappingStep::Suspend, error))
    }

    /// Gives a suspended mapping its key again: waiting requests go on. Of the options, those on keyrings are used.
    ///
    /// ```no_run
    /// # use keyway::*;
    /// let mapping = Mapping::find("home")?;
    /// let admitted = Device::open("/dev/sda2")?.admit(&Unlock::new().shared())?;
    /// let key = admitted.try_key(&Key::passphrase("correct horse"))?;
    /// mapping.resume(&mapping.reopen(admitted, key)?, &MapOptions::new())?;
    /// # Ok::<(), keyway::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Unchanged::NotSuspended`]; [`Unchanged::NoHeader`], [`Unchanged::OtherHeader`] where `volume` is that of
    /// another mapping; those of the keyring; the kernel's, as [`Unchanged::Failed`].
    pub fn resume(&self, volume: &Reopened, how: &MapOptions) -> Result<()> {
        let now = self.now()?;
        if !now.is_suspended() {
            return Err(self.stays(Unchanged::NotSuspended));
        }
        let (_, line) = now.line(false)?;
        volume.check_is_of(&now, &line)?;
        let mapper = Mapper::open().at(&self.name())?;
        let place = volume.place_key(how, &features(&mapper).at(&self.name())?).at(&self.name())?;
        let key = if line.cipher.starts_with("cipher_null") { Key::Absent } else { place.key() };
        let link = |links: &KeyLinks| links.link(Some(&volume.header), &volume.volume_key, None);
        let linked = how.links.as_ref().map(link).transpose().at(&self.name())?;
        mapper.resume_with_key(self.name(), &key).map_err(|error| {
            if let Some(linked) = linked {
                linked.remove();
            }
            self.failed(MappingStep::Resume, error)
        })
    }

    /// Whether [`Mapping::refresh`] needs the volume unlocked again: a LUKS volume. A plain one keeps its key.
    ///
    /// # Errors
    /// [`Unchanged::Suspended`], [`Unchanged::Kind`], [`Unchanged::Table`]: it cannot be refreshed.
    pub fn refresh_needs_key(&self) -> Result<bool> {
        self.now()?.needs_key()
    }

    fn needs_key(&self) -> Result<bool> {
        self.check_not_suspended()?;
        match self.kind().unwrap_or_default() {
            "LUKS1" | "LUKS2" => self.line(false).map(|_| true),
            "PLAIN" => self.line(false).map(|_| false),
            kind => Err(self.stays(Unchanged::Kind(kind.to_owned()))),
        }
    }

    /// Gives a mapping in use other flags: those of the options and those that its header stores, and no others. Flags
    /// that the kernel does not know are left out. See [`Mapping::reopen`] for an example.
    ///
    /// # Errors
    /// Those of [`Mapping::refresh_needs_key`]; [`Unchanged::NoHeader`] where it does, and `volume` is `None`;
    /// [`Unchanged::NoHeader`], [`Unchanged::OtherHeader`] where that is another mapping's; the kernel's, as
    /// [`Unchanged::Failed`].
    pub fn refresh(&self, volume: Option<&Reopened>, how: &MapOptions) -> Result<()> {
        let now = self.now()?;
        let needs_key = now.needs_key()?;
        if needs_key && volume.is_none() {
            return Err(self.stays(Unchanged::NoHeader));
        }
        let (target, mut line) = now.line(!needs_key)?;
        if !needs_key {
            now.check_not_wiped(&line)?;
        }
        let features = Mapper::open().and_then(|mapper| features(&mapper)).at(&self.name())?;
        let place = volume.map(|volume| now.give_key(&mut line, volume, how, &features)).transpose()?;
        let mut flags = how.flags(volume.map(|volume| &volume.header));
        flags.drop_unknown(&features);
        let read_only = now.is_read_only() || how.read_only;
        let replaced =
            now.replace(&Target::crypt(target.start, target.length, &line.with_flags(&flags)), read_only);
        drop(place);
        replaced
    }

    /// Puts the volume's key into the line of its table, unless that has none. In the keyring it stays until what this
    /// returns is dropped.
    pub(super) fn give_key<'a>(
        &self,
        line: &mut Line,
        volume: &'a Reopened,
        how: &MapOptions,
        features: &Features,
    ) -> Result<KeyPlace<'a>> {
        volume.check_is_of(self, line)?;
        let place = volume.place_key(how, features).at(&self.name())?;
        if !matches!(line.key, Key::Absent) {
            line.key = place.key();
        }
        Ok(place)
    }

    /// Its whole table, one line of dm-crypt's.
    pub(super) fn line(&self, with_key: bool) -> Result<(Target, Line)> {
        let table = Mapper::open().and_then(|mapper| mapper.table(self.name(), with_key));
        let mut table = table.at(&self.name())?;
        let target = table.pop().filter(|_| table.is_empty());
        let line = target.and_then(|target| target.as_crypt().ok().map(|line| (target, line)));
        line.ok_or_else(|| self.stays(Unchanged::Table))
    }

    /// Replaces the table while it is in use.
    pub(super) fn replace(&self, target: &Target, read_only: bool) -> Result<()> {
        let mapper = Mapper::open().at(&self.name())?;
        let flags = Flags { read_only, ..Flags::default() };
        let replaced = mapper.replace_table(self.name(), std::slice::from_ref(target), flags);
        replaced.map_err(|dm::Unchanged { step, source }| {
            let step = match step {
                Step::Reload => MappingStep::Reload,
                Step::Suspend => MappingStep::Suspend,
                Step::Resume => MappingStep::Resume,
            };
            self.failed(step, source)
        })
    }

    pub(super) fn check_not_suspended(&self) -> Result<()> {
        match self.is_suspended() {
            true => Err(self.stays(Unchanged::Suspended)),
            false => Ok(()),
        }
    }

    pub(super) fn stays(&self, why: Unchanged) -> Error {
        Error::from(why).at(&self.name())
    }

    fn failed(&self, step: MappingStep, error: keyway_attach::Error) -> Error {
        self.stays(Unchanged::Failed { step, source: error.into() })
    }
}

/// What this kernel's dm-crypt can do; its module is loaded when a table first needs it.
pub(super) fn features(mapper: &Mapper) -> keyway_attach::Result<Features> {
    mapper.target_version("crypt").map(Features::of)
}
