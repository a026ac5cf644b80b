//! `open --test-passphrase`: unlocks, and does nothing else, unless the key is to be left in a keyring.

use crate::device::{self, Target, Versions};
use crate::mapping::KeyLink;
use crate::output::failure::Result;
use crate::unlock::admission::Demands;
use crate::unlock::{self, KeyOptions};
use keyway::Access;
use keyway::parts::{Luks, UnlockOptions};
use keyway::trust::DataDevice;
use keyway_crypto::Secret;

/// A volume, and the key to be tested.
pub(super) struct TestPassphrase {
    pub(super) target: Target,
    pub(super) versions: Versions,
    pub(super) key: KeyOptions,
    pub(super) demands: Demands,
    /// Keyslots that do not open the data are tried as well.
    pub(super) unbound: bool,
    /// `--link-vk-to-keyring`.
    pub(super) link: Option<KeyLink>,
}

impl TestPassphrase {
    /// Succeeds when the passphrase or volume key is right.
    pub(super) fn run(&self) -> Result<()> {
        let Self { target, versions, key, demands, unbound, link: _ } = self;
        let device = target.header_path();
        let luks = target.load(Access::Read, *versions)?;
        let data = self.demanded_device()?;
        demands.check(&luks, device, data)?;
        if let Some((secret, digest)) = key.given_volume_key(&luks)? {
            key.check_other_key(&luks, &secret, digest)?;
            demands.check_key(&luks, device, data, &secret, digest)?;
            return self.link(&luks, &secret);
        }
        // A keyslot named by the user may be unbound; other unbound ones are tried only on request.
        let unbound_too = *unbound || key.keyslot.is_some();
        let options = UnlockOptions { unbound_too, ..key.of_keyslot() };
        let source = key.passphrase.existing(unlock::prompt_for(device));
        let unlocked = key.unlock_by_token_or(&luks, &source, &options)?;
        demands.check_key(&luks, device, data, &unlocked.volume_key, unlocked.digest)?;
        self.link(&luks, &unlocked.volume_key)
    }

    /// Leaves the volume key in the keyring that `--link-vk-to-keyring` names.
    fn link(&self, luks: &Luks, volume_key: &Secret) -> Result<()> {
        self.link.as_ref().map(|link| link.add(luks, volume_key)).transpose().map(drop)
    }

    /// The data device, if the command line demands anything of the volume.
    fn demanded_device(&self) -> Result<Option<DataDevice>> {
        let device = &self.target.device;
        if !self.demands.is_demanded() || device.as_os_str().is_empty() {
            return Ok(None);
        }
        Ok(Some(self.target.data_device(&*device::storage(device, Access::Probe)?)))
    }
}
