//! SHA-512 and SHA-384 in lanes (FIPS 180-4, section 6.4).

use super::super::chains::Chain;
use super::super::constants::K512;
use super::{Compress, Lanes, iterate, sixteen, xor_3};

/// Iterates chains of the hash whose digest has `DIGEST` words.
#[inline(always)]
pub(in super::super) fn sha512<V: Lanes<Word = u64>, const DIGEST: usize>(
    proof: V::Proof,
    chains: &mut [Chain<[u64; 8]>],
    rounds: u32,
) {
    iterate::<V, Sha512<DIGEST>, 8>(proof, chains, rounds);
}

struct Sha512<const DIGEST: usize>;

impl<V: Lanes<Word = u64>, const DIGEST: usize> Compress<V, 8> for Sha512<DIGEST> {
    #[inline(always)]
    fn compress(proof: V::Proof, start: &[V; 8], digest: &[V; 8]) -> [V; 8] {
        let mut message = [V::splat(proof, 0); 16];
        message[..DIGEST].copy_from_slice(&digest[..DIGEST]);
        message[DIGEST] = V::splat(proof, 1 << 63);
        message[15] = V::splat(proof, 8 * (128 + 8 * DIGEST as u64));
        let mut state = *start;
        let (constants, _) = K512.as_chunks::<16>();
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
fn scheduled_round<V: Lanes<Word = u64>, const ROUND: usize>(
    proof: V::Proof,
    state: &mut [V; 8],
    message: &mut [V; 16],
    constants: &[u64; 16],
) {
    let (w1, w9, w14) = (message[(ROUND + 1) % 16], message[(ROUND + 9) % 16], message[(ROUND + 14) % 16]);
    let small_0 = xor_3(w1.rotate_right::<1>(), w1.rotate_right::<8>(), w1.shift_right::<7>());
    let small_1 = xor_3(w14.rotate_right::<19>(), w14.rotate_right::<61>(), w14.shift_right::<6>());
    message[ROUND] = message[ROUND].add(small_0).add(w9).add(small_1);
    round::<V, ROUND>(proof, state, message, constants);
}

/// A round. The state's words stay where they are: a is at index -`ROUND` modulo 8.
#[inline(always)]
fn round<V: Lanes<Word = u64>, const ROUND: usize>(
    proof: V::Proof,
    state: &mut [V; 8],
    message: &[V; 16],
    constants: &[u64; 16],
) {
    let place = 16 - ROUND;
    let (a, b, c) = (state[place % 8], state[(place + 1) % 8], state[(place + 2) % 8]);
    let (e, f, g) = (state[(place + 4) % 8], state[(place + 5) % 8], state[(place + 6) % 8]);
    let large_1 = xor_3(e.rotate_right::<14>(), e.rotate_right::<18>(), e.rotate_right::<41>());
    let large_0 = xor_3(a.rotate_right::<28>(), a.rotate_right::<34>(), a.rotate_right::<39>());
    let ready = message[ROUND].add(V::splat(proof, constants[ROUND]));
    let first = state[(place + 7) % 8].add(ready).add(e.choose(f, g)).add(large_1);
    state[(place + 3) % 8] = state[(place + 3) % 8].add(first);
    state[(place + 7) % 8] = first.add(a.majority(b, c)).add(large_0);
}
