//! A protector: one way to the volume master key (libyal, "FVE Volume Master Key").
//!
//! | offset | length | field                                                                    |
//! |--------|--------|--------------------------------------------------------------------------|
//! | 0      | 16     | GUID                                                                      |
//! | 16     | 8      | time of the last change                                                  |
//! | 26     | 2      | protection                                                               |
//! | 28     |        | entries: a name, a salt, the wrapped master key, a key in the clear …       |

use super::entry::{Entry, purpose, value};
use super::{Guid, Key, Wrapped, field, le16, utf16};
use crate::Error;
use alloc::string::String;
use alloc::vec::Vec;

/// A way to the volume master key.
#[derive(Debug)]
pub struct Protector {
    /// Its identifier, which also names the file of a start-up key.
    pub guid: Guid,
    /// What it asks for.
    pub protection: Protection,
    /// Its name ("ExternalKey").
    pub name: Option<String>,
    /// The salt of what is stretched; zeros where nothing is.
    pub salt: [u8; 16],
    /// The master key, wrapped; usually once.
    pub wrapped: Vec<Wrapped>,
    /// What it is wrapped with, of [`Protection::ClearKey`].
    pub clear_key: Option<Key>,
}

impl Protector {
    pub(super) fn of(entry: &Entry<'_>) -> Result<Self, Error> {
        if entry.value != value::PROTECTOR {
            return Err(entry.refused("protector", alloc::format!("its data are of type {}", entry.value)));
        }
        entry.check_len(PROPERTIES, "protector")?;
        let mut protector = Self {
            guid: Guid::at(entry.data, 0),
            protection: Protection::of(le16(entry.data, 26)),
            name: None,
            salt: [0; 16],
            wrapped: Vec::new(),
            clear_key: None,
        };
        for property in entry.inside(PROPERTIES) {
            protector.take(&property?)?;
        }
        Ok(protector)
    }

    /// Properties that are not known here belong to protections that are not opened here: a TPM's, smart cards'.
    fn take(&mut self, property: &Entry<'_>) -> Result<(), Error> {
        match property.value {
            _ if property.purpose != purpose::PROPERTY => {}
            value::TEXT if self.name.is_none() => self.name = Some(utf16(property.data)),
            value::STRETCHED => {
                property.check_len(4 + 16, "stretched key")?;
                self.salt = field(property.data, 4);
            }
            value::WRAPPED => self.wrapped.push(Wrapped::of(property)?),
            value::KEY => self.clear_key = Some(Key::of(property)?),
            _ => {}
        }
        Ok(())
    }
}

/// What a protector asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Protection {
    ClearKey,
    Tpm,
    StartupKey,
    TpmStartupKey,
    TpmPin,
    TpmPinStartupKey,
    RecoveryPassword,
    SmartCard,
    Passphrase,
    Unknown(u16),
}

impl Protection {
    /// By its number on disk.
    pub const fn of(number: u16) -> Self {
        match number {
            0x0000 => Self::ClearKey,
            0x0100 => Self::Tpm,
            0x0200 => Self::StartupKey,
            0x0300 => Self::TpmStartupKey,
            0x0500 => Self::TpmPin,
            0x0700 => Self::TpmPinStartupKey,
            0x0800 => Self::RecoveryPassword,
            0x1000 => Self::SmartCard,
            0x2000 => Self::Passphrase,
            other => Self::Unknown(other),
        }
    }

    /// For messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ClearKey => "clear key",
            Self::Tpm => "TPM",
            Self::StartupKey => "start-up key",
            Self::TpmStartupKey => "TPM and start-up key",
            Self::TpmPin => "TPM and PIN",
            Self::TpmPinStartupKey => "TPM, PIN and start-up key",
            Self::RecoveryPassword => "recovery password",
            Self::SmartCard => "smart card",
            Self::Passphrase => "passphrase",
            Self::Unknown(_) => "unknown protection",
        }
    }
}

/// Where the properties begin.
const PROPERTIES: usize = 28;
