//! Ciphers that RustCrypto's crates implement: CAST5, CAST6, Blowfish, ARIA, SM4, Kuznyechik.
//!
//! | cipher     | definition                 | key bytes                    |
//! |------------|----------------------------|------------------------------|
//! | cast5      | RFC 2144                   | 5 to 16; 12 rounds up to 10  |
//! | cast6      | RFC 2612                   | 16, 20, 24, 28, 32           |
//! | blowfish   | Schneier, FSE 1993         | 4 to 56                      |
//! | aria       | RFC 5794                   | 16, 24, 32                   |
//! | sm4        | GB/T 32907-2016            | 16                           |
//! | kuznyechik | GOST R 34.12-2015          | 32                           |
//!
//! All of these index tables by secrets: on a shared CPU their cache lines can be watched. The
//! crates make expanded keys on the stack and wipe them on drop; they are stored where other
//! schedules are.

use crate::block_cipher::{Block, BlockCipher, Cipher128};
use crate::secret::SecretBox;
use alloc::boxed::Box;
use aria::{Aria128, Aria192, Aria256};
use cipher::consts::{U8, U16};
use cipher::{Array, BlockCipherDecrypt, BlockCipherEncrypt, BlockSizeUser, KeyInit};

/// A cipher of 64-bit blocks from its crate.
///
/// # Panics
/// If the cipher has no keys of this length.
pub(crate) fn of_64_bits<C: Keyed<U8>>(key: &[u8]) -> Box<dyn BlockCipher<8>> {
    Box::new(Foreign(keyed::<C>(key)))
}

/// A cipher of 128-bit blocks from its crate.
///
/// # Panics
/// If the cipher has no keys of this length.
pub(crate) fn of_128_bits<C: Keyed<U16>>(key: &[u8]) -> Box<dyn Cipher128> {
    Box::new(Foreign(keyed::<C>(key)))
}

/// ARIA, whose crate has one type per key length.
///
/// # Panics
/// If `key` is not 16, 24 or 32 bytes long.
pub(crate) fn aria(key: &[u8]) -> Box<dyn Cipher128> {
    match key.len() {
        16 => of_128_bits::<Aria128>(key),
        24 => of_128_bits::<Aria192>(key),
        _ => of_128_bits::<Aria256>(key),
    }
}

/// TrueCrypt's Blowfish, which reads the words of blocks little endian.
///
/// # Panics
/// If `key` is not 4 to 56 bytes long.
pub(crate) fn blowfish_le(key: &[u8]) -> Box<dyn BlockCipher<8>> {
    of_64_bits::<blowfish::BlowfishLE>(key)
}

/// What the crates' ciphers of one block size have in common.
pub(crate) trait Keyed<B>:
    BlockSizeUser<BlockSize = B> + BlockCipherEncrypt + BlockCipherDecrypt + KeyInit + Send + Sync + 'static
{
}

impl<B, C> Keyed<B> for C where
    C: BlockSizeUser<BlockSize = B>
        + BlockCipherEncrypt
        + BlockCipherDecrypt
        + KeyInit
        + Send
        + Sync
        + 'static
{
}

struct Foreign<C>(SecretBox<C>);

impl<C: Keyed<U8>> BlockCipher<8> for Foreign<C> {
    fn encrypt_blocks(&self, blocks: &mut [[u8; 8]]) {
        self.0.encrypt_blocks(Array::cast_slice_from_core_mut(blocks));
    }

    fn decrypt_blocks(&self, blocks: &mut [[u8; 8]]) {
        self.0.decrypt_blocks(Array::cast_slice_from_core_mut(blocks));
    }
}

impl<C: Keyed<U16>> BlockCipher for Foreign<C> {
    fn encrypt_blocks(&self, blocks: &mut [Block]) {
        self.0.encrypt_blocks(Array::cast_slice_from_core_mut(blocks));
    }

    fn decrypt_blocks(&self, blocks: &mut [Block]) {
        self.0.decrypt_blocks(Array::cast_slice_from_core_mut(blocks));
    }
}

impl<C: Keyed<U16>> Cipher128 for Foreign<C> {}

