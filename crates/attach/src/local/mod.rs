//! What one user's processes share on a multi-user machine: directories that nobody else can
//! change, sockets in them, and the identity of a socket's peer.

mod directory;
pub mod peer;
mod socket;

pub use directory::Directory;
