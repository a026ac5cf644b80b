//! A header, encrypted for its place.

use super::derive::{check_cost, derive};
use crate::kind::cost::Limits;
use crate::{Error, Refusal, Result, UnlockOptions};
use keyway_crypto::secret::wipe_stack;
use keyway_crypto::{Cascade, Cpu, Secret, Stop};
use keyway_format::tcrypt::{Cipher, DERIVED_LEN, HEADER_LEN, Kdf, SALT_LEN, SECTOR, Stretch};

/// What a header is encrypted with, but for its password.
#[derive(Debug, Clone, Copy)]
pub struct Sealing {
    /// What derives its key.
    pub kdf: &'static Kdf,
    /// The PIM, where there is one.
    pub pim: Option<u32>,
    /// What encrypts it, and the data.
    pub cipher: &'static Cipher,
}

impl Sealing {
    /// Encrypts what [`Header::to_bytes`](keyway_format::tcrypt::Header::to_bytes) gives, behind its salt. `password` is
    /// the passphrase with the key files in it.
    ///
    /// # Errors
    /// The KDF takes no PIM, or there is no memory for it.
    pub fn seal(
        &self,
        decrypted: &Secret,
        password: &Secret,
        salt: &[u8; SALT_LEN],
    ) -> Result<[u8; HEADER_LEN]> {
        let stretch = self.stretch()?;
        let mut derived = Secret::zeroed(DERIVED_LEN);
        derive(stretch, 0, password, salt, derived.expose_mut(), &Stop::new())?;
        // The unit of encryption is longer than what is encrypted.
        let mut sector = Secret::zeroed(SECTOR as usize);
        sector.expose_mut()[..decrypted.len()].copy_from_slice(decrypted.expose());
        let cascade = Cascade::of_header(self.cipher.chain, self.cipher.mode, &derived, Cpu::detect());
        cascade.map_err(Error::from)?.encrypt(0, sector.expose_mut());
        let mut sealed = [0; HEADER_LEN];
        sealed[..SALT_LEN].copy_from_slice(salt);
        sealed[SALT_LEN..].copy_from_slice(&sector.expose()[..HEADER_LEN - SALT_LEN]);
        wipe_stack();
        Ok(sealed)
    }

    /// Refuses a new key that costs more than the limits allow: whoever opens it has them, too.
    ///
    /// # Errors
    /// [`Error::Refused`].
    pub fn check_cost(&self, options: &UnlockOptions) -> Result<()> {
        let over = |kdf: &str, needs: u64, unit: &str, limit: u64| {
            let why = format!(
                "{kdf} would need about {needs} {unit} at each opening, and the limit is {limit} {unit}"
            );
            Refusal::Cost.because(why)
        };
        check_cost(self.kdf, self.stretch()?, &mut Limits::new(options)).map_err(|error| match error {
            Error::KdfTime { kdf, needs_seconds, limit_seconds } => {
                over(&kdf, needs_seconds, "s", limit_seconds)
            }
            Error::KdfMemory { kdf, needs_kib, budget_kib } => over(&kdf, needs_kib, "KiB", budget_kib),
            other => other,
        })
    }

    fn stretch(&self) -> Result<Stretch> {
        let stretch = self.kdf.stretch(self.pim);
        stretch.ok_or_else(|| Refusal::Unusable.because("TrueCrypt has no PIM"))
    }
}
