//! SHA-2 in lanes: SHA-256 and SHA-224 on words of 32 bits, SHA-512 and SHA-384 on words of 64 (FIPS
//! 180-4, sections 6.2 and 6.4).

use super::super::chains::Chain;
use super::{Compress, Lanes, MOST_LANES, iterate, sixteen, xor_3};
use crate::hash::sha2::START;
use crate::hash::sha2::constants::{K256, K512};

/// Iterates chains of the hash whose digest has `DIGEST` words.
#[inline(always)]
pub(in super::super) fn sha256<V: Lanes<Word = u32>, const DIGEST: usize>(
    proof: V::Proof,
    chains: &mut [Chain<[u32; 8]>],
    rounds: u32,
) {
    iterate::<V, Sha2<DIGEST>, 8>(proof, chains, rounds);
}

/// Iterates chains of the hash whose digest has `DIGEST` words.
#[inline(always)]
pub(in super::super) fn sha512<V: Lanes<Word = u64>, const DIGEST: usize>(
    proof: V::Proof,
    chains: &mut [Chain<[u64; 8]>],
    rounds: u32,
) {
    iterate::<V, Sha2<DIGEST>, 8>(proof, chains, rounds);
}

/// SHA-256 of [`Lanes::LANES`] messages, which stand one after another in `data`: of `blocks` blocks each, below 2^23.
#[inline(always)]
pub(in super::super) fn sha256_pieces<V: Lanes<Word = u32>>(
    proof: V::Proof,
    data: &[u8],
    blocks: usize,
    digests: &mut [[u8; 32]],
) {
    let data = data.as_chunks::<64>().0;
    let blank = V::splat(proof, 0);
    let mut state = [blank; 8];
    for (state, word) in state.iter_mut().zip(START) {
        *state = V::splat(proof, word);
    }
    for block in 0..blocks {
        let mut words = [[0; MOST_LANES]; 16];
        for lane in 0..V::LANES {
            for (words, bytes) in words.iter_mut().zip(data[lane * blocks + block].as_chunks().0) {
                words[lane] = u32::from_be_bytes(*bytes);
            }
        }
        let mut message = [blank; 16];
        for (message, words) in message.iter_mut().zip(&words) {
            *message = V::load(proof, words);
        }
        state = compress(proof, &state, message);
    }
    let mut padding = [blank; 16];
    padding[0] = V::splat(proof, u32::MARK);
    padding[15] = V::splat(proof, u32::bits(16 * blocks));
    state = compress(proof, &state, padding);
    for (at, word) in state.into_iter().enumerate() {
        let mut words = [0; MOST_LANES];
        word.store(&mut words);
        for (digest, word) in digests.iter_mut().zip(words) {
            digest.as_chunks_mut().0[at] = word.to_be_bytes();
        }
    }
}

/// What the size of the words decides (FIPS 180-4, section 4.1).
trait Word: Copy + Default + 'static {
    /// The bit behind a message.
    const MARK: Self;

    /// The bits in a number of words.
    fn bits(words: usize) -> Self;

    /// The constants of each sixteen rounds.
    fn constants() -> &'static [[Self; 16]];

    fn small_0<V: Lanes<Word = Self>>(word: V) -> V;
    fn small_1<V: Lanes<Word = Self>>(word: V) -> V;
    fn large_0<V: Lanes<Word = Self>>(word: V) -> V;
    fn large_1<V: Lanes<Word = Self>>(word: V) -> V;
}

impl Word for u32 {
    const MARK: Self = 1 << 31;

    #[inline(always)]
    fn bits(words: usize) -> Self {
        Self::BITS * words as Self
    }

    #[inline(always)]
    fn constants() -> &'static [[Self; 16]] {
        K256.as_chunks().0
    }

    #[inline(always)]
    fn small_0<V: Lanes<Word = Self>>(word: V) -> V {
        xor_3(word.rotate_right::<7>(), word.rotate_right::<18>(), word.shift_right::<3>())
    }

    #[inline(always)]
    fn small_1<V: Lanes<Word = Self>>(word: V) -> V {
        xor_3(word.rotate_right::<17>(), word.rotate_right::<19>(), word.shift_right::<10>())
    }

    #[inline(always)]
    fn large_0<V: Lanes<Word = Self>>(word: V) -> V {
        xor_3(word.rotate_right::<2>(), word.rotate_right::<13>(), word.rotate_right::<22>())
    }

    #[inline(always)]
    fn large_1<V: Lanes<Word = Self>>(word: V) -> V {
        xor_3(word.rotate_right::<6>(), word.rotate_right::<11>(), word.rotate_right::<25>())
    }
}

