//! Policies: requirements that a volume must meet before it is opened. A policy is a TOML file of
//! demands; a header either meets a demand or does not.
//!
//! ```toml
//! formats = ["luks2"]
//! ciphers = ["aes"]
//! modes = ["xts-plain64"]
//! min-key-bits = 512
//! kdfs = ["argon2id"]
//! min-argon2-memory = "1GiB"
//! sealed = true
//! ```
//!
//! Properties without a demand are not checked; a demand that cannot be checked is not met.

mod check;
mod demand;
mod parse;

pub use demand::DEMANDS;
use demand::Demand;
pub use parse::{MAX_LEN, Unreadable};

use crate::Header;
pub use crate::error::{Judgement, Verdict};
use keyway_crypto::Secret;

/// Demands on a volume, in the order of their lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    demands: Vec<Placed>,
}

/// A demand and its position.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Placed {
    /// Its line, counted from 1; 0 in a policy without a file.
    line: usize,
    demand: Demand,
}

/// The volume to be judged.
#[derive(Clone, Copy)]
pub struct Subject<'a> {
    /// Its header: the copy that is used to open it.
    pub header: &'a Header,
    /// The data device's length in bytes; `None` where the data is not touched.
    pub data_len: Option<u64>,
    /// The volume key, once it is known.
    pub volume_key: Option<&'a Secret>,
}

impl Policy {
    /// Parses a policy; a policy without demands is refused, because it cannot be intended.
    pub fn parse(text: &[u8]) -> Result<Self, Unreadable> {
        parse::policy(text).map(|demands| Self { demands })
    }

    /// A policy with `sealed = true` and nothing else.
    pub fn sealed() -> Self {
        Self { demands: vec![Placed { line: 0, demand: Demand::Sealed }] }
    }

    /// Judges a volume, with one finding per demand.
    pub fn audit(&self, subject: Subject<'_>) -> Vec<Judgement> {
        let judge = |placed: &Placed| {
            let (found, verdict) = check::judge(&placed.demand, subject);
            let (rule, wanted) = (placed.demand.name(), placed.demand.wanted());
            let broken = check::broken(&placed.demand, subject).map(Box::new);
            Judgement { rule, line: placed.line, wanted, found, verdict, broken }
        };
        self.demands.iter().map(judge).collect()
    }
}

#[cfg(test)]
mod tests;
