//! An unlocked volume becomes a mapping, byte for byte as cryptsetup makes it.

use super::{MapOptions, Mapping, WatchMapping};
use crate::opened::Parts;
use crate::{Error, ErrorKind, Result};
use keyway_attach::dm::chain::Plan;
use keyway_attach::dm::crypt::Features;
use keyway_attach::dm::volume::{self, Below, KeyPlace, Places};
use keyway_attach::dm::{Backing, Mapper, uuid};
use keyway_crypto::Secret;
use keyway_volume::Storage;
use keyway_volume::device::in_use::{self, Access, InUse};
use keyway_volume::reencrypt::UnderWay;
use std::path::Path;

#[cfg(feature = "parts")]
impl Parts {
    /// As [`Admitted::map_with`](crate::Admitted::map_with), of a volume that was admitted without a claim
    /// ([`Unlock::unclaimed`](crate::Unlock::unclaimed)): the kernel makes its own. `path` is its data device.
    ///
    /// ```no_run
    /// # use keyway::*;
    /// struct Silent;
    ///
    /// impl WatchMapping for Silent {}
    ///
    /// let path = std::path::Path::new("/dev/sda2");
    /// let admitted = Device::open_rw(path)?.admit(&Unlock::new().unclaimed())?;
    /// let key = admitted.try_key(&Key::passphrase("correct horse"))?;
    /// admitted.into_parts(key)?.map(path, "home", &MapOptions::new(), &mut Silent)?;
    /// # Ok::<(), keyway::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Admitted::map_with`](crate::Admitted::map_with).
    pub fn map(
        &self,
        path: &Path,
        name: &str,
        how: &MapOptions,
        watch: &mut dyn WatchMapping,
    ) -> Result<Mapping> {
        map(self, path, name, how, watch)
    }
}

pub(super) fn map(
    parts: &Parts,
    path: &Path,
    name: &str,
    how: &MapOptions,
    watch: &mut dyn WatchMapping,
) -> Result<Mapping> {
    if let Some(luks) = &parts.header
        && let Some(under_way) = UnderWay::of(luks.header())?
    {
        under_way.check_complete()?;
    }
    let mapper = Mapper::open()?;
    let features = Features::of(mapper.target_version("crypt")?);
    // Held until the kernel has claimed what it maps: if two processes open the volume at once,
    // one is refused.
    let _mark = match how.shared {
        true => None,
        false => Some(leave_to_the_kernel(&*parts.data, path)?),
    };
    let segments = &parts.layout.segments;
    let backing = Backing::attach(&*parts.data, path, how.read_only, volume::sector_size(segments))?;
    let place = |key, digest| parts.place_key(key, digest, how, &features);
    let first = match volume::encrypts_nothing(segments) {
        true => KeyPlace::Absent,
        false => place(&parts.volume_key, parts.digest)?,
    };
    let mut options = how.flags(parts.header.as_ref());
    for flag in options.drop_unknown(&features) {
        watch.unknown_flag(flag)?;
    }
    let below = Below { device: backing.number, len: parts.data.len(), options };
    let second = parts.second_key.as_ref();
    let second_place = second.map(|second| place(&second.key, second.digest)).transpose()?;
    let places = Places { first: &first, second: second_place.as_ref() };
    let plan = Plan { layout: &parts.layout, places, below: &below, read_only: backing.read_only };
    let link = |links: &super::KeyLinks| {
        links.link(parts.header.as_ref(), &parts.volume_key, second.map(|second| &second.key))
    };
    let linked = how.links.as_ref().map(link).transpose()?;
    let uuid = uuid::of_mapping(parts.kind, parts.uuid.as_deref(), name);
    let made = watch.ready().and_then(|()| mapper.map(name, &uuid, plan).map_err(Error::from));
    if let (Err(_), Some(linked)) = (&made, linked) {
        linked.remove();
    }
    made.map(|info| Mapping { info })
}

impl Parts {
    /// Where cryptsetup would put the key.
    fn place_key<'a>(
        &self,
        key: &'a Secret,
        digest: u32,
        how: &MapOptions,
        features: &Features,
    ) -> keyway_attach::Result<KeyPlace<'a>> {
        let luks2 = self.header.as_ref().filter(|luks| luks.version() == 2);
        KeyPlace::find(!how.without_keyring, key, luks2.map(|luks| (luks.uuid(), digest)), features)
    }
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
