//! The key derivation that the command line asks for, by cryptsetup's rules.

use crate::door::{Args, shared};
use crate::make::patience::Patience;
use crate::say::failure::{Exit, Failure, Result};
use keyway_volume::kdf_cost::{DEFAULT_TIME, KdfFunction, KdfRequest};
use keyway_volume::{Cost, Error, KdfChoice, Refusal};
use std::time::Duration;

/// `--pbkdf` and its companions.
#[derive(Debug, Clone)]
pub(crate) struct KdfOptions {
    request: KdfRequest,
    patience: Patience,
}

impl KdfOptions {
    /// For every command that makes keyslots.
    pub(crate) fn from_args(args: &Args) -> Result<Self> {
        let function = args.text(&shared::PBKDF).map(KdfFunction::parse).transpose()?;
        let (memory_kib, lanes) =
            (args.number32(&shared::PBKDF_MEMORY), args.number32(&shared::PBKDF_PARALLEL));
        let patience = Patience::from_args(args, function.is_some());
        Ok(Self { request: KdfRequest { function, cost: cost(args)?, memory_kib, lanes }, patience })
    }

    /// The KDF of the first keyslot in a new LUKS header of `version`. `hash` is used for PBKDF2.
    pub(crate) fn choice(&self, version: u8, hash: &str) -> Result<KdfChoice> {
        self.choice_or(version, hash, "use --type luks2")
    }

    /// `way` leads to LUKS2.
    fn choice_or(&self, version: u8, hash: &str, way: &str) -> Result<KdfChoice> {
        self.request.choice(version, hash).map_err(|error| match error {
            Error::Refused { kind: Refusal::OnlyLuks2, why } => {
                Failure::new(Exit::Parameters, format!("{why}: omit --pbkdf, or {way}."))
            }
            error => error.into(),
        })
    }

    /// The same for a keyslot that is made now: if its derivation takes more than a minute, that is
    /// said and asked for.
    pub(crate) fn agreed(&self, version: u8, hash: &str) -> Result<KdfChoice> {
        let choice = self.choice_or(version, hash, "convert the volume first (convert --type luks2)")?;
        self.patience.agree(&choice)?;
        self.patience.announce();
        Ok(choice)
    }

    /// The same with a cost that is not measured: the forced one, or a fixed default.
    pub(crate) fn reproducible(&self, version: u8) -> Result<Self> {
        let request = self.request.reproducible(version).map_err(|_| {
            let message = "--iter-time measures, and measurements differ: with --reproducible, give the cost \
                           with --pbkdf-force-iterations.";
            Failure::new(Exit::Parameters, message)
        })?;
        Ok(Self { request, patience: self.patience })
    }
}

/// `--pbkdf-force-iterations` or `--iter-time`.
pub(crate) fn cost(args: &Args) -> Result<Option<Cost>> {
    match (args.number32(&shared::PBKDF_FORCE_ITERATIONS), args.number(&shared::ITER_TIME)) {
        (Some(_), Some(_)) => Err(Failure::new(
            Exit::Parameters,
            "PBKDF forced iterations cannot be combined with iteration time option.",
        )),
        (Some(iterations), None) => Ok(Some(Cost::Forced(iterations))),
        (None, Some(0)) => Ok(Some(Cost::Time(DEFAULT_TIME))),
        (None, Some(milliseconds)) => Ok(Some(Cost::Time(Duration::from_millis(milliseconds)))),
        (None, None) => Ok(None),
    }
}
