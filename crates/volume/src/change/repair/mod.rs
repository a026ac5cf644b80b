//! Repair of headers, as far as it can be proven: by LUKS2's checksums, by a passphrase for LUKS1, by
//! cryptsetup's rules for LUKS1's unused keyslots. Whether keyslots' areas are damaged is said too;
//! nothing brings those back.
//!
//! `luks1` is what LUKS1 has, `keyway_format::luks2::recovery` what LUKS2 has; `areas` judges key
//! material; `words` says it all.

mod areas;
mod luks1;
mod words;

pub use areas::KeyslotArea;
pub use words::{Found, State};

use crate::device::lock::{HeaderLock, LockMode};
use crate::device::storage::{Exclusive, read_readable, write_differing};
use crate::error::shared;
use crate::header::luks::is_luks1;
use crate::header::luks2_disk::{check_fits, write_copy};
use crate::header::seal::Seal;
use crate::random::random_bytes;
use crate::{Header, Locking, OsRandom, Refusal, Result, Storage, UnlockOptions};
use keyway_crypto::Secret;
use keyway_format::Sectors;
use keyway_format::luks2::recovery::{Lost, SEARCHED};
use keyway_format::luks2::{Copy, Recovery, Write};
use luks1::Luks1;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What was found; nothing is written yet.
pub struct Repair {
    storage: Arc<dyn Storage>,
    locking: Locking,
    plan: Plan,
    is_claimed: bool,
    is_proven: AtomicBool,
    found: Vec<Found>,
    lost: Vec<String>,
    changes: Vec<String>,
    warnings: Vec<String>,
    keyslots: Vec<KeyslotArea>,
}

/// A header, and what is to be written of it.
#[derive(Debug, Clone, PartialEq)]
enum Plan {
    Luks1(Luks1),
    Luks2(Box<Recovery>),
}

impl Repair {
    /// Looks for damage. Refused where nothing can be proven ([`Refusal::Unproven`], with all that was
    /// looked at). If there is something to repair, the storage is claimed: a header is not restored
    /// into a file system that was created over it and is mounted. Mappings of the volume itself are
    /// allowed.
    pub fn prepare(storage: Arc<dyn Storage>, locking: Locking) -> Result<Self> {
        let found = Self::look(storage, locking)?;
        let storage = match found.changes.is_empty() {
            true => Arc::clone(&found.storage),
            false => {
                let header = found.plan.header();
                Arc::clone(&*Exclusive::claim_header(Arc::clone(&found.storage), header.uuid())?)
            }
        };
        Ok(Self { storage, is_claimed: true, ..found })
    }

    /// As [`Repair::prepare`], and claims nothing: this repair cannot be run.
    pub fn look(storage: Arc<dyn Storage>, locking: Locking) -> Result<Self> {
        let lock = HeaderLock::acquire(&*storage, LockMode::Shared, locking)?;
        let (plan, unreadable) = Plan::find(&*storage)?;
        let header = plan.header();
        let keyslots = KeyslotArea::all(&*storage, &header);
        let mut warnings: Vec<String> = unreadable.iter().map(words::unreadable).collect();
        let written = plan.written();
        if !written.is_empty() {
            warnings.extend(words::signatures(&*storage, &written));
        }
        warnings.extend(plan.differing_uuids());
        drop(lock);
        let is_proven = AtomicBool::new(!matches!(&plan, Plan::Luks1(found) if found.needs_passphrase));
        let (found, lost, changes) = (plan.found(), plan.lost(), plan.changes(&header));
        let is_claimed = false;
        Ok(Self { storage, locking, plan, is_claimed, is_proven, found, lost, changes, warnings, keyslots })
    }

    /// Every place with a header or with something of one.
    pub fn found(&self) -> &[Found] {
        &self.found
    }

    /// What cannot be brought back, one sentence each.
    pub fn lost(&self) -> &[String] {
        &self.lost
    }

    /// What would be changed, one line each; empty when the header is sound.
    pub fn changes(&self) -> &[String] {
        &self.changes
    }

    /// What else should be known before it is written: other formats' signatures, bytes that cannot be
    /// read, one sentence each.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// The key material of every keyslot in use, and what in it is damaged.
    pub fn keyslots(&self) -> &[KeyslotArea] {
        &self.keyslots
    }

    /// Whether only a passphrase can prove that this is what the header was: [`Repair::prove`].
    pub fn needs_passphrase(&self) -> bool {
        !self.is_proven.load(Ordering::Relaxed)
    }

