//! `open --test-passphrase`: unlocks, and nothing else happens.

use crate::device::{self, Target, Versions};
use crate::door::{Args, shared};
use crate::say::failure::Result;
use crate::unlock::admission::Demands;
use crate::unlock::{self, KeyOptions};
use keyway_volume::{Access, DataDevice, UnlockOptions};

/// Succeeds when the passphrase or volume key is right.
pub(super) fn run(args: &Args) -> Result<()> {
    let (target, key) = (Target::from_args(args, 0)?, KeyOptions::from_args(args)?);
    let demands = Demands::from_args(args)?;
    let device = target.header_path();
    let luks = target.load(Access::Read, Versions::from_args(args)?)?;
    let data = demanded_device(&target, &demands)?;
    demands.check(&luks, device, data)?;
    if let Some((key, digest)) = key.given_volume_key(&luks)? {
        return demands.check_key(&luks, device, data, &key, digest);
    }
    // A keyslot that is named may be unbound; the others only when asked for.
    let unbound_too = args.given(&shared::UNBOUND) || key.keyslot.is_some();
    let options = UnlockOptions { unbound_too, ..key.of_keyslot() };
    let source = key.passphrase.existing(unlock::prompt_for(device));
    let unlocked = key.unlock_by_token_or(&luks, &source, &options)?;
    demands.check_key(&luks, device, data, &unlocked.volume_key, unlocked.digest)
}

/// The data device, where something is demanded of the volume.
fn demanded_device(target: &Target, demands: &Demands) -> Result<Option<DataDevice>> {
    if !demands.is_demanded() || target.device.as_os_str().is_empty() {
        return Ok(None);
    }
    Ok(Some(target.data_device(&*device::storage(&target.device, Access::Probe)?)))
}
