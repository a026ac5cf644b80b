//! The block ciphers by the kernel's names: one row each, with the key sizes it takes and what makes it.
//!
//! Sizes are those of the Linux kernel's implementations (crypto/*.c, `cra_blocksize`, `cia_min_keysize`,
//! `cia_max_keysize`), in bits.

use super::aes::Aes;
use super::serpent::{Serpent, Tnepres};
use super::{BlockCipher, Cipher128};
use crate::Cpu;
use crate::engine::Engine;
use alloc::boxed::Box;

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
#[expect(dead_code, reason = "ciphers of 64-bit blocks come next")]
pub(crate) enum Make {
    Block128(Make128),
    Block64(fn(&[u8], Cpu) -> Box<dyn BlockCipher<8>>),
    /// No blocks to chain: exists in ECB alone and takes whole sectors.
    EcbOnly(fn(&[u8], Cpu) -> Box<dyn Engine>),
    /// Known by name, blocks of so many bits, but without code.
    Absent(usize),
}

/// The constructor of a cipher of 128-bit blocks.
pub(crate) type Make128 = fn(&[u8], Cpu) -> Box<dyn Cipher128>;

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
            Make::Absent(bits) => bits,
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
        keys: (128, 256, 64),
        make: Make::Block128(|key, cpu| Box::new(Serpent::new(key, cpu))),
    },
    Cipher {
        name: "tnepres",
        keys: (128, 256, 64),
        make: Make::Block128(|key, cpu| Box::new(Tnepres::new(key, cpu))),
    },
    Cipher { name: "twofish", keys: (128, 256, 64), make: Make::Absent(128) },
    Cipher { name: "camellia", keys: (128, 256, 64), make: Make::Absent(128) },
    Cipher { name: "cast5", keys: (40, 128, 8), make: Make::Absent(64) },
    Cipher { name: "cast6", keys: (128, 256, 32), make: Make::Absent(128) },
    Cipher { name: "blowfish", keys: (32, 448, 8), make: Make::Absent(64) },
    Cipher { name: "des", keys: (64, 64, 8), make: Make::Absent(64) },
    Cipher { name: "des3_ede", keys: (192, 192, 8), make: Make::Absent(64) },
    Cipher { name: "anubis", keys: (128, 320, 32), make: Make::Absent(128) },
    Cipher { name: "khazad", keys: (128, 128, 8), make: Make::Absent(64) },
    Cipher { name: "tea", keys: (128, 128, 8), make: Make::Absent(64) },
    Cipher { name: "xtea", keys: (128, 128, 8), make: Make::Absent(64) },
    Cipher { name: "xeta", keys: (128, 128, 8), make: Make::Absent(64) },
    Cipher { name: "seed", keys: (128, 128, 8), make: Make::Absent(128) },
    Cipher { name: "fcrypt", keys: (64, 64, 8), make: Make::Absent(64) },
    Cipher { name: "aria", keys: (128, 256, 64), make: Make::Absent(128) },
    Cipher { name: "sm4", keys: (128, 128, 8), make: Make::Absent(128) },
    Cipher { name: "kuznyechik", keys: (256, 256, 8), make: Make::Absent(128) },
    Cipher { name: "arc4", keys: (8, 2048, 8), make: Make::Absent(8) },
    // The kernel's null cipher copies; cryptsetup's reencryption of plain data writes it.
    Cipher { name: "cipher_null", keys: (0, 0, 8), make: Make::Absent(8) },
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
