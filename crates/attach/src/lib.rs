//! The front ends out of the process: the ways in which other programs use an opened volume.
//!
//! A front end serves an [`Export`], which is any [`Storage`] under a name; an unlocked
//! [`Volume`](keyway_volume::Volume) is one. While a front end is open its process holds the key; only
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

/// What a front end serves.
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

/// An open front end.
pub trait FrontEnd: Send + Sync {
    /// Where users find the front end: a socket's URI, a file, a device node.
    fn place(&self) -> String;

    /// How many clients use the front end now: connections, open files. Zero where this is unknown.
    fn clients(&self) -> usize {
        0
    }

    /// Checks whether the storage may change its length while the front end is open.
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

    /// Returns when the front end is closed, by [`FrontEnd::stop`] or from outside (`umount`).
    ///
    /// # Errors
    /// If the front end can no longer be served.
    fn wait(&self) -> Result<()>;

    /// Checks whether [`FrontEnd::stop`] would find the front end in use in a way that cannot be ended, as
    /// far as possible without disturbing its users.
    ///
    /// # Errors
    /// [`Error::Busy`].
    fn check_stoppable(&self) -> Result<()> {
        Ok(())
    }

    /// Closes the front end: pending requests are answered, and everything acknowledged is flushed.
    /// [`FrontEnd::wait`] in another thread then returns.
    ///
    /// # Errors
    /// [`Error::Busy`] when the front end is in use in a way that cannot be ended; it then stays open.
    fn stop(&self) -> Result<()>;
}
