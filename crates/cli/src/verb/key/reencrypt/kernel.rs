//! A volume that the kernel maps: it is mapped anew after each zone, as cryptsetup does it.

use super::online::{note_plaintext, refused, resuming};
use super::run::Steps;
use super::{Asked, Extent};
use crate::device::{self, explain};
use crate::mapping;
use crate::output::failure::{Exit, Failure, Result};
use crate::output::{sentence, stdio};
use keyway::parts::{UnderWay, VolumeKeys};
use keyway::storage::image_of;
use keyway::{Access, Device, LeftSuspended, Mapping, Reencryption, Secret, Unchanged, Version};
use std::error::Error;
use std::path::PathBuf;

impl Asked {
    /// Begins, or goes on with, what the kernel has mapped.
    pub(super) fn run_mapped(mut self, found: &Mapping) -> Result<()> {
        let name = found.name();
        self.check_is_changed_in_place(name)?;
        found.check_reencryptable().map_err(|error| unchanged(name, &error))?;
        self.target.device = self.device_below(found)?;
        self.check_data_stays(name)?;
        let device = self.device_in_use()?;
        let header = device.header_with(&self.key.terms_without_seal())?;
        if self.passes_by(&header)? {
            return Ok(());
        }
        if header.version() != Version::Luks2 || !found.is_of(header.luks()) {
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
        found.check_is_mapped_with(&header).map_err(|error| unchanged(name, &error))?;
        drop(header);
        let has = |keys: &[&Secret]| found.check_has_key(keys).map_err(|error| unchanged(name, &error));
        let keys = match is_under_way {
            true => {
                let keys = self.keys_under_way(&device)?;
                has(&[keys.old(), keys.new_key()].into_iter().flatten().collect::<Vec<_>>())?;
                Some(keys)
            }
            false => self.begin_in_use(&device, name, |_, key| has(&[key.expose()]))?,
        };
        let Some(keys) = keys else {
            return self.note_prepared(name);
        };
        let is_decryption = keys.new_key().is_none();
        self.go_on_mapped(found, &device, keys)?;
        if is_decryption {
            note_plaintext(name);
            found.clone().remove_when_unused().map_err(|error| mapping::explain(name, &error))?;
        }
        Ok(())
    }

    /// A mapping keeps its size while it is mapped anew.
    fn check_mapped_size(&mut self, found: &Mapping, header: &keyway::Header) -> Result<()> {
        let open = found.size().map_err(|error| mapping::explain(found.name(), &error))?;
        let len = self.target.storage(&self.target.device, Access::Probe)?.len();
        match UnderWay::of(header.luks().header())? {
            Some(under_way) => Self::check_size_of(found.name(), open, under_way.len_on(len).unwrap_or(open)),
            None if self.extent == Extent::Resume => Ok(()),
            None => self.keep_size_of(found.name(), open, header.luks().header().data_len_on(len)),
        }
    }

    fn go_on_mapped(&self, found: &Mapping, device: &Device, keys: VolumeKeys) -> Result<()> {
        let name = found.name();
        lock_memory(self.target.manner)?;
        let steps = found.reencrypt_with(device, &self.how, keys).map_err(|error| {
            stopped(name, error, |error| explain::on_device(self.target.header_path(), error))
        })?;
        let steps = InUse { name, steps };
        self.drive(steps, &resuming(name))
    }

    /// The file of a loop device, or the device; where it was given, it must be that.
    fn device_below(&self, found: &Mapping) -> Result<PathBuf> {
        let node = found.device().map_err(|e| mapping::explain(found.name(), &e))?.unwrap_or_default();
        let given = &self.target.device;
        let image = || found.status().ok().flatten()?.image;
        let is_file = || image().is_some_and(|image| device::is_same(&image_of(&image), given));
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

/// Why the volume of the mapping cannot be re-encrypted while it is in use.
fn unchanged(name: &str, error: &keyway::Error) -> Failure {
    match mapping::why(error) {
        Some(Unchanged::ReadOnly) => {
            refused(&format!("{name} is open for reading only, and cannot be reencrypted."))
        }
        Some(Unchanged::Table) => refused(&format!("{name} has a table that cannot be reencrypted.")),
        Some(Unchanged::OtherKey) => refused(&format!(
            "{name} is mapped with another key than its header describes: nothing was changed. \"keyway close {name}\", and open \
             it again with the header that belongs to it."
        )),
        _ => mapping::explain(name, error),
    }
}

/// What pages this process lacked might lie on the mapping whose requests it holds back.
fn lock_memory(manner: crate::output::manner::Manner) -> Result<()> {
    use rustix::mm::{MlockAllFlags, mlockall};
    match mlockall(MlockAllFlags::CURRENT | MlockAllFlags::FUTURE) {
        Ok(()) => Ok(()),
        Err(why) => stdio::debug(manner, &format!("This process's memory cannot be locked: {why}.")),
    }
}

/// A re-encryption of what is mapped under a name.
struct InUse<'a> {
    name: &'a str,
    steps: Reencryption,
}

impl Steps for InUse<'_> {
    fn step(&mut self) -> Result<bool> {
        self.steps.step().map_err(|error| stopped(self.name, error, explain::plain))
    }

    fn progress(&self) -> (u64, u64) {
        self.steps.progress()
    }
}

/// Why it has stopped, with `of_volume` for what the volume's device says.
fn stopped(
    name: &str,
    error: keyway::Error,
    of_volume: impl Fn(&keyway::parts::Error) -> Failure,
) -> Failure {
    match error.into_volume_error() {
        Ok(error) => of_volume(&error),
        Err(error) => match error.source().and_then(|why| why.downcast_ref::<LeftSuspended>()) {
            Some(why) => Failure::new(Exit::Device, sentence::sentence(&why.to_string())),
            None => mapping::explain(name, &error),
        },
    }
}
