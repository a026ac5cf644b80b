//! Key derivation functions: those of existing keyslots, and those for new ones.

use keyway_crypto::kdf::Argon2Variant;
use keyway_format::luks2;
use keyway_volume::keyslot::kdf_cost::{DEFAULT_HASH, KdfFunction, Opener};
use keyway_volume::{Cost, KdfChoice};
use std::time::Duration;

/// A keyslot's key derivation function and its cost. See
/// [`Header::keyslots`](crate::Header::keyslots) for an example.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kdf {
    /// PBKDF2.
    #[non_exhaustive]
    Pbkdf2 {
        /// "sha256".
        hash: String,
        /// Iterations.
        iterations: u32,
    },
    /// Argon2.
    #[non_exhaustive]
    Argon2 {
        /// "argon2id" or "argon2i".
        variant: &'static str,
        /// Passes over the memory.
        passes: u32,
        /// Memory in KiB.
        memory_kib: u32,
        /// Lanes, which may be computed in parallel.
        lanes: u32,
    },
    /// A function that this build does not know; holds the keyslot's type.
    Unknown(String),
}

impl Kdf {
    pub(crate) fn of(kdf: &luks2::Kdf) -> Self {
        let variant = kdf.type_name();
        match kdf {
            luks2::Kdf::Pbkdf2 { hash, iterations, .. } => {
                Self::Pbkdf2 { hash: hash.clone(), iterations: *iterations }
            }
            luks2::Kdf::Argon2i { time, memory_kib, lanes, .. }
            | luks2::Kdf::Argon2id { time, memory_kib, lanes, .. } => {
                Self::Argon2 { variant, passes: *time, memory_kib: *memory_kib, lanes: *lanes }
            }
        }
    }
}

/// The key derivation function of a new keyslot. Parameters that are not forced are measured on
/// this machine, so that the derivation takes cryptsetup the requested time here, which is the slowest
/// program that opens volumes under Linux.
///
/// ```
/// # use keyway::*;
/// # use std::time::Duration;
/// // cryptsetup's default: Argon2id, two seconds, at most 1 GiB and four lanes.
/// let usual = NewKdf::argon2id();
/// // What a small board bears.
/// let small = NewKdf::argon2id().time(Duration::from_millis(500)).memory_kib(64 << 10).lanes(1);
/// // The same on every machine, as for a volume that is built on one and opened on another.
/// let fixed = NewKdf::argon2id_forced(4, 256 << 10, 4);
/// // What GRUB before 2.14 opens, and how to make it take four seconds there.
/// let old = NewKdf::pbkdf2(200_000);
/// let four = NewKdf::pbkdf2_measured().time_for(Duration::from_secs(4), "grub-2.12").unwrap();
/// assert_eq!(NewKdf::default(), usual);
/// # let _ = (small, fixed, old, four);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewKdf(KdfChoice);

impl NewKdf {
    /// Argon2id for two seconds, with at most 1 GiB of memory and four lanes. See [`NewKdf`] for an
    /// example.
    pub fn argon2id() -> Self {
        Self(KdfChoice::default())
    }

    /// Argon2id with exactly these passes (at least 4), this memory and these lanes. See [`NewKdf`]
    /// for an example.
    pub fn argon2id_forced(passes: u32, memory_kib: u32, lanes: u32) -> Self {
        let (variant, cost) = (Argon2Variant::Argon2id, Cost::Forced(passes));
        Self(KdfChoice::Argon2 { variant, memory_kib, lanes, cost })
    }

    /// PBKDF2 with exactly these iterations (at least 1000) of SHA-256; LUKS1 uses its header's
    /// hash. See [`NewKdf`] for an example.
    pub fn pbkdf2(iterations: u32) -> Self {
        Self::pbkdf2_of(Cost::Forced(iterations))
    }

    /// PBKDF2 with SHA-256 for two seconds. See [`NewKdf`] for an example.
    pub fn pbkdf2_measured() -> Self {
        Self::pbkdf2_of(Cost::default())
    }

    /// How long the derivation should take cryptsetup on this machine. See [`NewKdf`] for an example.
    #[must_use]
    pub fn time(mut self, time: Duration) -> Self {
        let (KdfChoice::Pbkdf2 { cost, .. } | KdfChoice::Argon2 { cost, .. }) = &mut self.0;
        *cost = Cost::Time(time, Opener::default());
        self
    }

    /// How long the derivation should take for another opener than cryptsetup on this machine:
    /// "keyway" here, "cryptsetup", "grub-2.12" and the like, "pi4". `None` if there is no such name. See [`NewKdf`] for an example.
    pub fn time_for(mut self, time: Duration, opener: &str) -> Option<Self> {
        let (KdfChoice::Pbkdf2 { cost, .. } | KdfChoice::Argon2 { cost, .. }) = &mut self.0;
        *cost = Cost::Time(time, Opener::find(opener)?);
        Some(self)
    }

    /// Argon2's memory in KiB: the maximum, or the exact amount where the passes are forced. See
    /// [`NewKdf`] for an example.
    #[must_use]
    pub fn memory_kib(mut self, kib: u32) -> Self {
        if let KdfChoice::Argon2 { memory_kib, .. } = &mut self.0 {
            *memory_kib = kib;
        }
        self
    }

    /// Argon2's lanes. See [`NewKdf`] for an example.
    #[must_use]
    pub fn lanes(mut self, count: u32) -> Self {
        if let KdfChoice::Argon2 { lanes, .. } = &mut self.0 {
            *lanes = count;
        }
        self
    }

    /// PBKDF2's hash, by its name in LUKS headers. See [`NewKdf`] for an example.
    #[must_use]
    pub fn hash(mut self, name: &str) -> Self {
        if let KdfChoice::Pbkdf2 { hash, .. } = &mut self.0 {
            *hash = name.to_owned();
        }
        self
    }

    /// The default for a header of this version: LUKS1 has PBKDF2 only.
    pub(crate) fn default_of(version: u8) -> Self {
        match KdfFunction::default_of(version) {
            KdfFunction::Pbkdf2 => Self::pbkdf2_measured(),
            KdfFunction::Argon2(_) => Self::argon2id(),
        }
    }

    /// Whether its cost is measured on this machine.
    pub(crate) fn is_measured(&self) -> bool {
        let (KdfChoice::Pbkdf2 { cost, .. } | KdfChoice::Argon2 { cost, .. }) = &self.0;
        matches!(cost, Cost::Time(..))
    }

    pub(crate) fn choice(&self) -> KdfChoice {
        self.0.clone()
    }

    #[cfg(feature = "parts")]
    pub(crate) fn of_choice(choice: KdfChoice) -> Self {
        Self(choice)
    }

    fn pbkdf2_of(cost: Cost) -> Self {
        Self(KdfChoice::Pbkdf2 { hash: DEFAULT_HASH.to_owned(), cost })
    }
}

impl Default for NewKdf {
    fn default() -> Self {
        Self::argon2id()
    }
}
