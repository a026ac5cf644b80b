//! Other protectors for a volume, of Windows' or of ours. Data, volume key and master key stay what they are, and so does
//! every byte of the metadata that is not about a protector.
//!
//! ```text
//! copies that are not used ─► the copy that is used       each: its signature away ─► all but that ─► its signature
//! ```
//!
//! Each is on stable storage before the next: two of the three, or the only one that is left, are whole at any time, and
//! the volume opens by the old protectors or the new ones. The one that is used changes last, so that no copy says
//! something newer than what opens the volume.
//!
//! Where that was cut off, the copies differ, and what was removed may be left in one. The next key that opens the volume
//! writes the used copy over the others, and no more: a protector's number may be another one's by then.

use super::new_key::{NewKey, Stretched};
use super::time::fresh_nonces;
use super::{CopyState, Header, layout, state, unlock};
use crate::kind::Key;
use crate::kind::written::{check_flushes, put, put_and_read};
use crate::{Random, Refusal, Result, Storage, UnlockOptions};
use keyway_crypto::{Cpu, Secret};
use keyway_format::bitlk::{Draft, METADATA_LEN, Protection};
use std::sync::Arc;

/// A volume that was opened to change its protectors.
pub struct Opened {
    storage: Arc<dyn Storage>,
    header: Header,
    master_key: Secret,
    protector: usize,
}

impl Opened {
    /// Opens the volume on `storage`, which the caller has claimed for a change.
    ///
    /// # Errors
    /// [`WrongPassphrase`](crate::Error::WrongPassphrase); [`Refused`](crate::Error::Refused): it is a volume whose protectors
    /// are not changed here, a volume key was given, which does not vouch for its metadata, or the copies of the
    /// metadata differed: they are the same now, and the protectors are to be looked at before anything is changed.
    pub fn open(storage: Arc<dyn Storage>, key: Key<'_>, options: &UnlockOptions) -> Result<Self> {
        let header = Self::check(&*storage)?;
        let unlocked = unlock::unlock(&header, key, options)?;
        let (Some(protector), Some(master_key)) = (unlocked.protector, unlocked.master_key) else {
            return refuse(
                "a volume key does not open the metadata: use a passphrase, recovery password or start-up key",
            );
        };
        match header.is_whole() {
            true => Ok(Self { storage, header, master_key, protector }),
            false => make_same(&*storage, &header).and_then(|()| refuse(MADE_SAME)),
        }
    }

    /// Whether the protectors of the volume on `storage` can be changed, before a key is asked for.
    ///
    /// # Errors
    /// [`Refused`](crate::Error::Refused).
    pub fn check(storage: &dyn Storage) -> Result<Header> {
        let header = Header::read(storage)?;
        let extent = state::encrypted(&header)?;
        state::check_writable(&header, extent)?;
        layout::layout(&header, extent, storage.len())?;
        check_flushes(storage)?;
        match header.metadata.protectors.iter().any(|it| it.protection == Protection::ClearKey) {
            false => Ok(header),
            true => refuse(
                "its protection is suspended: an unprotected key opens it. Let Windows resume it first \
                 (manage-bde -protectors \
                 -enable)",
            ),
        }
    }

    /// The number of the protector that opened it.
    pub fn protector(&self) -> usize {
        self.protector
    }

    /// Adds a protector, and returns its number. With `replaces`, a passphrase takes the place of the one that there is.
    ///
    /// # Errors
    /// [`Refused`](crate::Error::Refused), before anything is written: there is a passphrase already, of which
    /// Windows takes one, or Windows takes no such passphrase; [`Io`](crate::Error::Io).
    pub fn add(
        self,
        key: NewKey<'_>,
        replaces: bool,
        (rng, options): (&mut dyn Random, &UnlockOptions),
    ) -> Result<usize> {
        let old = match key.protection() {
            Protection::Passphrase => self.passphrases(),
            _ => Vec::new(),
        };
        if let (Some(number), false) = (old.first(), replaces) {
            return refuse(format!(
                "a passphrase opens it already (protector {number}), and Windows takes only one"
            ));
        }
        let new: Stretched = key.stretched(rng, options)?;
        let mut draft = Draft::of(&self.header.metadata);
        let mut nonces = fresh_nonces(draft.next_nonce(), rng)?;
        for number in old.iter().rev() {
            draft.remove(*number)?;
        }
        draft.add(&new.entry(&self.master_key, &mut nonces)?)?;
        self.write(&draft.sealed(&self.master_key, &mut nonces, Cpu::detect())?)?;
        Ok(self.header.metadata.protectors.len() - old.len())
    }

