//! `--skip-unused` and `--discard-unused`: what the file system inside does not use is not re-encrypted.

use super::{Asked, State, What};
use crate::args::{Args, Kind, Opt};
use crate::output::failure::{Exit, Failure, Result};
use keyway::storage::Exclusive;
use keyway::{Device, Reencrypt, Unused};
use std::sync::Arc;

/// `--skip-unused`.
pub(super) static SKIP_UNUSED: Opt = Opt {
    long: "skip-unused",
    short: None,
    value: "",
    kind: Kind::Flag,
    help: "Leave out free blocks of ext2/3/4.",
    man: "Blocks that the ext2, ext3 or ext4 file system in the volume does not use are neither read nor \
          reencrypted, but filled with random bytes: deleted files cannot be restored afterwards. The file \
          system must be unmounted and without errors; anything else is refused before anything is written. \
          If you resume an interrupted reencryption without this option, it reencrypts all that is left.",
};

/// `--discard-unused`.
pub(super) static DISCARD_UNUSED: Opt = Opt {
    long: "discard-unused",
    short: None,
    value: "",
    kind: Kind::Flag,
    help: "With --skip-unused: discard free blocks.",
    man: "Nothing is written there: far faster than random bytes. But the device may show which blocks are in \
          use, and deleted files may stay on the medium, encrypted as before or not at all.",
};

/// What the options ask for.
pub(super) fn from_args(args: &Args) -> Option<Unused> {
    let noise = if args.given(&DISCARD_UNUSED) { Unused::Discard } else { Unused::Noise };
    args.given(&SKIP_UNUSED).then_some(noise)
}

impl Asked {
    /// Refuses what cannot leave anything out, before anybody is asked for anything, and warns.
    pub(super) fn check_unused(&self, state: &State, data: &Exclusive) -> Result<()> {
        let Some(unused) = self.unused else { return Ok(()) };
        let refuse = |mode: &str, why: &str| {
            let message =
                format!("Option --skip-unused cannot be combined with {mode}: {why}. Nothing was written.");
            Err(Failure::new(Exit::Parameters, message))
        };
        let makes_luks1 = self.what == What::Encrypt && self.versions == crate::device::Versions::One;
        if matches!(state, State::Luks1) || (matches!(state, State::NotLuks) && makes_luks1) {
            return refuse("LUKS1", "it is for LUKS2 volumes");
        }
        if self.what == What::Decrypt {
            return refuse("--decrypt", "unused blocks would be left as visible noise");
        }
        if self.reduce.is_some() {
            return refuse("--reduce-device-size", "the data moves, so that each block overwrites another");
        }
        if let (State::NotLuks, What::Encrypt) = (state, self.what) {
            let plaintext = Device::from_storage(Arc::clone(data));
            let checked = plaintext.check_unused_plaintext(self.offset, self.data_len);
            checked.map_err(|error| Failure::new(Exit::Parameters, reason(error)))?;
        }
        let left = if self.what == What::Encrypt { "unencrypted" } else { "as they were" };
        match unused {
            Unused::Discard => say!(
                "WARNING: free blocks of the file system are discarded, not reencrypted: deleted files may \
                 stay on the medium {left}, and the device may show which blocks are in use."
            ),
            _ => say!(
                "WARNING: free blocks of the file system are overwritten with random bytes: deleted files are \
                 lost."
            ),
        }
        Ok(())
    }
}

/// Why it is refused, without its place.
fn reason(error: keyway::Error) -> String {
    match error.into_volume_error() {
        Ok(error) => error.to_string(),
        Err(error) => error.to_string(),
    }
}

/// How, with what the options ask for.
pub(super) fn with(how: Reencrypt, unused: Option<Unused>) -> Reencrypt {
    unused.into_iter().fold(how, Reencrypt::skip_unused)
}
