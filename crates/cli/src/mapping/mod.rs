//! Open kernel mappings, whichever program made them: finding them by name, reading their table,
//! and cryptsetup's messages if there is none.

mod devices;
mod flags;
mod header;
mod keyring;

pub(crate) use devices::{device_path, image_behind, is_read_only};
pub(crate) use flags::{GivenFlags, option_of, shown};
pub(crate) use header::{Reopening, no_header};
pub(crate) use keyring::{KeyLink, hold_key, not_mapped, place_key};

use crate::device::sessions;
use crate::output::failure::{Exit, Failure, Result};
use crate::output::sentence;
use keyway_attach::Error;
use keyway_attach::dm::crypt::{self, Features};
use keyway_attach::dm::{self, DeviceNumber, Mapper, Step, Target, Unchanged};
use keyway_attach::session::Session;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// What is open under a name.
pub(crate) enum Open {
    /// A mapping of the kernel's.
    Kernel(Mapping),
    /// A session: a process of the user's.
    Session(Session),
}

/// What is open under `name`, which may be the path of a mapping's block device; kernel mappings
/// take precedence.
pub(crate) fn find(name: &str) -> Result<Option<Open>> {
    match find_mapping(name)? {
        Some(mapping) => Ok(Some(Open::Kernel(mapping))),
        // Scripts name a volume by the path that dm-crypt would have given it.
        None => {
            let name = name.strip_prefix("/dev/mapper/").unwrap_or(name);
            Ok(sessions::registry().find(name).map(Open::Session))
        }
    }
}

/// As [`find`], for commands that need an open volume.
pub(crate) fn find_active(name: &str) -> Result<Open> {
    find(name)?.ok_or_else(|| not_active(name))
}

/// A kernel mapping, and access to it.
pub(crate) struct Mapping {
    /// The kernel's device-mapper.
    pub(crate) mapper: Mapper,
    /// The kernel's information about it.
    pub(crate) info: dm::Info,
}

impl Mapping {
    /// Its name.
    pub(crate) fn name(&self) -> &str {
        &self.info.name
    }

    /// Refuses a suspended mapping: its table contains no key to copy into another table.
    pub(crate) fn refuse_suspended(&self) -> Result<()> {
        if !self.info.suspended {
            return Ok(());
        }
        Err(suspended(self.name()))
    }

    /// Its table; keys in it are zeros unless requested.
    pub(crate) fn table(&self, with_keys: bool) -> Result<Vec<Target>> {
        self.mapper.table(self.name(), with_keys).map_err(|e| sentence::attaching(&e))
    }

    /// dm-crypt's table line, if it is the whole table.
    pub(crate) fn line(&self, with_key: bool) -> Result<Option<(Target, crypt::Line)>> {
        let mut targets = self.table(with_key)?;
        match (targets.pop(), targets.is_empty()) {
            (Some(target), true) => Ok(target.as_crypt().ok().map(|line| (target, line))),
            _ => Ok(None),
        }
    }

    /// The type of volume it was made from ("LUKS2", "PLAIN"), and that volume's UUID.
    pub(crate) fn kind(&self) -> Option<(&str, Option<String>)> {
        dm::uuid::kind_and_volume(&self.info.uuid)
    }

    /// Replaces its table while it is in use.
    pub(crate) fn replace_table(&self, table: &[Target], flags: dm::Flags) -> Result<()> {
        self.refuse_suspended()?;
        self.mapper.replace_table(self.name(), table, flags).map_err(|Unchanged { step, source }| {
            let what = match step {
                Step::Reload => "reload",
                Step::Suspend => "suspend",
                Step::Resume => "resume",
            };
            let message = format!("Failed to {what} device {}: {source}.", self.name());
            Failure::new(sentence::attaching(&source).exit(), message)
        })
    }
}

