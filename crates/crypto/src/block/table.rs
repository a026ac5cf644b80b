//! The block ciphers by their kernel names: one row each, with the key sizes and the constructor.
//!
//! Sizes are those of the Linux kernel's implementations (crypto/*.c, `cra_blocksize`,
//! `cia_min_keysize`, `cia_max_keysize`), in bits.

use super::aes::Aes;
use super::anubis::Anubis;
use super::arc4::Arc4;
use super::camellia::Camellia;
use super::crates;
use super::des::Des;
use super::fcrypt::Fcrypt;
use super::khazad::Khazad;
use super::null::Null;
use super::seed::Seed;
use super::serpent::{Serpent, Tnepres};
use super::tea::{Extended, Misread, Original, Tea};
use super::twofish::Twofish;
use crate::Cpu;
use crate::block_cipher::{BlockCipher, Make128};
use crate::engine::Engine;
use alloc::boxed::Box;
use blowfish::Blowfish;
use cast5::Cast5;
use cast6::Cast6;
use kuznyechik::Kuznyechik;
use sm4::Sm4;

/// A block cipher: its name, its key sizes, and its constructor.
#[derive(Debug)]
pub(crate) struct Cipher {
    pub(crate) name: &'static str,
    /// Smallest key, largest key, and the step between sizes.
    keys: (usize, usize, usize),
    pub(crate) make: Make,
}

/// Expands a key whose size is one of the cipher's, for the best code that the CPU can run.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Make {
    Block128(Make128),
    Block64(fn(&[u8], Cpu) -> Box<dyn BlockCipher<8>>),
    /// No blocks to chain: exists only in ECB and takes whole sectors.
    EcbOnly(fn(&[u8], Cpu) -> Box<dyn Engine>),
}

impl Cipher {
    pub(crate) fn find(name: &str) -> Option<&'static Self> {
        CIPHERS.iter().find(|cipher| cipher.name == name)
    }

    /// The key sizes in bits, ascending.
    pub(crate) fn key_bits(&self) -> impl Iterator<Item = usize> + use<> {
        let (smallest, largest, step) = self.keys;
        (smallest..=largest).step_by(step)
    }

    /// The block size in bits.
    pub(crate) fn block_bits(&self) -> usize {
        match self.make {
            Make::Block128(_) => 128,
            Make::Block64(_) => 64,
            Make::EcbOnly(_) => 8,
        }
    }
}

/// Names are unique.
impl PartialEq for Cipher {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Cipher {}

pub(crate) static CIPHERS: [Cipher; 22] = [
    Cipher {
        name: "aes",
        keys: (128, 256, 64),
        make: Make::Block128(|key, cpu| Box::new(Aes::new(key, cpu))),
    },
    Cipher {
        name: "serpent",
        keys: (0, 256, 8),
        make: Make::Block128(|key, cpu| Box::new(Serpent::new(key, cpu))),
    },
    Cipher {
        name: "tnepres",
        keys: (0, 256, 8),
        make: Make::Block128(|key, cpu| Box::new(Tnepres::new(key, cpu))),
    },
    Cipher {
        name: "twofish",
        keys: (128, 256, 64),
        make: Make::Block128(|key, cpu| Box::new(Twofish::new(key, cpu))),
    },
    Cipher {
        name: "camellia",
        keys: (128, 256, 64),
        make: Make::Block128(|key, cpu| Box::new(Camellia::new(key, cpu))),
    },
    Cipher {
        name: "cast5",
        keys: (40, 128, 8),
        make: Make::Block64(|key, _| crates::of_64_bits::<Cast5>(key)),
    },
    Cipher {
        name: "cast6",
        keys: (128, 256, 32),
        make: Make::Block128(|key, _| crates::of_128_bits::<Cast6>(key)),
    },
    Cipher {
        name: "blowfish",
        keys: (32, 448, 8),
        make: Make::Block64(|key, _| crates::of_64_bits::<Blowfish>(key)),
    },
    Cipher { name: "des", keys: (64, 64, 8), make: Make::Block64(|key, _| Box::new(Des::new(key))) },
    Cipher { name: "des3_ede", keys: (192, 192, 8), make: Make::Block64(|key, _| Box::new(Des::new(key))) },
    Cipher {
        name: "anubis",
        keys: (128, 320, 32),
        make: Make::Block128(|key, _| Box::new(Anubis::new(key))),
    },
    Cipher { name: "khazad", keys: (128, 128, 8), make: Make::Block64(|key, _| Box::new(Khazad::new(key))) },
    Cipher {
        name: "tea",
        keys: (128, 128, 8),
        make: Make::Block64(|key, _| Box::new(Tea::<Original>::new(key))),
    },
    Cipher {
        name: "xtea",
        keys: (128, 128, 8),
        make: Make::Block64(|key, _| Box::new(Tea::<Extended>::new(key))),
    },
    Cipher {
        name: "xeta",
        keys: (128, 128, 8),
        make: Make::Block64(|key, _| Box::new(Tea::<Misread>::new(key))),
    },
    Cipher { name: "seed", keys: (128, 128, 8), make: Make::Block128(|key, _| Box::new(Seed::new(key))) },
    Cipher { name: "fcrypt", keys: (64, 64, 8), make: Make::Block64(|key, _| Box::new(Fcrypt::new(key))) },
    Cipher { name: "aria", keys: (128, 256, 64), make: Make::Block128(|key, _| crates::aria(key)) },
    Cipher {
        name: "sm4",
        keys: (128, 128, 8),
        make: Make::Block128(|key, _| crates::of_128_bits::<Sm4>(key)),
    },
    Cipher {
        name: "kuznyechik",
        keys: (256, 256, 8),
        make: Make::Block128(|key, _| crates::of_128_bits::<Kuznyechik>(key)),
    },
    Cipher { name: "arc4", keys: (8, 2048, 8), make: Make::EcbOnly(|key, _| Box::new(Arc4::new(key))) },
    // The kernel's null cipher copies data; cryptsetup writes this name when it reencrypts plain
    // data.
    Cipher { name: "cipher_null", keys: (0, 0, 8), make: Make::EcbOnly(|_, _| Box::new(Null)) },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique() {
        for (index, cipher) in CIPHERS.iter().enumerate() {
            assert!(CIPHERS[..index].iter().all(|other| other != cipher), "{}", cipher.name);
        }
    }
}
