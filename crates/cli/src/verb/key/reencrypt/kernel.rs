//! A volume that the kernel maps: it is mapped anew after each zone, as cryptsetup does it.

use super::online::{note_plaintext, refused};
use super::run::Steps;
use super::size::len_of;
use super::{Asked, Extent};
use crate::device::{self, explain};
use crate::mapping;
use crate::output::failure::{Exit, Failure, Result};
use crate::output::{sentence, stdio};
use keyway::parts::{Header, Luks, UnderWay, VolumeKeys};
use keyway::storage::Storage;
use keyway::{Access, Mapping};
use keyway_attach::dm::crypt::{Features, Key, Line};
use keyway_attach::dm::reencrypting::{Fault, Reencrypting};
use keyway_attach::dm::volume::Below;
use keyway_attach::dm::{self, DeviceNumber, Mapper, Target, loopback};
use keyway_crypto::Secret;
use keyway_volume::OsRandom;
use keyway_volume::reencrypt::{Job, Mapped, Options, Progress};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

impl Asked {
    /// Begins, or goes on with, what the kernel has mapped.
    pub(super) fn run_mapped(mut self, found: &Mapping) -> Result<()> {
        let name = found.name();
        self.check_is_changed_in_place(name)?;
        if found.is_read_only() {
            let message = format!("{name} is open for reading only, and cannot be reencrypted.");
            return Err(refused(&message));
        }
        let (number, options) = one_device(found)?;
        self.target.device = self.device_below(found, number)?;
        self.check_data_stays(name)?;
        let device = self.device_in_use()?;
        let header = device.header_with(&self.key.terms_without_seal())?;
        if self.passes_by(&header)? {
            return Ok(());
        }
        let uuid = header.uuid().to_owned();
        if found.kind() != Some("LUKS2") || found.volume_uuid().as_deref() != Some(&uuid) {
            return Err(mapping::no_header(name));
        }
        let is_under_way = header.is_in_reencryption()?;
        self.check_under_way(&header)?;
        self.check_size_stays(header.luks(), 0, &format!("{name} is open"))?;
        self.check_mapped_size(found, &header)?;
        if found.is_suspended() && !is_under_way {
            return Err(mapping::suspended(name));
        }
        if !is_under_way {
            let place = found.path();
            self.check_blocks_mapped(header.luks(), &*device::storage(&place, Access::Probe)?, &place)?;
        }
        check_digests(found, header.luks())?;
        drop(header);
        let keys = match is_under_way {
            true => {
                let keys = self.keys_under_way(&device)?;
                let both = [keys.old(), keys.new_key()];
                check_keys(found, &both.into_iter().flatten().collect::<Vec<_>>())?;
                Some(keys)
            }
            false => self.begin_in_use(&device, name, |_, key| check_keys(found, &[key]))?,
        };
        let Some(keys) = keys else {
            return stdio::verbose(self.target.manner, &format!("Reencryption of {name} is prepared."));
        };
        let is_decryption = keys.new_key().is_none();
        self.go_on_mapped(found, keys, Below { device: number, len: 0, options }, uuid)?;
        if is_decryption {
            note_plaintext(name);
            mapper()?.remove(name, true).map_err(|error| sentence::attaching(&error))?;
        }
        Ok(())
    }

    /// A mapping keeps its size while it is mapped anew.
    fn check_mapped_size(&mut self, found: &Mapping, header: &keyway::Header) -> Result<()> {
        let open = table(found, false)?.iter().map(|target| target.length).sum::<u64>().saturating_mul(512);
        let len = self.target.storage(&self.target.device, Access::Probe)?.len();
        match UnderWay::of(header.luks().header())? {
            Some(under_way) => Self::check_size_of(found.name(), open, under_way.len_on(len).unwrap_or(open)),
            None if self.extent == Extent::Resume => Ok(()),
            None => self.keep_size_of(found.name(), open, len_of(header.luks().header(), len)),
        }
    }

    fn go_on_mapped(&self, found: &Mapping, keys: VolumeKeys, below: Below, uuid: String) -> Result<()> {
        // What is written to the mapping passes by the page cache of the device below.
        let node = Path::new("/dev").join(below.device.kernel_name().unwrap_or_default().replace('!', "/"));
        let data: Arc<dyn Storage> = device::storage_direct(&node, Access::Write)?;
        let header = match &self.target.header {
            Some(path) => self.target.storage(path, Access::Write)?,
            None => self.target.storage(&self.target.device, Access::Write)?,
        };
        let luks = Luks::open_with(header, Access::Write, self.target.locking);
        let failed = |error| explain::on_device(self.target.header_path(), &error);
        let luks = luks.map_err(failed)?;
        let under_way =
            UnderWay::of(luks.header())?.ok_or_else(|| refused("Device reencryption not in progress."))?;
        let digests = (under_way.first_digest().unwrap_or(0), under_way.second_digest());
        let holds_header = self.target.header.is_none();
        let options = Options { zone: self.zone, latency: Some(LATENCY), holds_header, ..Options::default() };
        let below = Below { len: data.len(), ..below };
        let job = Job::resume(luks, data, &keys, &options, &mut OsRandom).map_err(failed)?;
        lock_memory(self.target.manner)?;
        let mapper = mapper()?;
        let features =
            mapper.target_version("crypt").map(Features::of).map_err(|e| sentence::attaching(&e))?;
        let steps = Reencrypting {
            mapper: &mapper,
            name: found.name(),
            mapped: Mapped::new(job, keys, holds_header),
            below,
            flags: dm::Flags { read_only: found.is_read_only(), ..dm::Flags::default() },
            features,
            keyring: true,
            uuid,
            digests,
        };
        steps.settle().map_err(|fault| failure(&fault))?;
        let name = found.name();
        self.drive(steps, &format!("keyway reencrypt --resume-only --active-name {name}"))
    }

