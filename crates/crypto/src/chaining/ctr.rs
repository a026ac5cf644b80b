//! CTR and XCTR over whole sectors.
//!
//! CTR (NIST SP 800-38A, section 6.5; Linux, crypto/ctr.c): the IV is the first counter, a
//! big-endian number as wide as a block. XCTR (Crowley, Huckleberry and Biggers,
//! "Length-preserving encryption with HCTR2", section 2.2; Linux, crypto/xctr.c): block j,
//! counted from 1 in 32 bits, little endian, is added to the IV.
//!
//! dm-crypt can be configured to use these modes, and nobody should: an observer of two versions of
//! a sector sees their difference.

use super::xor;

/// Fills in the counters of a sector from its IV: [`count`] or [`count_beside`].
pub(crate) type Counters<const N: usize> = fn(&[u8; N], &mut [[u8; N]]);

/// Adds the key streams of sectors, passing whole sectors through the cipher together.
pub(crate) fn crypt<const N: usize>(
    counters: Counters<N>,
    ivs: &[[u8; N]],
    sector: usize,
    data: &mut [u8],
    cipher: impl Fn(&mut [[u8; N]]),
) {
    let sectors = MOST_BYTES / sector;
    let mut stream = [0; MOST_BYTES];
    for (ivs, batch) in ivs.chunks(sectors).zip(data.chunks_mut(sectors * sector)) {
        let stream = stream[..batch.len()].as_chunks_mut().0;
        for (iv, sector) in ivs.iter().zip(stream.chunks_exact_mut(sector / N)) {
            counters(iv, sector);
        }
        cipher(stream);
        batch.as_chunks_mut().0.iter_mut().zip(stream).for_each(|(block, mask)| xor(block, mask));
    }
}

/// CTR's counters: counts up from the IV.
pub(crate) fn count<const N: usize>(first: &[u8; N], counters: &mut [[u8; N]]) {
    let mut wide = [0; 16];
    wide[16 - N..].copy_from_slice(first);
    let first = u128::from_be_bytes(wide);
    for (index, counter) in (0..).zip(counters) {
        counter.copy_from_slice(&first.wrapping_add(index).to_be_bytes()[16 - N..]);
    }
}

/// XCTR's counters: the IV plus 1, 2, ….
pub(crate) fn count_beside<const N: usize>(iv: &[u8; N], counters: &mut [[u8; N]]) {
    count_beside_from(1, iv, counters);
}

/// XCTR's counters with one for the block before the first, as HCTR2 uses them.
pub(crate) fn count_beside_from_zero<const N: usize>(iv: &[u8; N], counters: &mut [[u8; N]]) {
    count_beside_from(0, iv, counters);
}

fn count_beside_from<const N: usize>(first: u32, iv: &[u8; N], counters: &mut [[u8; N]]) {
    for (index, counter) in (first..).zip(counters) {
        *counter = *iv;
        counter.iter_mut().zip(index.to_le_bytes()).for_each(|(byte, index)| *byte ^= index);
    }
}

/// Bytes of key stream per cipher call: the largest sector, or several small ones.
const MOST_BYTES: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Cpu;
    use crate::block::aes::Aes;
    use crate::block::vectors::hex;
    use crate::block_cipher::BlockCipher;

    /// NIST SP 800-38A, F.5.1 and F.5.5: four blocks each.
    #[test]
    fn nist_sp_800_38a() {
        let iv: [u8; 16] = hex("f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff").try_into().unwrap();
        let plaintext = hex(
            "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e5130c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b17ad2b417be66c3710",
        );
        for (key, fourth) in [
            ("2b7e151628aed2a6abf7158809cf4f3c", "1e031dda2fbe03d1792170a0f3009cee"),
            (
                "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4",
                "dfc9c58db67aada613c2dd08457941a6",
            ),
        ] {
            let aes = Aes::new(&hex(key), Cpu::detect());
            let mut data = plaintext.clone();
            crypt(count, &[iv], 64, &mut data, |blocks| aes.encrypt_blocks(blocks));
            assert_eq!(data[48..], hex(fourth));
            crypt(count, &[iv], 64, &mut data, |blocks| aes.encrypt_blocks(blocks));
            assert_eq!(data, plaintext);
        }
    }

    #[test]
    fn counters_carry_through_and_wrap() {
        let mut counters = [[0; 8]; 3];
        count(&[255; 8], &mut counters);
        assert_eq!(counters, [[255; 8], [0; 8], [0, 0, 0, 0, 0, 0, 0, 1]]);
        let mut counters = [[0; 16]; 2];
        count(&[0, 0, 0, 0, 0, 0, 0, 7, 255, 255, 255, 255, 255, 255, 255, 255], &mut counters);
        assert_eq!(counters[1], [0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0]);
    }
}
