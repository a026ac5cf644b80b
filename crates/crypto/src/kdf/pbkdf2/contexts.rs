//! PBKDF2 for hashes without dedicated code here: whole hash contexts, cloned after the key's
//! block.

use super::super::Stop;
use super::super::hmac::{Hmac, LONGEST_DIGEST};
use super::ROUNDS_A_LOOK;
use crate::hash::Context;
use crate::{Error, Hash};
use zeroize::Zeroizing;

/// PBKDF2 into `out`, from digest `before` + 1 on.
pub(super) fn derive<C: Context>(
    before: u32,
    hash: Hash,
    inputs: [&[u8]; 2],
    iterations: u32,
    out: &mut [u8],
    stop: &Stop,
) -> Result<(), Error> {
    let [password, salt] = inputs;
    let hmac = Hmac::new(hash, password);
    let keyed = |block: &[u8]| {
        let mut context = C::default();
        context.update(block);
        context
    };
    let keyed = [keyed(hmac.inner_block()), keyed(hmac.outer_block())];
    let digest = hash.output_len();
    let (mut link, mut sum) = (Zeroizing::new([0; LONGEST_DIGEST]), Zeroizing::new([0; LONGEST_DIGEST]));
    let link = &mut link[..digest];
    for (index, out) in (before + 1..).zip(out.chunks_mut(digest)) {
        hmac.mac([salt, &index.to_be_bytes()], link);
        sum[..digest].copy_from_slice(link);
        for round in 1..iterations {
            if round % ROUNDS_A_LOOK == 1 && stop.is_stopped() {
                return Err(Error::Stopped);
            }
            for keyed in &keyed {
                let mut context = keyed.clone();
                context.update(link);
                context.finish(link);
            }
            sum.iter_mut().zip(&*link).for_each(|(sum, byte)| *sum ^= byte);
        }
        out.copy_from_slice(&sum[..out.len()]);
    }
    Ok(())
}
