//! Errors between a volume and its storage: cause and place. The command line adds hints and exit
//! codes.

use std::{fmt, io};

mod finding;
mod holder;
pub(crate) mod shared;
mod unmet;
mod unwiped;

pub use finding::{Exemption, Finding, Rule};
pub use holder::Holder;
pub use unmet::{Broken, Difference, Judgement, Unmet, Verdict};
pub use unwiped::Unwiped;

/// Shorthand for this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why an operation on a volume failed. Nothing was changed unless the variant says so.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// Storage failed; `what` names the operation and the place.
    Io {
        /// Operation and place.
        what: String,
        /// The system's error.
        source: io::Error,
    },
    /// The header is invalid.
    Format(keyway_format::Error),
    /// Cipher, hash, KDF or key size cannot be used.
    Crypto(keyway_crypto::Error),
    /// No keyslot opens with this passphrase (cryptsetup's exit code 2).
    WrongPassphrase,
    /// There is no keyslot that could be tried (exit code 1).
    NoUsableKeyslot,
    /// A KDF would need more memory than this process can have (exit code 3).
    NoMemory {
        /// The amount that was asked for.
        needs_kib: u64,
        /// The amount that is left for this process.
        has_kib: u64,
    },
    /// A KDF would need more memory than the budget (exit code 3).
    MemoryBudget {
        /// The keyslot.
        slot: u32,
        /// What its KDF takes.
        needs_kib: u64,
        /// What it may take.
        budget_kib: u64,
    },
    /// A KDF would take longer than the limit; seconds are estimated from a measurement here.
    TimeLimit {
        /// The keyslot.
        slot: u32,
        /// What its KDF would take here.
        needs_seconds: u64,
        /// What it may take.
        limit_seconds: u64,
    },
    /// In a volume without keyslots: a KDF that would need more memory than the budget was not tried, and nothing else
    /// opens it (exit code 3).
    KdfMemory {
        /// The KDF.
        kdf: String,
        /// What it takes.
        needs_kib: u64,
        /// What it may take.
        budget_kib: u64,
    },
    /// The same for one that would take longer than the limit.
    KdfTime {
        /// The KDF.
        kdf: String,
        /// What it would take here.
        needs_seconds: u64,
        /// What it may take.
        limit_seconds: u64,
    },
    /// Keyslots were removed, but not all of their key material could be overwritten, or the header
    /// could not be written.
    NotWiped {
        /// What is left.
        areas: Vec<Unwiped>,
        /// Why the header still names the keyslots.
        header: Option<Box<Error>>,
    },
    /// The key is not the one that the header's digest describes.
    WrongVolumeKey,
    /// It is the last keyslot that opens the data, and the caller asked to keep it.
    LastKeyslot(u32),
    /// Another process holds the header's lock (exit code 5).
    Busy(String),
    /// The header describes a volume that nobody intended: it breaks a rule of
    /// [`crate::trust::admission`].
    NotAdmitted(Finding),
    /// Another process or user has the file or device in use (exit code 5).
    InUse(Holder),
    /// The header cannot be locked in a way that cryptsetup would see (exit code 1).
    NoLock(String),
    /// The header describes data up to byte `needs`, but the device ends before that (exit code 4).
    TooShort {
        /// Where the data would end.
        needs: u64,
        /// Where the device ends.
        has: u64,
    },
    /// The volume does not match its seal, or does not meet the caller's demands (exit code 6).
    Unmet(Box<Unmet>),
    /// The request makes no sense for this volume.
    Refused {
        /// The kind of refusal.
        kind: Refusal,
        /// What was refused and why, in words.
        why: String,
    },
}

/// What is wrong with a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// No header of this format has a keyslot of that number.
    KeyslotNumber,
    /// The keyslot is in use.
    KeyslotTaken,
    /// The keyslot is not in use.
    KeyslotInactive,
    /// No keyslot is free, or no area for its key material.
    NoFreeKeyslot,
    /// No header has a token of that number.
    TokenNumber,
    /// The token is in use.
    TokenTaken,
    /// The token is not in use.
    TokenUnused,
    /// The token is not assigned to the keyslot.
    TokenUnassigned,
    /// No token is free.
    NoFreeToken,
    /// No digest is free.
    NoFreeDigest,
    /// LUKS1 has this feature, LUKS2 does not.
    OnlyLuks1,
    /// LUKS2 has this feature, LUKS1 does not.
    OnlyLuks2,
    /// A volume key of that length does not fit.
    KeyLength,
    /// The cipher has no key.
    NoVolumeKey,
    /// Volumes made from the same seed would reveal what they differ in.
    SameKeyStream,
    /// The hash cannot be used in that place.
    Hash,
    /// No keyslot has a KDF of that name.
    Kdf,
    /// A KDF with that cost is not possible.
    Cost,
    /// It is not a UUID.
    Uuid,
    /// No activation flag has that name.
    UnknownFlag,
    /// Sizes or offsets that no volume can have.
    Geometry,
    /// The device is too short for it.
    NoRoom,
    /// The device is zoned.
    Zoned,
    /// A part of the header cannot be used.
    Unusable,
    /// The volume cannot be converted.
    NotConvertible,
    /// The file is not a backup, or is the backup of another volume.
    Backup,
    /// The file exists already.
    Exists,
    /// The device may hold something other than the header.
    Ambiguous,
    /// The header was opened for reading.
    ReadOnly,
    /// Another process has changed the header meanwhile.
    ChangedMeanwhile,
    /// A reencryption is under way, and has to end first.
    Reencrypting,
    /// No reencryption is under way.
    NotReencrypting,
    /// What the header says of a reencryption is not vouched for by the volume keys.
    Forged,
    /// A reencryption that an older cryptsetup began has to be repaired first.
    NeedsRepair,
    /// A hot zone was lost: nothing protected it.
    NotRecoverable,
    /// A damaged header that nothing confirms is not written over.
    Unproven,
}

