//! SHA-1 in lanes (FIPS 180-4, section 6.1).

use super::super::chains::Chain;
use super::{Compress, Lanes, iterate, sixteen, xor_3};

/// Iterates chains.
#[inline(always)]
pub(in super::super) fn sha1<V: Lanes<Word = u32>>(
    proof: V::Proof,
    chains: &mut [Chain<[u32; 5]>],
    rounds: u32,
) {
    iterate::<V, Sha1, 5>(proof, chains, rounds);
}

struct Sha1;

impl<V: Lanes<Word = u32>> Compress<V, 5> for Sha1 {
    #[inline(always)]
    fn compress(proof: V::Proof, start: &[V; 5], digest: &[V; 5]) -> [V; 5] {
        let mut message = [V::splat(proof, 0); 16];
        message[..5].copy_from_slice(digest);
        message[5] = V::splat(proof, 1 << 31);
        message[15] = V::splat(proof, 8 * 84);
        let mut state = *start;
        sixteen!(round::<V, 0>(proof, &mut state, &mut message));
        sixteen!(round::<V, 16>(proof, &mut state, &mut message));
        sixteen!(round::<V, 32>(proof, &mut state, &mut message));
        sixteen!(round::<V, 48>(proof, &mut state, &mut message));
        sixteen!(round::<V, 64>(proof, &mut state, &mut message));
        for (word, start) in state.iter_mut().zip(start) {
            *word = word.add(*start);
        }
        state
    }
}

/// Round `FIRST` + `STEP`. The state's words stay where they are: a is at index -(`FIRST` + `STEP`)
/// modulo 5.
#[inline(always)]
fn round<V: Lanes<Word = u32>, const FIRST: usize, const STEP: usize>(
    proof: V::Proof,
    state: &mut [V; 5],
    message: &mut [V; 16],
) {
    if FIRST > 0 {
        let (w2, w8, w13) = (message[(STEP + 2) % 16], message[(STEP + 8) % 16], message[(STEP + 13) % 16]);
        message[STEP] = xor_3(message[STEP], w2, w8).xor(w13).rotate_right::<31>();
    }
    let place = 80 - FIRST - STEP;
    let (a, b) = (state[place % 5], state[(place + 1) % 5]);
    let (c, d) = (state[(place + 2) % 5], state[(place + 3) % 5]);
    let (function, constant) = match (FIRST + STEP) / 20 {
        0 => (b.choose(c, d), 0x5a82_7999),
        1 => (xor_3(b, c, d), 0x6ed9_eba1),
        2 => (b.majority(c, d), 0x8f1b_bcdc),
        _ => (xor_3(b, c, d), 0xca62_c1d6),
    };
    let ready = message[STEP].add(V::splat(proof, constant));
    let rest = state[(place + 4) % 5].add(ready).add(function);
    state[(place + 4) % 5] = rest.add(a.rotate_right::<27>());
    state[(place + 1) % 5] = b.rotate_right::<2>();
}
