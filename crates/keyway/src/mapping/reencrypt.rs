//! A mapping's volume gets another key or cipher, or becomes plaintext, while it is in use.

use super::change::features;
use super::{Mapping, Unchanged, device};
use crate::devices::is_read_only;
use crate::error::At;
use crate::reencrypt::Work;
use crate::{Device, Error, Header, Key, Reencrypt, Reencryption, Result, VolumeKey};
use keyway_attach::dm::crypt::{self, Line, Options};
use keyway_attach::dm::reencrypting::{Fault, Reencrypting};
use keyway_attach::dm::volume::Below;
use keyway_attach::dm::{DeviceNumber, Flags, Mapper, Target};
use keyway_crypto::Secret;
use keyway_volume::device::in_use;
use keyway_volume::device::storage::{Direct, File};
use keyway_volume::reencrypt::{Job, Mapped, Options as JobOptions, VolumeKeys};
use keyway_volume::{Access, Luks, OsRandom, Storage, UnderWay};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

impl Mapping {
    /// Begins to give its volume another key, cipher or sector size, as [`Device::begin_reencryption`] does, while it
    /// is in use: each [`Reencryption::step`] holds its requests back for a moment. `device` is the one that it maps,
    /// with its header. A program whose own memory may lie on the mapping locks it before it goes on.
    ///
    /// ```no_run
    /// # use keyway::*;
    /// let (mapping, device) = (Mapping::find("home")?, Device::open_rw("/dev/sda2")?);
    /// let key = || Key::passphrase("correct horse");
    /// let header = device.header()?;
    /// let found = header.try_key(&key())?;
    /// let mut running = mapping.begin_reencryption(&device, header, &Reencrypt::new(), vec![(found, key())])?;
    /// while !running.step()? {
    ///     println!("{} of {} bytes", running.progress().0, running.progress().1);
    /// }
    /// # Ok::<(), keyway::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Mapping::check_reencryptable`] and of [`Device::begin_reencryption`]; [`Unchanged::Suspended`];
    /// [`Unchanged::NoHeader`], [`Unchanged::OtherDevice`], [`Unchanged::OtherKey`] where header or device are not those of
    /// what is mapped; [`Unchanged::OtherSize`]: unless that is what [`Reencrypt::data_len`] says.
    pub fn begin_reencryption(
        &self,
        device: &Device,
        header: Header,
        how: &Reencrypt,
        keys: Vec<(VolumeKey, Key)>,
    ) -> Result<Reencryption> {
        let now = self.beginning(device, &header, how, keys.first().map(|(key, _)| key))?;
        let keys = device.begun_in_use(header, how, keys)?;
        now.reencryption(device, how, keys)
    }

    /// Begins to turn its volume into plaintext while it is in use, as [`Device::begin_decryption`] does; the header is
    /// elsewhere, so that no data moves. After the last step the mapping shows a volume no more:
    /// [`Mapping::remove_when_unused`]. See [`Mapping::begin_reencryption`] for an example.
    ///
    /// # Errors
    /// Those of [`Mapping::begin_reencryption`]; data would move.
    pub fn begin_decryption(
        &self,
        device: &Device,
        header: Header,
        how: &Reencrypt,
        key: VolumeKey,
    ) -> Result<Reencryption> {
        let now = self.beginning(device, &header, how, Some(&key))?;
        let keys = device.begun_decryption_in_use(header, how, key)?;
        now.reencryption(device, how, keys)
    }

    /// Goes on with a re-encryption that the header describes, as [`Device::resume_reencryption`] does, while the volume
    /// is in use. Also where a step was cut off, and left the mapping suspended. See [`Mapping::begin_reencryption`]
    /// for an example.
    ///
    /// # Errors
    /// Those of [`Mapping::begin_reencryption`] and of [`Device::resume_reencryption`].
    pub fn resume_reencryption(
        &self,
        device: &Device,
        header: Header,
        how: &Reencrypt,
        key: &Key,
    ) -> Result<Reencryption> {
        let now = self.now()?;
        now.check_reencryptable()?;
        now.check_header(&header)?;
        let len = now.check_is_of(device)?;
        if let Some(whole) = UnderWay::of(header.luks.header())?.and_then(|it| it.len_on(len)) {
            now.check_size(whole)?;
        }
        let keys = header.both_keys(key)?;
        now.check_has(&[keys.old(), keys.new_key()].into_iter().flatten().collect::<Vec<_>>())?;
        now.reencryption(device, how, keys)
    }

