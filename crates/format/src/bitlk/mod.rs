//! BitLocker volumes, of Windows Vista to 11 and BitLocker To Go: what their headers say. All numbers are little
//! endian.
//!
//! Sources: libyal, "BitLocker Drive Encryption (BDE) format"; cryptsetup (lib/bitlk), dislocker and dissect.fve for
//! what that leaves open. Each file names what differs between them.
//!
//! ```text
//! boot_sector    the first 512 bytes: where the three copies of the metadata are
//! metadata       a copy: state, cipher, protectors, the wrapped volume key; its checksum and digest
//! entry          metadata are a list of entries, some of which hold lists themselves
//! protector      a way to the volume master key: passphrase, recovery password, start-up key …
//! key            keys, wrapped in AES-CCM or bare
//! encryption     the number of a method ↔ cipher, key
//! startup_key    a .BEK file
//! recovery       a recovery password's eight groups
//! passphrase     what is stretched
//! guid           identifiers as Windows writes them
//! draft          metadata in the making: new ones, or with other protectors
//! new_protector  a protector in the making
//! nonces         what keys are wrapped under, each once
//! ```
//!
//! From a secret to the data: passphrase or recovery password → 2^20 rounds of SHA-256 → unwraps the volume master key
//! of its protector → unwraps the volume key, and the digest that vouches for the metadata.

mod boot_sector;
mod draft;
mod encryption;
mod entry;
mod guid;
mod key;
mod metadata;
mod new_protector;
mod nonces;
mod passphrase;
mod protector;
mod recovery;
mod startup_key;

use crate::le::{field, le16, le32, le64};
pub use boot_sector::{BootSector, Scheme, Version};
pub use draft::{Draft, NewMetadata};
pub use encryption::{Chaining, Encryption};
pub use entry::{Entries, Entry};
pub use guid::Guid;
pub use key::{Key, Wrapped};
pub use metadata::{BootSectors, Conversion, METADATA_LEN, Metadata, State};
pub use new_protector::NewProtector;
pub use nonces::Nonces;
pub use passphrase::passphrase_digest;
pub use protector::{Protection, Protector};
pub use recovery::{RecoveryPassword, recovery_digest, recovery_text};
pub use startup_key::StartupKey;

/// UTF-16 up to the first NUL, or to the end; surrogates without their other half are left out, as by cryptsetup.
fn utf16(bytes: &[u8]) -> alloc::string::String {
    let units = bytes.as_chunks().0.iter().map(|unit| u16::from_le_bytes(*unit));
    char::decode_utf16(units.take_while(|unit| *unit != 0)).flatten().collect()
}
