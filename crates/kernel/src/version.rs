//! The Linux version, on which depends what dm-crypt and fscrypt refuse.
//!
//! On distributions, `uname -r` gives the interface rather than the patch level: Debian's
//! "6.1.0-48-amd64" is 6.1.174, according to /proc/version ("… Debian 6.1.174-1 (2026-04-01)"); for
//! Ubuntu's "6.8.0-31-generic" see /proc/version_signature.

use std::fmt;

/// Three numbers, compared in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    /// 6 of 6.1.174.
    pub major: u32,
    /// 1 of 6.1.174.
    pub minor: u32,
    /// 174 of 6.1.174.
    pub patch: u32,
}

impl Version {
    /// The version given by `release` (/proc/sys/kernel/osrelease) and `version` (/proc/version,
    /// followed by the content of /proc/version_signature).
    pub fn find(release: &str, version: &str) -> Option<Self> {
        let named = Self::parse(release)?;
        let exact = version.split_ascii_whitespace().filter_map(Self::parse);
        let same_series = |found: &Self| (found.major, found.minor) == (named.major, named.minor);
        exact.filter(same_series).chain([named]).max()
    }

    /// Parses "6.1.174", ignoring what follows.
    pub fn parse(text: &str) -> Option<Self> {
        let mut numbers = text.splitn(3, '.');
        let (major, minor) = (numbers.next()?.parse().ok()?, leading(numbers.next()?)?);
        Some(Self { major, minor, patch: numbers.next().and_then(leading).unwrap_or(0) })
    }

    /// Whether it belongs to `series` (5.15) and has at least the patch level `patch`.
    pub(crate) fn is_in(self, series: (u32, u32), patch: u32) -> bool {
        (self.major, self.minor) == series && self.patch >= patch
    }

    /// Whether it is at least major.minor.
    pub(crate) fn is_from(self, major: u32, minor: u32) -> bool {
        (self.major, self.minor) >= (major, minor)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

fn leading(text: &str) -> Option<u32> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text[..end].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distributions_name_the_patch_level_elsewhere() {
        let find = |release, version| Version::find(release, version).unwrap().to_string();
        let debian = "Linux version 6.1.0-48-cloud-amd64 (debian-kernel@lists.debian.org) (gcc-12 (Debian 12.2.0-14) \
                      12.2.0, GNU ld (GNU Binutils for Debian) 2.40) #1 SMP PREEMPT_DYNAMIC Debian 6.1.174-1 (2026-04-01)";
        assert_eq!(find("6.1.0-48-cloud-amd64", debian), "6.1.174");
        assert_eq!(find("6.8.0-31-generic", "Ubuntu 6.8.0-31.31-generic 6.8.1"), "6.8.1");
        assert_eq!(find("6.18.44-fc-v595", ""), "6.18.44");
        assert_eq!(find("5.4", ""), "5.4.0");
        assert_eq!(Version::find("Linux", ""), None);
        assert!(Version::parse("6.10.1") > Version::parse("6.9.12"));
    }
}
