//! FileVault 2 volumes (`--type fvault2`): their key. All else is in their header.

use super::{Asked, Described, Row, bitlk};
use crate::args::Opt;
use crate::output::failure::{Exit, Failure, Result};
use keyway::parts::Kind;
use keyway::{Admitted, Key, VolumeKey};
use keyway_volume::kind::fvault2 as volume;
use std::sync::Arc;

/// Its row.
pub(crate) static ROW: Row = Row {
    of: &volume::ROW,
    refused: bitlk::ROW.refused,
    refusal: not_for_fvault2,
    described: |_| Ok(Arc::new(Fvault2Options)),
    taken: |_| Some(Arc::new(Fvault2Options)),
    takes_unproven_keys: false,
    is_found_without_options: true,
    tests_passphrases: true,
};

/// A FileVault 2 volume: no option describes it.
#[derive(Debug)]
struct Fvault2Options;

impl Described for Fvault2Options {
    fn row(&self) -> &'static Row {
        &ROW
    }

    fn kind(&self, _: &Asked<'_>) -> Result<Box<dyn Kind>> {
        Ok(Box::new(volume::Fvault2))
    }

    fn find_key(&self, admitted: &Admitted, asked: &Asked<'_>) -> Result<VolumeKey> {
        if let Some(given) = &asked.key.volume_key {
            let len = admitted.volume_key_len().unwrap_or_default();
            return Ok(admitted.try_key(&Key::VolumeKey(given.read(len)?))?);
        }
        asked.try_passphrases(admitted, &asked.source(&asked.key.passphrase), None)
    }

    fn put(&self, _: &mut Vec<u8>) {}
}

/// The refusal of an option about LUKS headers.
fn not_for_fvault2(option: &Opt) -> Failure {
    Failure::new(Exit::Parameters, format!("--{} does not apply to FileVault volumes.", option.long))
}
