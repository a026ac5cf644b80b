//! arc4 as dm-crypt can be made to use it: "arc4-ecb" (Linux, crypto/arc4.c, lib/crypto/arc4.c).
//!
//! The kernel calls this stream cipher a block cipher with blocks of one byte. Since Linux 6.7
//! every sector starts the key stream anew, so all sectors are masked alike. This code does the
//! same, and nobody should use it for that reason. Before 6.7 the stream continued from request to
//! request, in whatever order they arrived, and data once written could not be read back.
//!
//! The state is indexed by secrets.

use crate::engine::{Engine, Run};
use crate::secret::{Plain, SecretBox};
use zeroize::Zeroizing;

/// The permutation that a key starts from.
pub(crate) struct Arc4(SecretBox<Permutation>);

impl Arc4 {
    /// # Panics
    /// If `key` is empty.
    pub(crate) fn new(key: &[u8]) -> Self {
        assert!(!key.is_empty(), "an arc4 key has at least one byte");
        Self(SecretBox::new_with(|state: &mut Permutation| {
            (0..=255).zip(&mut state.0).for_each(|(index, entry)| *entry = index);
            let mut j = 0u8;
            for (i, byte) in (0..256).zip(key.iter().cycle()) {
                j = j.wrapping_add(state.0[i]).wrapping_add(*byte);
                state.0.swap(i, j.into());
            }
        }))
    }

    /// XORs the key stream, from its start, into the sector.
    fn mask(&self, sector: &mut [u8]) {
        let mut state = Zeroizing::new(self.0.0);
        let (mut i, mut j) = (0u8, 0u8);
        for byte in sector {
            i = i.wrapping_add(1);
            let a = state[usize::from(i)];
            j = j.wrapping_add(a);
            let b = state[usize::from(j)];
            (state[usize::from(i)], state[usize::from(j)]) = (b, a);
            *byte ^= state[usize::from(a.wrapping_add(b))];
        }
    }
}

impl Engine for Arc4 {
    fn encrypt(&self, run: &Run, data: &mut [u8]) {
        data.chunks_exact_mut(run.sector).for_each(|sector| self.mask(sector));
    }

    fn decrypt(&self, run: &Run, data: &mut [u8]) {
        self.encrypt(run, data);
    }

    fn code(&self) -> &'static str {
        "portable"
    }
}

#[derive(Clone, Copy)]
struct Permutation([u8; 256]);

impl Plain for Permutation {
    const EMPTY: Self = Self([0; 256]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::vectors::hex;

    /// RFC 6229, section 2: the start of the key stream of 40, 128 and 256 bits.
    #[test]
    fn rfc_6229_and_every_sector_alike() {
        for (key, first) in [
            ("0102030405", "b2396305f03dc027ccc3524a0a1118a8"),
            ("0102030405060708090a0b0c0d0e0f10", "9ac7cc9a609d1ef7b2932899cde41b97"),
            (
                "0102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f20",
                "eaa6bd25880bf93d3f5d1e4ca2611d91",
            ),
        ] {
            let run = Run { first: 7, sector: 512, large_ivs: false };
            let mut data = vec![0; 1024];
            Arc4::new(&hex(key)).encrypt(&run, &mut data);
            assert_eq!(data[..16], hex(first));
            assert_eq!(data[..512], data[512..]);
            Arc4::new(&hex(key)).decrypt(&run, &mut data);
            assert_eq!(data, [0; 1024]);
        }
    }
}
