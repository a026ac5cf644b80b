//! What one user's processes share on a machine with others: directories that nobody else can
//! change, sockets in them, and who is at the other end.

mod directory;
pub mod peer;
mod socket;

pub use directory::Directory;
