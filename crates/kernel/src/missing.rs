//! Why something in the kernel could not be examined or measured, and what would make it possible.

use crate::{Built, Config};
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

    /// What the module `name` would provide, which the option `option` builds. Whether loading it
    /// could help is only said where the kernel's configuration does not deny it.
    pub(crate) fn module(name: &str, option: &str) -> Self {
        Self::by_config(name, option, Config::of_running())
    }

    fn by_config(name: &str, option: &str, config: Option<&Config>) -> Self {
        match config.map(|config| config.built(option)) {
            Some(Built::Out) => {
                Self::new(format!("this kernel was built without {name} (no CONFIG_{option})"))
            }
            Some(Built::In) => Self::new(format!(
                "this kernel has {name} built in (CONFIG_{option}), but does not let this process use it"
            )),
            Some(Built::AsModule) | None => {
                let reason =
                    format!("this kernel has not loaded the module {name}, and could not load it when asked");
                Self { module: Some(name.to_owned()), ..Self::new(reason) }
            }
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_that_was_never_built_cannot_be_loaded() {
        let missing = |config: Option<&str>| {
            let config = config.map(Config::of_text);
            Missing::by_config("af_alg", "CRYPTO_USER_API_SKCIPHER", config.as_ref())
        };
        let out = missing(Some("# CONFIG_CRYPTO_USER_API_SKCIPHER is not set\n"));
        assert_eq!(out.reason, "this kernel was built without af_alg (no CONFIG_CRYPTO_USER_API_SKCIPHER)");
        assert_eq!(out.module, None);
        let built_in = missing(Some("CONFIG_CRYPTO_USER_API_SKCIPHER=y\n"));
        assert!(built_in.reason.ends_with("does not let this process use it") && built_in.module.is_none());
        for config in [Some("CONFIG_CRYPTO_USER_API_SKCIPHER=m\n"), None] {
            let missing = missing(config);
            assert_eq!(
                missing.reason,
                "this kernel has not loaded the module af_alg, and could not load it when asked"
            );
            assert_eq!(missing.module.as_deref(), Some("af_alg"));
        }
    }
}
