//! All that writes a header, in an order that survives a kill at any byte.
//!
//! ```text
//! create       a new header
//! edit         keyslots, tokens, flags, label, UUID
//! seal         the seal made and removed
//! convert      LUKS1 ↔ LUKS2
//! backup       the header to a file and back
//! repair       what is damaged, from what is not
//! ```

pub mod backup;
pub mod convert;
pub mod create;
pub mod edit;
pub mod repair;
pub mod seal;
