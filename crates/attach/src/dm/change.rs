//! Changes to a mapping in use that take several steps: replacing its table, or removing its key
//! for a while. A change that fails leaves nothing behind but its error.

use super::crypt::{Key, message};
use super::{Flags, Mapper, Suspend, Target};
use crate::{Error, Result};

/// The step at which a change failed; the mapping is as it was before.
#[derive(Debug)]
pub struct Unchanged {
    /// The step.
    pub step: Step,
    /// Why.
    pub source: Error,
}

/// A step of [`Mapper::replace_table`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Loading the new table into the kernel.
    Reload,
    /// Holding requests back.
    Suspend,
    /// Putting the new table into use.
    Resume,
}

impl Step {
    fn failed(self, source: Error) -> Unchanged {
        Unchanged { step: self, source }
    }
}

impl Mapper {
    /// Replaces the table in use with another.
    ///
    /// # Errors
    /// [`Unchanged`]: the old table is in use again.
    pub fn replace_table(
        &self,
        name: &str,
        table: &[Target],
        flags: Flags,
    ) -> std::result::Result<(), Unchanged> {
        self.reload(name, table, flags).map_err(|error| Step::Reload.failed(error))?;
        self.suspend(name, Suspend::default()).map_err(|error| {
            let _ = self.clear(name);
            Step::Suspend.failed(error)
        })?;
        self.resume(name, flags).map_err(|error| {
            let _ = self.clear(name);
            let _ = self.resume(name, flags);
            Step::Resume.failed(error)
        })
    }

    /// Holds all requests back and makes dm-crypt forget its key.
    ///
    /// # Errors
    /// As [`Mapper::suspend`] and [`Mapper::message`]; the mapping is then not left suspended.
    pub fn suspend_without_key(&self, name: &str) -> Result<()> {
        self.suspend(name, Suspend::default())?;
        self.message(name, &message::wipe_key()).inspect_err(|_| {
            // It still has its key, so there is no reason to keep it suspended.
            let _ = self.resume(name, Flags::default());
        })
    }

    /// Gives dm-crypt its key again and lets requests through.
    ///
    /// # Errors
    /// As [`Mapper::message`] and [`Mapper::resume`]; the mapping then has no key and stays
    /// suspended.
    pub fn resume_with_key(&self, name: &str, key: &Key) -> Result<()> {
        self.message(name, &message::set_key(key))?;
        self.resume(name, Flags::default()).inspect_err(|_| {
            let _ = self.message(name, &message::wipe_key());
        })
    }
}
