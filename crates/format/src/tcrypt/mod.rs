//! TrueCrypt and VeraCrypt volumes: the 512-byte header, where copies of it lie, and the tables of
//! what it may be encrypted with. ("VeraCrypt User's Guide", VeraCrypt Volume Format Specification
//! and Header Key Derivation; the fields of versions 1 to 4 as in TrueCrypt's src/Common/Volumes.c.)
//!
//! Nothing on the device says that it is such a volume. Whoever opens one derives a key by each
//! [`Kdf`], decrypts the header by each [`Cipher`], and looks for the magic. What a KDF derives is
//! long enough for every cipher, so each runs once.
//!
//! ```text
//! header     64 bytes of salt, then 448 that are encrypted: bytes ↔ fields and keys
//! position   the places of headers: normal, hidden, backups, on a system disk
//! data_area  which sectors of the device the volume is, and how they are numbered
//! kdf        hashes and iterations of both programs; PIMs
//! cipher     chains of ciphers, and the modes that the eras used them in
//! pool       what key files make of a passphrase
//! new        what VeraCrypt makes, and its limits for that
//! ```

mod cipher;
mod data_area;
mod header;
mod kdf;
mod new;
mod pool;
mod position;
#[cfg(test)]
mod tests;

pub use cipher::{CIPHERS, Cipher};
pub use data_area::DataArea;
pub use header::{Fields, HEADER_LEN, Header, KEYS_LEN, SALT_LEN, SECTOR};
pub use kdf::{ARGON2_PIM, Argon2, DERIVED_LEN, KDFS, Kdf, LARGEST_PIM, Stretch, check_pim};
pub use new::{
    BACKUP_FILE_LEN, NEW_CIPHER, NEW_HASH, RESERVED, cipher_of_new, data_of_new, data_of_new_hidden,
    kdf_of_new, kdf_of_program, len_of_new,
};
pub use pool::{KEY_FILE_LEN, Pool};
pub use position::Position;

use core::fmt;

/// The program that wrote a header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Program {
    TrueCrypt,
    VeraCrypt,
}

impl Program {
    /// The first bytes of its headers, once decrypted.
    pub const fn magic(self) -> &'static [u8; 4] {
        match self {
            Self::TrueCrypt => b"TRUE",
            Self::VeraCrypt => b"VERA",
        }
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TrueCrypt => "TrueCrypt",
            Self::VeraCrypt => "VeraCrypt",
        })
    }
}
