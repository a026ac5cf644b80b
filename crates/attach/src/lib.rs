//! The doors out of the process: the ways in which other programs use an opened volume.
//!
//! A door serves an [`Export`], which is any [`Storage`] under a name; an unlocked
//! [`Volume`](keyway_volume::Volume) is one. While a door is open its process holds the key; only
//! the kernel's own dm-crypt needs no process.
#![deny(unsafe_code)]

pub mod dm;
mod error;
#[cfg(feature = "fuse")]
pub mod fuse;
pub mod initramfs;
pub mod local;
pub mod nbd;
#[cfg(feature = "session")]
pub mod session;
mod socket;
#[cfg(feature = "tls")]
pub mod tls;
#[cfg(not(feature = "tls"))]
#[path = "without_tls.rs"]
pub mod tls;
#[cfg(feature = "ublk")]
pub mod ublk;
mod watched;

pub use error::{Error, Refusal, Result};
pub use watched::Watched;

use keyway_volume::{Rights, Storage};
use std::sync::Arc;

/// What a door serves.
#[derive(Clone)]
pub struct Export {
    /// The export's name among others; empty for the only one.
    pub name: String,
    /// The description shown to people.
    pub description: String,
    /// The export's bytes.
    pub storage: Arc<dyn Storage>,
    /// What clients may do with them.
    pub rights: Rights,
}

/// An open door.
pub trait Door: Send + Sync {
    /// Where users find the door: a socket's URI, a file, a device node.
    fn place(&self) -> String;

    /// How many clients use the door now: connections, open files. Zero where this is unknown.
    fn clients(&self) -> usize {
        0
    }

    /// Checks whether the storage may change its length while the door is open.
    ///
    /// # Errors
    /// [`Refusal::FixedSize`] where users would not notice the change.
    fn check_resizable(&self) -> Result<()> {
        Ok(())
    }

    /// Starts or stops passing on clients' discards.
    ///
    /// # Errors
    /// [`Refusal::FixedDiscards`] where users learn of discards only once, at the start.
    fn pass_discards(&self, pass: bool) -> Result<()> {
        let _ = pass;
        Ok(())
    }

    /// Notifies users that the length of the storage has changed, or that it has become read-only.
    fn refresh(&self) {}

    /// Returns when the door is closed, by [`Door::stop`] or from outside (`umount`).
    ///
    /// # Errors
    /// If the door can no longer be served.
    fn wait(&self) -> Result<()>;

    /// Checks whether [`Door::stop`] would find the door in use in a way that cannot be ended, as
    /// far as possible without disturbing its users.
    ///
    /// # Errors
    /// [`Error::Busy`].
    fn check_stoppable(&self) -> Result<()> {
        Ok(())
    }

    /// Closes the door: pending requests are answered, and everything acknowledged is flushed.
    /// [`Door::wait`] in another thread then returns.
    ///
    /// # Errors
    /// [`Error::Busy`] when the door is in use in a way that cannot be ended; it then stays open.
    fn stop(&self) -> Result<()>;
}
