//! From a passphrase to a decrypted sector, in memory that the caller lends.

use keyway_crypto::kdf::{self, Argon2Block, Argon2Cost, Argon2Variant};
use keyway_crypto::{AesXts, Cpu, Error, Hash, Secret, SectorSize, Stop};
use keyway_format::af;

/// What the header says of one keyslot, its area, and one sector of the data.
pub(crate) struct Volume {
    pub(crate) name: &'static str,
    pub(crate) kdf: Kdf,
    pub(crate) salt: &'static [u8],
    pub(crate) area_key_len: usize,
    pub(crate) key_len: usize,
    pub(crate) af_hash: &'static str,
    pub(crate) digest_hash: &'static str,
    pub(crate) digest_iterations: u32,
    pub(crate) digest_salt: &'static [u8],
    pub(crate) digest: &'static [u8],
    pub(crate) sector_size: u32,
    pub(crate) area: &'static [u8],
    pub(crate) sector: &'static [u8],
}

pub(crate) enum Kdf {
    Pbkdf2 { hash: &'static str, iterations: u32 },
    Argon2id { time: u32, memory_kib: u32, lanes: u32 },
}

/// Decrypts the volume's sector into `memory` and returns it there.
pub(crate) fn unlock<'m>(
    volume: &Volume,
    passphrase: &[u8],
    memory: &'m mut [u8],
) -> Result<&'m [u8], Refusal> {
    let area_key = derive(volume, passphrase, memory)?;
    let area = copy(volume.area, memory)?;
    AesXts::new(area_key.expose(), Cpu::detect())?.decrypt(0, SectorSize::S512, area);
    let mut key = Secret::zeroed(volume.key_len);
    af::merge_into(area, hash(volume.af_hash)?, key.expose_mut());
    area.fill(0);
    check(volume, &key)?;
    let sector = copy(volume.sector, memory)?;
    AesXts::new(key.expose(), Cpu::detect())?.decrypt(0, SectorSize::new(volume.sector_size)?, sector);
    Ok(sector)
}

/// The key of the keyslot's area.
fn derive(volume: &Volume, passphrase: &[u8], memory: &mut [u8]) -> Result<Secret, Refusal> {
    let mut key = Secret::zeroed(volume.area_key_len);
    let (out, stop) = (key.expose_mut(), Stop::new());
    match volume.kdf {
        Kdf::Pbkdf2 { hash: name, iterations } => {
            kdf::pbkdf2(hash(name)?, passphrase, volume.salt, iterations, out, &stop)?;
        }
        Kdf::Argon2id { time, memory_kib, lanes } => {
            let cost = Argon2Cost { time, memory_kib, lanes };
            let blocks = Argon2Block::slice_of(memory);
            kdf::argon2_in(blocks, Argon2Variant::Argon2id, cost, passphrase, volume.salt, out, &stop)?;
            memory.fill(0);
        }
    }
    Ok(key)
}

/// Whether it is the volume key: the header's digest of it is the same.
fn check(volume: &Volume, key: &Secret) -> Result<(), Refusal> {
    let mut digest = Secret::zeroed(volume.digest.len());
    let (salt, iterations) = (volume.digest_salt, volume.digest_iterations);
    kdf::pbkdf2(
        hash(volume.digest_hash)?,
        key.expose(),
        salt,
        iterations,
        digest.expose_mut(),
        &Stop::new(),
    )?;
    if digest.ct_eq(volume.digest) { Ok(()) } else { Err(Refusal::WrongPassphrase) }
}

fn copy<'m>(from: &[u8], memory: &'m mut [u8]) -> Result<&'m mut [u8], Refusal> {
    let place = memory.get_mut(..from.len()).ok_or(Refusal::NoMemory)?;
    place.copy_from_slice(from);
    Ok(place)
}

fn hash(name: &'static str) -> Result<Hash, Refusal> {
    Hash::find(name).ok_or(Refusal::UnknownHash(name))
}

/// Why a volume stays shut.
pub(crate) enum Refusal {
    WrongPassphrase,
    NoMemory,
    UnknownHash(&'static str),
    Crypto(Error),
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self::Crypto(error)
    }
}

impl core::fmt::Display for Refusal {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::WrongPassphrase => f.write_str("wrong passphrase"),
            Self::NoMemory => f.write_str("not enough memory"),
            Self::UnknownHash(name) => write!(f, "unknown hash {name}"),
            Self::Crypto(error) => error.fmt(f),
        }
    }
}
