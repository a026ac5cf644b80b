//! What the KDFs are given: the passphrase, or with key files, a pool that both are mixed into.
//!
//! The pool has 64 bytes, or 128 for a passphrase that is longer, which only VeraCrypt takes. Each
//! key file starts at the pool's first byte: after each of its bytes the register of a CRC-32, big
//! endian, is added to the next four bytes of the pool, around and around; the first MiB counts.
//! The passphrase is added byte by byte. Additions wrap, so the order does not matter. ("VeraCrypt
//! User's Guide", Keyfiles.)

use super::Program;
use crate::Error;
use crate::crc32;
use alloc::format;
use keyway_crypto::Secret;

/// How much of a key file counts, in bytes.
pub const KEY_FILE_LEN: usize = 1 << 20;

/// Key files mixed, for passphrases of either kind.
pub struct Pool {
    short: Secret,
    long: Secret,
}

impl Default for Pool {
    fn default() -> Self {
        Self { short: Secret::zeroed(SHORT), long: Secret::zeroed(LONG) }
    }
}

impl Pool {
    /// The same pool once more.
    pub fn copy(&self) -> Self {
        let [short, long] = [&self.short, &self.long].map(|pool| Secret::copy_from(pool.expose()));
        Self { short, long }
    }

    /// Mixes in a key file; what is beyond [`KEY_FILE_LEN`] is ignored.
    pub fn mix(&mut self, key_file: &[u8]) {
        let (mut register, mut at) = (crc32::START, 0);
        for byte in &key_file[..key_file.len().min(KEY_FILE_LEN)] {
            register = crc32::push(register, *byte);
            for (offset, part) in register.to_be_bytes().into_iter().enumerate() {
                add(&mut self.short, (at + offset) % SHORT, part);
                add(&mut self.long, at + offset, part);
            }
            at = (at + 4) % LONG;
        }
    }

    /// The pool with the passphrase.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the passphrase is too long.
    pub fn with(&self, passphrase: &Secret) -> Result<Secret, Error> {
        Program::VeraCrypt.check_passphrase(passphrase)?;
        let pool = if passphrase.len() > SHORT { &self.long } else { &self.short };
        let mut mixed = Secret::copy_from(pool.expose());
        passphrase.expose().iter().enumerate().for_each(|(at, byte)| add(&mut mixed, at, *byte));
        Ok(mixed)
    }
}

fn add(pool: &mut Secret, at: usize, byte: u8) {
    let place = &mut pool.expose_mut()[at];
    *place = place.wrapping_add(byte);
}

impl Program {
    /// The longest passphrase in bytes.
    pub const fn longest(self) -> usize {
        match self {
            Self::TrueCrypt => SHORT,
            Self::VeraCrypt => LONG,
        }
    }

    /// Refuses a passphrase that the program cannot take.
    ///
    /// # Errors
    /// [`Error::Invalid`] with both lengths.
    pub fn check_passphrase(self, passphrase: &Secret) -> Result<(), Error> {
        let (len, limit) = (passphrase.len(), self.longest());
        match len <= limit {
            true => Ok(()),
            false => {
                Err(Error::invalid("passphrase", format!("{len} bytes, but {self} takes at most {limit}")))
            }
        }
    }
}

const SHORT: usize = 64;
const LONG: usize = 128;
