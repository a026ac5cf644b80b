//! What will happen when a volume is opened: how long it takes, here or on another machine, and
//! whether GRUB opens it at all.

mod grub;
mod linux;

pub use grub::{Finding, GrubVersion};

use crate::{Device, Result};
use keyway_boot::unlock_time::Board;
use std::fmt;
use std::time::Duration;

/// Who opens a volume, on which machine.
///
/// ```
/// # use keyway::{GrubVersion, Machine};
/// assert_eq!(Machine::find("linux"), Some(Machine::here()));
/// assert_eq!(Machine::find("grub-2.12"), Some(Machine::grub(GrubVersion::V2_12)));
/// let board = Machine::find("pi4").expect("one whose rates were published");
/// assert!(board.to_string().starts_with("Raspberry Pi 4"));
/// assert!(Machine::names().any(|name| name == "pi4") && Machine::find("abacus").is_none());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Machine(Kind);

#[derive(Debug, Clone, Copy)]
enum Kind {
    Here,
    Board(&'static Board),
    Grub(GrubVersion),
}

impl PartialEq for Kind {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Here, Self::Here) => true,
            (Self::Board(one), Self::Board(other)) => one.name == other.name,
            (Self::Grub(one), Self::Grub(other)) => one == other,
            _ => false,
        }
    }
}

impl Eq for Kind {}

impl Machine {
    /// Linux on this machine: its rates are measured, which takes a moment. See [`Machine`] for an
    /// example.
    pub fn here() -> Self {
        Self(Kind::Here)
    }

    /// GRUB in the firmware of a machine with this machine's CPU. See [`Machine`] for an example.
    pub fn grub(version: GrubVersion) -> Self {
        Self(Kind::Grub(version))
    }

    /// One of [`Machine::names`]. See [`Machine`] for an example.
    pub fn find(name: &str) -> Option<Self> {
        let grub = || GrubVersion::ALL.into_iter().find(|version| version.machine() == name);
        match name {
            "linux" => Some(Self::here()),
            _ => Board::find(name).map(|board| Self(Kind::Board(board))).or_else(|| grub().map(Self::grub)),
        }
    }

    /// The names of all, as `keyway passport --target` has them. See [`Machine`] for an example.
    pub fn names() -> impl Iterator<Item = &'static str> {
        let grub = GrubVersion::ALL.into_iter().map(GrubVersion::machine);
        ["linux"].into_iter().chain(grub).chain(Board::all().map(|board| board.name))
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Kind::Here => f.write_str("Linux on this machine"),
            Kind::Board(board) => f.write_str(board.title),
            Kind::Grub(version) => write!(f, "GRUB {version} in firmware, on a CPU like this one"),
        }
    }
}

/// What will happen to whoever opens a volume on a [`Machine`]: from [`Device::predict`], where
/// there is an example.
#[derive(Debug, Clone, PartialEq)]
pub struct Prediction {
    keyslots: Vec<PredictedKeyslot>,
    refused: Option<Finding>,
    notes: Vec<Finding>,
    modules: Vec<&'static str>,
}

impl Prediction {
    /// The keyslots in the order in which they are tried. See [`Device::predict`] for an example.
    pub fn keyslots(&self) -> &[PredictedKeyslot] {
        &self.keyslots
    }

    /// Whether some keyslot's passphrase opens the volume. See [`Device::predict`] for an example.
    pub fn opens(&self) -> bool {
        self.keyslots.iter().any(|keyslot| keyslot.outcome == Outcome::Opens)
    }

    /// What keeps GRUB from trying any keyslot. See [`Device::predict`] for an example.
    pub fn refused(&self) -> Option<&Finding> {
        self.refused.as_ref()
    }

    /// What GRUB overlooks, and whoever boots should know. See [`Device::predict`] for an example.
    pub fn notes(&self) -> &[Finding] {
        &self.notes
    }

    /// GRUB's modules that must be where it can read them before the volume is open. See
    /// [`Device::predict`] for an example.
    pub fn modules(&self) -> &[&'static str] {
        &self.modules
    }
}

/// What will happen to whoever has a keyslot's passphrase. See [`Device::predict`] for an example.
#[derive(Debug, Clone, PartialEq)]
pub struct PredictedKeyslot {
    number: u32,
    outcome: Outcome,
    time: Option<Duration>,
    in_turn: Option<Duration>,
}

impl PredictedKeyslot {
    /// Its number in the header. See [`Device::predict`] for an example.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// What comes of it. See [`Device::predict`] for an example.
    pub fn outcome(&self) -> &Outcome {
        &self.outcome
    }

    /// About how long it takes when it is tried first; `None` where it does not open, or nobody
    /// knows how fast its key derivation is there. See [`Device::predict`] for an example.
    pub fn time(&self) -> Option<Duration> {
        self.time.filter(|_| self.outcome == Outcome::Opens)
    }

    /// The same with all keyslots before it, which are tried in vain: GRUB and other programs go one
    /// by one, this library tries them side by side. See [`Device::predict`] for an example.
    pub fn time_in_turn(&self) -> Option<Duration> {
        self.in_turn.filter(|_| self.outcome == Outcome::Opens)
    }
}

/// What comes of a right passphrase. See [`Device::predict`] for an example.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// The volume opens.
    Opens,
    /// It is not tried unless its number is given: its priority says so.
    NotTried,
    /// An error, or data that are noise.
    Cannot(Finding),
    /// "Invalid passphrase", as to a wrong one.
    SaysInvalidPassphrase(Finding),
}

impl Device {
    /// Foretells how long opening takes on a machine, and whether GRUB will: what `keyway passport`
    /// and `keyway boot check` say. No key is needed.
    ///
    /// ```
    /// # use keyway::*;
    /// # let key = Key::passphrase("correct horse");
    /// # let argon2 = NewKdf::argon2id_forced(4, 32 << 10, 1);
    /// # let device = Create::luks2().kdf(argon2).in_memory(1 << 20, &key)?;
    /// for keyslot in device.predict(&Machine::find("pi4").unwrap())?.keyslots() {
    ///     println!("keyslot {}: {:?}, {:?}", keyslot.number(), keyslot.time(), keyslot.time_in_turn());
    ///     assert_eq!(keyslot.outcome(), &Outcome::Opens);
    /// }
    ///
    /// let boot = device.predict(&Machine::grub(GrubVersion::V2_06))?;
    /// if let Outcome::Cannot(why) | Outcome::SaysInvalidPassphrase(why) = boot.keyslots()[0].outcome() {
    ///     println!("GRUB 2.06 cannot open keyslot 0, because {why} ({}, {})", why.rule(), why.source());
    /// }
    /// assert!(!boot.opens() && boot.refused().is_none());
    /// println!("core.img needs {}", boot.modules().join(", "));
    /// boot.notes().iter().for_each(|note| println!("note that {note}"));
    /// # Ok::<(), keyway::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Device::header`], but for GRUB, which is judged by what it makes of the bytes.
    pub fn predict(&self, machine: &Machine) -> Result<Prediction> {
        match machine.0 {
            Kind::Here => Ok(linux::predict(&self.header()?, None)),
            Kind::Board(board) => Ok(linux::predict(&self.header()?, Some(board))),
            Kind::Grub(version) => Ok(grub::predict(&*self.header_storage(), self.len(), version)),
        }
    }
}

fn seconds(seconds: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(seconds).ok()
}
