//! Hardware that an attacker may own or rent, with published rates. The sources of a row are listed
//! in docs/COST.md under its name.

/// A device.
#[derive(Debug, PartialEq)]
pub struct Hardware {
    /// The name on the command line.
    pub name: &'static str,
    /// The description.
    pub title: &'static str,
    /// Iterations per second for one block, by hash.
    pbkdf2: &'static [(&'static str, f64)],
    /// Digests of a short message per second, by hash.
    hashes: &'static [(&'static str, f64)],
    /// Rounds of BitLocker's stretching per second.
    pub stretching: f64,
    /// Memory bandwidth in bytes per second.
    pub bandwidth: f64,
    /// The price per hour, unless the user gives another.
    pub dollars_per_hour: f64,
}

impl Hardware {
    /// Looks up a device by name.
    pub fn find(name: &str) -> Option<&'static Self> {
        HARDWARE.iter().find(|device| device.name.eq_ignore_ascii_case(name))
    }

    /// All known devices.
    pub fn all() -> impl Iterator<Item = &'static Self> {
        HARDWARE.iter()
    }

    /// Iterations per second for one block.
    pub fn pbkdf2(&self, hash: &str) -> Option<f64> {
        rate(self.pbkdf2, hash)
    }

    /// Digests of a short message per second.
    pub fn hash(&self, hash: &str) -> Option<f64> {
        rate(self.hashes, hash)
    }

    /// The same of the fastest hash.
    pub(crate) fn fastest_hash(&self) -> f64 {
        self.hashes.iter().map(|(_, rate)| *rate).fold(0.0, f64::max)
    }
}

fn rate(rates: &[(&str, f64)], hash: &str) -> Option<f64> {
    rates.iter().find(|(name, _)| name.eq_ignore_ascii_case(hash)).map(|(_, rate)| *rate)
}

#[rustfmt::skip]
const HARDWARE: &[Hardware] = &[
    Hardware {
        name: "rtx4090",
        title: "one NVIDIA RTX 4090",
        pbkdf2: &[
            ("sha1", 2.1e10), ("sha256", 8.9e9), ("sha512", 3.2e9), ("ripemd160", 1.7e10), ("whirlpool", 3.9e8),
            ("stribog512", 1.5e8),
        ],
        hashes: &[
            ("sha1", 5.1e10), ("sha256", 2.2e10), ("sha512", 7.5e9), ("ripemd160", 3.6e10), ("whirlpool", 3.4e9),
        ],
        stretching: 1.05e10,
        bandwidth: 1.008e12,
        dollars_per_hour: 0.70,
    },
    Hardware {
        name: "rtx4090x1000",
        title: "a thousand NVIDIA RTX 4090",
        pbkdf2: &[
            ("sha1", 2.1e13), ("sha256", 8.9e12), ("sha512", 3.2e12), ("ripemd160", 1.7e13), ("whirlpool", 3.9e11),
            ("stribog512", 1.5e11),
        ],
        hashes: &[
            ("sha1", 5.1e13), ("sha256", 2.2e13), ("sha512", 7.5e12), ("ripemd160", 3.6e13), ("whirlpool", 3.4e12),
        ],
        stretching: 1.05e13,
        bandwidth: 1.008e15,
        dollars_per_hour: 700.0,
    },
];
