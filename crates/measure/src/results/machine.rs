//! The machine of a run: everything about it that a figure depends on.

use serde::{Deserialize, Serialize};

/// A machine, as at the start of the run.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// Its host name, or the name given by the user.
    pub name: String,
    /// The CPU's name for itself.
    pub cpu: String,
    /// "x86_64", "aarch64".
    pub architecture: String,
    /// Logical CPUs that this process may run on.
    pub cpus: u32,
    /// Instructions for cryptography and wide registers, as named in /proc/cpuinfo: "aes", "vaes",
    /// "avx512f", "pmull" …
    pub features: Vec<String>,
    /// The code that Keyway chose for AES: "vaes-avx512", "portable".
    pub aes_code: String,
    /// The frequency governor; null if the machine does not show one.
    pub governor: Option<String>,
    /// Clock frequency while measuring; null if the machine does not show it.
    pub frequency: Option<Frequency>,
    /// The load averages over one, five and fifteen minutes, before the run.
    pub load: [f64; 3],
    /// Memory in MiB.
    pub memory_mib: u64,
    /// The kernel's name, release and version.
    pub kernel: String,
    /// The distribution's name.
    pub system: Option<String>,
    /// The hypervisor or container that it appears to run in; null if none was detected.
    pub virtualisation: Option<String>,
}

/// Clock frequency in MHz, as the kernel reported it during the run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Frequency {
    /// The lowest that was seen.
    pub lowest_mhz: f64,
    /// The highest that was seen.
    pub highest_mhz: f64,
}
