//! The one check that every edit of a header passes, and what each kind of edit asks there.
//!
//! | Edit | of | refused where |
//! |---|---|---|
//! | `Change` | config, UUID, tokens, flags, keyslots added, changed or converted, conversion | a requirement is unknown, a re-encryption is under way, the header does not match its seal |
//! | `Seal` | the seal made or removed | the first two |
//! | `Removal` | one keyslot killed | the first two: a forger must not be able to keep a key alive |
//! | `Reencryption` | steps of a re-encryption, whose digest vouches for them | a requirement is unknown |
//! | `Erasure` | all keyslots killed | never: nothing that a header says keeps a key alive |
//!
//! Repairs write again what the valid copy says, and restores bring another header: neither goes
//! through here, and both say what the seal is worth.

use super::{Luks, read_header, recover_locked};
use crate::device::lock::{HeaderLock, LockMode};
use crate::error::Unmet;
use crate::error::shared;
use crate::header::seal::Seal;
use crate::{Access, Error, Result};

/// What an edit does to a header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Edit {
    /// It says something else afterwards.
    Change,
    /// It is sealed, or its seal is removed.
    Seal,
    /// It loses a keyslot.
    Removal,
    /// It loses all keyslots.
    Erasure,
    /// A re-encryption goes on.
    Reencryption,
}

impl Luks {
    /// The same header; if `ignores`, edits are not refused because it does not match its seal.
    #[must_use]
    pub fn ignoring_seal(self, ignores: bool) -> Self {
        Self { ignores_seal: ignores, ..self }
    }

    /// Refuses to change a header that does not match its seal: a header is changed only by somebody
    /// who knows what it says. Without a seal, and where the seal is to be ignored, all is well.
    ///
    /// # Errors
    /// [`Unmet::SealBeforeEdit`], with every difference.
    pub fn check_seal(&self) -> Result<()> {
        if self.ignores_seal {
            return Ok(());
        }
        // Where the header may be a backup, or detached, its data device is not known here.
        Seal::check(&self.header, None).map_err(|broken| Error::Unmet(Unmet::SealBeforeEdit(broken).into()))
    }

    /// Refuses an edit that this header must not have.
    fn check_edit(&self, edit: Edit) -> Result<()> {
        match edit {
            Edit::Change => {
                self.check_requirements()?;
                self.check_seal()
            }
            Edit::Seal | Edit::Removal => self.check_requirements(),
            Edit::Reencryption => self.check_readable(),
            Edit::Erasure => Ok(()),
        }
    }

    /// Takes the exclusive lock for an edit that the check lets pass, makes sure that both copies are
    /// sound, and that the header is still the one for which the edit was prepared.
    pub(crate) fn lock_for(&self, edit: Edit) -> Result<Option<HeaderLock>> {
        if self.access != Access::Write {
            return Err(shared::not_for_editing());
        }
        self.check_edit(edit)?;
        let lock = HeaderLock::acquire(&*self.storage, LockMode::Exclusive, self.locking)?;
        let (header, damaged) = read_header(&*self.storage)?;
        // Where all keys go, no copy need be kept that names them.
        if damaged && edit != Edit::Erasure {
            recover_locked(&*self.storage)?;
        }
        if !self.header.is_same_state(&header) {
            return Err(shared::edited_meanwhile());
        }
        Ok(lock)
    }
}
