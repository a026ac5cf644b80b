//! A keyslot of either format that can be opened and sealed: KDF, anti-forensic splitter and area
//! cipher.
//!
//! The area is encrypted in 512-byte sectors with IVs from 0, whatever the sector size of the data
//! (LUKS1 1.2.3, section 2.4; LUKS2 1.1, section 3.2).

use crate::keyslot::area_cipher::Areas;
use crate::{Error, Random, Refusal, Result, Storage};
use keyway_crypto::kdf::{self, Argon2Cost, Argon2Variant, Derivation};
use keyway_crypto::{CipherSpec, Cpu, Hash, Secret, SectorCipher, SectorSize, Stop};
use keyway_format::luks2::{Kdf, KeyslotKind};
use keyway_format::{af, luks1, luks2};

/// All parameters that turn a passphrase into the key in one keyslot. Lengths and offsets are in
/// bytes.
#[derive(Debug, Clone)]
pub(crate) struct Keyslot {
    pub(crate) number: u32,
    pub(crate) kdf: Kdf,
    /// Length of the key that the KDF derives for the area's cipher.
    pub(crate) derived_len: usize,
    /// Length of the key in the keyslot.
    pub(crate) key_len: usize,
    pub(crate) area_offset: u64,
    pub(crate) stripes: u32,
    pub(crate) af_hash: Hash,
    pub(crate) cipher: CipherSpec,
}

impl Keyslot {
    pub(crate) fn of_luks1(header: &luks1::Header, number: u32, areas: Areas<'_>) -> Result<Self> {
        let slot = &header.slots[number as usize];
        let offset = slot.offset.to_bytes().ok_or_else(|| refused(number, "its offset overflows"))?;
        let keyslot = Self {
            number,
            kdf: Kdf::Pbkdf2 {
                hash: header.hash_spec.clone(),
                iterations: slot.iterations,
                salt: slot.salt.to_vec(),
            },
            derived_len: header.key_bytes as usize,
            key_len: header.key_bytes as usize,
            area_offset: offset.0,
            stripes: slot.stripes,
            af_hash: Hash::parse(&header.hash_spec)?,
            cipher: CipherSpec::parse(&header.cipher())?,
        };
        keyslot.check_area(areas)?;
        Ok(keyslot)
    }

    pub(crate) fn of_luks2(number: u32, slot: &luks2::Keyslot, areas: Areas<'_>) -> Result<Self> {
        let KeyslotKind::Luks2 { kdf, af_hash, af_stripes, area_cipher, area_key_size } = &slot.kind else {
            return Err(refused(number, "its type is not luks2"));
        };
        let keyslot = Self {
            number,
            kdf: kdf.clone(),
            derived_len: *area_key_size as usize,
            key_len: slot.key_size as usize,
            area_offset: slot.area.offset.0,
            stripes: *af_stripes,
            af_hash: Hash::parse(af_hash)?,
            cipher: CipherSpec::parse(area_cipher)?,
        };
        // Checked before deriving: a key of gigabytes would take days and all memory.
        keyslot.cipher.check_key_bits(keyslot.derived_len.saturating_mul(8))?;
        keyslot.check_area(areas)?;
        if keyslot.material_len() as u64 > slot.area.size.0 {
            return Err(refused(number, "its area is smaller than its key material"));
        }
        Ok(keyslot)
    }

    fn check_area(&self, areas: Areas<'_>) -> Result<()> {
        areas.check(&self.cipher, self.derived_len).map_err(|why| refused(self.number, &why))
    }

    /// Length of the key material: all stripes, in whole sectors.
    pub(crate) fn material_len(&self) -> usize {
        material_len(self.key_len, self.stripes)
    }

    /// Memory that the derivation needs, in KiB.
    pub(crate) fn memory_kib(&self) -> u64 {
        match self.kdf {
            Kdf::Pbkdf2 { .. } => 0,
            Kdf::Argon2i { memory_kib, .. } | Kdf::Argon2id { memory_kib, .. } => u64::from(memory_kib),
        }
    }

