//! Changes to a mapping that is in use, in several steps: another table, a while without its key. Of
//! one that fails nothing stays but its error.

use super::crypt::{Key, message};
use super::{Flags, Mapper, Suspend, Target};
use crate::{Error, Result};

/// The step of a change at which it failed; the mapping is as it was.
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
    /// The new table is handed to the kernel.
    Reload,
    /// Requests are held back.
    Suspend,
    /// The new table comes into use.
    Resume,
}

impl Step {
    fn failed(self, source: Error) -> Unchanged {
        Unchanged { step: self, source }
    }
}

impl Mapper {
    /// Puts another table in the place of the one in use.
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

    /// Holds all requests back and has dm-crypt forget its key.
    ///
    /// # Errors
    /// As [`Mapper::suspend`] and [`Mapper::message`]; requests go through as before.
    pub fn suspend_without_key(&self, name: &str) -> Result<()> {
        self.suspend(name, Suspend::default())?;
        self.message(name, &message::wipe_key()).inspect_err(|_| {
            // With its key it need not stand still.
            let _ = self.resume(name, Flags::default());
        })
    }

    /// Gives dm-crypt its key again and lets requests through.
    ///
    /// # Errors
    /// As [`Mapper::message`] and [`Mapper::resume`]; it has no key then and stays suspended.
    pub fn resume_with_key(&self, name: &str, key: &Key) -> Result<()> {
        self.message(name, &message::set_key(key))?;
        self.resume(name, Flags::default()).inspect_err(|_| {
            let _ = self.message(name, &message::wipe_key());
        })
    }
}
