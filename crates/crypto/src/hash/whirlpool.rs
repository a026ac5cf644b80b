//! Whirlpool (ISO/IEC 10118-3, dedicated hash-function 7): W, an AES-like block
//! cipher of 512 bits, in Miyaguchi-Preneel mode. W's S-box is made of three 4-bit
//! boxes, from which all tables here are computed.
//!
//! The portable code looks up S-box and row multiplication in 16 KiB of tables, at places that
//! depend on the message: an observer of the cache learns about the message. The vector code of
//! PBKDF2 has no tables in memory.
//!
//! [`Flawed`] is Whirlpool as implemented by libgcrypt before 1.6.0 (cipher/whirlpool.c; still
//! there as `GCRY_MD_FLAG_BUGEMU1`), which cryptsetup calls "whirlpool_gcryptbug": a write that
//! starts inside a block and ends in the same block does not count towards the length in the
//! padding. In LUKS the AF splitter writes this way (a number of four bytes, then the rest of a
//! stripe when it is 60 bytes or less); PBKDF2 does not.

use super::Context;
use zeroize::Zeroize;

/// A block, a digest, or a state as bytes.
pub(crate) type Bytes = [u8; 64];

/// The state: rows of the matrix, first column in the highest byte.
pub(crate) type State = [u64; 8];

/// The keys of W's rounds: they follow from the state alone.
pub(crate) type RoundKeys = [State; 11];

/// W's round keys for `state` as the key.
pub(crate) fn round_keys(state: &State) -> RoundKeys {
    let mut keys = [*state; 11];
    for round in 1..keys.len() {
        keys[round] = transform(&keys[round - 1]);
        keys[round][0] ^= ROUND_CONSTANTS[round - 1];
    }
    keys
}

/// The state after `block`, from the state's round keys.
pub(crate) fn compress_keyed(keys: &RoundKeys, block: &State) -> State {
    let mut text: State = core::array::from_fn(|row| keys[0][row] ^ block[row]);
    for key in &keys[1..] {
        text = transform(&text);
        text.iter_mut().zip(key).for_each(|(row, key)| *row ^= key);
    }
    core::array::from_fn(|row| text[row] ^ keys[0][row] ^ block[row])
}

/// The state after `block`.
pub(crate) fn compress(state: &mut State, block: &State) {
    let mut key = *state;
    let mut text: State = core::array::from_fn(|row| key[row] ^ block[row]);
    for constant in &ROUND_CONSTANTS {
        key = transform(&key);
        key[0] ^= constant;
        text = transform(&text);
        text.iter_mut().zip(&key).for_each(|(row, key)| *row ^= key);
    }
    for row in 0..8 {
        state[row] ^= text[row] ^ block[row];
    }
}

pub(crate) fn read(bytes: &Bytes) -> State {
    let rows = bytes.as_chunks().0;
    core::array::from_fn(|row| u64::from_be_bytes(rows[row]))
}

pub(crate) fn write(state: &State, bytes: &mut Bytes) {
    for (bytes, row) in bytes.as_chunks_mut().0.iter_mut().zip(state) {
        *bytes = row.to_be_bytes();
    }
}

/// SubBytes, ShiftColumns and MixRows: row i of the result is made of column j of row i - j.
#[inline(always)]
fn transform(state: &State) -> State {
    core::array::from_fn(|row| {
        let byte = |column: usize| (state[(row + 8 - column) % 8] >> (56 - 8 * column)) as u8 as usize;
        let even = ROWS[0][byte(0)] ^ ROWS[2][byte(2)] ^ ROWS[4][byte(4)] ^ ROWS[6][byte(6)];
        even ^ ROWS[1][byte(1)] ^ ROWS[3][byte(3)] ^ ROWS[5][byte(5)] ^ ROWS[7][byte(7)]
    })
}

/// Whirlpool.
pub(crate) type Whirlpool = Pieces<false>;

/// Whirlpool with libgcrypt's flaw.
pub(crate) type Flawed = Pieces<true>;

/// The hash in progress, with or without libgcrypt's flaw.
#[derive(Clone)]
pub(crate) struct Pieces<const FLAWED: bool> {
    state: State,
    /// A block that is not full yet, in bytes; a full block waits for the next write.
    buffer: Bytes,
    filled: usize,
    /// The byte count that the padding will contain.
    counted: u64,
}

impl<const FLAWED: bool> Default for Pieces<FLAWED> {
    fn default() -> Self {
        Self { state: [0; 8], buffer: [0; 64], filled: 0, counted: 0 }
    }
}