impl Word for u64 {
    const MARK: Self = 1 << 63;

    #[inline(always)]
    fn bits(words: usize) -> Self {
        u64::from(Self::BITS) * words as Self
    }

    #[inline(always)]
    fn constants() -> &'static [[Self; 16]] {
        K512.as_chunks().0
    }

    #[inline(always)]
    fn small_0<V: Lanes<Word = Self>>(word: V) -> V {
        xor_3(word.rotate_right::<1>(), word.rotate_right::<8>(), word.shift_right::<7>())
    }

    #[inline(always)]
    fn small_1<V: Lanes<Word = Self>>(word: V) -> V {
        xor_3(word.rotate_right::<19>(), word.rotate_right::<61>(), word.shift_right::<6>())
    }

    #[inline(always)]
    fn large_0<V: Lanes<Word = Self>>(word: V) -> V {
        xor_3(word.rotate_right::<28>(), word.rotate_right::<34>(), word.rotate_right::<39>())
    }

    #[inline(always)]
    fn large_1<V: Lanes<Word = Self>>(word: V) -> V {
        xor_3(word.rotate_right::<14>(), word.rotate_right::<18>(), word.rotate_right::<41>())
    }
}

struct Sha2<const DIGEST: usize>;

impl<V: Lanes<Word: Word>, const DIGEST: usize> Compress<V, 8> for Sha2<DIGEST> {
    #[inline(always)]
    fn compress(proof: V::Proof, start: &[V; 8], digest: &[V; 8]) -> [V; 8] {
        let mut message = [V::splat(proof, V::Word::default()); 16];
        message[..DIGEST].copy_from_slice(&digest[..DIGEST]);
        message[DIGEST] = V::splat(proof, V::Word::MARK);
        message[15] = V::splat(proof, V::Word::bits(16 + DIGEST));
        compress(proof, start, message)
    }
}

/// The states after a block.
#[inline(always)]
fn compress<V: Lanes<Word: Word>>(proof: V::Proof, start: &[V; 8], mut message: [V; 16]) -> [V; 8] {
    let mut state = *start;
    let constants = V::Word::constants();
    sixteen!(round::<V>(proof, &mut state, &message, &constants[0]));
    for constants in &constants[1..] {
        sixteen!(scheduled_round::<V>(proof, &mut state, &mut message, constants));
    }
    for (word, start) in state.iter_mut().zip(start) {
        *word = word.add(*start);
    }
    state
}

/// A round, `ROUND` modulo sixteen, after its message word is computed from older ones.
#[inline(always)]
fn scheduled_round<V: Lanes<Word: Word>, const ROUND: usize>(
    proof: V::Proof,
    state: &mut [V; 8],
    message: &mut [V; 16],
    constants: &[V::Word; 16],
) {
    let (w1, w9, w14) = (message[(ROUND + 1) % 16], message[(ROUND + 9) % 16], message[(ROUND + 14) % 16]);
    message[ROUND] = message[ROUND].add(V::Word::small_0(w1)).add(w9).add(V::Word::small_1(w14));
    round::<V, ROUND>(proof, state, message, constants);
}

/// A round. The state's words stay where they are: a is at index -`ROUND` modulo 8.
#[inline(always)]
fn round<V: Lanes<Word: Word>, const ROUND: usize>(
    proof: V::Proof,
    state: &mut [V; 8],
    message: &[V; 16],
    constants: &[V::Word; 16],
) {
    let place = 16 - ROUND;
    let (a, b, c) = (state[place % 8], state[(place + 1) % 8], state[(place + 2) % 8]);
    let (e, f, g) = (state[(place + 4) % 8], state[(place + 5) % 8], state[(place + 6) % 8]);
    let large_1 = V::Word::large_1(e);
    let large_0 = V::Word::large_0(a);
    let ready = message[ROUND].add(V::splat(proof, constants[ROUND]));
    let first = state[(place + 7) % 8].add(ready).add(e.choose(f, g)).add(large_1);
    state[(place + 3) % 8] = state[(place + 3) % 8].add(first);
    state[(place + 7) % 8] = first.add(a.majority(b, c)).add(large_0);
}
