//! Predicts what happens when a volume is opened: how long it takes, here or on another machine,
//! and whether GRUB can open it.

mod grub;
mod linux;
#[cfg(feature = "parts")]
mod parts;
mod rates;

use grub::Grub;
pub use grub::{Finding, GrubVersion};

use crate::error::At;
use crate::{Device, Result};
use keyway_boot::loader::grub::Judgement;
use keyway_boot::unlock_time::{Board, Place, Rates, Wait, Work};
use keyway_volume::{Access, Luks, UnlockTimes};
use rates::Measured;
use std::fmt;
use std::ops::RangeInclusive;
use std::time::Duration;

/// The program that opens a volume, and the machine it runs on.
///
/// ```
/// # use keyway::{GrubVersion, Machine};
/// assert_eq!(Machine::find("linux"), Some(Machine::here()));
/// assert_eq!(Machine::find("cryptsetup"), Some(Machine::cryptsetup()));
/// assert_eq!(Machine::find("grub-2.12"), Some(Machine::grub(GrubVersion::V2_12)));
/// assert_eq!(Machine::find("grub-2.14-accel"), Some(Machine::accelerated_grub()));
/// assert_eq!(
///     Machine::find("grub-ubuntu-24.04").unwrap().to_string(),
///     "GRUB 2.12 of Ubuntu 24.04 in EFI firmware, the signed image, on a CPU like this one"
/// );
/// let board = Machine::find("pi4").expect("one whose rates were published");
/// assert!(board.to_string().starts_with("Raspberry Pi 4"));
/// assert!(Machine::names().any(|name| name == "pi4") && Machine::find("abacus").is_none());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Machine(Kind);

#[derive(Debug, Clone, Copy)]
enum Kind {
    Here,
    Cryptsetup,
    Board(&'static Board),
    Grub(Grub),
}

impl PartialEq for Kind {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Here, Self::Here) | (Self::Cryptsetup, Self::Cryptsetup) => true,
            (Self::Board(one), Self::Board(other)) => one.name == other.name,
            (Self::Grub(one), Self::Grub(other)) => one == other,
            _ => false,
        }
    }
}

impl Eq for Kind {}

impl Machine {
    /// This library under Linux on this machine. Its speed is measured, which takes a moment. See
    /// [`Machine`] for an example.
    pub fn here() -> Self {
        Self(Kind::Here)
    }

    /// cryptsetup under Linux on this machine: this library's speed, which is measured, times a
    /// ratio that was measured elsewhere. See [`Machine`] for an example.
    pub fn cryptsetup() -> Self {
        Self(Kind::Cryptsetup)
    }

    /// GRUB in the firmware of a machine with this machine's CPU. See [`Machine`] for an example.
    pub fn grub(version: GrubVersion) -> Self {
        Self(Kind::Grub(Grub::plain(version)))
    }

    /// GRUB 2.14 in the EFI firmware of such a machine, with x86_64, after `cryptomount -A`: it uses
    /// the CPU's instructions for SHA-2. See [`Machine`] for an example.
    pub fn accelerated_grub() -> Self {
        Self(Kind::Grub(Grub::ACCELERATED))
    }

    /// Finds a machine by one of [`Machine::names`]. See [`Machine`] for an example.
    pub fn find(name: &str) -> Option<Self> {
        let grub = || Grub::all().find(|grub| grub.machine() == name);
        match name {
            "linux" => Some(Self::here()),
            "cryptsetup" => Some(Self::cryptsetup()),
            _ => Board::find(name)
                .map(|board| Self(Kind::Board(board)))
                .or_else(|| grub().map(|grub| Self(Kind::Grub(grub)))),
        }
    }

    /// The names of all machines, as `keyway passport --target` accepts them. See [`Machine`] for
    /// an example.
    pub fn names() -> impl Iterator<Item = &'static str> {
        let grub = Grub::all().map(Grub::machine);
        ["linux", "cryptsetup"].into_iter().chain(grub).chain(Board::all().map(|board| board.name))
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Kind::Here => f.write_str("Keyway under Linux on this machine"),
            Kind::Cryptsetup => f.write_str("cryptsetup under Linux on this machine"),
            Kind::Board(board) => f.write_str(board.title),
            Kind::Grub(grub) => write!(f, "{grub}, on a CPU like this one"),
        }
    }
}