    /// Proves what the header was: a keyslot of it opens with `passphrase`.
    ///
    /// # Errors
    /// [`WrongPassphrase`](crate::Error::WrongPassphrase); the limits of `how`.
    pub fn prove(&self, passphrase: &Secret, how: &UnlockOptions) -> Result<()> {
        if let Plan::Luks1(found) = &self.plan {
            found.check(&*self.storage, passphrase, how)?;
        }
        self.is_proven.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Writes the repaired header. Refused where it is another by now, or not proven.
    pub fn run(self) -> Result<()> {
        if !self.is_claimed {
            return Err(Refusal::ReadOnly.because("the header was opened for reading"));
        }
        if self.needs_passphrase() {
            return Err(Refusal::Unproven.because("no passphrase has confirmed the header"));
        }
        let lock = HeaderLock::acquire(&*self.storage, LockMode::Exclusive, self.locking)?;
        if Plan::find(&*self.storage)?.0 != self.plan {
            return Err(shared::edited_meanwhile());
        }
        self.plan.write(&*self.storage)?;
        drop(lock);
        Ok(())
    }
}

impl Plan {
    /// What is there, and which bytes cannot be read.
    fn find(storage: &dyn Storage) -> Result<(Self, Vec<Range<u64>>)> {
        let of_luks1 = match is_luks1(storage).unwrap_or(false) {
            true => Some(Luks1::find(storage)),
            false => None,
        };
        if let Some(Ok(found)) = of_luks1 {
            return Ok((Self::Luks1(found), Vec::new()));
        }
        let len = storage.len().min(SEARCHED as u64) as usize;
        let (start, unreadable) = read_readable(storage, 0, len).map_err(shared::start_unreadable)?;
        let lost = match Recovery::search(&start) {
            Ok(found) => {
                check_fits(&found.winner, storage)?;
                return Ok((Self::Luks2(found.into()), unreadable));
            }
            Err(lost) => lost,
        };
        match (of_luks1, Luks1::without_magic(storage)) {
            (Some(Err(error)), _) => Err(error),
            (_, Some(found)) if !matches!(lost, Lost::OverLuks1(_) | Lost::Ambiguous(_)) => {
                Ok((Self::Luks1(found), Vec::new()))
            }
            _ => Err(words::refusal(lost)),
        }
    }

    fn header(&self) -> Header {
        match self {
            Self::Luks1(found) => Header::Luks1((*found.new).clone()),
            Self::Luks2(found) => found.winner.clone().into(),
        }
    }

    fn found(&self) -> Vec<Found> {
        match self {
            Self::Luks1(found) => vec![Found::of_luks1(found)],
            Self::Luks2(found) => found.places.iter().map(Found::at).collect(),
        }
    }

    fn lost(&self) -> Vec<String> {
        match self {
            Self::Luks1(_) => Vec::new(),
            Self::Luks2(found) => words::lost(found),
        }
    }

    fn changes(&self, header: &Header) -> Vec<String> {
        let mut changes = match self {
            Self::Luks1(found) => words::luks1_changes(found),
            Self::Luks2(found) => words::changes(found),
        };
        // The copy that loses may be the genuine one.
        if let (Some(change), Err(broken)) = (changes.first_mut(), Seal::check(header, None)) {
            change.push_str(&format!(" WARNING: in the copy that stays, {broken}; it may be forged."));
        }
        changes
    }

    /// Where it writes.
    fn written(&self) -> Vec<Range<u64>> {
        match self {
            Self::Luks1(found) if found.is_sound() => Vec::new(),
            Self::Luks1(_) => std::iter::once(0..Sectors::SIZE).collect(),
            Self::Luks2(found) => {
                let size = found.winner.binary.size.bytes().0;
                let start = |copy| if copy == Copy::Primary { 0 } else { size };
                let range = |write: &Write| match write {
                    Write::Restored { copy, .. } | Write::Rewritten(copy) => {
                        start(*copy)..start(*copy) + size
                    }
                };
                found.writes.iter().map(range).collect()
            }
        }
    }

    fn differing_uuids(&self) -> Option<String> {
        let Self::Luks2(found) = self else { return None };
        let mut proofs = found.places.iter().filter_map(|place| place.proof.as_ref().ok());
        let other = proofs.find(|proof| proof.header.binary.uuid != found.winner.binary.uuid)?;
        Some(words::differing_uuids(&found.winner, &other.header.binary.uuid))
    }

    fn write(&self, storage: &dyn Storage) -> Result<()> {
        let found = match self {
            Self::Luks1(found) => return found.write(storage),
            Self::Luks2(found) => found,
        };
        for write in &found.writes {
            match write {
                Write::Restored { offset, bytes, .. } => restore(storage, bytes, *offset)?,
                Write::Rewritten(copy) => {
                    let binary = found.winner.binary.as_copy(*copy, random_bytes(&mut OsRandom)?);
                    write_copy(storage, &binary, &found.winner.metadata)?;
                }
            }
        }
        Ok(())
    }
}

/// Writes what differs of a copy, so that a cut leaves as much of it as there was, and reads it back.
fn restore(storage: &dyn Storage, bytes: &[u8], offset: u64) -> Result<()> {
    let io = |doing: &str, source| shared::luks2_header(doing, offset, source);
    write_differing(storage, bytes, offset, Sectors::SIZE).map_err(|source| io("writing", source))?;
    storage.flush().map_err(|source| io("flushing", source))?;
    let mut back = vec![0; bytes.len()];
    storage.read_at(&mut back, offset).map_err(|source| io("reading back", source))?;
    match back == bytes {
        true => Ok(()),
        false => Err(io("reading back", shared::other_than_written())),
    }
}
