//! `open --test-passphrase`: unlocks, and nothing else happens.

use crate::device::Versions;
use crate::door::{Args, shared};
use crate::say::failure::Result;
use crate::unlock::admission;
use crate::unlock::passphrase::PassphraseSource;
use crate::{device, unlock};
use keyway_volume::{Access, DataDevice, UnlockOptions};

/// Succeeds when the passphrase or volume key is right.
pub(super) fn run(args: &Args) -> Result<()> {
    let device = device::header_path(args, 0)?;
    let luks = device::load(args, 0, Access::Read, Versions::from_args(args)?)?;
    let data = demanded_device(args)?;
    admission::check(args, &luks, &device, data)?;
    if let Some((key, digest)) = unlock::given_volume_key(args, &luks)? {
        return admission::check_key(args, &luks, &device, data, &key, digest);
    }
    let options = UnlockOptions {
        keyslot: args.number32(&shared::KEY_SLOT),
        // A keyslot that is named may be unbound; the others only when asked for.
        unbound_too: args.given(&shared::UNBOUND) || args.given(&shared::KEY_SLOT),
        ..unlock::options(args)
    };
    let request = PassphraseSource::existing(args, unlock::prompt_for(&device))?;
    let unlocked = unlock::unlock_by_token_or(args, &luks, &request, &options)?;
    admission::check_key(args, &luks, &device, data, &unlocked.volume_key, unlocked.digest)
}

/// The data device, where something is demanded of the volume.
fn demanded_device(args: &Args) -> Result<Option<DataDevice>> {
    let Some(path) = args.operand(0).map(device::resolve).filter(|_| admission::is_demanded(args)) else {
        return Ok(None);
    };
    let storage = device::storage(&path, Access::Probe)?;
    Ok(Some(admission::data_device(args, &path, &*storage)))
}