    /// Refuses a mapping whose volume cannot be re-encrypted while it is in use, whatever its header says.
    ///
    /// # Errors
    /// [`Unchanged::ReadOnly`]; [`Unchanged::Table`]: it uses more than one device, or has integrity tags. See
    /// [`Mapping::begin_reencryption`] for an example.
    pub fn check_reencryptable(&self) -> Result<()> {
        match self.is_read_only() {
            true => Err(self.stays(Unchanged::ReadOnly)),
            false => self.below().map(drop),
        }
    }

    /// Its length in bytes, whatever its table consists of.
    ///
    /// ```no_run
    /// println!("{} bytes", keyway::Mapping::find("home")?.size()?);
    /// # Ok::<(), keyway::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`](crate::ErrorKind::NotFound) if it was removed meanwhile.
    pub fn size(&self) -> Result<u64> {
        let sectors: u64 = self.table(false)?.iter().map(|target| target.length).sum();
        Ok(sectors.saturating_mul(keyway_format::Sectors::SIZE))
    }

    /// It as it is now, if something can begin with the volume of this header and this key.
    fn beginning(
        &self,
        device: &Device,
        header: &Header,
        how: &Reencrypt,
        key: Option<&VolumeKey>,
    ) -> Result<Self> {
        let now = self.now()?;
        now.check_reencryptable()?;
        now.check_not_suspended()?;
        now.check_header(header)?;
        let len = now.check_is_of(device)?;
        now.check_size(how.data_len.unwrap_or_else(|| header.luks.header().data_len_on(len)))?;
        key.map_or(Ok(()), |key| now.check_has(&[key.expose()]))?;
        Ok(now)
    }

    /// Refuses a device whose data are not what is mapped: a copy has the same header. The length of what is below.
    fn check_is_of(&self, device: &Device) -> Result<u64> {
        let node = device::kernel_node(self.below()?.0).unwrap_or_default();
        let below = File::open(&node).at(&node.display())?;
        match in_use::is_same(&below, &*device.data()) {
            true => Ok(below.len()),
            false => Err(self.stays(Unchanged::OtherDevice)),
        }
    }

    /// Refuses to give it another length at the first step.
    fn check_size(&self, whole: u64) -> Result<()> {
        match self.size()? {
            mapped if mapped == whole => Ok(()),
            mapped => Err(self.stays(Unchanged::OtherSize { mapped, whole })),
        }
    }

    /// Refuses a header of another volume, or of other keys than the kernel has from its keyring: what is read and
    /// written is encrypted with another key than the header's.
    fn check_header(&self, header: &Header) -> Result<()> {
        let keyway_volume::Header::Luks2 { metadata, .. } = header.luks.header() else {
            return Err(self.stays(Unchanged::NoHeader));
        };
        if !self.was_made_from(&header.luks) {
            return Err(self.stays(Unchanged::NoHeader));
        }
        let known = match UnderWay::of(header.luks.header())? {
            Some(under_way) => [under_way.first_digest(), under_way.second_digest()],
            None => {
                let segment = metadata.segments.iter().find(|(_, segment)| !segment.is_backup());
                [segment.and_then(|(number, _)| metadata.digest_of_segment(*number)), None]
            }
        };
        let is_known = |line: &Line| has_key_of(line, &known);
        match self.lines(false)?.iter().all(is_known) {
            true => Ok(()),
            false => Err(self.stays(Unchanged::OtherKey)),
        }
    }

    /// The same of keys that are in the table.
    fn check_has(&self, keys: &[&Secret]) -> Result<()> {
        let is_known = |line: &Line| has_key(line, keys, self.is_suspended());
        match self.lines(true)?.iter().all(is_known) {
            true => Ok(()),
            false => Err(self.stays(Unchanged::OtherKey)),
        }
    }