fn keyed<C: KeyInit>(key: &[u8]) -> SecretBox<C> {
    SecretBox::new(C::new_from_slice(key).unwrap_or_else(|_| panic!("a key of {} bytes", key.len())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::vectors::hex;

    fn check64<C: Keyed<U8>>(key: &str, plaintext: &str, ciphertext: &str) {
        crate::block::vectors::check::<8>(&*of_64_bits::<C>(&hex(key)), &hex(plaintext), &hex(ciphertext));
    }

    fn check128(cipher: &dyn Cipher128, plaintext: &str, ciphertext: &str) {
        crate::block::vectors::check::<16>(cipher, &hex(plaintext), &hex(ciphertext));
    }

    /// RFC 2144, appendix B.1: 128, 80 and 40 bits of one key.
    #[test]
    fn cast5() {
        let plaintext = "0123456789abcdef";
        check64::<cast5::Cast5>("0123456712345678234567893456789a", plaintext, "238b4fe5847e44b2");
        check64::<cast5::Cast5>("01234567123456782345", plaintext, "eb6a711a2c02271b");
        check64::<cast5::Cast5>("0123456712", plaintext, "7ac816d16e9b302e");
    }

    /// RFC 2612, appendix A: 128, 192 and 256 bits.
    #[test]
    fn cast6() {
        for (key, ciphertext) in [
            ("2342bb9efa38542c0af75647f29f615d", "c842a08972b43d20836c91d1b7530f6b"),
            ("2342bb9efa38542cbed0ac83940ac298bac77a7717942863", "1b386c0210dcadcbdd0e41aa08a7a7e8"),
            (
                "2342bb9efa38542cbed0ac83940ac2988d7c47ce264908461cc1b5137ae6b604",
                "4f6a2038286897b9c9870136553317fa",
            ),
        ] {
            let cipher = of_128_bits::<cast6::Cast6>(&hex(key));
            check128(&*cipher, "00000000000000000000000000000000", ciphertext);
        }
    }

    /// Schneier and Young, the Blowfish home page's vectors.txt: ECB, and
    /// the variable-length keys of the second set.
    #[test]
    fn blowfish() {
        type Cipher = blowfish::Blowfish;
        check64::<Cipher>("0000000000000000", "0000000000000000", "4ef997456198dd78");
        check64::<Cipher>("ffffffffffffffff", "ffffffffffffffff", "51866fd5b85ecb8a");
        check64::<Cipher>("0123456789abcdef", "1111111111111111", "61f9c3802281b096");
        check64::<Cipher>("f0e1d2c3b4", "fedcba9876543210", "b39e44481bdb1e6e");
        check64::<Cipher>("f0e1d2c3b4a5968778695a4b3c2d1e0f", "fedcba9876543210", "93142887ee3be15c");
    }

    /// RFC 5794, appendix A.
    #[test]
    fn aria() {
        let key = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
        for (digits, ciphertext) in [
            (32, "d718fbd6ab644c739da95f3be6451778"),
            (48, "26449c1805dbe7aa25a468ce263a9e79"),
            (64, "f92bd7c79fb72e2f2b8f80c1972d24fc"),
        ] {
            check128(&*super::aria(&hex(&key[..digits])), "00112233445566778899aabbccddeeff", ciphertext);
        }
    }

    /// GB/T 32907-2016, appendix A.1 (the same as draft-ribose-cfrg-sm4, A.1.1).
    #[test]
    fn sm4() {
        let text = "0123456789abcdeffedcba9876543210";
        check128(&*of_128_bits::<sm4::Sm4>(&hex(text)), text, "681edf34d206965e86b3e94f536e4246");
    }

    /// GOST R 34.12-2015, appendix A.1 (the same as RFC 7801, section 5.5).
    #[test]
    fn kuznyechik() {
        let key = hex("8899aabbccddeeff0011223344556677fedcba98765432100123456789abcdef");
        let cipher = of_128_bits::<kuznyechik::Kuznyechik>(&key);
        check128(&*cipher, "1122334455667700ffeeddccbbaa9988", "7f679d90bebc24305a468d42b9d4edcd");
    }
}
