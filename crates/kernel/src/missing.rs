//! Why something of the kernel's could not be seen or measured, and what would make it possible.

use std::fmt;

/// A reason, with the right or the module that is missing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    /// What is in the way, as the end of a sentence.
    pub reason: String,
    /// "CAP_NET_ADMIN", where a right is missing.
    pub right: Option<String>,
    /// "algif_skcipher", where a module is.
    pub module: Option<String>,
}

impl Missing {
    /// A reason, when it is no module and no right.
    pub fn new(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), right: None, module: None }
    }

    pub(crate) fn module(name: &str) -> Self {
        let reason =
            format!("this kernel has not loaded the module {name}, and could not load it when asked");
        Self { module: Some(name.to_owned()), ..Self::new(reason) }
    }

    pub(crate) fn right(reason: impl Into<String>, right: &str) -> Self {
        Self { right: Some(right.to_owned()), ..Self::new(reason) }
    }
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

impl std::error::Error for Missing {}
