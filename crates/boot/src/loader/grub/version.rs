//! GRUB's versions, as far as they differ in their handling of volumes.

use keyway_crypto::kdf::speed::{self, KdfSpeed};
use std::fmt;

/// A GRUB release whose behaviour is known here. Distributions' own builds differ: see
/// [`Distribution`](super::Distribution).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum Version {
    V2_06,
    V2_12,
    V2_14,
}

impl Version {
    /// The known versions, the oldest first.
    pub const ALL: [Self; 3] = [Self::V2_06, Self::V2_12, Self::V2_14];

    /// Parses "2.06", "grub-install (GRUB) 2.12-9+deb13u2" or a package's version, and returns the
    /// newest known version that is not newer. `None` before 2.06, and if the text is not a
    /// version. A snapshot of the source ("2.14~git20250718", Ubuntu 25.10) is older than what it is
    /// named after: that one has no Argon2.
    pub fn parse(text: &str) -> Option<Self> {
        let start = text.find("2.")?;
        let digits: String = text[start + 2..].chars().take_while(char::is_ascii_digit).collect();
        let minor: u32 = digits.parse().ok()?;
        let is_snapshot = text[start + 2 + digits.len()..].starts_with("~git");
        let known = |version: &Self| version.minor() + u32::from(is_snapshot) <= minor;
        Self::ALL.into_iter().rev().find(known)
    }

    fn minor(self) -> u32 {
        match self {
            Self::V2_06 => 6,
            Self::V2_12 => 12,
            Self::V2_14 => 14,
        }
    }

    /// How fast it derives keys in firmware.
    pub fn speed(self) -> &'static KdfSpeed {
        match self {
            Self::V2_06 => &speed::GRUB_2_06,
            Self::V2_12 => &speed::GRUB_2_12,
            Self::V2_14 => &speed::GRUB_2_14,
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "2.{:02}", self.minor())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_known_one_that_is_not_newer() {
        for (text, version) in [
            ("2.06", Some(Version::V2_06)),
            ("2.06-13+deb12u2", Some(Version::V2_06)),
            ("grub-install (GRUB) 2.12-9+deb13u2", Some(Version::V2_12)),
            ("2.13", Some(Version::V2_12)),
            ("2.14~rc1", Some(Version::V2_14)),
            ("2.14~git20250718.0e36779-1ubuntu4", Some(Version::V2_12)),
            ("2.12-1ubuntu7.3", Some(Version::V2_12)),
            ("2.20", Some(Version::V2_14)),
            ("2.04", None),
            ("0.97", None),
            ("2.", None),
            ("", None),
        ] {
            assert_eq!(Version::parse(text), version, "{text}");
        }
        assert_eq!(Version::ALL.map(|version| version.to_string()), ["2.06", "2.12", "2.14"]);
    }
}