    /// Removes a protector by its number.
    ///
    /// # Errors
    /// [`Refused`](crate::Error::Refused), before anything is written: there is none of that number, it is one that only Windows
    /// changes, or no other one could be opened without a TPM or smart card; [`Io`](crate::Error::Io).
    pub fn remove(self, number: usize, rng: &mut dyn Random) -> Result<()> {
        let protectors = &self.header.metadata.protectors;
        let Some(removed) = protectors.get(number) else {
            return Err(Refusal::KeyslotInactive.because(format!("there is no protector {number}")));
        };
        if !opens_anywhere(removed.protection) {
            return refuse(format!(
                "only Windows can remove protector {number} ({})",
                removed.protection.name()
            ));
        }
        let mut others = protectors.iter().enumerate().filter(|(other, _)| *other != number);
        if !others.any(|(_, other)| opens_anywhere(other.protection)) {
            return refuse(format!(
                "protector {number} ({}) is the last that opens the volume: add another one first",
                removed.protection.name()
            ));
        }
        let mut draft = Draft::of(&self.header.metadata);
        let mut nonces = fresh_nonces(draft.next_nonce(), rng)?;
        draft.remove(number)?;
        self.write(&draft.sealed(&self.master_key, &mut nonces, Cpu::detect())?)
    }

    fn passphrases(&self) -> Vec<usize> {
        let all = self.header.metadata.protectors.iter().enumerate();
        all.filter(|(_, it)| it.protection == Protection::Passphrase).map(|(number, _)| number).collect()
    }

    /// Writes all copies, with nothing of the old ones behind them.
    fn write(&self, bytes: &[u8]) -> Result<()> {
        let is_used = |state: &CopyState| matches!(state, CopyState::Used);
        let (last, first): (Vec<_>, Vec<_>) =
            self.header.copies.iter().partition(|(_, state)| is_used(state));
        first.into_iter().chain(last).try_for_each(|(at, _)| write_copy(&*self.storage, bytes, at.0))
    }
}

/// Writes the copy that is used, for whose every byte a key vouched, over those that say something else.
fn make_same(storage: &dyn Storage, header: &Header) -> Result<()> {
    let mut bytes = header.metadata.to_bytes();
    bytes.resize(METADATA_LEN, 0);
    header.odd_copies().try_for_each(|(_, at, _)| write_copy(storage, &bytes, at.0))
}

/// Writes a copy that is none until all of it is there. Its checksum is not of its digest: half a digest behind a right
/// checksum would be a copy that is read, and that opens nothing.
fn write_copy(storage: &dyn Storage, bytes: &[u8], at: u64) -> Result<()> {
    let mut start = [0; START];
    // What cannot be read is no copy as it is.
    if storage.read_at(&mut start, at).is_err() {
        start.fill(0);
    }
    start[..SIGNATURE_LEN].fill(0);
    put(storage, &start, at)?;
    let mut unsigned = bytes.to_vec();
    unsigned[..SIGNATURE_LEN].fill(0);
    put_and_read(storage, &unsigned, at)?;
    put_and_read(storage, &bytes[..START], at)
}

/// Whether what it asks for can be given on any machine.
fn opens_anywhere(protection: Protection) -> bool {
    matches!(protection, Protection::Passphrase | Protection::RecoveryPassword | Protection::StartupKey)
}

/// By which a copy begins.
const SIGNATURE_LEN: usize = 8;
/// What is written to sign one: a sector, however long these are.
const START: usize = 4096;

const MADE_SAME: &str = "the copies of its metadata differed (an interrupted change, or damage): the one that \
    opens the volume replaced the others, and nothing else was changed. Protectors may be renumbered: check \
    with \"keyway bitlkDump\", then repeat the change if it is still needed";

fn refuse<T>(why: impl Into<String>) -> Result<T> {
    Err(Refusal::Unusable.because(why))
}
