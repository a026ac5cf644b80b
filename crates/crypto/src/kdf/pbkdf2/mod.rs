//! PBKDF2-HMAC (RFC 8018, section 5.2).
//!
//! SHA-1, SHA-2, RIPEMD-160, BLAKE2s-256 and Whirlpool run on their compression functions ([`chains`]); other hashes clone
//! a context after the key's block ([`contexts`]).

mod chains;
mod contexts;
mod lanes;
mod little;
#[cfg(not(all(target_arch = "x86_64", target_feature = "sse2")))]
mod machine;
mod sha;
#[cfg(feature = "std")]
mod slots;
mod whirlpool;
#[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
pub(super) mod x86;

use super::Stop;
use crate::hash::with_context;
use crate::secret::on_clean_stack;
use crate::{Cpu, Error, Hash};
#[cfg(feature = "std")]
pub use slots::{Derivation, pbkdf2_side_by_side};
#[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
use x86 as machine;

/// Runs the first expression with `$chained` standing for the hash's [`chains::Chained`], if it has
/// one.
macro_rules! with_chained {
    ($hash:expr, $chained:ident => $run:expr, else $other:expr) => {{
        use $crate::kdf::pbkdf2::{little, sha, whirlpool};
        match $hash {
            Hash::Sha1 => {
                type $chained = sha::Sha1;
                $run
            }
            Hash::Sha224 => {
                type $chained = sha::Sha224;
                $run
            }
            Hash::Sha256 => {
                type $chained = sha::Sha256;
                $run
            }
            Hash::Sha384 => {
                type $chained = sha::Sha384;
                $run
            }
            Hash::Sha512 => {
                type $chained = sha::Sha512;
                $run
            }
            Hash::Ripemd160 => {
                type $chained = little::Ripemd160;
                $run
            }
            Hash::Blake2s256 => {
                type $chained = little::Blake2s256;
                $run
            }
            Hash::Whirlpool => {
                type $chained = whirlpool::Whirlpool;
                $run
            }
            _ => $other,
        }
    }};
}
#[cfg(feature = "std")]
use with_chained;

/// PBKDF2-HMAC (RFC 8018, 5.2) into `out`. Fails if `iterations` is zero, `out` is longer than
/// 2^32 - 1 digests, or `stop` is raised.
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

/// [`pbkdf2`] without the first `before` digests of the key, so that several threads can share the
/// work.
pub fn pbkdf2_behind(
    before: u32,
    hash: Hash,
    password: &[u8],
    salt: &[u8],
    iterations: u32,
    out: &mut [u8],
    stop: &Stop,
) -> Result<(), Error> {
    run(Cpu::detect(), before, hash, [password, salt], iterations, out, stop)
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
    run(cpu, 0, hash, [password, salt], iterations, out, stop)
}

fn run(
    cpu: Cpu,
    before: u32,
    hash: Hash,
    inputs: [&[u8]; 2],
    iterations: u32,
    out: &mut [u8],
    stop: &Stop,
) -> Result<(), Error> {
    if iterations == 0 {
        return Err(Error::Cost("PBKDF2 needs at least one iteration"));
    }
    // libgcrypt's HMAC writes a whole block, then the rest at once: its flaw has no effect.
    let hash = if hash == Hash::WhirlpoolGcryptBug { Hash::Whirlpool } else { hash };
    let digests = u32::try_from(out.len().div_ceil(hash.output_len())).ok();
    if digests.and_then(|digests| digests.checked_add(before)).is_none() {
        return Err(Error::Cost("PBKDF2 gives at most 2^32 - 1 digests"));
    }
    on_clean_stack(|| {
        with_chained!(hash, C => chains::derive::<C>(cpu, before, hash, inputs, iterations, out, stop), else {
            with_context!(hash, C => contexts::derive::<C>(before, hash, inputs, iterations, out, stop))
        })
    })
}

/// Iterations between two checks of [`Stop`]: about a millisecond.
const ROUNDS_A_LOOK: u32 = 1000;

#[cfg(test)]
mod tests {
    use super::super::hmac::Hmac;
    use super::*;
    use alloc::string::String;
    use alloc::vec;
    use alloc::vec::Vec;

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

    /// VeraCrypt's self-test (src/Common/Tests.c, `test_pkcs5`; the first two are TrueCrypt's).
    #[test]
    fn veracrypts_self_test() {
        for (hash, expected) in [
            (Hash::Sha1, "5c75cef0"),
            (Hash::Ripemd160, "7a3d7c03"),
            (Hash::Sha256, "f2a04fb2"),
            (Hash::Sha512, "1364aef8"),
            (Hash::Whirlpool, "507c366f"),
            (Hash::Blake2s256, "8d51fa31"),
            (Hash::Streebog512, "d053a230"),
        ] {
            assert_eq!(derive(hash, b"password", b"\x12\x34\x56\x78", 5, 4), expected, "{hash:?}");
        }
    }

    /// Every hash at every level against the definition, written out with HMAC
    /// alone; 640 bytes are up to forty output blocks.
    #[test]
    fn every_hash_equals_the_definition() {
        for hash in Hash::ALL.into_iter().filter(|hash| *hash != Hash::WhirlpoolGcryptBug) {
            let hmac = Hmac::new(hash, b"pw");
            let mut expected = Vec::new();
            for index in 1u32..=40 {
                let mut link = vec![0; hash.output_len()];
                hmac.mac([b"NaCl", &index.to_be_bytes()], &mut link);
                let mut sum = link.clone();
                for _ in 1..7 {
                    let before = link.clone();
                    hmac.mac([&before, b""], &mut link);
                    sum.iter_mut().zip(link.iter()).for_each(|(sum, byte)| *sum ^= byte);
                }
                expected.extend_from_slice(&sum);
            }
            for cpu in Cpu::levels() {
                for len in [0, 1, 19, 20, 32, 33, 64, 96, 100, 170, 333, 640] {
                    let mut out = vec![0; len];
                    pbkdf2_on(cpu, hash, b"pw", b"NaCl", 7, &mut out, &Stop::new()).unwrap();
                    assert_eq!(out, expected[..len], "{} on {cpu}", hash.name());
                }
            }
        }
    }

    #[test]
    fn parts_are_the_whole() {
        for hash in Hash::ALL {
            let derived = |before: u32, len: usize| {
                let mut out = vec![0; len];
                pbkdf2_behind(before, hash, b"pw", b"NaCl", 3, &mut out, &Stop::new()).unwrap();
                out
            };
            let (whole, digest) = (derived(0, 192), hash.output_len());
            assert_eq!(derived(1, 192 - digest), whole[digest..], "{}", hash.name());
        }
        let beyond = pbkdf2_behind(u32::MAX, Hash::Sha1, b"", b"", 1, &mut [0; 20], &Stop::new());
        assert!(matches!(beyond, Err(Error::Cost(_))));
    }

    /// libgcrypt 1.10.1, HMAC with `GCRY_MD_FLAG_BUGEMU1` and without it, over 36 bytes in one
    /// write.
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
