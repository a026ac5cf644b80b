//! Protectors that only Windows makes, beside one of ours.

use super::change::{add, opened, refused, remove};
use super::*;
use keyway_format::bitlk::{Draft, Guid, NewProtector, Nonces};
use keyway_volume::Random;
use keyway_volume::kind::bitlk::{NewKey, Opened};

/// A generator that keeps what it gave.
#[derive(Default)]
struct Kept(Vec<Vec<u8>>);

impl Random for Kept {
    fn fill(&mut self, buf: &mut [u8]) -> Result<()> {
        OsRandom.fill(buf)?;
        self.0.push(buf.to_vec());
        Ok(())
    }
}

/// A volume with a passphrase and, behind it, a protector of this number, which its master key vouches for.
fn with(protection: u16) -> Vec<u8> {
    let (device, mut rng, passphrase) = (Memory::zeroed(LEN), Kept::default(), secret(KEY));
    let keys = NewKeys { passphrase: Some(&passphrase), recovery: None };
    quick().make(&device, keys, (&mut rng, &UnlockOptions::default()), &Meter::new()).unwrap();
    // The volume key is the first of this length.
    let master_key = Secret::copy_from(rng.0.iter().filter(|given| given.len() == 32).nth(1).unwrap());
    let metadata = header(&bytes(&device)).unwrap().metadata;
    let mut draft = Draft::of(&metadata);
    let mut nonces = Nonces::new(0, draft.next_nonce());
    let stretched = Secret::zeroed(32);
    let new = NewProtector {
        guid: Guid([7; 16]),
        changed: 0,
        salt: [9; 16],
        stretched: &stretched,
        recovery: None,
    };
    let mut entry = new.entry(&master_key, &mut nonces, Cpu::detect()).unwrap();
    entry[34..36].copy_from_slice(&protection.to_le_bytes());
    draft.add(&entry).unwrap();
    let copy = draft.sealed(&master_key, &mut nonces, Cpu::detect()).unwrap();
    metadata.copies.iter().for_each(|at| device.write_at(&copy, at.0).unwrap());
    bytes(&device)
}

/// It is neither removed nor taken for one that opens the volume on any machine.
#[test]
fn what_only_windows_changes_stays() {
    let (image, key, recovery) = (with(0x0100), secret(KEY), RecoveryKey::random(&mut OsRandom).unwrap());
    assert_eq!(refused(&image, |it| remove(it, &key, 1)), "only Windows can remove protector 1 (TPM)");
    let last = "protector 0 (passphrase) is the last that opens the volume: add another one first";
    assert_eq!(refused(&image, |it| remove(it, &key, 0)), last);
    let device = Arc::new(Memory::from(image));
    assert_eq!(add(&device, &key, NewKey::Recovery(&recovery), false).unwrap(), 2);
    assert_eq!(opened(&device, &recovery.text()).unwrap().protector(), 2);
    remove(&device, &recovery.text(), 0).unwrap();
    let left = header(&bytes(&*device)).unwrap().metadata;
    assert_eq!(protections(&left), [Protection::Tpm, Protection::RecoveryPassword]);
    assert_eq!(left.protectors[0].guid, Guid([7; 16]));
    assert_eq!(opened(&device, &recovery.text()).unwrap().protector(), 1);
    // It takes the place of a passphrase, of which there is none.
    assert_eq!(add(&device, &recovery.text(), NewKey::Passphrase(&key), true).unwrap(), 2);
    let left = header(&bytes(&*device)).unwrap().metadata;
    assert_eq!(protections(&left), [Protection::Tpm, Protection::RecoveryPassword, Protection::Passphrase]);
}

#[test]
fn suspended_protection_is_left_to_windows() {
    let why = "its protection is suspended: an unprotected key opens it. Let Windows resume it first \
        (manage-bde -protectors \
               -enable)";
    assert_eq!(refused(&with(0), |it| Opened::check(&**it).map(drop)), why);
}
