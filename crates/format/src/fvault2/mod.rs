//! FileVault 2 volumes of macOS (Core Storage, 10.7 and later): what their headers and metadata say. All numbers are
//! little endian, UUIDs in the order in which they are printed.
//!
//! Sources: libyal, "FileVault Drive Encryption (FVDE)"; cryptsetup's lib/fvault2 for what that leaves open (where the
//! number of PBKDF2's iterations is), and a volume of macOS for what both do (which block belongs to which volume).
//!
//! ```text
//! header     the first 512 bytes: where the labels are, and the key of the metadata
//! block      labels and metadata are blocks of 8192 bytes with a checksum
//! label      a label says where the encrypted metadata are
//! volume     what blocks say of a logical volume: where it is, who opens it, its wrapped key
//! keys       from a passphrase to the volume key
//! plist      the property lists that are in blocks
//! uuid       identifiers
//! ```
//!
//! From a passphrase to the data: PBKDF2 with SHA-256 → unwraps a key-encrypting key (RFC 3394) → unwraps the volume
//! key → whose digest, with the family's UUID, is the second key of AES-XTS.

mod block;
mod header;
mod keys;
mod label;
mod plist;
mod uuid;
mod volume;

pub use block::Block;
pub use header::VolumeHeader;
pub use keys::{User, WrappedVolumeKey, volume_key};
pub use label::MetadataPlaces;
pub use plist::Value;
pub use uuid::Uuid;
pub use volume::{Extent, LogicalVolume, Newest};
