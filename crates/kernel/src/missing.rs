//! Why something in the kernel could not be examined or measured, and what would make it possible.

use std::fmt;

/// A reason, with the missing capability or module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    /// The obstacle, as the end of a sentence.
    pub reason: String,
    /// The missing capability, if any: "CAP_NET_ADMIN".
    pub right: Option<String>,
    /// The missing module, if any: "algif_skcipher".
    pub module: Option<String>,
}

impl Missing {
    /// A reason that is neither a missing module nor a missing capability.
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