/// The mapping of this name, or at this path.
pub(crate) fn find_mapping(name: &str) -> Result<Option<Mapping>> {
    let mapper = match Mapper::open() {
        Ok(mapper) => mapper,
        // Without the module, nothing is mapped; without permission, sysfs tells whether the
        // mapping exists.
        Err(Error::Permission(_)) if is_listed(name) => {
            return Err(no_mapper(&Error::Permission(String::new())));
        }
        Err(_) => return Ok(None),
    };
    let found = if name.contains('/') {
        match DeviceNumber::at(Path::new(name)) {
            Ok(device) => mapper.status_of(device),
            Err(_) => return Ok(None),
        }
    } else {
        mapper.status(name)
    };
    match found {
        Ok(info) => Ok(Some(Mapping { mapper, info })),
        Err(Error::NotFound(_)) => Ok(None),
        Err(error) => Err(sentence::attaching(&error)),
    }
}

/// The mapping of the LUKS2 volume on this block device, if there is one.
pub(crate) fn above(device: &Path) -> Option<Mapping> {
    let holders = DeviceNumber::at(device).ok()?.holders();
    let found = |holder: DeviceNumber| {
        let mapper = Mapper::open().ok()?;
        let info = mapper.status_of(holder).ok()?;
        Some(Mapping { mapper, info })
    };
    let is_luks2 = |found: &Mapping| found.kind().is_some_and(|(kind, _)| kind == "LUKS2");
    holders.into_iter().filter_map(found).find(is_luks2)
}

/// The kernel's device-mapper, or cryptsetup's message if it is not available.
pub(crate) fn mapper() -> Result<Mapper> {
    Mapper::open().map_err(|error| no_mapper(&error))
}

/// What this kernel's dm-crypt can do; its module is loaded when a table first needs it.
pub(crate) fn features(mapper: &Mapper) -> Result<Features> {
    mapper.target_version("crypt").map(Features::of).map_err(|e| sentence::attaching(&e))
}

/// Whether this user can have the kernel map volumes.
pub(crate) fn has_dm_crypt() -> bool {
    Mapper::open().is_ok_and(|mapper| mapper.has_target("crypt"))
}

/// The operand that names a mapping, as text.
pub(crate) fn name(operand: Option<&OsString>) -> Result<String> {
    let name = operand.and_then(|name| name.to_str()).map(str::to_owned);
    name.ok_or_else(|| Failure::new(Exit::Parameters, "The name of a mapping must be valid UTF-8."))
}

/// The path where the mapping of this name is found.
pub(crate) fn place(name: &str) -> PathBuf {
    dm::node::path(name).unwrap_or_else(|_| Path::new("/dev/mapper").join(name))
}

/// cryptsetup's message for a name under which nothing is open.
pub(crate) fn not_active(name: &str) -> Failure {
    Failure::new(Exit::Device, format!("Device {name} is not active."))
}

/// The line for an operation that is impossible while the volume is suspended.
pub(crate) fn suspended(name: &str) -> Failure {
    let message = format!("Volume {name} is suspended; luksResume resumes it.");
    Failure::new(Exit::Parameters, message)
}

fn no_mapper(error: &Error) -> Failure {
    match error {
        Error::Permission(_) => {
            Failure::denied(Exit::Parameters, "Cannot initialize device-mapper, running as non-root user.")
        }
        _ => {
            Failure::new(Exit::Parameters, "Cannot initialize device-mapper. Is dm_mod kernel module loaded?")
        }
    }
}

/// Whether sysfs, which any user may read, shows a mapping of this name.
fn is_listed(name: &str) -> bool {
    let name =
        Path::new(name).file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let Ok(mangled) = dm::name::mangle(&name) else { return false };
    let devices = std::fs::read_dir("/sys/block").into_iter().flatten().flatten();
    let mut names = devices.filter_map(|device| std::fs::read_to_string(device.path().join("dm/name")).ok());
    names.any(|found| found.trim_end() == mangled)
}
