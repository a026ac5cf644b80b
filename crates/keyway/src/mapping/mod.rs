//! The kernel's front end: a dm-crypt mapping, set up as cryptsetup does.

mod change;
mod device;
mod find;
mod link;
mod make;
mod now;
mod options;
mod reencrypt;
mod remove;
mod reopened;
mod resize;
mod status;
mod stored;
mod unchanged;

#[cfg(feature = "parts")]
pub use link::LinkedKeys;
pub use link::{KeyLink, KeyLinks, Unlinkable};
pub use options::{MapOptions, WatchMapping};
pub use reencrypt::LeftSuspended;
pub use reopened::Reopened;
pub use status::{MappedKey, MappingStatus};
#[cfg(feature = "parts")]
pub use stored::set_mapping_flags;
pub use unchanged::{MappingStep, Unchanged};

use crate::error::At;
use crate::{Admitted, Error, Location, Result, VolumeKey};
use keyway_attach::dm::{Info, Mapper, node};
use std::path::{Path, PathBuf};

/// A flag of dm-crypt's, which changes how it processes requests but not what it decrypts. See
/// [`MapOptions`] for an example.
pub use keyway_attach::dm::Flag as MappingFlag;

/// A mapping of the kernel's dm-crypt, /dev/mapper/NAME: from [`Admitted::map`] (see there for an example),
/// [`Mapping::find`] or [`Mapping::look_up`]. It needs no process, and outlives this value until it is removed or the
/// machine stops.
///
/// What this value tells without an error ([`Mapping::is_suspended`], [`Mapping::open_count`]) is as it was when the
/// mapping was found. What changes the mapping asks the kernel again, and refuses another one that has its name by then
/// ([`Unchanged::Replaced`]).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mapping {
    info: Info,
}

impl Mapping {
    /// Its name. See [`Admitted::map`] for an example.
    pub fn name(&self) -> &str {
        &self.info.name
    }

    /// Its block device. See [`Admitted::map`] for an example.
    pub fn path(&self) -> PathBuf {
        place_of(self.name())
    }

    /// The block device of the mapping of this name, if there is one.
    ///
    /// ```
    /// assert_eq!(keyway::Mapping::path_of("home"), std::path::Path::new("/dev/mapper/home"));
    /// ```
    pub fn path_of(name: &str) -> PathBuf {
        place_of(name)
    }
}

impl Admitted {
    /// Maps the volume in the kernel as /dev/mapper/`name`, with the table, UUID and key that
    /// cryptsetup would use, and hands the device over to the mapping. Root only. A file gets a
    /// loop device, which is removed with the mapping. A chain of ciphers is a mapping for each, `name`_1 and
    /// `name`_2 below it. Discards are passed on where [`Unlock::discards`](crate::Unlock::discards) or the header
    /// allows it.
    ///
    /// ```no_run
    /// # use keyway::*;
    /// let admitted = Device::open_rw("/dev/sda2")?.admit(&Unlock::new())?;
    /// let key = admitted.try_key(&Key::passphrase("correct horse"))?;
    /// let mapping = admitted.map(key, "home")?;
    /// assert_eq!(mapping.path(), std::path::Path::new("/dev/mapper/home"));
    ///
    /// // Later, in any process.
    /// let mapping = Mapping::find("home")?;
    /// println!("{} goes", mapping.name());
    /// mapping.remove()?;
    /// # Ok::<(), keyway::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Admitted::open`]; [`ErrorKind::PermissionDenied`](crate::ErrorKind::PermissionDenied); [`ErrorKind::InUse`](crate::ErrorKind::InUse) where the
    /// name is taken, or another process was faster; [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) where the kernel
    /// lacks dm-crypt or a cipher; [`ErrorKind::Refused`](crate::ErrorKind::Refused) for anything that is neither a file nor a
    /// block device.
    pub fn map(self, key: VolumeKey, name: &str) -> Result<Mapping> {
        self.map_with(key, name, &MapOptions::new(), &mut Silent)
    }

    /// As [`Admitted::map`], with options; `watch` is told what happens meanwhile.
    ///
    /// ```no_run
    /// # use keyway::*;
    /// struct Told;
    ///
    /// impl WatchMapping for Told {
    ///     fn unknown_flag(&mut self, flag: MappingFlag) -> Result<()> {
    ///         println!("This kernel does without {flag:?}.");
    ///         Ok(())
    ///     }
    /// }
    ///
    /// let admitted = Device::open_rw("/dev/sda2")?.admit(&Unlock::new())?;
    /// let key = admitted.try_key(&Key::passphrase("correct horse"))?;
    /// let how = MapOptions::new().flag(MappingFlag::HighPriority);
    /// admitted.map_with(key, "home", &how, &mut Told)?;
    /// # Ok::<(), keyway::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Admitted::map`] and of `watch`; one whose source is [`Unlinkable`]. Nothing is mapped then.
    pub fn map_with(
        self,
        key: VolumeKey,
        name: &str,
        how: &MapOptions,
        watch: &mut dyn WatchMapping,
    ) -> Result<Mapping> {
        let (place, unclaimed, options) = self.for_the_kernel();
        let Some(path) = place.path().map(Path::to_owned) else {
            return Err(Error::refused("the kernel maps block devices and files alone").at(&place));
        };
        // Before what a re-encryption left is completed: without device-mapper, nothing is changed.
        Mapper::open().at(&place)?;
        let how = how.clone().on(&options, self.is_read_only());
        let data = self.claimed();
        let parts = self.ready_for_the_kernel(key, data, &unclaimed, how.read_only)?;
        make::map(&parts, &path, name, &how, watch).at(&place)
    }
}

/// Nothing is said.
struct Silent;

impl WatchMapping for Silent {}

/// Where the mapping of this name has its node.
fn place_of(name: &str) -> PathBuf {
    node::path(name).unwrap_or_else(|_| Path::new("/dev/mapper").join(name))
}

impl From<&Mapping> for Location {
    fn from(mapping: &Mapping) -> Self {
        mapping.path().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use keyway_attach::dm::DeviceNumber;

    /// A mapping with this UUID, which no kernel has.
    pub(super) fn mapping(uuid: &str) -> Mapping {
        let info = Info {
            name: "home".into(),
            uuid: uuid.into(),
            device: DeviceNumber { major: 254, minor: 0 },
            open_count: 0,
            targets: 1,
            suspended: false,
            read_only: false,
            has_table: true,
            has_waiting_table: false,
            removed_on_close: false,
            event: 0,
        };
        Mapping { info }
    }

    /// Why the mapping stays as it is.
    pub(super) fn why(error: &Error) -> &Unchanged {
        std::error::Error::source(error).and_then(|why| why.downcast_ref()).unwrap()
    }
}
