//! The kernel's door: a dm-crypt mapping, set up as cryptsetup does.

use crate::admitted::Ready;
use crate::error::At;
use crate::{Admitted, Error, ErrorKind, Location, Result, VolumeKey};
use keyway_attach::dm::chain::Plan;
use keyway_attach::dm::crypt::{Features, Options};
use keyway_attach::dm::volume::{self, Below, KeyPlace, Places};
use keyway_attach::dm::{Backing, Mapper, node, uuid};
use keyway_volume::device::in_use::{self, Access, InUse};
use keyway_volume::{Header, Luks, Storage};
use std::path::{Path, PathBuf};

/// A mapping of the kernel's dm-crypt, /dev/mapper/NAME: from [`Admitted::map`]; see there for an
/// example. It needs no process, and outlives this value until it is removed or the machine stops.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mapping {
    name: String,
}

impl Mapping {
    /// Finds a mapping by its name, made by this library, Keyway or cryptsetup. See
    /// [`Admitted::map`] for an example.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`]; [`ErrorKind::Refused`] where another program made it;
    /// [`ErrorKind::PermissionDenied`] for users other than root.
    pub fn find(name: &str) -> Result<Self> {
        let info = Mapper::open().and_then(|mapper| mapper.status(name)).at(&name)?;
        match uuid::is_crypt(&info.uuid) {
            true => Ok(Self { name: name.to_owned() }),
            false => Err(Error::refused("it is no mapping of an encrypted volume").at(&name)),
        }
    }

    /// Its name. See [`Admitted::map`] for an example.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its block device. See [`Admitted::map`] for an example.
    pub fn path(&self) -> PathBuf {
        node::path(&self.name).unwrap_or_else(|_| Path::new("/dev/mapper").join(&self.name))
    }

    /// Removes the mapping, and those of a chain's other ciphers below it: the kernel forgets the key. See
    /// [`Admitted::map`] for an example.
    ///
    /// # Errors
    /// [`ErrorKind::InUse`] while it is open or mounted.
    pub fn remove(self) -> Result<()> {
        Mapper::open().and_then(|mapper| mapper.unmap(&self.name, false)).at(&self.name)
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
    /// Those of [`Admitted::open`]; [`ErrorKind::PermissionDenied`]; [`ErrorKind::InUse`] where the
    /// name is taken, or another process was faster; [`ErrorKind::Unsupported`] where the kernel
    /// lacks dm-crypt or a cipher; [`ErrorKind::Refused`] for anything that is neither a file nor a
    /// block device.
    pub fn map(self, key: VolumeKey, name: &str) -> Result<Mapping> {
        let (place, unclaimed, options) = self.for_the_kernel();
        let Some(path) = place.path().map(Path::to_owned) else {
            return Err(Error::refused("the kernel maps block devices and files alone").at(&place));
        };
        let mapper = Mapper::open().at(&place)?;
        let terms = Terms { read_only: self.is_read_only(), discards: options.passes_discards() };
        let data = self.claimed();
        let kind = self.kind();
        let uuid = uuid::of_mapping(kind, Some(self.uuid()).filter(|uuid| !uuid.is_empty()), name);
        let ready = self.ready_for_the_kernel(key, data, &unclaimed, terms.read_only)?;
        let _mark = match options.is_shared() {
            true => None,
            false => Some(leave_to_the_kernel(&*unclaimed, &path).at(&place)?),
        };
        map(&ready, &mapper, (name, &uuid), (&*unclaimed, &path), terms).at(&place)?;
        Ok(Mapping { name: name.to_owned() })
    }
}

/// What the caller permits.
struct Terms {
    read_only: bool,
    discards: bool,
}

fn map(
    ready: &Ready,
    mapper: &Mapper,
    (name, uuid): (&str, &str),
    (storage, path): (&dyn Storage, &Path),
    terms: Terms,
) -> keyway_attach::Result<()> {
    let features = Features::of(mapper.target_version("crypt")?);
    let segments = &ready.layout.segments;
    let backing = Backing::attach(storage, path, terms.read_only, volume::sector_size(segments))?;
    let luks2 = |digest| {
        let luks = ready.header.as_ref().filter(|luks| luks.version() == 2);
        luks.map(|luks| (luks.uuid(), digest))
    };
    let key = match volume::encrypts_nothing(segments) {
        true => KeyPlace::Absent,
        false => KeyPlace::find(true, &ready.volume_key, luks2(ready.digest), &features)?,
    };
    let second = ready.second_key.as_ref();
    let second = second.map(|second| KeyPlace::find(true, &second.key, luks2(second.digest), &features));
    let second = second.transpose()?;
    let mut options = ready.header.as_ref().map(kept_options).unwrap_or_default();
    options.allow_discards |= terms.discards;
    options.drop_unknown(&features);
    let below = Below { device: backing.number, len: storage.len(), options };
    let places = Places { first: &key, second: second.as_ref() };
    let plan = Plan { layout: &ready.layout, places, below: &below, read_only: backing.read_only };
    mapper.map(name, uuid, plan)
}

/// Marks the volume as in use, but leaves the exclusive claim to dm-crypt: if two processes map it
/// at once, one of them is refused.
fn leave_to_the_kernel(storage: &dyn Storage, path: &Path) -> Result<InUse> {
    let mut mark = InUse::acquire(storage, Access::Write, false)?;
    if let Some(node) = in_use::loop_device_of(path) {
        return Err(Error::new(ErrorKind::InUse { by: format!("attached to {}", node.display()) }));
    }
    mark.leave_to_the_kernel();
    Ok(mark)
}

/// The flags stored in the header (LUKS2 on-disk format, section 3.5, "config").
fn kept_options(luks: &Luks) -> Options {
    let Header::Luks2 { metadata, .. } = luks.header() else { return Options::default() };
    let mut options = Options::default();
    options.set_kept(&metadata.config.flags);
    options
}

impl From<&Mapping> for Location {
    fn from(mapping: &Mapping) -> Self {
        mapping.path().into()
    }
}
