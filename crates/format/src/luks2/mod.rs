//! LUKS2 (on-disk format 1.1.x): two binary headers, each with a JSON
//! area, then the keyslots area, then the data.
//!
//! | offset          | length        | what                                             |
//! |-----------------|---------------|--------------------------------------------------|
//! | 0               | 4096          | primary binary header                            |
//! | 4096            | size − 4096   | primary JSON area, zero-padded                   |
//! | size            | 4096          | secondary binary header                          |
//! | size + 4096     | size − 4096   | secondary JSON area                              |
//! | 2 × size        | keyslots_size | keyslot areas, each on a multiple of 4096 bytes  |
//! | segments.0.offset | …           | data, unless it is on another device             |

pub mod area;
pub mod config;
pub mod digest;
mod edit;
mod field;
pub mod header;
pub mod keyslot;
pub mod metadata;
pub mod proof;
pub mod recovery;
pub mod reencryption;
pub mod segment;
pub mod select;
pub mod token;

pub use area::{AREA_ALIGNMENT, Area};
pub use config::{Config, MAX_KEYSLOTS_SIZE, PERSISTENT_FLAGS};
pub use digest::{Digest, DigestId, DigestKind};
pub use edit::NewMetadata;
pub use header::{BinaryHeader, Copy, HeaderSize};
pub use keyslot::{Kdf, Keyslot, KeyslotKind, Priority};
pub use metadata::Metadata;
pub use proof::{Part, Proof};
pub use recovery::{Place, Recovery, Write};
pub use reencryption::Reencryption;
pub use segment::{Integrity, Segment, SegmentKind, SegmentSize};
pub use select::{HeaderCopy, Selection, secondary_candidates, select};
pub use token::Token;

/// Keyslot, token and segment numbers are below this.
pub const MAX_OBJECTS: u32 = 32;
/// cryptsetup ignores digests with this number or higher.
pub(crate) const MAX_DIGESTS: u32 = 8;
/// Length in bytes of every salt that cryptsetup writes and reads in JSON.
pub const SALT_LEN: usize = 32;
