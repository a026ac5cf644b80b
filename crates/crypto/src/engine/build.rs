//! From a specification and a key to the engine that runs it.

use super::Engine;
use crate::block::BlockCipher;
use crate::block::table::{Make, Make128};
use crate::iv::IvGenerator;
use crate::mode::{cbc::Cbc, ecb::Ecb, xts::Xts};
use crate::spec::{Iv, Mode};
use crate::{CipherSpec, Cpu};
use alloc::boxed::Box;
use zeroize::Zeroizing;

/// Expands `key`, whose size has been checked, for a specification that has passed `check_implemented`.
pub(crate) fn build(spec: &CipherSpec, key: &[u8], cpu: Cpu) -> Box<dyn Engine> {
    match spec.cipher().make {
        Make::Block128(make) => of_128_bits(spec, key, make, cpu),
        Make::Block64(make) => any_block(spec, key, make(key, cpu), |key| make(key, cpu)),
        Make::EcbOnly(make) => make(key, cpu),
        Make::Absent(_) => unreachable!("{spec} passed check_implemented"),
    }
}

/// The modes that only ciphers of 128-bit blocks have; the others through [`any_block`].
fn of_128_bits(spec: &CipherSpec, key: &[u8], make: Make128, cpu: Cpu) -> Box<dyn Engine> {
    match spec.mode() {
        Mode::Xts => {
            let (data, tweak) = key.split_at(key.len() / 2);
            let iv = iv_generator(spec, key, |key| make(key, cpu) as Box<dyn BlockCipher>);
            Box::new(Xts { data: make(data, cpu), tweak: make(tweak, cpu), iv })
        }
        _ => any_block::<16>(spec, key, make(key, cpu), |key| make(key, cpu)),
    }
}

/// The modes that exist for every size of block.
fn any_block<const N: usize>(
    spec: &CipherSpec,
    key: &[u8],
    cipher: Box<dyn BlockCipher<N>>,
    make: impl Fn(&[u8]) -> Box<dyn BlockCipher<N>>,
) -> Box<dyn Engine> {
    match spec.mode() {
        Mode::Cbc => Box::new(Cbc { cipher, iv: iv_generator(spec, key, make) }),
        Mode::Ecb => Box::new(Ecb { cipher }),
        other => unreachable!("{other:?} passed check_implemented"),
    }
}

/// The generator of a specification's IVs; ESSIV's key is the digest of the whole volume key.
fn iv_generator<const N: usize>(
    spec: &CipherSpec,
    key: &[u8],
    make: impl Fn(&[u8]) -> Box<dyn BlockCipher<N>>,
) -> IvGenerator<N> {
    match spec.iv() {
        Iv::Absent | Iv::Null => IvGenerator::Null,
        Iv::Plain => IvGenerator::Plain,
        Iv::Plain64 => IvGenerator::Plain64,
        Iv::Plain64be => IvGenerator::Plain64be,
        Iv::Benbi => IvGenerator::Benbi { shift: 9 - N.ilog2() },
        Iv::Essiv(essiv) => {
            let hash = essiv.hash().expect("a hash that passed check_implemented");
            IvGenerator::Essiv(make(&Zeroizing::new(hash.digest(&[key]))))
        }
        other => unreachable!("{other:?} passed check_implemented"),
    }
}
