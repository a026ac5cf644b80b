//! A protector to be put into metadata, with what Windows 10 puts into its own: besides the master key, wrapped with what
//! opens the protector, that itself, wrapped with the master key. By this Windows shows a recovery password again
//! (`manage-bde -protectors -get`) and keeps protectors when it changes the master key.
//!
//! ```text
//! head │ stretched: method, salt, { the stretched key, of a recovery password first its 16 bytes } │ the master key
//! ```
//!
//! Numbers of methods and purposes: volumes of Windows 10, unwrapped.

use super::entry::{bytes_of, purpose, value};
use super::{Guid, Key, Nonces, Wrapped};
use crate::Error;
use alloc::vec::Vec;
use keyway_crypto::{Cpu, Secret};

/// A protector in the making.
pub struct NewProtector<'a> {
    /// Its identifier.
    pub guid: Guid,
    /// When it was made, in units of 100 ns since 1601.
    pub changed: u64,
    /// What its secret was stretched with.
    pub salt: [u8; 16],
    /// Its secret, stretched.
    pub stretched: &'a Secret,
    /// The 16 bytes of a recovery password; `None`: it is a passphrase's.
    pub recovery: Option<&'a Secret>,
}

impl NewProtector<'_> {
    /// Its entry, with the master key in it.
    ///
    /// # Errors
    /// One of the keys is none of AES.
    pub fn entry(&self, master_key: &Secret, nonces: &mut Nonces, cpu: Cpu) -> Result<Vec<u8>, Error> {
        let mut wrap = |purpose, method, key: &Secret, with: &Secret| {
            let key = Key { method, bytes: Secret::copy_from(key.expose()) };
            let wrapped = Wrapped::wrap(&key, with, nonces.take(), cpu)?;
            Ok::<_, Error>(bytes_of(purpose, value::WRAPPED, &wrapped.to_bytes()))
        };
        let (protection, stretching, own) = match self.recovery {
            None => {
                let own = wrap(purpose::PROPERTY, STRETCHED_PASSPHRASE, self.stretched, master_key)?;
                (PASSPHRASE, BY_PASSPHRASE, own)
            }
            Some(recovery) => {
                let password = wrap(purpose::RECOVERY_PASSWORD, BY_RECOVERY, recovery, master_key)?;
                let key = wrap(purpose::RECOVERY_KEY, STRETCHED_RECOVERY, self.stretched, master_key)?;
                (RECOVERY, BY_RECOVERY, [password, key].concat())
            }
        };
        let method = u32::from(stretching).to_le_bytes();
        let salted = bytes_of(purpose::PROPERTY, value::STRETCHED, &[&method[..], &self.salt, &own].concat());
        let wrapped = wrap(purpose::PROPERTY, MASTER_KEY, master_key, self.stretched)?;
        let head = [&self.guid.0[..], &self.changed.to_le_bytes(), &[0; 2], &protection].concat();
        Ok(bytes_of(purpose::PROTECTOR, value::PROTECTOR, &[head, salted, wrapped].concat()))
    }
}

/// Protections by their numbers on disk.
const PASSPHRASE: [u8; 2] = 0x2000_u16.to_le_bytes();
const RECOVERY: [u8; 2] = 0x0800_u16.to_le_bytes();
/// How a secret is stretched; the first is the method of a recovery password's bytes, too.
const BY_RECOVERY: u16 = 0x1000;
const BY_PASSPHRASE: u16 = 0x1001;
/// Methods of keys.
const MASTER_KEY: u16 = 0x2003;
const STRETCHED_PASSPHRASE: u16 = 0x2007;
const STRETCHED_RECOVERY: u16 = 0x2008;

#[cfg(test)]
mod tests {
    use super::super::entry::Entries;
    use super::super::{Protection, Protector};
    use super::*;

    /// The lengths are those of Windows' entries.
    #[test]
    fn says_what_windows_own_say() {
        let key = |byte| Secret::copy_from(&[byte; 32]);
        let (stretched, master, recovery) = (key(1), key(2), Secret::copy_from(&[3; 16]));
        for (recovery, protection, len) in
            [(None, Protection::Passphrase, 224), (Some(&recovery), Protection::RecoveryPassword, 288)]
        {
            let new = NewProtector {
                guid: Guid([7; 16]),
                changed: 5,
                salt: [9; 16],
                stretched: &stretched,
                recovery,
            };
            let mut nonces = Nonces::new(1, 2);
            let bytes = new.entry(&master, &mut nonces, Cpu::detect()).unwrap();
            assert_eq!(bytes.len(), len);
            let entry = Entries::of(&bytes, 0).next().unwrap().unwrap();
            let read = Protector::of(&entry).unwrap();
            assert_eq!((read.guid, read.protection, read.salt), (new.guid, protection, [9; 16]));
            let [wrapped] = &read.wrapped[..] else { panic!("one master key") };
            let unwrapped = wrapped.unwrap(&stretched, Cpu::detect()).unwrap().unwrap();
            assert_eq!((unwrapped.method, unwrapped.bytes.expose()), (MASTER_KEY, master.expose()));
            let salted = entry.inside(28).next().unwrap().unwrap();
            let own: Vec<_> = salted.inside(20).map(|own| own.unwrap()).collect();
            let purposes: Vec<u16> = own.iter().map(|own| own.purpose).collect();
            assert_eq!(purposes, if recovery.is_some() { &[18, 19][..] } else { &[0] });
            let own = Wrapped::of(own.last().unwrap()).unwrap().unwrap(&master, Cpu::detect()).unwrap();
            assert_eq!(own.unwrap().bytes.expose(), stretched.expose());
        }
    }
}
