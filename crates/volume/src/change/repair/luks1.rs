//! Repair of LUKS1 headers, which have no checksum: unused keyslots with impossible areas, as in
//! cryptsetup, and a magic that was overwritten, which a passphrase confirms: it opens the digest of
//! the volume key only if all that the key depends on is what it was.

use crate::device::storage::Memory;
use crate::header::luks1_disk;
use crate::unlock;
use crate::{Access, Error, Locking, Luks, Result, Storage, UnlockOptions};
use keyway_crypto::Secret;
use keyway_format::luks1::{HEADER_LEN, Header, MAGIC, Repair};
use std::sync::Arc;

/// A LUKS1 header, and what it becomes.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Luks1 {
    old: Vec<u8>,
    pub(super) new: Box<Header>,
    pub(super) repairs: Vec<Repair>,
    /// Whether its magic is lost: what it was is not known before a passphrase opens it.
    pub(super) needs_passphrase: bool,
}

impl Luks1 {
    /// The header at the start of `storage`.
    pub(super) fn find(storage: &dyn Storage) -> Result<Self> {
        let old = luks1_disk::read_bytes(storage)?;
        Ok(Self::judge(old.clone(), &old, false)?)
    }

    /// A header that has lost its magic; `None` where there is none.
    pub(super) fn without_magic(storage: &dyn Storage) -> Option<Self> {
        let old = luks1_disk::read_bytes(storage).ok()?;
        let mut whole = old.clone();
        whole[..LOST].copy_from_slice(&[&MAGIC[..], &[0, 1]].concat());
        let found = Self::judge(old, &whole, true).ok()?;
        (luks1_disk::areas_end(&found.new) <= storage.len()).then_some(found)
    }

    fn judge(old: Vec<u8>, whole: &[u8], needs_passphrase: bool) -> Result<Self, keyway_format::Error> {
        let (new, repairs) = match Header::repair(whole) {
            Ok(found) => found,
            // A sound header of an unusual kind needs no repair.
            Err(error) => (Header::parse(whole).map_err(|_| error)?, Vec::new()),
        };
        Ok(Self { old, new: new.into(), repairs, needs_passphrase })
    }

    /// Whether `passphrase` opens a keyslot of what the header would be.
    pub(super) fn check(
        &self,
        storage: &dyn Storage,
        passphrase: &Secret,
        how: &UnlockOptions,
    ) -> Result<()> {
        let mut copy = vec![0; luks1_disk::areas_end(&self.new) as usize];
        storage
            .read_at(&mut copy, 0)
            .map_err(|source| Error::Io { what: "reading header and keyslots".into(), source })?;
        copy[..HEADER_LEN].copy_from_slice(&self.new.to_bytes());
        let luks = Luks::open_with(Arc::new(Memory::from(copy)), Access::Probe, Locking::Disabled)?;
        unlock(&luks, passphrase, how).map(drop)
    }

    pub(super) fn is_sound(&self) -> bool {
        self.repairs.is_empty() && !self.needs_passphrase
    }

    pub(super) fn write(&self, storage: &dyn Storage) -> Result<()> {
        luks1_disk::write_changes(storage, &self.old, &self.new.to_bytes())
    }
}

/// Magic and version.
const LOST: usize = MAGIC.len() + 2;