impl Refusal {
    pub(crate) fn because(self, why: impl Into<String>) -> Error {
        Error::Refused { kind: self, why: why.into() }
    }
}

/// The same for data that begins within a sector.
pub(crate) fn unaligned_start(start: u64, sector: u64) -> Error {
    let smaller = fitting_sector(start);
    Refusal::Geometry.because(format!(
        "Device size is not aligned to requested sector size: the data begins at byte {start}, which is not a \
         multiple of {sector}{smaller}."
    ))
}

/// The largest sector that such a length is a multiple of, as the end of a sentence.
fn fitting_sector(len: u64) -> String {
    match 1_u64 << len.trailing_zeros().min(12) {
        fits @ 512.. => format!(", and --sector-size {fits} fits"),
        _ => String::new(),
    }
}

/// A length that is no multiple of the encryption sector: cryptsetup's words, both sizes, what fits.
pub(crate) fn unaligned(len: u64, sector: u64) -> Error {
    let (less, smaller) = (len / sector * sector, fitting_sector(len));
    Refusal::Geometry.because(format!(
        "Device size is not aligned to requested sector size: {len} bytes of data are not a multiple of \
         {sector}; {less} are{smaller}."
    ))
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { what, source } => write!(f, "{what}: {source}"),
            Self::Format(e) => e.fmt(f),
            Self::Crypto(e) => e.fmt(f),
            Self::WrongPassphrase => f.write_str("No key available with this passphrase."),
            Self::NoUsableKeyslot => f.write_str("No usable keyslot is available."),
            Self::NoMemory { needs_kib, has_kib } => {
                write!(
                    f,
                    "Argon2 needs {needs_kib} KiB of memory, and {has_kib} KiB are left to this process"
                )
            }
            Self::MemoryBudget { slot, needs_kib, budget_kib } => {
                write!(f, "keyslot {slot} needs {needs_kib} KiB of memory, the budget is {budget_kib} KiB")
            }
            Self::TimeLimit { slot, needs_seconds, limit_seconds } => {
                write!(f, "keyslot {slot} needs about {needs_seconds} s, the limit is {limit_seconds} s")
            }
            Self::KdfMemory { kdf, needs_kib, budget_kib } => write!(
                f,
                "{kdf} was not tried, and nothing else opens the volume: it needs {needs_kib} KiB of memory, the budget is \
                 {budget_kib} KiB"
            ),
            Self::KdfTime { kdf, needs_seconds, limit_seconds } => write!(
                f,
                "{kdf} was not tried, and nothing else opens the volume: it needs about {needs_seconds} s, the limit is \
                 {limit_seconds} s"
            ),
            Self::NotWiped { areas, header } => {
                let mut lines: Vec<String> = areas.iter().map(ToString::to_string).collect();
                if let Some(first) = lines.first_mut() {
                    first.insert_str(0, "key material could not be overwritten: ");
                }
                lines.extend(header.iter().map(|why| format!("the header could not be written: {why}")));
                f.write_str(&lines.join("; "))
            }
            Self::WrongVolumeKey => f.write_str("Volume key does not match the volume."),
            Self::LastKeyslot(slot) => {
                write!(f, "keyslot {slot} is the last one that opens the volume: without it the data is lost")
            }
            Self::Busy(what) => write!(f, "{what} is in use"),
            Self::NotAdmitted(finding) => finding.fmt(f),
            Self::InUse(holder) => write!(f, "it is in use ({holder})"),
            Self::NoLock(why) => write!(f, "its header cannot be locked against cryptsetup: {why}"),
            Self::TooShort { needs, has } => {
                write!(f, "it ends at byte {has}, but its header describes data up to byte {needs}")
            }
            Self::Unmet(unmet) => unmet.fmt(f),
            Self::Refused { why, .. } => f.write_str(why),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            Self::Format(source) => Some(source),
            Self::Crypto(source) => Some(source),
            _ => None,
        }
    }
}

impl From<keyway_format::Error> for Error {
    fn from(e: keyway_format::Error) -> Self {
        Self::Format(e)
    }
}

impl From<keyway_crypto::Error> for Error {
    fn from(e: keyway_crypto::Error) -> Self {
        Self::Crypto(e)
    }
}