    /// The file of a loop device, or the device; where it was given, it must be that.
    fn device_below(&self, found: &Mapping, number: DeviceNumber) -> Result<PathBuf> {
        let node = found.device().map_err(|e| mapping::explain(found.name(), &e))?.unwrap_or_default();
        let given = &self.target.device;
        let is_file = || loopback::backing_file(number).is_some_and(|file| device::is_same(&file, given));
        if !given.as_os_str().is_empty() && !device::is_same(&node, given) && !is_file() {
            return Err(refused(&format!(
                "{} is the volume of {}, not of {}.",
                found.name(),
                node.display(),
                given.display()
            )));
        }
        Ok(node)
    }
}

fn mapper() -> Result<Mapper> {
    Mapper::open().map_err(|error| sentence::attaching(&error))
}

/// Its table; keys in it are zeros unless requested.
fn table(found: &Mapping, with_keys: bool) -> Result<Vec<Target>> {
    mapper()?.table(found.name(), with_keys).map_err(|error| sentence::attaching(&error))
}

/// The device below, where the whole table is of it, with dm-crypt's options. Only in the middle of an
/// encryption or a decryption are there lines that are not dm-crypt's.
fn one_device(found: &Mapping) -> Result<(DeviceNumber, dm::crypt::Options)> {
    let table = table(found, false)?;
    let lines: Vec<Line> = table.iter().filter_map(|target| target.as_crypt().ok()).collect();
    let unfit = || refused(&format!("{} has a table that cannot be reencrypted.", found.name()));
    let [number] = mapper()?.deps(found.name()).map_err(|e| sentence::attaching(&e))?[..] else {
        return Err(unfit());
    };
    let is_plain = |target: &Target| matches!(target.kind.as_str(), "crypt" | "linear" | "error");
    let options = lines.into_iter().next().map(|line| line.options).unwrap_or_default();
    match table.iter().all(is_plain) && options.integrity.is_none() {
        true => Ok((number, options)),
        false => Err(unfit()),
    }
}

/// Refuses a mapping whose keys in the keyring are not those of the header: what it reads and writes is
/// encrypted with another key than the header's.
fn check_digests(found: &Mapping, luks: &Luks) -> Result<()> {
    let Header::Luks2 { metadata, .. } = luks.header() else { return Err(mapping::no_header(found.name())) };
    let known = match UnderWay::of(luks.header())? {
        Some(under_way) => [under_way.first_digest(), under_way.second_digest()],
        None => {
            let segment = metadata.segments.iter().find(|(_, segment)| !segment.is_backup());
            [segment.and_then(|(number, _)| metadata.digest_of_segment(*number)), None]
        }
    };
    let is_known = |line: &Line| match &line.key {
        Key::InKeyring(reference) => {
            known.iter().flatten().any(|digest| reference.description.ends_with(&format!("-d{digest}")))
        }
        _ => true,
    };
    let lines = table(found, false)?;
    match lines.iter().filter_map(|target| target.as_crypt().ok()).all(|line| is_known(&line)) {
        true => Ok(()),
        false => Err(mismatch(found)),
    }
}

/// The same of keys that are in the table.
fn check_keys(found: &Mapping, keys: &[&Secret]) -> Result<()> {
    let is_known = |line: &Line| match &line.key {
        // The key of a suspended mapping was wiped.
        Key::Bytes(own) if found.is_suspended() && own.expose().iter().all(|byte| *byte == 0) => true,
        Key::Bytes(own) => keys.iter().any(|key| key.ct_eq(own.expose())),
        _ => true,
    };
    let lines = table(found, true)?;
    match lines.iter().filter_map(|target| target.as_crypt().ok()).all(|line| is_known(&line)) {
        true => Ok(()),
        false => Err(mismatch(found)),
    }
}

fn mismatch(found: &Mapping) -> Failure {
    let name = found.name();
    refused(&format!(
        "{name} is mapped with another key than its header describes: nothing was changed. \"keyway close {name}\", and open \
         it again with the header that belongs to it."
    ))
}

/// What pages this process lacked might lie on the mapping whose requests it holds back.
fn lock_memory(manner: crate::output::manner::Manner) -> Result<()> {
    use rustix::mm::{MlockAllFlags, mlockall};
    match mlockall(MlockAllFlags::CURRENT | MlockAllFlags::FUTURE) {
        Ok(()) => Ok(()),
        Err(why) => stdio::debug(manner, &format!("This process's memory cannot be locked: {why}.")),
    }
}

impl Steps for Reencrypting<'_> {
    fn step(&mut self) -> Result<bool> {
        Reencrypting::step(self).map_err(|fault| failure(&fault))
    }

    fn progress(&self) -> (u64, u64) {
        let Progress { done, len } = self.mapped.progress();
        (done, len)
    }
}

fn failure(fault: &Fault) -> Failure {
    match fault {
        Fault::Kernel(error) => sentence::attaching(error),
        Fault::Volume(error) => explain::plain(error),
        Fault::Suspended(_) => Failure::new(Exit::Device, sentence::sentence(&fault.to_string())),
    }
}

/// How long a request may have to wait for a zone.
const LATENCY: Duration = Duration::from_millis(100);
