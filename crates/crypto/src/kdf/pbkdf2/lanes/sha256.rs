//! SHA-256 and SHA-224 in lanes (FIPS 180-4, section 6.2).

use super::super::chains::Chain;
use super::super::constants::K256;
use super::{Compress, Lanes, iterate, sixteen, xor_3};

/// Iterates chains of the hash whose digest has `DIGEST` words.
#[inline(always)]
pub(in super::super) fn sha256<V: Lanes<Word = u32>, const DIGEST: usize>(
    proof: V::Proof,
    chains: &mut [Chain<[u32; 8]>],
    rounds: u32,
) {
    iterate::<V, Sha256<DIGEST>, 8>(proof, chains, rounds);
}

struct Sha256<const DIGEST: usize>;

impl<V: Lanes<Word = u32>, const DIGEST: usize> Compress<V, 8> for Sha256<DIGEST> {
    #[inline(always)]
    fn compress(proof: V::Proof, start: &[V; 8], digest: &[V; 8]) -> [V; 8] {
        let mut message = [V::splat(proof, 0); 16];
        message[..DIGEST].copy_from_slice(&digest[..DIGEST]);
        message[DIGEST] = V::splat(proof, 1 << 31);
        message[15] = V::splat(proof, 8 * (64 + 4 * DIGEST as u32));
        let mut state = *start;
        let (constants, _) = K256.as_chunks::<16>();
        sixteen!(round::<V>(proof, &mut state, &message, &constants[0]));
        for constants in &constants[1..] {
            sixteen!(scheduled_round::<V>(proof, &mut state, &mut message, constants));
        }
        for (word, start) in state.iter_mut().zip(start) {
            *word = word.add(*start);
        }
        state
    }
}

/// A round, `ROUND` modulo sixteen, after its message word is computed from older ones.
#[inline(always)]
fn scheduled_round<V: Lanes<Word = u32>, const ROUND: usize>(
    proof: V::Proof,
    state: &mut [V; 8],
    message: &mut [V; 16],
    constants: &[u32; 16],
) {
    let (w1, w9, w14) = (message[(ROUND + 1) % 16], message[(ROUND + 9) % 16], message[(ROUND + 14) % 16]);
    let small_0 = xor_3(w1.rotate_right::<7>(), w1.rotate_right::<18>(), w1.shift_right::<3>());
    let small_1 = xor_3(w14.rotate_right::<17>(), w14.rotate_right::<19>(), w14.shift_right::<10>());
    message[ROUND] = message[ROUND].add(small_0).add(w9).add(small_1);
    round::<V, ROUND>(proof, state, message, constants);
}

/// A round. The state's words stay where they are: a is at index -`ROUND` modulo 8.
#[inline(always)]
fn round<V: Lanes<Word = u32>, const ROUND: usize>(
    proof: V::Proof,
    state: &mut [V; 8],
    message: &[V; 16],
    constants: &[u32; 16],
) {
    let place = 16 - ROUND;
    let (a, b, c) = (state[place % 8], state[(place + 1) % 8], state[(place + 2) % 8]);
    let (e, f, g) = (state[(place + 4) % 8], state[(place + 5) % 8], state[(place + 6) % 8]);
    let large_1 = xor_3(e.rotate_right::<6>(), e.rotate_right::<11>(), e.rotate_right::<25>());
    let large_0 = xor_3(a.rotate_right::<2>(), a.rotate_right::<13>(), a.rotate_right::<22>());
    let ready = message[ROUND].add(V::splat(proof, constants[ROUND]));
    let first = state[(place + 7) % 8].add(ready).add(e.choose(f, g)).add(large_1);
    state[(place + 3) % 8] = state[(place + 3) % 8].add(first);
    state[(place + 7) % 8] = first.add(a.majority(b, c)).add(large_0);
}
