//! The flags that a volume is opened with, and whether its header stores them (`--persistent`).

use crate::device::{self, Target, Versions, explain};
use crate::mapping::GivenFlags;
use crate::output::failure::{Exit, Result};
use crate::process::encoding::encoded;
use crate::volume::Unlocked;
use keyway::parts::Luks;
use keyway::{Access, MapOptions};
use keyway_crypto::Secret;

/// The flags, and whether to store them.
#[derive(Debug, Clone, Default)]
pub(super) struct PersistentFlags {
    pub(super) given: GivenFlags,
    /// The header stores them.
    pub(super) kept: bool,
}

encoded!(PersistentFlags { given, kept });

impl PersistentFlags {
    /// Whether discards are passed on, by these flags or those that the header has stored; `--persistent`
    /// replaces these.
    pub(super) fn pass_discards(&self, header: Option<&Luks>) -> bool {
        self.given.pass_discards(header.filter(|_| !self.kept))
    }

    /// A mapping with these flags.
    pub(super) fn onto(&self, how: MapOptions) -> MapOptions {
        let how = self.given.onto(how);
        if self.kept { how.without_stored_flags() } else { how }
    }

    /// Stores the flags in the header of the opened volume, if requested; as with cryptsetup, an
    /// error is reported but does not make the command fail.
    pub(super) fn keep(&self, target: &Target, unlocked: &Unlocked) {
        let Some(luks) = &unlocked.parts.header else { return };
        if self.kept
            && let Err(failure) = self.write(target, luks, &unlocked.parts.volume_key)
        {
            say!("{NOT_PERSISTENT}");
            if failure.exit() == Exit::Unmet {
                failure.report();
            }
        }
    }

    fn write(&self, target: &Target, luks: &Luks, volume_key: &Secret) -> Result<()> {
        let path = target.header_path();
        let mut writable = target.load(Access::Write, Versions::Two)?;
        if !writable.is_same(luks) {
            return Err(device::not_luks(path));
        }
        self.given
            .keep(&mut writable, Some(volume_key))
            .map_err(|error| explain::placed(error.into(), Some(path)))
    }
}

/// cryptsetup's words where the header does not take the flags.
pub(super) const NOT_PERSISTENT: &str = "Device activated but cannot make flags persistent.";