impl<const FLAWED: bool> Pieces<FLAWED> {
    fn flush(&mut self) {
        compress(&mut self.state, &read(&self.buffer));
        self.filled = 0;
    }

    /// Takes as much of `part` as the buffer has room for and returns the rest.
    fn fill<'a>(&mut self, part: &'a [u8]) -> &'a [u8] {
        let (now, later) = part.split_at(part.len().min(64 - self.filled));
        self.buffer[self.filled..self.filled + now.len()].copy_from_slice(now);
        self.filled += now.len();
        later
    }
}

impl<const FLAWED: bool> Context for Pieces<FLAWED> {
    fn update(&mut self, part: &[u8]) {
        let mut rest = part;
        if self.filled > 0 {
            rest = self.fill(rest);
            if self.filled == 64 {
                self.flush();
            }
            if FLAWED && rest.is_empty() {
                return;
            }
        }
        let (blocks, tail) = rest.as_chunks();
        blocks.iter().for_each(|block| compress(&mut self.state, &read(block)));
        self.fill(tail);
        self.counted = self.counted.wrapping_add(part.len() as u64);
    }

    fn finish(mut self, out: &mut [u8]) {
        self.buffer[self.filled..].fill(0);
        self.buffer[self.filled] = 0x80;
        if self.filled >= 32 {
            self.flush();
            self.buffer.fill(0);
        }
        let bits = 8 * u128::from(self.counted);
        self.buffer[48..].copy_from_slice(&bits.to_be_bytes());
        self.flush();
        write(&self.state, &mut self.buffer);
        out.copy_from_slice(&self.buffer[..out.len()]);
    }
}

impl<const FLAWED: bool> Drop for Pieces<FLAWED> {
    fn drop(&mut self) {
        self.state.zeroize();
        self.buffer.zeroize();
    }
}

/// The mini-boxes E, E^-1 and R.
pub(crate) const EXPONENTIAL: [u8; 16] = [1, 11, 9, 12, 13, 6, 15, 3, 14, 8, 7, 4, 10, 2, 5, 0];
pub(crate) const INVERSE: [u8; 16] = [15, 0, 13, 7, 11, 14, 5, 10, 9, 2, 12, 1, 3, 4, 8, 6];
pub(crate) const RANDOM: [u8; 16] = [7, 12, 11, 13, 14, 4, 9, 15, 6, 3, 8, 10, 2, 5, 1, 0];

/// The S-box at `byte`.
const fn substitute(byte: usize) -> u8 {
    let (high, low) = (EXPONENTIAL[byte >> 4], INVERSE[byte & 15]);
    let random = RANDOM[(high ^ low) as usize];
    EXPONENTIAL[(high ^ random) as usize] << 4 | INVERSE[(low ^ random) as usize]
}

/// Round r adds the S-box's bytes 8(r - 1) to 8r - 1 to the key's first row.
pub(crate) const ROUND_CONSTANTS: [u64; 10] = {
    let mut constants = [0; 10];
    let mut byte = 0;
    while byte < 80 {
        constants[byte / 8] = constants[byte / 8] << 8 | substitute(byte) as u64;
        byte += 1;
    }
    constants
};

/// For each column: the S-box's byte times cir(1, 1, 4, 1, 8, 5, 2, 9), rotated for the column.
static ROWS: [[u64; 256]; 8] = {
    let mut rows = [[0; 256]; 8];
    let mut byte = 0;
    while byte < 256 {
        let x = substitute(byte);
        let row = [1, 1, 4, 1, 8, 5, 2, 9];
        let mut word = 0;
        let mut column = 0;
        while column < 8 {
            word = word << 8 | multiply(x, row[column]) as u64;
            column += 1;
        }
        let mut column = 0;
        while column < 8 {
            rows[column][byte] = word.rotate_right(8 * column as u32);
            column += 1;
        }
        byte += 1;
    }
    rows
};

/// The product in GF(2^8) modulo x^8 + x^4 + x^3 + x^2 + 1.
pub(crate) const fn multiply(byte: u8, factor: u8) -> u8 {
    let mut product = 0;
    let mut power = byte as u16;
    let mut bit = 0;
    while bit < 4 {
        if factor >> bit & 1 == 1 {
            product ^= power;
        }
        power <<= 1;
        if power > 0xff {
            power ^= 0x11d;
        }
        bit += 1;
    }
    product as u8
}

/// The second block of a hash of 128 bytes: a one bit, zeros, and the bit count 1024 as a 256-bit
/// number.
pub(crate) const PADDING: Bytes = {
    let mut block = [0; 64];
    block[0] = 0x80;
    block[62] = 0x04;
    block
};