    /// Takes the re-encryption on that the header describes.
    fn reencryption(&self, device: &Device, how: &Reencrypt, keys: VolumeKeys) -> Result<Reencryption> {
        let (number, options) = self.below()?;
        let place = device.header_place();
        let node = device::kernel_node(number).unwrap_or_default();
        if is_read_only(&node) {
            return Err(Error::new(crate::ErrorKind::ReadOnly).at(&node.display()));
        }
        // What is written to the mapping passes by the page cache of the device below.
        let data = File::open_rw(&node).and_then(|file| Direct::new(Arc::new(file))).at(&node.display())?;
        let data: Arc<dyn Storage> = Arc::new(data);
        let luks = Luks::open_with(device.header_storage(), Access::Write, device.locking()).at(place)?;
        let Some(under_way) = UnderWay::of(luks.header()).at(place)? else {
            return Err(Error::refused("Device reencryption not in progress"));
        };
        let (digests, uuid) =
            ((under_way.first_digest().unwrap_or(0), under_way.second_digest()), luks.uuid().to_owned());
        let below = Below { device: number, len: data.len(), options };
        let holds_header = device.data_device().holds_header;
        let job_options =
            JobOptions { zone: how.hot_zone, latency: Some(LATENCY), holds_header, ..JobOptions::default() };
        let job = Job::resume(luks, data, &keys, &job_options, &mut OsRandom).at(place)?;
        let mapper = Mapper::open().at(&self.name())?;
        let steps = Reencrypting {
            features: features(&mapper).at(&self.name())?,
            mapper,
            name: self.name().to_owned(),
            mapped: Mapped::new(job, keys, holds_header),
            below,
            flags: Flags { read_only: self.is_read_only(), ..Flags::default() },
            keyring: true,
            uuid,
            digests,
        };
        steps.settle().at(&self.name())?;
        Ok(Reencryption::in_use(Work::Mapped(Box::new(steps)), self.into()))
    }

    /// The device below, where the whole table is of it, with dm-crypt's options. Only in the middle of an encryption
    /// or a decryption are there lines that are not dm-crypt's.
    fn below(&self) -> Result<(DeviceNumber, Options)> {
        let table = self.table(false)?;
        let deps = Mapper::open().and_then(|mapper| mapper.deps(self.name())).at(&self.name())?;
        let [number] = deps[..] else { return Err(self.stays(Unchanged::Table)) };
        match options_of(&table) {
            Some(options) => Ok((number, options)),
            None => Err(self.stays(Unchanged::Table)),
        }
    }

    /// Its table; keys in it are zeros unless asked for.
    fn table(&self, with_keys: bool) -> Result<Vec<Target>> {
        Mapper::open().and_then(|mapper| mapper.table(self.name(), with_keys)).at(&self.name())
    }

    fn lines(&self, with_keys: bool) -> Result<Vec<Line>> {
        Ok(self.table(with_keys)?.iter().filter_map(|target| target.as_crypt().ok()).collect())
    }
}

#[cfg(feature = "parts")]
impl Mapping {
    /// What [`Mapping::begin_reencryption`] refuses about the header alone, before anybody is asked for a key.
    ///
    /// # Errors
    /// [`Unchanged::NoHeader`], [`Unchanged::OtherKey`].
    pub fn check_is_mapped_with(&self, header: &Header) -> Result<()> {
        self.check_header(header)
    }

    /// What [`Mapping::begin_reencryption`] refuses about the volume keys: the kernel has none of these.
    ///
    /// # Errors
    /// [`Unchanged::OtherKey`].
    pub fn check_has_key(&self, keys: &[&Secret]) -> Result<()> {
        self.check_has(keys)
    }

    /// Takes on what [`Device::prepare_reencryption`] or [`Device::prepare_decryption`] has written into the header, or
    /// [`Header::reencryption_keys`] has the keys of. See [`Mapping::begin_reencryption`] for an example of all at once.
    ///
    /// # Errors
    /// Those of [`Mapping::resume_reencryption`].
    pub fn reencrypt_with(&self, device: &Device, how: &Reencrypt, keys: VolumeKeys) -> Result<Reencryption> {
        self.reencryption(device, how, keys)
    }
}