impl Kind {
    /// Its rates for these computations; samples of Argon2 take `most_kib` of memory at most. `cpu` has
    /// those of its CPU under Linux, if it is another.
    fn rates<'a>(
        &self,
        works: impl Iterator<Item = &'a Work> + Clone,
        cpu: Option<&Rates>,
        most_kib: u32,
    ) -> Measured {
        let given = |rates: Rates| Measured { rates, interference: 1.0 };
        let cpu = cpu.cloned().map(given);
        match self {
            Self::Here => cpu.unwrap_or_else(|| rates::of_linux(works, most_kib)),
            Self::Cryptsetup => {
                cpu.unwrap_or_else(|| rates::of_linux(works, most_kib)).with(Rates::of_cryptsetup)
            }
            Self::Board(board) => cpu.unwrap_or_else(|| given(board.rates())),
            Self::Grub(grub) => {
                let cpu = cpu.unwrap_or_else(|| rates::for_grub(works, grub.speed(), most_kib));
                cpu.with(|rates| rates.of_grub(grub.speed(), Place::Firmware))
            }
        }
    }
}

/// What happens when a volume is opened on a [`Machine`]: from [`Device::predict`]; see there for
/// an example.
#[derive(Debug, Clone, PartialEq)]
pub struct Prediction {
    keyslots: Vec<PredictedKeyslot>,
    refused: Option<Finding>,
    notes: Vec<Finding>,
    modules: Vec<&'static str>,
    interference: f64,
    #[cfg(feature = "parts")]
    judgement: Option<Judgement>,
    #[cfg(feature = "parts")]
    rates: Rates,
}

impl Prediction {
    /// The keyslots in the order in which they are tried. See [`Device::predict`] for an example.
    pub fn keyslots(&self) -> &[PredictedKeyslot] {
        &self.keyslots
    }

    /// Whether the passphrase of at least one keyslot opens the volume. See [`Device::predict`] for
    /// an example.
    pub fn opens(&self) -> bool {
        self.keyslots.iter().any(PredictedKeyslot::opens)
    }

    /// The rule that keeps GRUB from trying any keyslot. See [`Device::predict`] for an example.
    pub fn refused(&self) -> Option<&Finding> {
        self.refused.as_ref()
    }

    /// Facts that GRUB ignores and that the user should know. See [`Device::predict`] for an
    /// example.
    pub fn notes(&self) -> &[Finding] {
        &self.notes
    }

    /// GRUB modules that must be readable before the volume is open. See [`Device::predict`] for an
    /// example.
    pub fn modules(&self) -> &[&'static str] {
        &self.modules
    }

    /// How many seconds passed for each that was computed while this machine was measured: 1 if it
    /// was idle or not measured. Predictions leave it out; while it lasts, opening takes longer by
    /// it. See [`Device::predict`] for an example.
    pub fn interference(&self) -> f64 {
        self.interference
    }
}

/// What happens when the passphrase of this keyslot is entered. See [`Device::predict`] for an
/// example.
#[derive(Debug, Clone, PartialEq)]
pub struct PredictedKeyslot {
    tried: Tried,
    wait: Wait,
}

/// A keyslot in its turn.
#[derive(Debug, Clone, PartialEq)]
struct Tried {
    number: u32,
    outcome: Outcome,
    /// What is computed when it is tried, whatever the passphrase.
    works: Vec<Work>,
}

impl PredictedKeyslot {
    /// Its number in the header. See [`Device::predict`] for an example.
    pub fn number(&self) -> u32 {
        self.tried.number
    }

    /// The outcome with the right passphrase. See [`Device::predict`] for an example.
    pub fn outcome(&self) -> &Outcome {
        &self.tried.outcome
    }

    /// Whether its key is derived, successfully or not, when a passphrase is tried on all keyslots.
    /// See [`Device::predict`] for an example.
    pub fn is_tried(&self) -> bool {
        !self.tried.works.is_empty()
    }

    /// About how long the keyslot takes when it is tried first; `None` where it does not open, or
    /// where the speed of its key derivation on that machine is unknown. See [`Device::predict`]
    /// for an example.
    pub fn time(&self) -> Option<Duration> {
        self.wait.alone.filter(|_| self.opens()).and_then(|time| seconds(time.likely))
    }

    /// The same, plus all keyslots that are tried in vain before it: GRUB and other programs try
    /// keyslots one after another; this library tries them in parallel. See [`Device::predict`] for
    /// an example.
    pub fn time_in_turn(&self) -> Option<Duration> {
        self.wait.until_opened().filter(|_| self.opens()).and_then(|time| seconds(time.likely))
    }

    /// The range in which [`PredictedKeyslot::time_in_turn`] is expected: measurements vary, and
    /// published figures differ. See [`Device::predict`] for an example.
    pub fn range(&self) -> Option<RangeInclusive<Duration>> {
        let time = self.wait.until_opened().filter(|_| self.opens())?;
        Some(seconds(time.low)?..=seconds(time.high)?)
    }

