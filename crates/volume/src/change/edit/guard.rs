//! The guard of `luksKillSlot`: keeps users from locking themselves out by mistake.

use super::kill_slot;
use crate::unlock;
use crate::{Error, Luks, Random, Result, UnlockOptions};
use keyway_crypto::Secret;

/// As [`kill_slot`], but refuses to kill the last keyslot that opens the data.
///
/// # Errors
/// [`Error::LastKeyslot`]; those of [`kill_slot`].
pub fn kill_slot_but_last(luks: &mut Luks, keyslot: u32, rng: &mut dyn Random) -> Result<()> {
    // The lock that the edit takes makes sure that the header has not changed since.
    if luks.bound_keyslots() == [keyslot] {
        return Err(Error::LastKeyslot(keyslot));
    }
    kill_slot(luks, keyslot, rng)
}

/// Requires a passphrase that still opens the data without `keyslot`; if that is the last keyslot,
/// its own passphrase. Returns the keyslot that the passphrase opens.
///
/// # Errors
/// [`Error::WrongPassphrase`] when the passphrase opens none of those.
pub fn prove_another_key(
    luks: &Luks,
    keyslot: u32,
    passphrase: &Secret,
    options: &UnlockOptions,
) -> Result<u32> {
    let bound = luks.bound_keyslots();
    let is_last = bound == [keyslot];
    for candidate in bound.into_iter().filter(|number| is_last || *number != keyslot) {
        let options = UnlockOptions { keyslot: Some(candidate), ..options.clone() };
        match unlock(luks, passphrase, &options) {
            Ok(unlocked) => return Ok(unlocked.keyslot),
            Err(Error::WrongPassphrase) => {}
            Err(error) => return Err(error),
        }
    }
    Err(Error::WrongPassphrase)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::change::create::{Luks1Params, Luks2Params, create_luks1, create_luks2};
    use crate::change::edit::{AddKey, add_key, add_unbound_key};
    use crate::device::storage::Memory;
    use crate::{Access, Cost, KdfChoice, KeyslotState, OsRandom};
    use std::sync::Arc;

    fn kdf() -> KdfChoice {
        KdfChoice::Pbkdf2 { hash: "sha256".into(), cost: Cost::Forced(1000) }
    }

    fn secret(text: &str) -> Secret {
        Secret::copy_from(text.as_bytes())
    }

    /// Keyslot 0 opens with "zero".
    fn volume(version: u8) -> (Luks, Secret) {
        let (storage, key) = (Arc::new(Memory::zeroed(4 << 20)), Secret::copy_from(&[7; 64]));
        let luks = match version {
            1 => {
                let params = Luks1Params { kdf: kdf(), ..Luks1Params::default() };
                create_luks1(storage, &params, &key, &secret("zero"), &mut OsRandom)
            }
            _ => {
                let keyslots_size = Some(1 << 20);
                let params = Luks2Params { kdf: kdf(), keyslots_size, ..Luks2Params::default() };
                create_luks2(storage, &params, &key, &secret("zero"), &mut OsRandom)
            }
        };
        (luks.unwrap(), key)
    }

    fn new_key() -> AddKey {
        AddKey { kdf: kdf(), ..AddKey::default() }
    }

    fn proof(luks: &Luks, keyslot: u32, passphrase: &str) -> Option<u32> {
        prove_another_key(luks, keyslot, &secret(passphrase), &UnlockOptions::default()).ok()
    }

    #[test]
    fn the_last_keyslot_stays() {
        for version in [1, 2] {
            let (mut luks, key) = volume(version);
            let last = kill_slot_but_last(&mut luks, 0, &mut OsRandom);
            assert!(matches!(last, Err(Error::LastKeyslot(0))), "{last:?}");
            assert_eq!(proof(&luks, 0, "zero"), Some(0), "its own passphrase");
            assert_eq!(add_key(&mut luks, &key, &secret("one"), &new_key(), &mut OsRandom).unwrap(), 1);
            assert_eq!([proof(&luks, 0, "zero"), proof(&luks, 0, "one")], [None, Some(1)]);
            assert_eq!([proof(&luks, 1, "zero"), proof(&luks, 1, "one")], [Some(0), None]);
            kill_slot_but_last(&mut luks, 0, &mut OsRandom).unwrap();
            assert_eq!(luks.bound_keyslots(), [1]);
            assert!(kill_slot_but_last(&mut luks, 0, &mut OsRandom).is_err(), "it is not active");
            assert_eq!(kill_slot(&mut luks, 1, &mut OsRandom).ok(), Some(()));
            assert_eq!(luks.active_keyslots(), []);
        }
    }

    #[test]
    fn an_unbound_key_opens_no_data() {
        let (mut luks, _) = volume(2);
        let other = Secret::copy_from(&[9; 32]);
        add_unbound_key(&mut luks, &other, &secret("one"), &new_key(), &mut OsRandom).unwrap();
        assert_eq!([0, 1, 2].map(|n| luks.keyslot_state(n).is_active()), [true, true, false]);
        assert_eq!([1, 31].map(|n| luks.keyslot_state(n)), [KeyslotState::Unbound, KeyslotState::Free]);
        assert_eq!((luks.active_keyslots(), luks.bound_keyslots()), (vec![0, 1], vec![0]));
        assert_eq!(luks.last_keyslot(), 31);
        assert!(matches!(kill_slot_but_last(&mut luks, 0, &mut OsRandom), Err(Error::LastKeyslot(0))));
        assert_eq!(proof(&luks, 0, "one"), None);
        kill_slot_but_last(&mut luks, 1, &mut OsRandom).unwrap();
    }

    #[test]
    fn a_damaged_keyslot_is_none_that_opens_and_can_be_killed() {
        let (luks, _) = volume(1);
        // The active word of keyslot 3.
        luks.storage().write_at(&[1, 2, 3, 4], 208 + 3 * 48).unwrap();
        let mut luks = Luks::open(luks.storage().clone(), Access::Write).unwrap();
        assert_eq!(
            [3, 7, 8].map(|n| luks.keyslot_state(n)),
            [KeyslotState::Damaged, KeyslotState::Free, KeyslotState::Free]
        );
        assert_eq!((luks.active_keyslots(), luks.last_keyslot()), (vec![0], 7));
        kill_slot_but_last(&mut luks, 3, &mut OsRandom).unwrap();
        assert_eq!(luks.keyslot_state(3), KeyslotState::Free);
    }
}
