//! PBKDF2-HMAC (RFC 8018, section 5.2).
//!
//! SHA-1 and SHA-2 run on their compression functions ([`chains`]); other hashes clone a context after the key's block.

mod chains;
mod sha;
#[cfg(target_arch = "x86_64")]
mod x86;

use super::Stop;
use super::hmac::Hmac;
#[cfg(target_arch = "x86_64")]
use crate::cpu::Feature;
use crate::hash::{Context, with_context};
use crate::{Cpu, Error, Hash};
use alloc::vec;
use alloc::vec::Vec;
#[cfg(target_arch = "x86_64")]
use chains::{Chain, Keyed};
#[cfg(target_arch = "x86_64")]
use zeroize::Zeroize;
use zeroize::Zeroizing;

/// PBKDF2-HMAC (RFC 8018, 5.2) into `out`. Fails when `iterations` is zero, `out` is longer than 2^32 - 1 digests, or
/// `stop` is raised.
pub fn pbkdf2(
    hash: Hash,
    password: &[u8],
    salt: &[u8],
    iterations: u32,
    out: &mut [u8],
    stop: &Stop,
) -> Result<(), Error> {
    pbkdf2_on(Cpu::detect(), hash, password, salt, iterations, out, stop)
}

/// [`pbkdf2`] with the code for `cpu`.
pub fn pbkdf2_on(
    cpu: Cpu,
    hash: Hash,
    password: &[u8],
    salt: &[u8],
    iterations: u32,
    out: &mut [u8],
    stop: &Stop,
) -> Result<(), Error> {
    if iterations == 0 {
        return Err(Error::Cost("PBKDF2 needs at least one iteration"));
    }
    // HMAC's pieces are such that libgcrypt's flaw does not show: a whole block, then one write.
    let hash = if hash == Hash::WhirlpoolGcryptBug { Hash::Whirlpool } else { hash };
    let digest = hash.output_len();
    if u32::try_from(out.len().div_ceil(digest)).is_err() {
        return Err(Error::Cost("PBKDF2 gives at most 2^32 - 1 digests"));
    }
    let hmac = Hmac::new(hash, password);
    // Whole digests, starting as U_1; `out` takes as much of them as it holds.
    let mut blocks = Zeroizing::new(vec![0; out.len().next_multiple_of(digest)]);
    for (index, block) in (1u32..).zip(blocks.chunks_mut(digest)) {
        block.copy_from_slice(&hmac.mac([salt, &index.to_be_bytes()]));
    }
    iterate(cpu, hash, &hmac, iterations - 1, &mut blocks, stop)?;
    out.copy_from_slice(&blocks[..out.len()]);
    Ok(())
}

/// Turns U_1 of each block into the sum of all U, `rounds` iterations on.
fn iterate(
    cpu: Cpu,
    hash: Hash,
    hmac: &Hmac,
    rounds: u32,
    blocks: &mut [u8],
    stop: &Stop,
) -> Result<(), Error> {
    match hash {
        Hash::Sha1 => chains::run::<sha::Sha1>(cpu, hmac, rounds, blocks, stop),
        Hash::Sha224 => chains::run::<sha::Sha224>(cpu, hmac, rounds, blocks, stop),
        Hash::Sha256 => chains::run::<sha::Sha256>(cpu, hmac, rounds, blocks, stop),
        Hash::Sha384 => chains::run::<sha::Sha384>(cpu, hmac, rounds, blocks, stop),
        Hash::Sha512 => chains::run::<sha::Sha512>(cpu, hmac, rounds, blocks, stop),
        #[cfg(target_arch = "x86_64")]
        Hash::Whirlpool if cpu.has(Feature::Gfni) => whirlpool_chains(cpu, hmac, rounds, blocks, stop),
        _ => with_context!(hash, C => contexts::<C>(hash, hmac, rounds, blocks, stop)),
    }
}

/// Whirlpool on vectors. Its padding takes a block of its own, which is why it is no [`chains::Compression`].
#[cfg(target_arch = "x86_64")]
fn whirlpool_chains(cpu: Cpu, hmac: &Hmac, rounds: u32, blocks: &mut [u8], stop: &Stop) -> Result<(), Error> {
    let keyed = |block: &[u8]| {
        let mut state = [0; 64];
        x86::whirlpool_compress(cpu, &mut state, block.try_into().expect("a key's block"));
        state
    };
    let mut key = Keyed { inner: keyed(hmac.inner_block()), outer: keyed(hmac.outer_block()) };
    let mut chain = Chain { link: [0; 64], sum: [0; 64] };
    let result = blocks.as_chunks_mut::<64>().0.iter_mut().try_for_each(|block| {
        chain = Chain { link: *block, sum: *block };
        chains::in_steps(rounds, stop, |now| x86::whirlpool(cpu, &key, &mut chain, now))?;
        *block = chain.sum;
        Ok(())
    });
    [&mut key.inner, &mut key.outer, &mut chain.link, &mut chain.sum].into_iter().for_each(Zeroize::zeroize);
    result
}

