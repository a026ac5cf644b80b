//! Keyway's code for a cipher or a chain of ciphers, with the benchmark's key.

use super::pattern;
use crate::results::{CipherCase, Direction, Outcome};
use crate::spec::Spec;
use keyway_crypto::{Cascade, Cpu, Secret, SectorCipher, SectorSize};

/// A keyed cipher, or a keyed chain of them.
pub(super) enum Keyed {
    One(SectorCipher),
    Chain(Cascade),
}

/// The benchmark's key of this length. Strict XTS implementations refuse equal halves, so it is not
/// constant.
pub(super) fn key(len: usize) -> Secret {
    let mut key = Secret::zeroed(len);
    pattern(1, key.expose_mut());
    key
}

impl Keyed {
    /// The code for the case's key and sectors on such a CPU.
    pub(super) fn new(spec: &Spec, case: &CipherCase, cpu: Cpu) -> Result<Self, Outcome> {
        let sector = SectorSize::new(case.sector_size).map_err(Outcome::impossible)?;
        spec.check_sector_size(sector).map_err(Outcome::impossible)?;
        let key = key(spec.key_len(case.key_bits).map_err(Outcome::impossible)?);
        let keyed = match spec {
            Spec::One(spec) => SectorCipher::new(spec, &key, sector, cpu).map(Self::One),
            Spec::Chain(chain) => Cascade::new(chain.chain, chain.mode, &key, cpu).map(Self::Chain),
        };
        keyed.map_err(Outcome::impossible)
    }

    /// The code in use on the CPU; that of each cipher, if they differ.
    pub(super) fn code(&self) -> String {
        match self {
            Self::One(cipher) => cipher.code().to_owned(),
            Self::Chain(chain) => chain.code(),
        }
    }

    /// The case's work on a run of sectors of which the first has this number.
    pub(super) fn run(&self, direction: Direction, first: u64, data: &mut [u8]) {
        match (self, direction) {
            (Self::One(cipher), Direction::Encrypt) => cipher.encrypt(first, data),
            (Self::One(cipher), Direction::Decrypt) => cipher.decrypt(first, data),
            (Self::Chain(chain), Direction::Encrypt) => chain.encrypt(first, data),
            (Self::Chain(chain), Direction::Decrypt) => chain.decrypt(first, data),
        }
    }
}
