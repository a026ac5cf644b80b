//! The key derivation that the command line asks for, by cryptsetup's rules.

use crate::door::{Args, shared};
use crate::say::failure::{Exit, Failure, Result};
use keyway_crypto::Hash;
use keyway_crypto::kdf::Argon2Variant;
use keyway_volume::kdf_cost::{DEFAULT_LANES, DEFAULT_MEMORY_KIB, DEFAULT_TIME};
use keyway_volume::{Cost, KdfChoice};
use std::time::Duration;

/// The default hash of headers and PBKDF2.
pub(crate) const DEFAULT_HASH: &str = "sha256";

/// `--pbkdf` and its companions.
#[derive(Debug, Clone)]
pub(crate) struct KdfOptions {
    name: Option<String>,
    cost: Cost,
    memory_kib: Option<u32>,
    lanes: Option<u32>,
    /// The cost was given as a time (`--iter-time`).
    pub(crate) is_timed: bool,
}

impl KdfOptions {
    /// For every command that makes keyslots.
    pub(crate) fn from_args(args: &Args) -> Result<Self> {
        Ok(Self {
            name: args.text(&shared::PBKDF).map(str::to_owned),
            cost: cost(args)?,
            memory_kib: args.number32(&shared::PBKDF_MEMORY),
            lanes: args.number32(&shared::PBKDF_PARALLEL),
            is_timed: args.given(&shared::ITER_TIME),
        })
    }

    /// The KDF of a new keyslot in a LUKS header of `version`. `hash` is used for PBKDF2.
    pub(crate) fn choice(&self, version: u8, hash: &str) -> Result<KdfChoice> {
        Hash::parse(hash).map_err(keyway_volume::Error::from)?;
        let default = if version == 1 { "pbkdf2" } else { "argon2id" };
        let name = self.name.as_deref().unwrap_or(default);
        let kdf = match name {
            "pbkdf2" => KdfChoice::Pbkdf2 { hash: hash.to_owned(), cost: self.cost },
            "argon2i" => self.argon2(Argon2Variant::Argon2i),
            "argon2id" => self.argon2(Argon2Variant::Argon2id),
            _ => return Err(unknown(name)),
        };
        if version == 1 && name != "pbkdf2" {
            return Err(Failure::new(
                Exit::Parameters,
                format!("LUKS1 supports only PBKDF2, not {name}: omit --pbkdf or use --type luks2."),
            ));
        }
        kdf.check()?;
        Ok(kdf)
    }

    /// The same with a cost that is not measured: the forced one, or a fixed default.
    pub(crate) fn fixed(&self, kdf: &mut KdfChoice) -> Result<()> {
        if self.is_timed {
            let message = "--iter-time measures, and measurements differ: with --reproducible, give the cost \
                           with --pbkdf-force-iterations.";
            return Err(Failure::new(Exit::Parameters, message));
        }
        if !matches!(self.cost, Cost::Forced(_)) {
            match kdf {
                KdfChoice::Pbkdf2 { cost, .. } => *cost = Cost::Forced(FIXED_ITERATIONS),
                KdfChoice::Argon2 { cost, memory_kib, .. } => {
                    *cost = Cost::Forced(FIXED_PASSES);
                    *memory_kib = self.memory_kib.unwrap_or(FIXED_MEMORY_KIB);
                }
            }
        }
        Ok(kdf.check()?)
    }

    fn argon2(&self, variant: Argon2Variant) -> KdfChoice {
        KdfChoice::Argon2 {
            variant,
            memory_kib: self.memory_kib.unwrap_or(DEFAULT_MEMORY_KIB),
            lanes: self.lanes.unwrap_or(DEFAULT_LANES),
            cost: self.cost,
        }
    }
}

/// `--pbkdf-force-iterations` or `--iter-time`.
pub(crate) fn cost(args: &Args) -> Result<Cost> {
    match (args.number32(&shared::PBKDF_FORCE_ITERATIONS), args.number(&shared::ITER_TIME)) {
        (Some(_), Some(_)) => Err(Failure::new(
            Exit::Parameters,
            "PBKDF forced iterations cannot be combined with iteration time option.",
        )),
        (Some(iterations), None) => Ok(Cost::Forced(iterations)),
        (None, Some(milliseconds)) if milliseconds > 0 => Ok(Cost::Time(Duration::from_millis(milliseconds))),
        (None, _) => Ok(Cost::Time(DEFAULT_TIME)),
    }
}

/// cryptsetup's message for an unknown KDF.
pub(crate) fn unknown(name: &str) -> Failure {
    Failure::new(
        Exit::Parameters,
        format!(
            "Password-based key derivation function (PBKDF) can be only pbkdf2 or argon2i/argon2id, not {name}."
        ),
    )
}

/// Cost of a reproducible volume when none is given: PBKDF2 iterations …
const FIXED_ITERATIONS: u32 = 1_000_000;
/// … or Argon2 passes over …
const FIXED_PASSES: u32 = 4;
/// … this memory, in KiB, in four lanes.
const FIXED_MEMORY_KIB: u32 = 256 << 10;
