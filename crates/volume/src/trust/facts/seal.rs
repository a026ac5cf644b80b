//! The state of a header's seal.

use crate::header::seal::{Broken, Seal};
use crate::trust::policy::Subject;

/// The state of a header's seal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SealState {
    /// It has no seal.
    None,
    /// The header matches the seal; who made the seal is not known.
    Unverified,
    /// Sealed by somebody who has the volume key.
    Verified,
    /// The seal does not hold.
    Broken(Broken),
}

impl SealState {
    /// Of this header: with its volume key, if that is known, and with the context that the seal
    /// must have, if one is demanded.
    pub fn of(subject: Subject<'_>, context: Option<&str>) -> Self {
        let Subject { header, data_len, volume_key } = subject;
        let state = Seal::of(header).and_then(|seal| match (seal, volume_key) {
            (None, _) => Ok(Self::None),
            (Some(seal), None) => seal.compare(header, data_len).map(|()| Self::Unverified),
            (Some(seal), Some(key)) => seal.verify(header, data_len, key, context).map(|()| Self::Verified),
        });
        state.unwrap_or_else(Self::Broken)
    }
}
