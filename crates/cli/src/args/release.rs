//! Which cryptsetup's defaults and figures are shown where releases differ: 2.8's, or those of 2.6
//! (Debian 12's) with `CRYPTSETUP_COMPAT=2.6`.

use crate::output::failure::{Exit, Failure, Result};
use std::env;

/// A release of cryptsetup's that Keyway follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Release {
    /// Debian 12's.
    V2_6,
    /// The default.
    V2_8,
}

impl Release {
    /// The release that the environment names.
    pub(crate) fn followed() -> Self {
        Self::named().unwrap_or(Self::V2_8)
    }

    /// Refuses a release that Keyway does not follow.
    pub(super) fn check() -> Result<()> {
        Self::named().map(drop)
    }

    /// As `--version` prints it.
    pub(super) fn version(self) -> &'static str {
        match self {
            Self::V2_6 => "2.6.1",
            Self::V2_8 => "2.8.8",
        }
    }

    fn named() -> Result<Self> {
        let Some(value) = env::var_os(VARIABLE).filter(|value| !value.is_empty()) else {
            return Ok(Self::V2_8);
        };
        match value.to_str() {
            Some("2.6") => Ok(Self::V2_6),
            Some("2.8") => Ok(Self::V2_8),
            _ => Err(Failure::new(
                Exit::Parameters,
                format!("{VARIABLE}={}: 2.6 or 2.8 is needed.", value.to_string_lossy()),
            )),
        }
    }
}

const VARIABLE: &str = "CRYPTSETUP_COMPAT";
