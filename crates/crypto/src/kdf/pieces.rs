//! Digests of many messages of one length, such as the sectors of a disk: in the lanes of vectors, as PBKDF2's chains.

#[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
use super::pbkdf2::x86::sha256_pieces as side_by_side;
use crate::{Cpu, Hash};

impl Hash {
    /// The digests of each `piece` bytes of `data`, side by side where that is faster; the last piece
    /// may be shorter.
    ///
    /// # Panics
    /// If `piece` is zero, or `digests` are not as many as the pieces.
    pub fn digest_pieces(self, data: &[u8], piece: usize, digests: &mut [u8]) {
        self.digest_pieces_on(Cpu::detect(), data, piece, digests);
    }

    fn digest_pieces_on(self, cpu: Cpu, data: &[u8], piece: usize, digests: &mut [u8]) {
        let len = self.output_len();
        assert_eq!(digests.len(), data.len().div_ceil(piece) * len, "a digest for each piece");
        let done = match self {
            Self::Sha256 => side_by_side(cpu, data, piece, digests.as_chunks_mut().0),
            _ => 0,
        };
        for (piece, digest) in data.chunks(piece).zip(digests.chunks_mut(len)).skip(done) {
            self.digest_into(&[piece], digest);
        }
    }
}

/// CPUs that hash messages one after another.
#[cfg(not(all(target_arch = "x86_64", target_feature = "sse2")))]
fn side_by_side(_: Cpu, _: &[u8], _: usize, _: &mut [[u8; 32]]) -> usize {
    0
}

#[cfg(all(test, feature = "alloc"))]
mod tests {
    use super::*;
    use alloc::vec;
    use alloc::vec::Vec;

    /// Whole groups side by side, what is left of them, a last piece that is shorter; pieces of no whole blocks.
    #[test]
    fn pieces_have_the_digests_that_they_have_alone() {
        let data: Vec<u8> = (0..37 * 512 + 100).map(|at: usize| (at * at / 7) as u8).collect();
        for (hash, piece) in [
            (Hash::Sha256, 512),
            (Hash::Sha256, 64),
            (Hash::Sha256, 4096),
            (Hash::Sha256, 100),
            (Hash::Sha1, 512),
        ] {
            for len in [0, 7 * piece, 8 * piece, 27 * piece, 37 * piece, data.len()] {
                let data = &data[..len.min(data.len())];
                let alone: Vec<u8> = data.chunks(piece).flat_map(|piece| hash.digest(&[piece])).collect();
                for cpu in Cpu::levels() {
                    let mut digests = vec![0; alone.len()];
                    hash.digest_pieces_on(cpu, data, piece, &mut digests);
                    assert!(digests == alone, "{hash:?}, {piece}, {len}, {cpu:?}");
                }
            }
        }
    }
}
