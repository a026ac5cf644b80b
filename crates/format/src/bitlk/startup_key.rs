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
                format!("it states a length of {len} bytes, but has {}", file.len()),
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

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::{String, ToString};
    use alloc::vec::Vec;

    fn entry(purpose: u16, value: u16, data: &[u8]) -> Vec<u8> {
        let head = [data.len() as u16 + 8, purpose, value, 1].map(u16::to_le_bytes);
        [head.as_flattened(), data].concat()
    }

    fn file(entries: &[u8]) -> Vec<u8> {
        let len = (HEADER + entries.len()) as u32;
        let head = [len, 1, HEADER as u32, len].map(u32::to_le_bytes);
        [head.as_flattened(), &[7; 32], entries].concat()
    }

    /// As Windows writes it: a name before the key.
    fn usual() -> Vec<u8> {
        let key = entry(0, value::KEY, &[&[2, 0x20, 0, 0][..], &[9; 32]].concat());
        file(&entry(6, value::EXTERNAL, &[&[5; 24][..], &entry(0, value::TEXT, b"N\0\0\0"), &key].concat()))
    }

    fn with(at: usize, byte: u8) -> Vec<u8> {
        let mut file = usual();
        file[at] = byte;
        file
    }

    fn refusal(file: &[u8]) -> String {
        StartupKey::parse(file).map_or_else(|error| error.to_string(), |_| "accepted".into())
    }

    #[test]
    fn a_file_holds_a_key_and_whose_it_is() {
        let found = StartupKey::parse(&usual()).unwrap();
        assert_eq!(found.protector.to_string(), "05050505-0505-0505-0505-050505050505");
        assert_eq!((found.key.method, found.key.bytes.expose()), (0x2002, &[9; 32][..]));
        assert!(StartupKey::is_likely(&usual()));
        assert!(!StartupKey::is_likely(&[&usual()[..], b"\n"].concat()), "of another length than it says");
        assert!(!StartupKey::is_likely(b"a passphrase"));
    }

    #[test]
    fn every_rule_names_its_place() {
        assert_eq!(refusal(&usual()[..47]), "truncated: needs 48 bytes, has 47");
        assert_eq!(refusal(&with(4, 2)), "start-up key: version 2 and a header of 48 bytes, not 1 and 48");
        assert_eq!(refusal(&with(0, 200)), "start-up key: it states a length of 200 bytes, but has 136");
        assert_eq!(refusal(&with(0, 47)), "start-up key: it states a length of 47 bytes, but has 136");
        assert_eq!(refusal(&with(50, 7)), "start-up key: there is none in the file");
        assert_eq!(
            refusal(&with(48, 7)),
            "metadata entry at byte 48: its length is 7 bytes, and 88 are left"
        );
        assert_eq!(refusal(&with(96, 3)), "start-up key at byte 48: it holds no key");
        assert_eq!(
            refusal(&file(&entry(6, 9, &[0; 23]))),
            "start-up key at byte 48: 23 bytes of data, it needs 24"
        );
    }
}
