//! Start-up keys: files `{GUID}.BEK` (libyal, "BitLocker External Key (BEK) file"), usually 156 bytes.
//!
//! | offset | length | field                                                           |
//! |--------|--------|-----------------------------------------------------------------|
//! | 0      | 4      | length, these bytes included                                    |
//! | 4      | 4      | version, 1                                                       |
//! | 8      | 4      | length of this header, 48                                        |
//! | 12     | 4      | the first length again                                          |
//! | 16     | 16     | GUID                                                             |
//! | 40     | 8      | time of creation                                                |
//! | 48     |        | an entry: GUID of the protector, a time, and entries: name, key   |

use super::entry::{Entries, Entry, purpose, value};
use super::{Guid, Key, le32};
use crate::Error;
use alloc::format;

/// A start-up key.
#[derive(Debug)]
pub struct StartupKey {
    /// The protector that it is for.
    pub protector: Guid,
    /// The key.
    pub key: Key,
}

impl StartupKey {
    /// Whether a file may be one: it begins as one, and has the length that it says.
    pub fn is_likely(file: &[u8]) -> bool {
        let [len, version, header, again] = [0, 4, 8, 12].map(|at| le32(file, at));
        file.len() > HEADER
            && (version, header) == (1, HEADER as u32)
            && len == again
            && len as usize == file.len()
    }

    /// Parses a file.
    ///
    /// # Errors
    /// [`Error::Truncated`], or [`Error::Invalid`] with the place.
    pub fn parse(file: &[u8]) -> Result<Self, Error> {
        if file.len() < HEADER {
            return Err(Error::Truncated { needs: HEADER as u64, has: file.len() as u64 });
        }
        let [len, version, header] = [0, 4, 8].map(|at| le32(file, at));
        if (version, header) != (1, HEADER as u32) {
            let why = format!("version {version} and a header of {header} bytes, not 1 and {HEADER}");
            return Err(Error::invalid("start-up key", why));
        }
        if len as usize > file.len() || (len as usize) < HEADER {
            return Err(Error::invalid(
                "start-up key",
                format!("it says {len} bytes, and is {} long", file.len()),
            ));
        }
        for entry in Entries::of(&file[HEADER..len as usize], HEADER) {
            let entry = entry?;
            if (entry.purpose, entry.value) == (purpose::STARTUP_KEY, value::EXTERNAL) {
                return Self::of(&entry);
            }
        }
        Err(Error::invalid("start-up key", "there is none in the file"))
    }

    fn of(entry: &Entry<'_>) -> Result<Self, Error> {
        entry.check_len(PROPERTIES, "start-up key")?;
        for property in entry.inside(PROPERTIES) {
            let property = property?;
            if (property.purpose, property.value) == (purpose::PROPERTY, value::KEY) {
                return Ok(Self { protector: Guid::at(entry.data, 0), key: Key::of(&property)? });
            }
        }
        Err(entry.refused("start-up key", "it holds no key"))
    }
}

/// The length of the header.
const HEADER: usize = 48;
/// Where the properties of the entry begin.
const PROPERTIES: usize = 24;
