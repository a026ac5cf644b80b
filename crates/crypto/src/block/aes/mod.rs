//! AES (FIPS 197): an expanded key with the code that was chosen for it, once, from a [`Cpu`].

#[cfg(target_arch = "aarch64")]
mod arm;
mod code;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod lanes;
mod schedule;
mod soft;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod wide;
#[cfg(target_arch = "x86_64")]
mod x86;

use crate::Cpu;
use crate::block::{Block, BlockCipher, Cipher128};
use crate::cpu::Level;
use crate::mode::{cbc, xts};
use crate::secret::SecretBox;
use code::Code;
use schedule::Schedule;
use soft::SoftAes;

/// An expanded AES key of 128, 192 or 256 bits.
pub(crate) struct Aes {
    level: Level,
    key: Key,
}

enum Key {
    Portable(SoftAes),
    Vector { code: &'static Code, schedule: SecretBox<Schedule> },
}

impl Aes {
    /// Expands a key of 16, 24 or 32 bytes for the best code that `cpu` can run.
    ///
    /// # Panics
    /// On another length: callers have checked it against the cipher's key sizes.
    pub(crate) fn new(key: &[u8], cpu: Cpu) -> Self {
        let key = match choose(cpu) {
            Some(code) => Key::Vector { code, schedule: Schedule::expand(key) },
            None => Key::Portable(SoftAes::new(key)),
        };
        Self { level: cpu.level(), key }
    }
}

impl BlockCipher for Aes {
    fn encrypt_blocks(&self, blocks: &mut [Block]) {
        match &self.key {
            Key::Portable(soft) => soft.encrypt_blocks(blocks),
            Key::Vector { code, schedule } => (code.encrypt_blocks)(schedule, blocks),
        }
    }

    fn decrypt_blocks(&self, blocks: &mut [Block]) {
        match &self.key {
            Key::Portable(soft) => soft.decrypt_blocks(blocks),
            Key::Vector { code, schedule } => (code.decrypt_blocks)(schedule, blocks),
        }
    }

    fn cbc_encrypt(&self, ivs: &[Block], sector: usize, data: &mut [u8]) {
        match &self.key {
            Key::Portable(soft) => cbc::encrypt(soft, ivs, sector, data),
            Key::Vector { code, schedule } => (code.cbc_encrypt)(schedule, ivs, sector, data),
        }
    }

    fn cbc_decrypt(&self, ivs: &[Block], sector: usize, data: &mut [u8]) {
        match &self.key {
            Key::Portable(soft) => cbc::decrypt(soft, ivs, sector, data),
            Key::Vector { code, schedule } => (code.cbc_decrypt)(schedule, ivs, sector, data),
        }
    }

    fn code(&self) -> &'static str {
        self.level.name()
    }
}

impl Cipher128 for Aes {
    fn xts_encrypt(&self, tweaks: &[Block], sector: usize, data: &mut [u8]) {
        match &self.key {
            Key::Portable(soft) => xts::encrypt(soft, tweaks, sector, data),
            Key::Vector { code, schedule } => (code.xts_encrypt)(schedule, tweaks, sector, data),
        }
    }

    fn xts_decrypt(&self, tweaks: &[Block], sector: usize, data: &mut [u8]) {
        match &self.key {
            Key::Portable(soft) => xts::decrypt(soft, tweaks, sector, data),
            Key::Vector { code, schedule } => (code.xts_decrypt)(schedule, tweaks, sector, data),
        }
    }
}

/// The vector code for `cpu`, if there is any.
fn choose(cpu: Cpu) -> Option<&'static Code> {
    #[cfg(target_arch = "x86_64")]
    return x86::choose(cpu);
    #[cfg(target_arch = "aarch64")]
    return arm::choose(cpu);
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    {
        let _ = cpu;
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// FIPS 197, appendix C: C.1 (128 bits), C.2 (192), C.3 (256), at every level of this machine.
    #[test]
    fn fips_197_appendix_c() {
        let plaintext = 0x0011_2233_4455_6677_8899_aabb_ccdd_eeff_u128.to_be_bytes();
        let key: Vec<u8> = (0..32).collect();
        let expected: [(usize, u128); 3] = [
            (16, 0x69c4_e0d8_6a7b_0430_d8cd_b780_70b4_c55a),
            (24, 0xdda9_7ca4_864c_dfe0_6eaf_70a0_ec0d_7191),
            (32, 0x8ea2_b7ca_5167_45bf_eafc_4990_4b49_6089),
        ];
        for cpu in Cpu::levels() {
            for (len, ciphertext) in expected {
                let aes = Aes::new(&key[..len], cpu);
                let mut blocks = [plaintext; 39];
                aes.encrypt_blocks(&mut blocks);
                assert_eq!(blocks, [ciphertext.to_be_bytes(); 39], "{cpu}");
                aes.decrypt_blocks(&mut blocks);
                assert_eq!(blocks, [plaintext; 39], "{cpu}");
            }
        }
    }
}