/// Iterates through whole hash contexts, cloned after the key's block.
fn contexts<C: Context>(
    hash: Hash,
    hmac: &Hmac,
    rounds: u32,
    blocks: &mut [u8],
    stop: &Stop,
) -> Result<(), Error> {
    let keyed = |block: &[u8]| {
        let mut context = C::default();
        context.update(block);
        context
    };
    let (inner, outer) = (keyed(hmac.inner_block()), keyed(hmac.outer_block()));
    for block in blocks.chunks_mut(hash.output_len()) {
        let mut link = Zeroizing::new(Vec::from(&*block));
        for round in 0..rounds {
            if round % ROUNDS_A_LOOK == 0 && stop.is_stopped() {
                return Err(Error::Stopped);
            }
            for keyed in [&inner, &outer] {
                let mut context = keyed.clone();
                context.update(&link);
                context.finish(&mut link);
            }
            block.iter_mut().zip(link.iter()).for_each(|(sum, byte)| *sum ^= byte);
        }
    }
    Ok(())
}

/// How many iterations pass between two looks at [`Stop`]: about a millisecond.
const ROUNDS_A_LOOK: u32 = 1000;

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::String;

    fn derive(hash: Hash, password: &[u8], salt: &[u8], iterations: u32, len: usize) -> String {
        let mut out = vec![0; len];
        pbkdf2(hash, password, salt, iterations, &mut out, &Stop::new()).unwrap();
        out.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// RFC 6070, section 2 (the 16777216-iteration case left out).
    #[test]
    fn rfc_6070_sha1() {
        /// Password, salt, iterations, length, key.
        type Vector = (&'static [u8], &'static [u8], u32, usize, &'static str);
        let vectors: [Vector; 5] = [
            (b"password", b"salt", 1, 20, "0c60c80f961f0e71f3a9b524af6012062fe037a6"),
            (b"password", b"salt", 2, 20, "ea6c014dc72d6f8ccd1ed92ace1d41f0d8de8957"),
            (b"password", b"salt", 4096, 20, "4b007901b765489abead49d926f721d065a429c1"),
            (
                b"passwordPASSWORDpassword",
                b"saltSALTsaltSALTsaltSALTsaltSALTsalt",
                4096,
                25,
                "3d2eec4fe41c849b80c8d83662c0e44a8b291a964cf2f07038",
            ),
            (b"pass\0word", b"sa\0lt", 4096, 16, "56fa6aa75548099dcc37d7f03425e0c3"),
        ];
        for (password, salt, iterations, len, expected) in vectors {
            assert_eq!(derive(Hash::Sha1, password, salt, iterations, len), expected);
        }
    }

    /// RFC 7914, section 11.
    #[test]
    fn rfc_7914_sha256() {
        assert_eq!(
            derive(Hash::Sha256, b"passwd", b"salt", 1, 64),
            "55ac046e56e3089fec1691c22544b605f94185216dde0465e68b9d57c20dacbc\
             49ca9cccf179b645991664b39d77ef317c71b845b1e30bd509112041d3a19783"
        );
        assert_eq!(
            derive(Hash::Sha256, b"Password", b"NaCl", 80000, 64),
            "4ddcd8f60b98be21830cee5ef22701f9641a4418d04c0414aeff08876b34ab56\
             a1d425a1225833549adb841b51c9b3176a272bdebba1d078478f62b397f33c8d"
        );
    }

    /// Every hash at every level against the definition, written out with HMAC alone; 170 bytes are up to eleven
    /// output blocks.
    #[test]
    fn every_hash_equals_the_definition() {
        for hash in Hash::ALL.into_iter().filter(|hash| *hash != Hash::WhirlpoolGcryptBug) {
            let hmac = Hmac::new(hash, b"pw");
            let mut expected = Vec::new();
            for index in 1u32..=11 {
                let mut link = hmac.mac([b"NaCl", &index.to_be_bytes()]);
                let mut sum = link.clone();
                for _ in 1..7 {
                    link = hmac.mac([&link, b""]);
                    sum.iter_mut().zip(link.iter()).for_each(|(sum, byte)| *sum ^= byte);
                }
                expected.extend_from_slice(&sum);
            }
            for cpu in Cpu::levels() {
                for len in [0, 1, 19, 20, 32, 33, 64, 96, 100, 170] {
                    let mut out = vec![0; len];
                    pbkdf2_on(cpu, hash, b"pw", b"NaCl", 7, &mut out, &Stop::new()).unwrap();
                    assert_eq!(out, expected[..len], "{} on {cpu}", hash.name());
                }
            }
        }
    }

    /// libgcrypt 1.10.1, HMAC with `GCRY_MD_FLAG_BUGEMU1` and without, of 36 bytes in one write.
    #[test]
    fn libgcrypts_flaw_does_not_show_in_pbkdf2() {
        let [flawed, right] = [Hash::WhirlpoolGcryptBug, Hash::Whirlpool];
        let derive = |hash| derive(hash, b"password", b"thirty-two bytes of salt, always", 9, 64);
        assert_eq!(derive(flawed), derive(right));
    }

    #[test]
    fn stops_and_refuses_zero_iterations() {
        let stop = Stop::new();
        stop.stop();
        let mut out = [0; 32];
        assert_eq!(pbkdf2(Hash::Sha512, b"", b"", u32::MAX, &mut out, &stop), Err(Error::Stopped));
        assert!(matches!(pbkdf2(Hash::Sha1, b"", b"", 0, &mut out, &Stop::new()), Err(Error::Cost(_))));
    }
}
