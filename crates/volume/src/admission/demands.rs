//! What the caller demands of a volume, and what its owner sealed: checked before any key is asked
//! for, as far as the header can show, and again with the volume key.

use super::{Subject, Terms};
use crate::policy::{Finding, Policy};
use crate::seal::{Broken, Seal};
use crate::{Error, Result};
use keyway_format::text::Shown;
use std::fmt;

/// A policy and the name of its file.
#[derive(Debug, Clone)]
pub struct Required {
    /// The name that messages use.
    pub name: String,
    /// The demands.
    pub policy: Policy,
}

/// The requirement that a volume does not meet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unmet {
    /// A policy demands something else.
    Policy {
        /// The policy's name.
        policy: String,
        /// The demand, and what was found.
        finding: Finding,
    },
    /// The header does not match its seal.
    Seal(Broken),
    /// The header is to be edited, and does not match its seal.
    SealBeforeEdit(Broken),
}

impl Terms {
    /// Checks a volume against its seal and every policy. Without the volume key, checks that need
    /// it are left for later.
    pub(super) fn check_demands(&self, subject: Subject<'_>) -> Result<()> {
        if !self.ignore_seal {
            self.check_seal(subject).map_err(Error::from)?;
        }
        for Required { name, policy } in &self.policies {
            let mut findings = policy.audit(subject).into_iter();
            if let Some(finding) = findings.find(|finding| finding.forbids(subject.volume_key.is_some())) {
                return Err(Error::Unmet(Unmet::Policy { policy: name.clone(), finding }.into()));
            }
        }
        Ok(())
    }

    /// A header without a seal is accepted, unless a context was given.
    fn check_seal(&self, subject: Subject<'_>) -> Result<(), Broken> {
        let Subject { header, data_len, volume_key } = subject;
        let context = self.seal_context.as_deref();
        match (Seal::of(header)?, volume_key) {
            (None, _) if context.is_some() => Err(Broken::Missing),
            (None, _) => Ok(()),
            (Some(seal), Some(key)) => seal.verify(header, data_len, key, context),
            (Some(seal), None) => seal.compare(header, data_len),
        }
    }
}

impl From<Broken> for Error {
    fn from(broken: Broken) -> Self {
        Self::Unmet(Unmet::Seal(broken).into())
    }
}

impl fmt::Display for Unmet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // A policy without a file has no lines, and its name says what it demands.
            Self::Policy { policy, finding: Finding { line: 0, found, .. } } => {
                write!(f, "{policy}: {}", Shown(found))
            }
            Self::Policy { policy, finding: Finding { rule, line, wanted, found, .. } } => {
                write!(f, "{policy}:{line} demands {rule} = {wanted}: {}", Shown(found))
            }
            Self::Seal(broken) | Self::SealBeforeEdit(broken) => broken.fmt(f),
        }
    }
}
