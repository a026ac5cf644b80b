//! TrueCrypt's and VeraCrypt's chains of ciphers, one thread, data in cache, sectors of 512 bytes.
//! A chain passes over the same bytes once a cipher: at best it runs at the harmonic sum of what its
//! ciphers reach alone.

use crate::options::Options;
use crate::rounds::{Case, Goal, Unit};
use crate::samples::rate;
use keyway_crypto::{Cascade, CascadeMode, Cpu, Secret};
use keyway_format::tcrypt::CIPHERS;

pub(crate) fn cases(options: &Options) -> Vec<Case> {
    let chains = CIPHERS.iter().filter(|it| it.mode == CascadeMode::Xts && it.chain.contains('-'));
    let titled = chains.map(|it| (format!("{} in XTS, decrypt", it.chain), it.chain));
    titled.filter(|(title, _)| options.wants(title)).map(|(title, chain)| case(title, chain)).collect()
}

fn case(title: String, chain: &'static str) -> Case {
    let mut alone: Vec<_> = chain.split('-').map(decrypting).collect();
    Case::new(title, Unit::Megabytes, ROUNDS)
        .with("keyway", decrypting(chain))
        .with("harmonic sum", move || 1.0 / alone.iter_mut().map(|sample| 1.0 / sample()).sum::<f64>())
        .wanting(Goal::RatioAtLeast(0.9))
}

fn decrypting(chain: &str) -> impl FnMut() -> f64 + use<> {
    let len = Cascade::key_len(chain, CascadeMode::Xts).expect("a chain of the table");
    let area = Secret::copy_from(&(0..len).map(|index| (index * 29 + 1) as u8).collect::<Vec<_>>());
    let cipher = Cascade::new(chain, CascadeMode::Xts, &area, Cpu::detect()).expect("a chain of the table");
    rate(RUN, move |data| cipher.decrypt(1 << 20, data))
}

/// Fits the second-level cache.
const RUN: usize = 128 << 10;
const ROUNDS: usize = 11;
