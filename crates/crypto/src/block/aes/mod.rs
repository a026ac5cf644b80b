//! AES (FIPS 197): an expanded key with the code chosen for it, once, from a [`Cpu`].

#[cfg(target_arch = "aarch64")]
mod arm;
mod code;
#[cfg(any(all(target_arch = "x86_64", target_feature = "sse2"), target_arch = "aarch64"))]
mod lanes;
mod schedule;
mod slice;
mod soft;
#[cfg(any(all(target_arch = "x86_64", target_feature = "sse2"), target_arch = "aarch64"))]
mod sys;
#[cfg(any(all(target_arch = "x86_64", target_feature = "sse2"), target_arch = "aarch64"))]
mod wide;
#[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
mod x86;

use crate::Cpu;
use crate::block_cipher::{Block, BlockCipher, Cipher128};
use crate::secret::SecretBox;
use crate::simd::vector_code;
use code::Code;
use schedule::Schedule;

/// An expanded AES key of 128, 192 or 256 bits.
pub(crate) struct Aes {
    code: &'static Code,
    schedule: SecretBox<Schedule>,
}

impl Aes {
    /// Expands a key of 16, 24 or 32 bytes for the best code that `cpu` can run.
    ///
    /// # Panics
    /// For any other length: callers check it against the cipher's key sizes.
    pub(crate) fn new(key: &[u8], cpu: Cpu) -> Self {
        Self { code: choose(cpu), schedule: Schedule::expand(key) }
    }
}

impl BlockCipher for Aes {
    fn encrypt_blocks(&self, blocks: &mut [Block]) {
        (self.code.encrypt_blocks)(&self.schedule, blocks);
    }

    fn decrypt_blocks(&self, blocks: &mut [Block]) {
        (self.code.decrypt_blocks)(&self.schedule, blocks);
    }

    fn cbc_encrypt(&self, ivs: &[Block], sector: usize, data: &mut [u8]) {
        (self.code.cbc_encrypt)(&self.schedule, ivs, sector, data);
    }

    fn cbc_decrypt(&self, ivs: &[Block], sector: usize, data: &mut [u8]) {
        (self.code.cbc_decrypt)(&self.schedule, ivs, sector, data);
    }

    fn code(&self) -> &'static str {
        self.code.name
    }
}

impl Cipher128 for Aes {
    fn xts_encrypt(&self, tweaks: &[Block], sector: usize, data: &mut [u8]) {
        (self.code.xts_encrypt)(&self.schedule, tweaks, sector, data);
    }

    fn xts_decrypt(&self, tweaks: &[Block], sector: usize, data: &mut [u8]) {
        (self.code.xts_decrypt)(&self.schedule, tweaks, sector, data);
    }

    fn xctr(&self, starts: &[Block], sector: usize, data: &mut [u8]) {
        (self.code.xctr)(&self.schedule, starts, sector, data);
    }
}

/// The best code that `cpu` can run.
fn choose(cpu: Cpu) -> &'static Code {
    vector_code!(cpu).unwrap_or(&soft::CODE)
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
