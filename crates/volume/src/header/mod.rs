//! A header on its storage, read and judged by itself: no key, and no write but of a damaged copy.
//!
//! ```text
//! luks         the header, its lock, the check that every edit passes
//! luks1_disk luks2_disk   its copies on storage: read, recovered, written in an order that survives a kill
//! layout       plaintext → bytes of the data device
//! under_way    a re-encryption in the middle, as far as the header shows it
//! own_token    the tokens that Keyway puts into headers
//! seal         a MAC over the header, keyed from the volume key
//! ```

mod data_device;
pub mod layout;
pub mod luks;
pub(crate) mod luks1_disk;
pub(crate) mod luks2_disk;
pub(crate) mod own_token;
pub mod seal;
pub(crate) mod under_way;

pub use data_device::DataDevice;
pub use under_way::UnderWay;
