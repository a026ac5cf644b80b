//! Checks that a path encrypts as it should. Before and after every sample some places are read
//! through the path and from the storage below it. The bytes below must be exactly what the
//! portable code produces from the bytes that the path shows, or the same bytes if the path does
//! not encrypt. This holds whatever was written last and through whichever path, so plain and
//! encrypted paths can take turns on the same bytes of the same disk.

use super::engine::Aligned;
use super::{Access, Encryption};
use crate::memory::pattern;
use crate::results::{Outcome, right};
use keyway_crypto::{CipherSpec, Cpu, Secret, SectorCipher, SectorSize};
use keyway_kernel::Random;
use std::io;

/// Computes the bytes that must be below a path.
pub struct Check {
    cipher: Option<SectorCipher>,
    code: Option<String>,
}

impl Check {
    /// For a path with this encryption, or with none.
    ///
    /// # Errors
    /// [`Outcome::Impossible`] if the combination cannot exist.
    pub fn new(encryption: Option<&Encryption>) -> Result<Self, Outcome> {
        let keyed = |cpu| {
            let cipher = encryption.map(|it| -> Result<_, keyway_crypto::Error> {
                let spec = CipherSpec::parse(&it.spec)?;
                SectorCipher::new(&spec, &it.key(), SectorSize::new(it.sector_size)?, cpu)
            });
            cipher.transpose().map_err(Outcome::impossible)
        };
        let code = keyed(Cpu::detect())?.map(|cipher| cipher.code().to_owned());
        Ok(Self { cipher: keyed(Cpu::portable())?, code })
    }

    /// Writes known bytes through the path and checks the storage below. Runs once, before the
    /// first sample.
    ///
    /// # Errors
    /// [`Outcome::Wrong`]; [`Outcome::NotMeasured`] if the storage fails.
    pub fn witness(&self, access: &Access, region: u64) -> Result<(), Outcome> {
        let mut memory = Aligned::new(PLACE);
        for offset in places(0, region) {
            let mut known = [0; PLACE];
            pattern(offset, &mut known);
            memory.bytes().copy_from_slice(&known);
            access.view.write_from(memory.bytes(), offset).map_err(failed)?;
            access.view.flush().map_err(failed)?;
            let during = format!("the first write, at byte {offset}");
            access.view.read_at(memory.bytes(), offset).map_err(failed)?;
            right(&known, memory.bytes(), &during)?;
            self.compare(&mut known, access, offset, &during)?;
        }
        Ok(())
    }

    /// Checks some places, different ones each time.
    ///
    /// # Errors
    /// The same as [`Check::witness`].
    pub fn look(&self, access: &Access, region: u64, sample: u64) -> Result<(), Outcome> {
        let mut memory = Aligned::new(PLACE);
        places(sample, region).try_for_each(|offset| {
            access.view.read_at(memory.bytes(), offset).map_err(failed)?;
            let mut shown = [0; PLACE];
            shown.copy_from_slice(memory.bytes());
            self.compare(&mut shown, access, offset, &format!("sample {sample}, at byte {offset}"))
        })
    }

    fn compare(&self, shown: &mut [u8], to: &Access, offset: u64, during: &str) -> Result<(), Outcome> {
        if let Some(cipher) = &self.cipher {
            cipher.encrypt(offset / 512, shown);
        }
        let mut memory = Aligned::new(PLACE);
        to.below.read_at(memory.bytes(), offset).map_err(failed)?;
        right(shown, memory.bytes(), during)
    }

    /// The code that Keyway's own path runs.
    pub fn code(&self) -> Option<String> {
        self.code.clone()
    }

    /// Describes this check.
    pub fn words(&self) -> String {
        let what = match self.cipher {
            Some(_) => "the stored bytes equal the portable code's encryption of the bytes read",
            None => "the bytes read equal the bytes stored",
        };
        format!(
            "{what}: {PLACES} places of {PLACE} bytes after each sample, and known bytes before the first"
        )
    }
}

/// The places to check, by the sample's number.
fn places(sample: u64, region: u64) -> impl Iterator<Item = u64> {
    let (blocks, mut random) = ((region / PLACE as u64).max(1), Random::seeded(sample));
    (0..PLACES).map(move |_| random.number() % blocks * PLACE as u64)
}

pub(super) fn failed(error: io::Error) -> Outcome {
    Outcome::not_measured(format!("the storage failed: {error}"))
}

/// The largest encryption sector.
const PLACE: usize = 4096;
const PLACES: usize = 8;

/// The key of all encrypted paths: the data left on the storage is no secret, and looks random to
/// everybody.
pub(super) fn key(bits: u32) -> Secret {
    let mut key = Secret::zeroed(bits as usize / 8);
    pattern(u64::from(bits), key.expose_mut());
    key
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::cpu::Whose;
    use crate::disk::path::keyway;
    use keyway_volume::Storage;
    use keyway_volume::device::storage::Memory;
    use std::sync::Arc;

    fn access(view: Arc<dyn Storage>, below: Arc<dyn Storage>) -> Access {
        Access { view, below, cpu: Whose::Own, notes: Vec::new() }
    }

    fn encryption(sector_size: u32) -> Encryption {
        Encryption { spec: "aes-xts-plain64".into(), key_bits: 512, sector_size }
    }

    #[test]
    fn an_encrypted_path_is_right_and_another_key_is_not() {
        const REGION: u64 = 1 << 20;
        for sector_size in [512, 4096] {
            let below: Arc<dyn Storage> = Arc::new(Memory::zeroed(REGION as usize));
            let plain = access(below.clone(), below.clone());
            let encrypted = access(keyway(below.clone(), &encryption(sector_size), REGION).unwrap(), below);
            let check = Check::new(Some(&encryption(sector_size))).unwrap();
            check.witness(&encrypted, REGION).unwrap();
            check.look(&encrypted, REGION, 7).unwrap();
            let none = Check::new(None).unwrap();
            for other in [&Check::new(Some(&encryption(4608 - sector_size))).unwrap(), &none] {
                assert!(matches!(other.look(&encrypted, REGION, 7), Err(Outcome::Wrong(_))));
            }
            none.witness(&plain, REGION).unwrap();
        }
    }

    #[test]
    fn storage_that_forgets_is_seen() {
        let memory = |len| Arc::new(Memory::zeroed(len));
        let none = Check::new(None).unwrap();
        let wrong = none.witness(&access(memory(1 << 20), memory(1 << 20)), 1 << 20).unwrap_err();
        assert!(matches!(wrong, Outcome::Wrong(_)), "{wrong:?}");
        let short = memory(4096);
        let failed = none.look(&access(short.clone(), short), 1 << 20, 3).unwrap_err();
        assert!(matches!(failed, Outcome::NotMeasured { .. }), "{failed:?}");
    }
}
