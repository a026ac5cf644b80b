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
        self.pbkdf2.iter().find(|(name, _)| name.eq_ignore_ascii_case(hash)).map(|(_, rate)| *rate)
    }
}

#[rustfmt::skip]
const HARDWARE: &[Hardware] = &[
    Hardware {
        name: "rtx4090",
        title: "one NVIDIA RTX 4090",
        pbkdf2: &[("sha256", 8.9e9), ("sha512", 3.2e9)],
        bandwidth: 1.008e12,
        dollars_per_hour: 0.70,
    },
    Hardware {
        name: "rtx4090x1000",
        title: "a thousand NVIDIA RTX 4090",
        pbkdf2: &[("sha256", 8.9e12), ("sha512", 3.2e12)],
        bandwidth: 1.008e15,
        dollars_per_hour: 700.0,
    },
];
