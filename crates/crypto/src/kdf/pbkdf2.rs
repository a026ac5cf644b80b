//! PBKDF2-HMAC (RFC 8018, section 5.2).
//!
//! For SHA-1 and SHA-2 an iteration is two compressions of one padded block each: the states after the key's inner
//! and outer block are computed once, and the block's padding never changes. Other hashes clone a context instead.

use super::Stop;
use super::hmac::Hmac;
use crate::{Error, Hash};
use alloc::vec::Vec;
use sha2::digest::Digest;
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
    if iterations == 0 {
        return Err(Error::Cost("PBKDF2 needs at least one iteration".into()));
    }
    if u32::try_from(out.len().div_ceil(hash.output_len())).is_err() {
        return Err(Error::Cost("PBKDF2 gives at most 2^32 - 1 digests".into()));
    }
    let hmac = Hmac::new(hash, password);
    for (index, chunk) in (1u32..).zip(out.chunks_mut(hash.output_len())) {
        let mut block = hmac.mac([salt, &index.to_be_bytes()]);
        iterate(hash, &hmac, iterations - 1, &mut block, stop)?;
        chunk.copy_from_slice(&block[..chunk.len()]);
    }
    Ok(())
}

fn iterate(hash: Hash, hmac: &Hmac, rounds: u32, block: &mut [u8], stop: &Stop) -> Result<(), Error> {
    match hash {
        Hash::Sha1 => contexts::<sha1::Sha1>(hmac, rounds, block, stop),
        Hash::Sha224 => contexts::<sha2::Sha224>(hmac, rounds, block, stop),
        Hash::Sha256 => contexts::<sha2::Sha256>(hmac, rounds, block, stop),
        Hash::Sha384 => contexts::<sha2::Sha384>(hmac, rounds, block, stop),
        Hash::Sha512 => contexts::<sha2::Sha512>(hmac, rounds, block, stop),
        Hash::Sha3_224 => contexts::<sha3::Sha3_224>(hmac, rounds, block, stop),
        Hash::Sha3_256 => contexts::<sha3::Sha3_256>(hmac, rounds, block, stop),
        Hash::Sha3_384 => contexts::<sha3::Sha3_384>(hmac, rounds, block, stop),
        Hash::Sha3_512 => contexts::<sha3::Sha3_512>(hmac, rounds, block, stop),
        Hash::Ripemd160 => contexts::<ripemd::Ripemd160>(hmac, rounds, block, stop),
        Hash::Whirlpool => contexts::<whirlpool::Whirlpool>(hmac, rounds, block, stop),
        Hash::Blake2b512 => contexts::<blake2::Blake2b512>(hmac, rounds, block, stop),
        Hash::Blake2s256 => contexts::<blake2::Blake2s256>(hmac, rounds, block, stop),
    }
}

/// Iterates through whole hash contexts, cloned after the key's block.
fn contexts<D: Digest + Clone>(hmac: &Hmac, rounds: u32, block: &mut [u8], stop: &Stop) -> Result<(), Error> {
    let inner = D::new_with_prefix(hmac.inner_block());
    let outer = D::new_with_prefix(hmac.outer_block());
    let mut link = Zeroizing::new(Vec::from(&*block));
    for round in 0..rounds {
        if round % ROUNDS_A_LOOK == 0 && stop.is_stopped() {
            return Err(Error::Stopped);
        }
        let digest = inner.clone().chain_update(&*link).finalize();
        let digest = outer.clone().chain_update(&digest).finalize();
        link.copy_from_slice(&digest);
        block.iter_mut().zip(link.iter()).for_each(|(sum, byte)| *sum ^= byte);
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

    /// Every hash against the definition, written out with HMAC alone.
    #[test]
    fn every_hash_equals_the_definition() {
        for hash in Hash::ALL {
            let len = hash.output_len() + 5;
            let hmac = Hmac::new(hash, b"pw");
            let mut expected = Vec::new();
            for index in [1u32, 2] {
                let mut link = hmac.mac([b"NaCl", &index.to_be_bytes()]);
                let mut sum = link.clone();
                for _ in 1..7 {
                    link = hmac.mac([&link, b""]);
                    sum.iter_mut().zip(link.iter()).for_each(|(sum, byte)| *sum ^= byte);
                }
                expected.extend_from_slice(&sum);
            }
            let expected: String = expected[..len].iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(derive(hash, b"pw", b"NaCl", 7, len), expected, "{}", hash.name());
        }
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
