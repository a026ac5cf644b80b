//! The doors out of the process: what other programs use an opened volume through.
//!
//! A door shows an [`Export`], which is any [`Storage`] under a name: an unlocked
//! [`Volume`](keyway_volume::Volume) is one. While a door is open its process holds the key;
//! the kernel's own dm-crypt alone needs no process.
#![deny(unsafe_code)]

pub mod dm;
mod error;
#[cfg(feature = "fuse")]
pub mod fuse;
pub mod initramfs;
pub mod local;
pub mod nbd;
mod socket;
#[cfg(feature = "tls")]
pub mod tls;
#[cfg(not(feature = "tls"))]
#[path = "without_tls.rs"]
pub mod tls;
#[cfg(feature = "ublk")]
pub mod ublk;
mod watched;

pub use error::{Error, Result};
pub use watched::Watched;

use keyway_volume::Storage;
use std::sync::Arc;

/// What a door shows.
#[derive(Clone)]
pub struct Export {
    /// Its name among others; empty for the only one.
    pub name: String,
    /// What people are told that it is.
    pub description: String,
    /// Its bytes.
    pub storage: Arc<dyn Storage>,
    /// Whether writes are refused.
    pub read_only: bool,
    /// Whether clients' discards are passed on; otherwise they are
    /// accepted and ignored, as dm-crypt does it.
    pub discards: bool,
}

/// An open door.
pub trait Door: Send + Sync {
    /// Where users find it: a socket's URI, a file, a device node.
    fn place(&self) -> String;

    /// How many use it now: connections, open files. Zero where nobody can tell.
    fn clients(&self) -> usize {
        0
    }

    /// Whether the storage may get another length while the door is open.
    ///
    /// # Errors
    /// [`Error::Refused`] where users would not see it.
    fn check_resizable(&self) -> Result<()> {
        Ok(())
    }

    /// Passes clients' discards on from now on, or no longer.
    ///
    /// # Errors
    /// [`Error::Refused`] where users were told once for all.
    fn pass_discards(&self, pass: bool) -> Result<()> {
        let _ = pass;
        Ok(())
    }

    /// Lets users see that the storage has another length, or has become read-only.
    fn refresh(&self) {}

    /// Returns when the door is closed, by [`Door::stop`] or from outside (`umount`).
    ///
    /// # Errors
    /// It cannot be served any longer.
    fn wait(&self) -> Result<()>;

    /// Whether [`Door::stop`] would find it in use in a way that cannot be ended, as far as
    /// can be told without harm to those who use it.
    ///
    /// # Errors
    /// [`Error::Busy`].
    fn check_stoppable(&self) -> Result<()> {
        Ok(())
    }

    /// Closes the door: requests under way are answered, everything acknowledged is flushed.
    /// Another thread's [`Door::wait`] then returns.
    ///
    /// # Errors
    /// [`Error::Busy`] when it is in use in a way that cannot be ended; it then stays open.
    fn stop(&self) -> Result<()>;
}
