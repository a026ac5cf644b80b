//! Finds mappings, whichever program made them.

use super::Mapping;
use crate::error::At;
use crate::{Error, ErrorKind, Result};
use keyway_attach::dm::{DeviceNumber, Mapper, name, uuid};
use std::collections::BTreeSet;
use std::path::Path;

impl Mapping {
    /// Finds a mapping by its name, made by this library, Keyway or cryptsetup. See
    /// [`Admitted::map`](crate::Admitted::map) for an example.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`]; [`ErrorKind::Refused`] where another program made it;
    /// [`ErrorKind::PermissionDenied`] for users other than root.
    pub fn find(name: &str) -> Result<Self> {
        let info = Mapper::open().and_then(|mapper| mapper.status(name)).at(&name)?;
        let found = Self { info };
        match found.is_of_volume() {
            true => Ok(found),
            false => Err(Error::refused("it is not the mapping of an encrypted volume").at(&name)),
        }
    }

    /// Whether this library, Keyway or cryptsetup made it. See [`Mapping::look_up`] for an example.
    pub fn is_of_volume(&self) -> bool {
        uuid::is_crypt(&self.info.uuid)
    }

    /// The mapping of this name, or with a block device at this path, whichever program made it: a logical volume's,
    /// too. `None` if there is none; without device-mapper nothing is mapped.
    ///
    /// ```no_run
    /// # use keyway::*;
    /// let mapping = Mapping::look_up("/dev/dm-0")?;
    /// println!("{}", mapping.is_some_and(|mapping| mapping.is_of_volume()));
    /// # Ok::<(), keyway::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::PermissionDenied`] where there is such a mapping, and this user may not ask about it.
    pub fn look_up(name: &str) -> Result<Option<Self>> {
        let mapper = match Mapper::open() {
            Ok(mapper) => mapper,
            // Without permission, sysfs tells whether the mapping exists.
            Err(keyway_attach::Error::Permission(_)) if is_listed(name) => {
                return Err(Error::new(ErrorKind::PermissionDenied).at(&name));
            }
            Err(_) => return Ok(None),
        };
        let found = match name.contains('/') {
            false => mapper.status(name),
            true => match DeviceNumber::at(Path::new(name)) {
                Ok(device) => mapper.status_of(device),
                Err(_) => return Ok(None),
            },
        };
        match found {
            Ok(info) => Ok(Some(Self { info })),
            Err(keyway_attach::Error::NotFound(_)) => Ok(None),
            Err(error) => Err(error).at(&name),
        }
    }

    /// The mapping of the LUKS2 volume on this block device, if there is one and this user may ask about it.
    ///
    /// ```no_run
    /// # use keyway::*;
    /// if let Some(mapping) = Mapping::above("/dev/sda2") {
    ///     println!("{} is open", mapping.name());
    /// }
    /// ```
    pub fn above(device: impl AsRef<Path>) -> Option<Self> {
        let holders = DeviceNumber::at(device.as_ref()).ok()?.holders();
        let found = |holder| Mapper::open().ok()?.status_of(holder).ok().map(|info| Self { info });
        holders.into_iter().filter_map(found).find(|found| found.kind() == Some("LUKS2"))
    }

    /// All mappings, whichever programs made them; of a chain of ciphers, the one with the volume's name.
    ///
    /// ```no_run
    /// # use keyway::*;
    /// for mapping in Mapping::all()? {
    ///     if let Some(status) = mapping.status()? {
    ///         println!("{}: {} on {}", mapping.name(), status.cipher, status.device.display());
    ///     }
    /// }
    /// # Ok::<(), keyway::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::PermissionDenied`] for users other than root; [`ErrorKind::Unsupported`] without device-mapper.
    pub fn all() -> Result<Vec<Self>> {
        let mapper = Mapper::open()?;
        let names = mapper.list()?;
        let mut found: Vec<_> = names.iter().filter_map(|(name, _)| mapper.status(name).ok()).collect();
        let lower = found.iter().flat_map(|info| mapper.lower(info)).map(|lower| lower.info.name);
        let lower: BTreeSet<String> = lower.collect();
        found.retain(|info| !lower.contains(&info.name));
        Ok(found.into_iter().map(|info| Self { info }).collect())
    }

    /// Whether there is a device-mapper here, for this user; its module is loaded where it is missing.
    ///
    /// ```
    /// # use keyway::*;
    /// match Mapping::check_available() {
    ///     Ok(()) => println!("dm-crypt: {}", Mapping::has_dm_crypt()),
    ///     Err(error) => println!("no mappings: {error}"),
    /// }
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::PermissionDenied`] for users other than root; [`ErrorKind::Unsupported`] without device-mapper.
    pub fn check_available() -> Result<()> {
        Ok(Mapper::open().map(drop)?)
    }

    /// Whether the kernel can map volumes here, for this user; dm-crypt's module is loaded where it is missing. See
    /// [`Mapping::check_available`] for an example.
    pub fn has_dm_crypt() -> bool {
        Mapper::open().is_ok_and(|mapper| mapper.has_target("crypt"))
    }
}

/// Whether sysfs, which any user may read, shows a mapping of this name.
fn is_listed(mapping: &str) -> bool {
    let file_name = Path::new(mapping).file_name().unwrap_or_default().to_string_lossy();
    let Ok(mangled) = name::mangle(&file_name) else { return false };
    let devices = std::fs::read_dir("/sys/block").into_iter().flatten().flatten();
    let mut names = devices.filter_map(|device| std::fs::read_to_string(device.path().join("dm/name")).ok());
    names.any(|found| found.trim_end() == mangled)
}
