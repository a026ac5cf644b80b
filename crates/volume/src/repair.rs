//! Repair of damage that has only one right answer, as `cryptsetup repair` does it.

use crate::lock::{HeaderLock, LockMode};
use crate::luks::is_luks1;
use crate::luks2_disk::Copies;
use crate::seal::Seal;
use crate::storage::Exclusive;
use crate::{Error, Locking, OsRandom, Result, Storage, luks1_disk};
use keyway_format::luks1::{self, Repair as Luks1Repair};
use keyway_format::luks2::Copy;
use std::sync::Arc;

/// Damage that was found; nothing is written yet.
pub struct Repair {
    storage: Arc<dyn Storage>,
    locking: Locking,
    changes: Vec<String>,
}

impl Repair {
    /// Looks for damage. Returns a [`keyway_format::Error`] when the damage has no single right
    /// repair. If there is something to repair, the storage is claimed: a header is not restored
    /// into a file system that was created over it and is mounted. Mappings of the volume itself
    /// are allowed.
    pub fn prepare(storage: Arc<dyn Storage>, locking: Locking) -> Result<Self> {
        let lock = HeaderLock::acquire(&*storage, LockMode::Shared, locking)?;
        let (changes, uuid): (Vec<String>, _) = match Damage::find(&*storage)? {
            Damage::Luks1 { changes, new, .. } => (changes, new.uuid.clone()),
            Damage::Luks2(copies) => {
                let mut changes: Vec<String> = copies.damaged.map(describe_copy).into_iter().collect();
                let uuid = copies.winner.binary.uuid.clone();
                // The copy that loses may be the genuine one.
                if let (Some(change), Err(broken)) =
                    (changes.first_mut(), Seal::check(&copies.winner.into(), None))
                {
                    change
                        .push_str(&format!(" WARNING: in the copy that stays, {broken}; it may be forged."));
                }
                (changes, uuid)
            }
        };
        drop(lock);
        let storage = match changes.is_empty() {
            true => storage,
            false => Arc::clone(&*Exclusive::claim_header(storage, &uuid)?),
        };
        Ok(Self { storage, locking, changes })
    }

    /// What would be changed, one line each; empty when the header is sound.
    pub fn changes(&self) -> &[String] {
        &self.changes
    }

    /// Writes the repaired header.
    pub fn run(self) -> Result<()> {
        let lock = HeaderLock::acquire(&*self.storage, LockMode::Exclusive, self.locking)?;
        match Damage::find(&*self.storage)? {
            Damage::Luks1 { old, new, .. } => {
                luks1_disk::write_changes(&*self.storage, &old, &new.to_bytes())?
            }
            Damage::Luks2(mut copies) => copies.recover(&*self.storage, &mut OsRandom)?,
        }
        drop(lock);
        Ok(())
    }
}

/// The kind of damage, and the repaired header.
enum Damage {
    Luks1 { old: Vec<u8>, new: Box<luks1::Header>, changes: Vec<String> },
    Luks2(Box<Copies>),
}

impl Damage {
    fn find(storage: &dyn Storage) -> Result<Self> {
        if !is_luks1(storage)? {
            // A foreign signature does not prevent a repair that was explicitly requested.
            return Ok(Self::Luks2(Copies::read(storage)?.into()));
        }
        let old = luks1_disk::read_bytes(storage)?;
        match luks1::Header::repair(&old) {
            Ok((new, repairs)) => {
                let changes = repairs.iter().map(describe_repair).collect();
                Ok(Self::Luks1 { old, new: new.into(), changes })
            }
            // A sound header of an unusual kind needs no repair.
            Err(error) => match luks1::Header::parse(&old) {
                Ok(new) => Ok(Self::Luks1 { old, new: new.into(), changes: Vec::new() }),
                Err(_) => Err(Error::Format(error)),
            },
        }
    }
}

fn describe_copy(copy: Copy) -> String {
    match copy {
        Copy::Primary => {
            "Primary LUKS2 header is damaged or out of date: rewritten from the secondary.".into()
        }
        Copy::Secondary => {
            "Secondary LUKS2 header is damaged or out of date: rewritten from the primary.".into()
        }
    }
}

fn describe_repair(repair: &Luks1Repair) -> String {
    match repair {
        Luks1Repair::CipherMode => "Cipher mode repaired (ecb).".into(),
        Luks1Repair::Offset { slot, from, to } => {
            format!("Keyslot {slot}: offset repaired ({} -> {}).", from.0, to.0)
        }
        Luks1Repair::Stripes { slot, from } => format!("Keyslot {slot}: stripes repaired ({from} -> 4000)."),
        Luks1Repair::Wiped { slot } => format!("Keyslot {slot}: salt wiped."),
        _ => "Keyslot repaired.".into(),
    }
}
