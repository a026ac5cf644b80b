//! NHPoly1305, the hash of a sector's bulk (Adiantum paper, section 2 and appendix A): NH over
//! messages of 1024 bytes, Poly1305 over NH's sums.
//!
//! ```text
//! unit u of a message: 16 bytes, the little-endian words m0 m1 m2 m3; key unit u: the words k0 k1 k2 k3
//! pass p = 0..4 adds up, for every u with k from key unit u + p, modulo 2^64:
//!   (m0 + k0 mod 2^32) · (m2 + k2 mod 2^32) + (m1 + k1 mod 2^32) · (m3 + k3 mod 2^32)
//! ```
//!
//! First and second halves of units, and of the key's units, are stored separately, so both factors
//! are in the same lanes and the next pass's key is two words further on. The bulk ends one unit
//! before the sector does; NH runs over the whole sector and subtracts the last unit's products
//! again, so no width has a tail.

use super::poly1305::{Point, Poly1305};
use super::words::Words;

/// The key of the hash.
#[derive(Clone, Copy)]
pub(super) struct HashKey {
    point: Point,
    /// First halves of the key's units.
    first: [u32; 2 * KEY_UNITS],
    /// Second halves of the key's units.
    second: [u32; 2 * KEY_UNITS],
}

impl HashKey {
    pub(super) const EMPTY: Self =
        Self { point: Point::ZERO, first: [0; 2 * KEY_UNITS], second: [0; 2 * KEY_UNITS] };

    /// Bytes of key: Poly1305's, then NH's.
    pub(super) const BYTES: usize = UNIT + UNIT * KEY_UNITS;

    /// Takes [`HashKey::BYTES`] bytes.
    pub(super) fn fill(&mut self, key: &[u8]) {
        let (poly, nh) = key.split_first_chunk().expect("Poly1305's 16 bytes");
        self.point = Point::new(*poly);
        let halves = self.first.as_chunks_mut::<2>().0.iter_mut().zip(self.second.as_chunks_mut::<2>().0);
        for ((first, second), unit) in halves.zip(nh.as_chunks().0) {
            let [k0, k1, k2, k3] = words(unit);
            (*first, *second) = ([k0, k1], [k2, k3]);
        }
    }
}

/// The hash of each sector's bulk: all of it but the last 16 bytes.
#[inline(always)]
pub(super) fn hash<V: Words>(
    proof: V::Proof,
    key: &HashKey,
    sector: usize,
    data: &[u8],
    hashes: &mut [u128],
) {
    for (sector, hash) in data.chunks_exact(sector).zip(hashes) {
        let mut poly = Poly1305::new();
        for (index, message) in sector.chunks(MESSAGE).enumerate() {
            let mut sums = nh::<V>(proof, key, message);
            if (index + 1) * MESSAGE >= sector.len() {
                take_last_unit_away(key, message, &mut sums);
            }
            let [a, b, c, d] = sums;
            poly.block(&key.point, [a, b]);
            poly.block(&key.point, [c, d]);
        }
        *hash = poly.finish();
    }
}

/// NH's four passes over a message: a multiple of [`TURN`] bytes, at most [`MESSAGE`].
#[inline(always)]
fn nh<V: Words>(proof: V::Proof, key: &HashKey, message: &[u8]) -> [u64; 4] {
    let mut sums = [V::no_sums(proof); PASSES];
    for (turn, units) in message.as_chunks::<TURN>().0.iter().enumerate() {
        let at = turn * KEY_A_TURN;
        let first: &[u32; KEY_A_TURN + KEY_BEYOND] = key.first[at..].first_chunk().expect("a turn's key");
        let second: &[u32; KEY_A_TURN + KEY_BEYOND] = key.second[at..].first_chunk().expect("a turn's key");
        for step in (0..KEY_A_TURN).step_by(V::LANES) {
            let (m0, m2) = V::load_units(proof, &units[8 * step..]);
            for (pass, sums) in sums.iter_mut().enumerate() {
                let left = m0.add(V::load(proof, &first[step + 2 * pass..]));
                let right = m2.add(V::load(proof, &second[step + 2 * pass..]));
                *sums = left.multiply_add(right, *sums);
            }
        }
    }
    V::totals(sums)
}

/// Subtracts what the message's last unit has added to the sums.
#[inline(always)]
fn take_last_unit_away(key: &HashKey, message: &[u8], sums: &mut [u64; 4]) {
    let [m0, m1, m2, m3] = words(message.last_chunk().expect("a unit"));
    let at = message.len() / UNIT - 1;
    let first = key.first.as_chunks::<2>().0[at..].iter().zip(&key.second.as_chunks::<2>().0[at..]);
    for (sum, ([k0, k1], [k2, k3])) in sums.iter_mut().zip(first) {
        let product = |m: u32, k: &u32, n: u32, l: &u32| {
            u64::from(m.wrapping_add(*k)).wrapping_mul(u64::from(n.wrapping_add(*l)))
        };
        let products = product(m0, k0, m2, k2).wrapping_add(product(m1, k1, m3, k3));
        *sum = sum.wrapping_sub(products);
    }
}

fn words(unit: &[u8; UNIT]) -> [u32; 4] {
    let mut words = [0; 4];
    for (word, bytes) in words.iter_mut().zip(unit.as_chunks().0) {
        *word = u32::from_le_bytes(*bytes);
    }
    words
}

/// Bytes per unit.
const UNIT: usize = 16;

/// The most bytes per message.
const MESSAGE: usize = 1024;

/// Bytes per iteration of NH's loop: one register of the widest vectors for each half of the units.
/// Sectors are a whole number of iterations.
const TURN: usize = 128;

/// Words of each half of the key that the first pass of an iteration uses.
const KEY_A_TURN: usize = TURN / 8;

/// Words of each half of the key that later passes use beyond those of the first.
const KEY_BEYOND: usize = 2 * (PASSES - 1);

/// The number of NH passes, each time with the key shifted by a unit.
const PASSES: usize = 4;

/// Units of NH's key.
const KEY_UNITS: usize = MESSAGE / UNIT + PASSES - 1;
