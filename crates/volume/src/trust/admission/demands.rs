//! What the caller demands of a volume, and what its owner sealed: checked before any key is asked
//! for, as far as the header can show, and again with the volume key.

use super::{Subject, Terms};
use crate::error::{Broken, Error, Result, Unmet};
use crate::header::seal::Seal;
use crate::trust::policy::Policy;

/// A policy and the name of its file.
#[derive(Debug, Clone)]
pub struct Required {
    /// The name that messages use.
    pub name: String,
    /// The demands.
    pub policy: Policy,
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
