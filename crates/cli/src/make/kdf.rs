//! The key derivation that the command line asks for, by cryptsetup's rules.

use crate::door::{Args, shared};
use crate::say::failure::{Exit, Failure, Result};
use keyway_crypto::Hash;
use keyway_crypto::kdf::Argon2Variant;
use keyway_volume::kdf_cost::{DEFAULT_LANES, DEFAULT_MEMORY_KIB, DEFAULT_TIME};
use keyway_volume::{Cost, KdfChoice};
use std::time::Duration;

/// The hash of headers and PBKDF2 when nothing is said.
pub(crate) const DEFAULT_HASH: &str = "sha256";

/// The KDF of a new keyslot in a LUKS header of `version`, from
/// `--pbkdf` and its companions. `hash` is PBKDF2's.
pub(crate) fn choice(args: &Args, version: u8, hash: &str) -> Result<KdfChoice> {
    Hash::parse(hash).map_err(keyway_volume::Error::from)?;
    let cost = cost(args)?;
    let default = if version == 1 { "pbkdf2" } else { "argon2id" };
    let name = args.text(&shared::PBKDF).unwrap_or(default);
    let kdf = match name {
        "pbkdf2" => KdfChoice::Pbkdf2 { hash: hash.to_owned(), cost },
        "argon2i" => argon2(args, Argon2Variant::Argon2i, cost),
        "argon2id" => argon2(args, Argon2Variant::Argon2id, cost),
        _ => return Err(unknown(name)),
    };
    if version == 1 && name != "pbkdf2" {
        return Err(Failure::new(
            Exit::Parameters,
            format!("LUKS1 knows PBKDF2 only, not {name}: leave --pbkdf out or use --type luks2."),
        ));
    }
    kdf.check()?;
    Ok(kdf)
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

/// cryptsetup's words for a KDF that nobody knows.
pub(crate) fn unknown(name: &str) -> Failure {
    Failure::new(
        Exit::Parameters,
        format!(
            "Password-based key derivation function (PBKDF) can be only pbkdf2 or argon2i/argon2id, not {name}."
        ),
    )
}

fn argon2(args: &Args, variant: Argon2Variant, cost: Cost) -> KdfChoice {
    KdfChoice::Argon2 {
        variant,
        memory_kib: args.number32(&shared::PBKDF_MEMORY).unwrap_or(DEFAULT_MEMORY_KIB),
        lanes: args.number32(&shared::PBKDF_PARALLEL).unwrap_or(DEFAULT_LANES),
        cost,
    }
}
