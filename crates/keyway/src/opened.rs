//! An unlocked volume, taken apart.
#![cfg_attr(not(feature = "parts"), expect(unreachable_pub, reason = "public with the feature `parts`"))]

use keyway_crypto::Secret;
use keyway_volume::reencrypt::Hold;
use keyway_volume::{Layout, Luks, SecondKey, Storage};
use std::fmt;
use std::sync::Arc;

/// An unlocked volume, taken apart (feature `parts`): what a front end of the caller's own is made of,
/// such as one that changes its key or its length while it is in use. The types are those of the
/// crate `keyway-volume`, of the same version. See [`Admitted::into_parts`](crate::Admitted::into_parts) for an
/// example.
#[non_exhaustive]
#[cfg_attr(not(feature = "parts"), allow(dead_code))]
pub struct Parts {
    /// The data device: marked as in use until it is dropped, unless
    /// [`Unlock::unclaimed`](crate::Unlock::unclaimed) said otherwise.
    pub data: Arc<dyn Storage>,
    /// Where the plaintext is on the data device.
    pub layout: Layout,
    /// Which kind of volume it is, as cryptsetup names it: "LUKS2", "PLAIN".
    pub kind: &'static str,
    /// The UUID in its header.
    pub uuid: Option<String>,
    /// The volume key.
    pub volume_key: Secret,
    /// The number of the header's digest that verified it; 0 where there is none.
    pub digest: u32,
    /// The key that replaces it, while a re-encryption is under way: that of the segments that say
    /// so.
    pub second_key: Option<SecondKey>,
    /// The LUKS header, if it has one.
    pub header: Option<Luks>,
    /// Whether that is on the data device.
    pub holds_header: bool,
    /// The lock of the re-encryption in whose middle the volume was opened for writing: who holds it
    /// may go on.
    pub hold: Option<Arc<Hold>>,
}

/// What identifies a volume before it is open.
pub(crate) struct Named {
    pub(crate) kind: &'static str,
    pub(crate) uuid: Option<String>,
}

impl Parts {
    pub(crate) fn of_luks(named: Named, mut opened: keyway_volume::Opened, data: Arc<dyn Storage>) -> Self {
        let Named { kind, uuid } = named;
        let (digest, second_key) = (opened.digest(), opened.take_second_key());
        let (holds_header, hold) = (opened.holds_header(), opened.hold());
        let (header, layout, volume_key) = opened.into_parts();
        let header = Some(header);
        Self { data, layout, kind, uuid, volume_key, digest, second_key, header, holds_header, hold }
    }

    pub(crate) fn of_other(named: Named, layout: Layout, volume_key: Secret, data: Arc<dyn Storage>) -> Self {
        let Named { kind, uuid } = named;
        let (second_key, header, hold) = (None, None, None);
        let (digest, holds_header) = (0, false);
        Self { data, layout, kind, uuid, volume_key, digest, second_key, header, holds_header, hold }
    }
}

impl fmt::Debug for Parts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Parts").field("layout", &self.layout).finish_non_exhaustive()
    }
}
