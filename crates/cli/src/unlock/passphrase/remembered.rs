//! Passphrases that are kept for a while: one that was read before, and the one that was typed last.

use crate::process::encoding::Encoded;
use keyway_crypto::Secret;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// A passphrase that was read before.
#[derive(Clone)]
pub(crate) struct Known(pub(super) Arc<Secret>);

impl From<Secret> for Known {
    fn from(passphrase: Secret) -> Self {
        Self(Arc::new(passphrase))
    }
}

impl fmt::Debug for Known {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}

/// Never handed on: another process reads it again.
impl Encoded for Known {
    fn put(&self, _to: &mut Vec<u8>) {}

    fn take(_from: &mut &[u8]) -> Option<Self> {
        None
    }
}

/// A place for the passphrase that the user typed last; locked in memory, as every `Secret`.
#[derive(Clone, Default)]
pub(crate) struct Heard(Arc<Mutex<Option<Secret>>>);

impl Heard {
    /// What was typed last; it is forgotten here.
    pub(crate) fn take(&self) -> Option<Secret> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    pub(super) fn keep(&self, typed: &Secret) {
        let copy = Secret::copy_from(typed.expose());
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(copy);
    }
}

impl fmt::Debug for Heard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}

/// Never handed on, as `Known`.
impl Encoded for Heard {
    fn put(&self, _to: &mut Vec<u8>) {}

    fn take(_from: &mut &[u8]) -> Option<Self> {
        None
    }
}
