//! The compression function G (RFC 9106, section 3.5) and its
//! permutation P (3.6), in portable code.
//!
//! A block is 128 words of 64 bits, seen as 8 rows of 16. P runs on
//! each row, then on each column of word pairs.

/// Bytes per block.
pub(super) const BLOCK_BYTES: usize = 1024;

/// A block of Argon2's memory: 1 KiB.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub struct Block(pub(super) [u64; 128]);

impl Block {
    /// All zero.
    pub const ZERO: Self = Self([0; 128]);

    pub(super) fn from_bytes(bytes: &[u8; BLOCK_BYTES]) -> Self {
        let mut block = Self::ZERO;
        for (word, bytes) in block.0.iter_mut().zip(bytes.as_chunks().0) {
            *word = u64::from_le_bytes(*bytes);
        }
        block
    }

    pub(super) fn to_bytes(self) -> [u8; BLOCK_BYTES] {
        let mut bytes = [0; BLOCK_BYTES];
        for (bytes, word) in bytes.as_chunks_mut().0.iter_mut().zip(self.0) {
            *bytes = word.to_le_bytes();
        }
        bytes
    }
}

/// An implementation of G. Holding a value proves that the CPU can run it.
pub(super) trait Compress: Copy {
    /// Writes G(`previous`, `reference`) to `out`, or adds it to `out` when `add` is set (every
    /// pass but the first). `early` receives the new first word, which determines the next
    /// reference, as soon as it is known.
    fn compress(
        self,
        previous: &Block,
        reference: &Block,
        out: &mut Block,
        add: bool,
        early: impl FnOnce(u64),
    );
}

/// The portable implementation: no vector instructions.
#[derive(Clone, Copy)]
pub(super) struct Portable;

impl Compress for Portable {
    #[inline(always)]
    fn compress(
        self,
        previous: &Block,
        reference: &Block,
        out: &mut Block,
        add: bool,
        early: impl FnOnce(u64),
    ) {
        let mut state = Block::ZERO;
        for index in 0..128 {
            state.0[index] = previous.0[index] ^ reference.0[index];
            out.0[index] = if add { out.0[index] ^ state.0[index] } else { state.0[index] };
        }
        for row in 0..8 {
            permute(&mut state.0, core::array::from_fn(|word| 16 * row + word));
        }
        for column in 0..8 {
            permute(&mut state.0, core::array::from_fn(|word| 16 * (word / 2) + 2 * column + word % 2));
        }
        for (out, word) in out.0.iter_mut().zip(state.0) {
            *out ^= word;
        }
        early(out.0[0]);
    }
}

/// P on the sixteen words at `at`.
#[inline(always)]
fn permute(words: &mut [u64; 128], at: [usize; 16]) {
    let mut v = at.map(|index| words[index]);
    for lane in 0..4 {
        mix(&mut v, lane, 4 + lane, 8 + lane, 12 + lane);
    }
    for lane in 0..4 {
        mix(&mut v, lane, 4 + (lane + 1) % 4, 8 + (lane + 2) % 4, 12 + (lane + 3) % 4);
    }
    for (index, word) in at.into_iter().zip(v) {
        words[index] = word;
    }
}

/// GB (RFC 9106, 3.6): BLAKE2b's mixing with multiplications in its additions.
#[inline(always)]
fn mix(v: &mut [u64; 16], a: usize, b: usize, c: usize, d: usize) {
    v[a] = multiply_add(v[a], v[b]);
    v[d] = (v[d] ^ v[a]).rotate_right(32);
    v[c] = multiply_add(v[c], v[d]);
    v[b] = (v[b] ^ v[c]).rotate_right(24);
    v[a] = multiply_add(v[a], v[b]);
    v[d] = (v[d] ^ v[a]).rotate_right(16);
    v[c] = multiply_add(v[c], v[d]);
    v[b] = (v[b] ^ v[c]).rotate_right(63);
}

/// x + y + 2 · low half of x · low half of y.
#[inline(always)]
fn multiply_add(x: u64, y: u64) -> u64 {
    let product = u64::from(x as u32) * u64::from(y as u32);
    x.wrapping_add(y).wrapping_add(product.wrapping_mul(2))
}
