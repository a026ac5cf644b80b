//! A mapping as it is now. What changes one asks the kernel again, and not what it said when the mapping was found: a
//! passphrase may have been asked for in between.

use super::{Mapping, Unchanged};
use crate::Result;
use crate::error::At;
use keyway_attach::dm::crypt::{Key, Line};
use keyway_attach::dm::{Info, Mapper};

impl Mapping {
    /// What the kernel says of it now.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`](crate::ErrorKind::NotFound) if it is gone; [`Unchanged::Replaced`].
    pub(super) fn now(&self) -> Result<Self> {
        let info = Mapper::open().and_then(|mapper| mapper.status(self.name())).at(&self.name())?;
        match self.is_still(&info) {
            true => Ok(Self { info }),
            false => Err(self.stays(Unchanged::Replaced)),
        }
    }

    /// Whether this is about the same mapping, and not about another one that has its name.
    pub(super) fn is_still(&self, info: &Info) -> bool {
        self.info.uuid == info.uuid && self.info.device == info.device
    }

    /// Whether it was made from a LUKS volume.
    pub(super) fn is_luks(&self) -> bool {
        matches!(self.kind(), Some("LUKS1" | "LUKS2"))
    }

    /// Refuses to copy a key that was wiped since the kernel was asked. A plain volume can have been opened with such
    /// a key, and is not suspended then.
    pub(super) fn check_not_wiped(&self, line: &Line) -> Result<()> {
        match is_wiped(&line.key) && (self.is_luks() || self.now()?.is_suspended()) {
            true => Err(self.stays(Unchanged::Suspended)),
            false => Ok(()),
        }
    }
}

/// Whether it can be what luksSuspend leaves in a table: zeros.
fn is_wiped(key: &Key) -> bool {
    matches!(key, Key::Bytes(key) if key.expose().iter().all(|byte| *byte == 0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mapping::tests::{mapping, why};
    use keyway_attach::dm::DeviceNumber;

    #[test]
    fn another_mapping_of_the_same_name_is_noticed() {
        let found = mapping("CRYPT-LUKS2-0123456789abcdef0123456789abcdef-home");
        let suspended = Info { suspended: true, open_count: 3, ..found.info.clone() };
        assert!(found.is_still(&suspended));
        let other_volume = Info { uuid: "CRYPT-PLAIN-home".into(), ..found.info.clone() };
        assert!(!found.is_still(&other_volume));
        let other_device = Info { device: DeviceNumber { major: 254, minor: 9 }, ..found.info.clone() };
        assert!(!found.is_still(&other_device));
    }

    #[test]
    fn a_key_that_was_wiped_is_not_copied() {
        let line = |key: &str| Line::parse(format!("aes-xts-plain64 {key} 0 8:1 0").as_bytes()).unwrap();
        let (wiped, whole) = (line(&"00".repeat(64)), line(&format!("{}01", "00".repeat(63))));
        for kind in ["LUKS1", "LUKS2"] {
            let luks = mapping(&format!("CRYPT-{kind}-0123456789abcdef0123456789abcdef-home"));
            assert!(matches!(why(&luks.check_not_wiped(&wiped).unwrap_err()), Unchanged::Suspended));
            luks.check_not_wiped(&whole).unwrap();
            luks.check_not_wiped(&line("-")).unwrap();
            luks.check_not_wiped(&line(":64:logon:cryptsetup:home-d0")).unwrap();
        }
        mapping("CRYPT-PLAIN-home").check_not_wiped(&whole).unwrap();
    }
}