    /// Threads that the derivation can use.
    pub(crate) fn lanes(&self) -> usize {
        match self.kdf {
            Kdf::Pbkdf2 { .. } => 1,
            Kdf::Argon2i { lanes, .. } | Kdf::Argon2id { lanes, .. } => lanes.max(1) as usize,
        }
    }

    /// Whether the derivation can run in vector lanes in parallel with others.
    pub(crate) fn goes_in_lanes(&self) -> bool {
        let Kdf::Pbkdf2 { hash, iterations, .. } = &self.kdf else { return false };
        Hash::find(hash).is_some_and(|hash| Derivation::fits(hash, *iterations, self.derived_len))
    }

    /// [`Keyslot::derive`] in parallel with others; `None` where it cannot run in vector lanes.
    pub(crate) fn derivation<'a>(&self, passphrase: &Secret, stop: &'a Stop) -> Option<Derivation<'a>> {
        let Kdf::Pbkdf2 { hash, iterations, salt } = &self.kdf else { return None };
        Derivation::new(Hash::find(hash)?, passphrase.expose(), salt, *iterations, self.derived_len, stop)
    }

    /// The area's key.
    pub(crate) fn derive(&self, passphrase: &Secret, threads: usize, stop: &Stop) -> Result<Secret> {
        let mut key = Secret::zeroed(self.derived_len);
        let (password, out) = (passphrase.expose(), key.expose_mut());
        match &self.kdf {
            Kdf::Pbkdf2 { hash, iterations, salt } => {
                kdf::pbkdf2(Hash::parse(hash)?, password, salt, *iterations, out, stop)?;
            }
            Kdf::Argon2i { time, memory_kib, lanes, salt } => {
                let cost = Argon2Cost { time: *time, memory_kib: *memory_kib, lanes: *lanes };
                kdf::argon2(Argon2Variant::Argon2i, cost, password, salt, out, threads, stop)?;
            }
            Kdf::Argon2id { time, memory_kib, lanes, salt } => {
                let cost = Argon2Cost { time: *time, memory_kib: *memory_kib, lanes: *lanes };
                kdf::argon2(Argon2Variant::Argon2id, cost, password, salt, out, threads, stop)?;
            }
        }
        Ok(key)
    }

    /// The key in the keyslot, right or wrong: only a digest can tell.
    pub(crate) fn open(&self, storage: &dyn Storage, derived: &Secret) -> Result<Secret> {
        let mut material = Secret::zeroed(self.material_len());
        storage.read_at(material.expose_mut(), self.area_offset).map_err(|source| Error::Io {
            what: format!("reading keyslot {} at offset {}", self.number, self.area_offset),
            source,
        })?;
        let cipher = SectorCipher::new(&self.cipher, derived, SectorSize::S512, Cpu::detect())?;
        cipher.decrypt(0, material.expose_mut());
        let stripes_len = self.key_len * self.stripes as usize;
        Ok(af::merge(&material.expose()[..stripes_len], self.key_len, self.stripes, self.af_hash)?)
    }

    /// The content of an area that opens to `key` with `derived`.
    pub(crate) fn seal(&self, derived: &Secret, key: &Secret, rng: &mut dyn Random) -> Result<Vec<u8>> {
        let mut material = Secret::zeroed(self.material_len());
        let stripes_len = self.key_len * self.stripes as usize;
        let stripes = &mut material.expose_mut()[..stripes_len];
        rng.fill(&mut stripes[..stripes_len - self.key_len])?;
        af::split(key, self.stripes, self.af_hash, stripes)?;
        let cipher = SectorCipher::new(&self.cipher, derived, SectorSize::S512, Cpu::detect())?;
        cipher.encrypt(0, material.expose_mut());
        Ok(material.expose().to_vec())
    }
}

/// Length of the material for a key of `key_len` bytes in `stripes` stripes, in whole sectors.
pub(crate) fn material_len(key_len: usize, stripes: u32) -> usize {
    (key_len * stripes as usize).next_multiple_of(512)
}

fn refused(number: u32, why: &str) -> Error {
    Refusal::Unusable.because(format!("keyslot {number} cannot be used: {why}"))
}
