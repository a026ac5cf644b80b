//! Network block devices: volumes served to NBD clients, and volumes stored behind NBD servers.

pub mod client;
pub mod protocol;
pub mod server;
pub mod uri;

pub use uri::Uri;
