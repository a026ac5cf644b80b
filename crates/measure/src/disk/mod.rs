//! Storage, plain and encrypted, in one run and in turn: what encryption costs on this disk.
//!
//! All [`path`]s access the same bytes: the storage as it is, a Keyway volume over it, the kernel's
//! dm-crypt over it. A sample is a [`workload`] on a path; [`turns`] cycle through the paths.
//! Requests are made by the built-in [`engine`] or by [`fio`]; a row names its engine, and is
//! compared only with rows of the same engine. Before any measurement the storage is [`fill`]ed
//! with random bytes; before and after every sample a [`check`] reads the bytes on the storage. The
//! [`cost`] of encryption comes from samples of the same rounds, beside what the [`model`] expects.

pub mod check;
pub mod cost;
pub mod cpu;
pub mod engine;
pub mod fill;
pub mod fio;
mod lane;
pub mod latency;
pub mod model;
pub mod path;
pub mod scratch;
mod subject;
pub mod turns;
pub mod workload;

pub use cost::Cost;
pub use fio::Fio;
pub use path::{Access, Encryption, Engine, Path};
pub use scratch::Scratch;
pub use subject::Turns;

use crate::memory::longest_request;
use crate::results::{Case, CipherCase, Direction, DriverCase};
use crate::suite::Listed;
use keyway_crypto::CipherSpec;
use keyway_kernel::{Chosen, Missing};

/// The cases in memory that the [`model`] needs of these encryptions.
pub fn ciphers(encryptions: &[Encryption]) -> Vec<Listed> {
    let both = [Direction::Encrypt, Direction::Decrypt];
    let blocks = [workload::SEQUENTIAL_BLOCK, workload::RANDOM_BLOCK];
    let ways = blocks.into_iter().flat_map(|message| both.map(|direction| (message, direction)));
    let case = |it: &Encryption, (message, direction)| {
        let case = CipherCase::new(&it.spec, it.key_bits, it.sector_size);
        Listed { case: Case::Cipher(CipherCase { message, direction, ..case }), outcome: None }
    };
    encryptions.iter().flat_map(|it| ways.clone().map(move |way| case(it, way))).collect()
}

/// The same for the kernel's ciphers, for rows of dm-crypt: the drivers that dm-crypt gets.
pub fn drivers(encryptions: &[Encryption]) -> Result<Vec<Listed>, Missing> {
    let mut all: Vec<Listed> = Vec::new();
    for it in encryptions {
        let spec = CipherSpec::parse(&it.spec).map_err(|why| Missing::new(why.to_string()))?;
        let chosen = Chosen::of(&spec)?;
        for direction in [Direction::Encrypt, Direction::Decrypt] {
            let case = Case::Driver(DriverCase {
                algorithm: chosen.algorithm.to_string(),
                driver: chosen.driver.clone(),
                priority: chosen.priority,
                key_bits: it.key_bits,
                message: longest_request(&chosen.algorithm),
                direction,
            });
            // Another sector size does not make another case.
            if all.iter().all(|listed| listed.case != case) {
                all.push(Listed { case, outcome: None });
            }
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests;
