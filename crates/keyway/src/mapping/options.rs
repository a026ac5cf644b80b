//! How the kernel is to map a volume, and what is told while it does.

use super::{KeyLinks, MappingFlag};
use crate::{Error, Result, Unlock};
use keyway_attach::dm::crypt::Options;
use keyway_volume::Luks;

/// How the kernel is to map a volume (feature `dm`), for [`Admitted::map_with`](crate::Admitted::map_with). The
/// defaults are cryptsetup's.
///
/// ```
/// use keyway::{MapOptions, MappingFlag};
/// let how = MapOptions::new().read_only().flag(MappingFlag::HighPriority);
/// // The flags of the header make no difference, and the key is in the table.
/// let how = how.without_stored_flags().without_keyring();
/// # let _ = how.shared();
/// ```
#[derive(Debug, Clone, Default)]
pub struct MapOptions {
    pub(super) read_only: bool,
    pub(super) shared: bool,
    pub(super) without_keyring: bool,
    pub(super) links: Option<KeyLinks>,
    given: Options,
    without_stored: bool,
}

impl MapOptions {
    /// The defaults. See [`MapOptions`] for an example.
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes a mapping that refuses writes. See [`MapOptions`] for an example.
    #[must_use]
    pub fn read_only(mut self) -> Self {
        self.read_only = true;
        self
    }

    /// Maps the volume although others use it. Two writers destroy a volume: the caller must prevent
    /// that. See [`MapOptions`] for an example.
    #[must_use]
    pub fn shared(mut self) -> Self {
        self.shared = true;
        self
    }

    /// Sets a flag, besides those that the volume's header stores. See [`MapOptions`] for an example.
    #[must_use]
    pub fn flag(mut self, flag: MappingFlag) -> Self {
        flag.set(&mut self.given);
        self
    }

    /// Leaves out the flags that the volume's header stores. See [`MapOptions`] for an example.
    #[must_use]
    pub fn without_stored_flags(mut self) -> Self {
        self.without_stored = true;
        self
    }

    /// Puts the key of a LUKS2 volume into the table too, where root can read it, and not into the
    /// kernel's keyring. See [`MapOptions`] for an example.
    #[must_use]
    pub fn without_keyring(mut self) -> Self {
        self.without_keyring = true;
        self
    }

    /// Leaves the volume key in a keyring of the user's choice, too. See [`KeyLinks`] for an example.
    #[must_use]
    pub fn links(mut self, links: KeyLinks) -> Self {
        self.links = Some(links);
        self
    }

    /// The same for a volume that was admitted on these terms.
    pub(super) fn on(mut self, terms: &Unlock, is_read_only: bool) -> Self {
        self.read_only |= is_read_only;
        self.shared |= terms.is_shared();
        self.given.allow_discards |= terms.passes_discards();
        self
    }

    /// The flags for a volume with this header, as dm-crypt's options.
    pub(super) fn flags(&self, header: Option<&Luks>) -> Options {
        let mut options = self.given.clone();
        if let Some(header) = header.filter(|_| !self.without_stored) {
            options.set_stored(header);
        }
        options
    }
}

/// What is told of a volume while the kernel is to map it, or resizes it (feature `dm`). An error ends it: nothing
/// is mapped or resized.
pub trait WatchMapping {
    /// A flag is left out: the kernel's dm-crypt does not know it.
    ///
    /// # Errors
    /// The caller's own.
    fn unknown_flag(&mut self, _flag: MappingFlag) -> Result<()> {
        Ok(())
    }

    /// The loop device below a mapping that is to be resized keeps its length.
    ///
    /// # Errors
    /// The caller's own.
    fn loop_device_stays(&mut self, _why: &Error) -> Result<()> {
        Ok(())
    }

    /// The kernel makes the mapping next. A process that ends in the middle may leave a part of it.
    ///
    /// # Errors
    /// The caller's own.
    fn ready(&mut self) -> Result<()> {
        Ok(())
    }
}
