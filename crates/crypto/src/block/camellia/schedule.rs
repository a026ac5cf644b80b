//! Camellia's key schedule (RFC 3713, section 2.2).

use super::boxes::f;
use crate::secret::{Plain, SecretBox};
use zeroize::Zeroize;

/// An expanded key.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(crate) struct Schedule {
    pub(super) encrypt: Subkeys,
    pub(super) decrypt: Subkeys,
}

/// Subkeys in the order of use: decryption is encryption with the reverse order.
#[derive(Clone, Copy)]
pub(super) struct Subkeys {
    /// kw1 to kw4.
    pub(super) whitening: [u64; 4],
    /// k1 to k18, or to k24.
    pub(super) rounds: [u64; 24],
    /// ke1 to ke4, or to ke6.
    pub(super) layers: [u64; 6],
    /// Layers of FL between groups of six rounds: 2, or 3.
    pub(super) layer_count: usize,
    /// The same keys for code that works on bytes.
    pub(super) spread: Spread,
}

/// Each byte of a subkey repeated four times, the first byte first.
pub(super) type SpreadKey = [u32; 8];

/// Subkeys in the form the vectors of bytes need: a byte repeated four times can be broadcast by
/// the load itself.
#[derive(Clone, Copy)]
pub(super) struct Spread {
    pub(super) whitening: [SpreadKey; 4],
    pub(super) rounds: [SpreadKey; 24],
    pub(super) layers: [SpreadKey; 6],
}

impl Plain for Schedule {
    const EMPTY: Self = Self { encrypt: Subkeys::EMPTY, decrypt: Subkeys::EMPTY };
}

impl Schedule {
    /// Expands a key of 16, 24 or 32 bytes.
    ///
    /// # Panics
    /// For any other length.
    pub(super) fn expand(key: &[u8]) -> SecretBox<Self> {
        assert!(matches!(key.len(), 16 | 24 | 32), "a Camellia key of {} bytes", key.len());
        SecretBox::new_with(|schedule: &mut Self| {
            schedule.encrypt.fill(key);
            schedule.decrypt.fill_reversed(&schedule.encrypt);
            schedule.encrypt.spread();
            schedule.decrypt.spread();
        })
    }
}

impl Subkeys {
    const EMPTY: Self = Self {
        whitening: [0; 4],
        rounds: [0; 24],
        layers: [0; 6],
        layer_count: 0,
        spread: Spread { whitening: [[0; 8]; 4], rounds: [[0; 8]; 24], layers: [[0; 8]; 6] },
    };

    fn fill(&mut self, key: &[u8]) {
        let mut padded = [0; 32];
        padded[..key.len()].copy_from_slice(key);
        if key.len() == 24 {
            for index in 24..32 {
                padded[index] = !padded[index - 8];
            }
        }
        let halves = padded.as_chunks().0;
        let (mut left, mut right) = (u128::from_be_bytes(halves[0]), u128::from_be_bytes(halves[1]));
        let mut a = four_rounds(left ^ right, left);
        let mut b = two_rounds(a ^ right, SIGMA[4], SIGMA[5]);
        if key.len() == 16 {
            self.fill_short(left, a);
        } else {
            self.fill_long(left, right, a, b);
        }
        padded.zeroize();
        left.zeroize();
        right.zeroize();
        a.zeroize();
        b.zeroize();
    }

    /// 128 bits: 18 rounds from K_L and K_A.
    fn fill_short(&mut self, l: u128, a: u128) {
        self.layer_count = 2;
        [self.whitening[0], self.whitening[1]] = halves(l, 0);
        [self.whitening[2], self.whitening[3]] = halves(a, 111);
        let rounds = [(a, 0), (l, 15), (a, 15), (l, 45), (a, 45), (a, 60), (l, 94), (a, 94), (l, 111)];
        for ((key, by), pair) in rounds.into_iter().zip(self.rounds.as_chunks_mut().0) {
            *pair = halves(key, by);
        }
        // k10 is K_L's, though k9 is K_A's.
        self.rounds[9] = halves(l, 60)[1];
        for ((key, by), pair) in [(a, 30), (l, 77)].into_iter().zip(self.layers.as_chunks_mut().0) {
            *pair = halves(key, by);
        }
    }

    /// 192 and 256 bits: 24 rounds from K_L, K_R, K_A and K_B.
    fn fill_long(&mut self, l: u128, r: u128, a: u128, b: u128) {
        self.layer_count = 3;
        [self.whitening[0], self.whitening[1]] = halves(l, 0);
        [self.whitening[2], self.whitening[3]] = halves(b, 111);
        let rounds = [
            (b, 0),
            (r, 15),
            (a, 15),
            (b, 30),
            (l, 45),
            (a, 45),
            (r, 60),
            (b, 60),
            (l, 77),
            (r, 94),
            (a, 94),
            (l, 111),
        ];
        for ((key, by), pair) in rounds.into_iter().zip(self.rounds.as_chunks_mut().0) {
            *pair = halves(key, by);
        }
        for ((key, by), pair) in [(r, 30), (l, 60), (a, 77)].into_iter().zip(self.layers.as_chunks_mut().0) {
            *pair = halves(key, by);
        }
    }

    fn fill_reversed(&mut self, forward: &Self) {
        let [a, b, c, d] = forward.whitening;
        self.whitening = [c, d, a, b];
        self.layer_count = forward.layer_count;
        let rounds = 6 * (forward.layer_count + 1);
        self.rounds[..rounds].copy_from_slice(&forward.rounds[..rounds]);
        self.rounds[..rounds].reverse();
        let layers = 2 * forward.layer_count;
        self.layers[..layers].copy_from_slice(&forward.layers[..layers]);
        self.layers[..layers].reverse();
    }

    fn spread(&mut self) {
        let spread = |key: u64| key.to_be_bytes().map(|byte| u32::from(byte) * 0x0101_0101);
        self.spread = Spread {
            whitening: self.whitening.map(spread),
            rounds: self.rounds.map(spread),
            layers: self.layers.map(spread),
        };
    }
}

/// The halves of a key rotated left.
fn halves(key: u128, by: u32) -> [u64; 2] {
    let key = key.rotate_left(by);
    [(key >> 64) as u64, key as u64]
}

/// K_A from K_L ^ K_R and K_L.
fn four_rounds(start: u128, left: u128) -> u128 {
    two_rounds(two_rounds(start, SIGMA[0], SIGMA[1]) ^ left, SIGMA[2], SIGMA[3])
}

fn two_rounds(key: u128, first: u64, second: u64) -> u128 {
    let [mut high, mut low] = halves(key, 0);
    low ^= f(high, first);
    high ^= f(low, second);
    u128::from(high) << 64 | u128::from(low)
}

/// Sigma1 to Sigma6.
const SIGMA: [u64; 6] = [
    0xa09e_667f_3bcc_908b,
    0xb67a_e858_4caa_73b2,
    0xc6ef_372f_e94f_82be,
    0x54ff_53a5_f1d3_6f1c,
    0x10e5_27fa_de68_2d1d,
    0xb056_88c2_b3e6_c1fd,
];
