//! What is on the device: the boot sector, and the first of three copies of the metadata whose checksum is right.

use crate::{Error, Refusal, Result, Storage};
use keyway_format::Bytes;
use keyway_format::bitlk::{BootSector, METADATA_LEN, Metadata, State, Version};
use std::fmt;

/// A volume's header.
#[derive(Debug)]
pub struct Header {
    /// Its first sector.
    pub boot: BootSector,
    /// The copy of the metadata that is used.
    pub metadata: Metadata,
    /// Where each copy is by the boot sector, and how it is.
    pub copies: [(Bytes, CopyState); 3],
    /// The bytes of its first sector.
    pub(super) first_sector: [u8; BootSector::LEN],
    /// Where these are again, if Windows Vista made it: what is there otherwise is data.
    pub(super) boot_copy: Option<u64>,
}

/// How a copy of the metadata is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CopyState {
    /// It is the one that is used.
    Used,
    /// It says the same.
    Same,
    /// It is valid and says something else, this state among it: an update of the three was cut short.
    Differs(State),
    /// It cannot be used, for this reason.
    Damaged(String),
}

impl fmt::Display for CopyState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Used => f.write_str("used"),
            Self::Same => f.write_str("the same"),
            Self::Differs(_) => f.write_str("valid, but differs from the others"),
            Self::Damaged(why) => write!(f, "damaged ({why})"),
        }
    }
}

impl Header {
    /// Reads what is at the start of `storage`, and the copies of the metadata.
    ///
    /// # Errors
    /// It is no BitLocker volume; none of the copies is valid; the storage fails.
    pub fn read(storage: &dyn Storage) -> Result<Self> {
        let mut sector = vec![0; BootSector::LEN.min(storage.len() as usize)];
        read(storage, &mut sector, 0, "reading the boot sector")?;
        let boot = BootSector::parse(&sector)?;
        let first_sector = *sector.first_chunk().expect("what was parsed");
        let places = places(storage, &boot);
        let mut found = places.map(|at| copy(storage, at));
        let Some(used) = found.iter().position(Result::is_ok) else {
            return Err(none_is_valid(&places, &found));
        };
        let metadata = std::mem::replace(&mut found[used], Err(Error::NoUsableKeyslot))?;
        let state = |number: usize| match &found[number] {
            _ if number == used => CopyState::Used,
            Ok(other) if other.as_bytes() == metadata.as_bytes() => CopyState::Same,
            Ok(other) => CopyState::Differs(other.state),
            Err(why) => CopyState::Damaged(why.to_string()),
        };
        let copies = std::array::from_fn(|number| (places[number], state(number)));
        let boot_copy = boot_copy(storage, &boot, &first_sector);
        Ok(Self { boot, metadata, copies, first_sector, boot_copy })
    }

    /// Whether Windows Vista made it.
    pub(super) fn is_vistas(&self) -> bool {
        self.boot.version == Version::Vista
    }

    /// Whether the master key must vouch for the metadata: Windows Vista writes no digest.
    pub(super) fn needs_digest(&self) -> bool {
        !self.is_vistas() || self.metadata.has_digest()
    }

    /// What is wrong with the copies that are not used, a line each; none is usual.
    pub fn troubles(&self) -> impl Iterator<Item = String> {
        self.odd_copies().map(|(number, at, state)| {
            format!("copy {} of the metadata, at byte {}: {state}", number + 1, at.0)
        })
    }

    /// Whether all copies say the same.
    pub fn is_whole(&self) -> bool {
        self.odd_copies().next().is_none()
    }

    /// The copies that do not say what the one says that is used.
    pub(super) fn odd_copies(&self) -> impl Iterator<Item = (usize, Bytes, &CopyState)> {
        let copies = self.copies.iter().enumerate();
        let odd = copies.filter(|(_, (_, state))| !matches!(state, CopyState::Used | CopyState::Same));
        odd.map(|(number, (at, state))| (number, *at, state))
    }
}

/// Where NTFS's copy of the boot sector is one. What cannot be read is none.
fn boot_copy(storage: &dyn Storage, boot: &BootSector, first: &[u8; BootSector::LEN]) -> Option<u64> {
    let at = boot.boot_copy?.0;
    storage.len().checked_sub(at).filter(|room| *room >= first.len() as u64)?;
    let mut sector = [0; BootSector::LEN];
    storage.read_at(&mut sector, at).ok().filter(|()| sector == *first).map(|()| at)
}

/// Where the copies are: Vista's boot sector says only the first, which says the others.
fn places(storage: &dyn Storage, boot: &BootSector) -> [Bytes; 3] {
    let [first, others @ ..] = boot.metadata.map(Option::unwrap_or_default);
    match boot.metadata[1] {
        Some(_) => [first, others[0], others[1]],
        None => copy(storage, first).map_or([first; 3], |metadata| metadata.copies),
    }
}

/// A copy of the metadata; only as much is read as one can take.
fn copy(storage: &dyn Storage, at: Bytes) -> Result<Metadata> {
    let Some(room) = storage.len().checked_sub(at.0).filter(|room| *room > 0) else {
        let why = format!("it lies beyond the end of the device, byte {}", storage.len());
        return Err(Refusal::Geometry.because(why));
    };
    let mut bytes = vec![0; (METADATA_LEN as u64).min(room) as usize];
    read(storage, &mut bytes, at.0, "reading the metadata")?;
    Ok(Metadata::parse(&bytes)?)
}

fn read(storage: &dyn Storage, bytes: &mut [u8], at: u64, what: &str) -> Result<()> {
    storage.read_at(bytes, at).map_err(|source| Error::Io { what: format!("{what} at byte {at}"), source })
}

/// All three reasons: what is to be repaired depends on them.
fn none_is_valid(places: &[Bytes; 3], found: &[Result<Metadata>; 3]) -> Error {
    let mut reasons: Vec<String> = Vec::new();
    for (at, why) in places.iter().zip(found.iter().filter_map(|found| found.as_ref().err())) {
        let reason = format!("byte {}: {why}", at.0);
        if !reasons.contains(&reason) {
            reasons.push(reason);
        }
    }
    Refusal::Unusable.because(format!("none of the BitLocker metadata is valid ({})", reasons.join("; ")))
}