    fn opens(&self) -> bool {
        self.tried.outcome == Outcome::Opens
    }
}

/// The outcome with the right passphrase. See [`Device::predict`] for an example.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// The volume opens.
    Opens,
    /// The keyslot is tried only when its number is given, because of its priority.
    NotTried,
    /// An error, or the volume opens to noise.
    Cannot(Finding),
    /// "Invalid passphrase", as for a wrong one.
    SaysInvalidPassphrase(Finding),
}

impl Device {
    /// Predicts how long opening takes on a machine, and whether GRUB can open the volume: the same
    /// answers as `keyway passport` and `keyway boot check`. No key is needed.
    ///
    /// ```
    /// # use keyway::*;
    /// # let key = Key::passphrase("correct horse");
    /// # let argon2 = NewKdf::argon2id_forced(4, 32 << 10, 1);
    /// # let device = Create::luks2().kdf(argon2).in_memory(1 << 20, &key)?;
    /// for keyslot in device.predict(&Machine::find("pi4").unwrap())?.keyslots() {
    ///     println!("keyslot {}: {:?}, {:?}", keyslot.number(), keyslot.time(), keyslot.time_in_turn());
    ///     assert!(keyslot.range().unwrap().contains(&keyslot.time_in_turn().unwrap()));
    ///     assert!(keyslot.is_tried() && *keyslot.outcome() == Outcome::Opens);
    /// }
    ///
    /// let boot = device.predict(&Machine::grub(GrubVersion::V2_06))?;
    /// if let Outcome::Cannot(why) | Outcome::SaysInvalidPassphrase(why) = boot.keyslots()[0].outcome() {
    ///     println!("GRUB 2.06 cannot open keyslot 0, because {why} ({}, {})", why.rule(), why.source());
    /// }
    /// assert!(!boot.opens() && boot.refused().is_none() && boot.interference() >= 1.0);
    /// println!("core.img needs {}", boot.modules().join(", "));
    /// boot.notes().iter().for_each(|note| println!("note that {note}"));
    /// # Ok::<(), keyway::Error>(())
    /// ```
    ///
    /// Nothing is locked, and a damaged header copy is not repaired. Whatever memory a keyslot asks for,
    /// a sample takes 256 MiB at most: anybody can have written the header.
    ///
    /// # Errors
    /// Those of [`Device::header`]; not for GRUB, where the prediction follows GRUB's own reading
    /// of the header.
    pub fn predict(&self, machine: &Machine) -> Result<Prediction> {
        self.foretell(machine, None, UnlockTimes::UNASKED_KIB)
    }

    /// `cpu` has the rates of the machine's CPU under Linux, if it is another than this one; samples of
    /// Argon2 take `most_kib` of memory at most.
    fn foretell(&self, machine: &Machine, cpu: Option<&Rates>, most_kib: u32) -> Result<Prediction> {
        let header = self.header_storage();
        let judgement = match machine.0 {
            Kind::Grub(grub) => Some(grub.judge(&*header, self.len())),
            Kind::Here | Kind::Cryptsetup | Kind::Board(_) => None,
        };
        let keyslots = match &judgement {
            Some(judgement) => grub::keyslots(judgement),
            None => linux::keyslots(Luks::open(header, Access::Probe).at(self.header_place())?.header()),
        };
        let measured = machine.0.rates(keyslots.iter().flat_map(|keyslot| &keyslot.works), cpu, most_kib);
        Ok(Prediction::of(judgement, keyslots, measured))
    }
}

impl Prediction {
    fn of(judgement: Option<Judgement>, keyslots: Vec<Tried>, measured: Measured) -> Self {
        let Measured { rates, interference } = measured;
        let waits = rates.in_turn(keyslots.iter().map(|keyslot| keyslot.works.as_slice()));
        let keyslots = keyslots.into_iter().zip(waits);
        let found = judgement.as_ref();
        Self {
            keyslots: keyslots.map(|(tried, wait)| PredictedKeyslot { tried, wait }).collect(),
            refused: found.and_then(|found| found.refused.clone()).map(Finding),
            notes: found.map(|found| found.notes.iter().cloned().map(Finding).collect()).unwrap_or_default(),
            modules: found.map(|found| found.modules.clone()).unwrap_or_default(),
            interference,
            #[cfg(feature = "parts")]
            judgement,
            #[cfg(feature = "parts")]
            rates,
        }
    }
}

fn seconds(seconds: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(seconds).ok()
}