/// Why a re-encryption of a mapping's volume has stopped where its requests wait (feature `dm`): the kernel refused a
/// table after a step, and with the one that it has it would read noise. The source of such an error of
/// [`Reencryption::step`]'s.
#[derive(Debug)]
pub struct LeftSuspended(Fault);

impl fmt::Display for LeftSuspended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for LeftSuspended {}

impl From<Fault> for Error {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Kernel(error) => error.into(),
            Fault::Volume(error) => error.into(),
            Fault::Suspended(_) => Self::because(crate::ErrorKind::Io, LeftSuspended(fault)),
        }
    }
}

/// The options of a table that can be re-encrypted.
fn options_of(table: &[Target]) -> Option<Options> {
    let is_plain = |target: &Target| matches!(target.kind.as_str(), "crypt" | "linear" | "error");
    let line = table.iter().find_map(|target| target.as_crypt().ok());
    let options = line.map(|line| line.options).unwrap_or_default();
    (table.iter().all(is_plain) && options.integrity.is_none()).then_some(options)
}

/// Whether a key that the kernel has from its keyring is that of one of these digests.
fn has_key_of(line: &Line, digests: &[Option<u32>]) -> bool {
    let crypt::Key::InKeyring(reference) = &line.key else { return true };
    digests.iter().flatten().any(|digest| reference.description.ends_with(&format!("-d{digest}")))
}

/// Whether a key that is in the table is one of these.
fn has_key(line: &Line, keys: &[&Secret], is_suspended: bool) -> bool {
    match &line.key {
        // The key of a suspended mapping was wiped.
        crypt::Key::Bytes(own) if is_suspended && own.expose().iter().all(|byte| *byte == 0) => true,
        crypt::Key::Bytes(own) => keys.iter().any(|key| key.ct_eq(own.expose())),
        _ => true,
    }
}

/// How long a request may have to wait for a zone.
const LATENCY: Duration = Duration::from_millis(100);

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> Line {
        Line::parse(text.as_bytes()).unwrap()
    }

    #[test]
    fn a_table_of_dm_crypts_and_what_is_plaintext_already_can_be_reencrypted() {
        let plain = "aes-xts-plain64 00ff 0 8:1 0 1 sector_size:4096";
        let crypt = || Target::crypt(0, 8, &line(plain));
        let other = |kind: &str| Target { kind: kind.into(), ..Target::error(8, 8) };
        let size = |table: &[Target]| options_of(table).unwrap().sector_size;
        assert_eq!(size(&[crypt()]), Some(4096));
        assert_eq!(size(&[other("linear"), crypt(), other("error")]), Some(4096));
        assert_eq!(size(&[other("linear")]), None);
        let tagged = Target::crypt(0, 8, &line("aes-xts-plain64 00ff 0 8:1 0 1 integrity:32:hmac(sha256)"));
        assert!(options_of(&[tagged]).is_none());
        assert!(options_of(&[crypt(), other("striped")]).is_none());
    }

    #[test]
    fn a_key_of_another_header_is_noticed() {
        let in_keyring = line("aes-xts-plain64 :64:logon:cryptsetup:0123-d1 0 8:1 0");
        assert!(has_key_of(&in_keyring, &[Some(0), Some(1)]) && has_key_of(&in_keyring, &[Some(1), None]));
        assert!(!has_key_of(&in_keyring, &[Some(0), None]) && !has_key_of(&in_keyring, &[None, None]));
        let in_table = line("aes-xts-plain64 00ff 0 8:1 0");
        assert!(has_key_of(&in_table, &[None, None]));
        let (own, other) = (Secret::copy_from(&[0x00, 0xff]), Secret::copy_from(&[0x00, 0xfe]));
        assert!(has_key(&in_table, &[&other, &own], false) && !has_key(&in_table, &[&other], false));
        assert!(!has_key(&in_table, &[&other], true) && !has_key(&in_table, &[], false));
        let wiped = line("aes-xts-plain64 0000 0 8:1 0");
        assert!(has_key(&wiped, &[&other], true) && !has_key(&wiped, &[&other], false));
        assert!(has_key(&in_keyring, &[&other], false));
    }
}
