//! The map of a Linux console's keyboard, as `loadkeys --bkeymap` writes it and as busybox's loadkmap
//! and mkinitcpio's images read it.
//!
//! ```text
//! 7 bytes    "bkeymap"
//! 256 bytes  a flag for each combination of modifiers: whether its table follows
//! tables     128 keys each, a u16 of the machine's byte order (little-endian on all of ours)
//! ```
//!
//! A value is what the ioctl KDSKBENT takes: the type of the key in its upper byte and a number in the lower one
//! (include/uapi/linux/keyboard.h), or, where the upper byte is no type, a character exclusive-or f000.

mod dead;
mod include;
mod of_image;

pub use of_image::{Found, Lacking, Map, of_image};

use std::fmt;

/// The map of a keyboard: tables of values by key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keymap(Vec<(u8, [u16; KEYS])>);

/// Why bytes are no map of a keyboard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// It does not begin as one.
    Magic,
    /// It has fewer or more bytes than its tables take.
    Length {
        /// How many tables its flags announce.
        tables: usize,
        /// How many bytes it has.
        bytes: usize,
    },
}

impl Keymap {
    /// Reads the binary form.
    ///
    /// # Errors
    /// The bytes are no map, or not all of one.
    pub fn parse(bytes: &[u8]) -> Result<Self, Error> {
        let rest = bytes.strip_prefix(MAGIC).ok_or(Error::Magic)?;
        let (flags, content) = rest.split_at_checked(256).ok_or(Error::Magic)?;
        let wanted: Vec<u8> = (0..=u8::MAX).filter(|table| flags[usize::from(*table)] != 0).collect();
        if content.len() != wanted.len() * TABLE || wanted.is_empty() {
            return Err(Error::Length { tables: wanted.len(), bytes: bytes.len() });
        }
        let values = content.chunks_exact(TABLE).map(|table| {
            let mut values = [0; KEYS];
            for (value, pair) in values.iter_mut().zip(table.chunks_exact(2)) {
                *value = u16::from_le_bytes([pair[0], pair[1]]);
            }
            values
        });
        Ok(Self(wanted.into_iter().zip(values).collect()))
    }

    /// Every value with its table (the modifiers held) and its key, as KDSKBENT takes them.
    pub fn values(&self) -> impl Iterator<Item = (u8, u8, u16)> {
        self.0.iter().flat_map(|(table, values)| (0..).zip(values).map(|(key, value)| (*table, key, *value)))
    }

    /// Whether keys type this character: one alone, with Shift, AltGr or both; or a dead key, or Compose, and others after it.
    pub fn types(&self, character: char) -> bool {
        let has = |is: &dyn Fn(u16) -> bool| {
            self.values().any(|(table, _, value)| table <= SHIFT_ALTGR && is(value))
        };
        let alone = |character| has(&|value| typed(value) == Some(character));
        let marked = |accent| {
            has(&|value| dead::accent(value) == Some(accent))
                || has(&|value| value == dead::COMPOSE) && alone(accent)
        };
        alone(character) || dead::pairs(character).any(|(accent, base)| alone(base) && marked(accent))
    }

    /// How many characters of a passphrase no key types; `None` if it is no UTF-8, which is what keys type.
    pub fn untyped(&self, passphrase: &[u8]) -> Option<usize> {
        let text = std::str::from_utf8(passphrase).ok()?;
        Some(text.chars().filter(|character| !self.types(*character)).count())
    }
}

/// What a variable of a file that shells can read (vconsole.conf, default/keyboard) is set to, if to anything.
pub fn variable(text: &str, name: &str) -> Option<String> {
    let value = text.lines().rev().find_map(|line| line.trim().strip_prefix(name)?.strip_prefix('='))?;
    Some(value.trim().trim_matches(['"', '\'']).to_owned()).filter(|value| !value.is_empty())
}

/// Whether a name of a map stands for the one that every kernel has.
pub fn is_the_kernels(name: &str) -> bool {
    matches!(name, "us" | "@kernel")
}

/// The character that a key with this value types.
fn typed(value: u16) -> Option<char> {
    match value >> 8 {
        LATIN | LETTER => char::from_u32(u32::from(value & 0xff)),
        ..TYPES => None,
        _ => char::from_u32(u32::from(value ^ UNICODE)),
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Magic => f.write_str("it is not a binary keyboard map: those begin with \"bkeymap\""),
            Self::Length { tables, bytes } => {
                let right = MAGIC.len() + 256 + tables * TABLE;
                write!(f, "a keyboard map of {tables} tables has {right} bytes, and it has {bytes}")
            }
        }
    }
}

impl std::error::Error for Error {}

const MAGIC: &[u8] = b"bkeymap";
/// NR_KEYS, of which the format has half.
const KEYS: usize = 128;
const TABLE: usize = 2 * KEYS;
const SHIFT_ALTGR: u8 = 3;
/// KT_LATIN, KT_LETTER, NR_TYPES (include/uapi/linux/keyboard.h).
const LATIN: u16 = 0;
const LETTER: u16 = 11;
const TYPES: u16 = 15;
const UNICODE: u16 = 0xf000;

#[cfg(test)]
mod tests {
    use super::*;

    /// As `loadkeys` writes it: a table without modifiers, one with Shift.
    pub(super) fn german() -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend((0..256).map(|table| u8::from(table < 2)));
        let mut tables = [[0x200_u16; KEYS]; 2];
        tables[0][21] = 0xb00 | u16::from(b'z');
        tables[1][21] = 0xb00 | u16::from(b'Z');
        tables[0][26] = 0xbfc;
        tables[1][4] = 0xa7 ^ UNICODE;
        tables[0][13] = 0x401;
        tables[0][18] = 0xb00 | u16::from(b'e');
        tables[0][57] = u16::from(b' ');
        bytes.extend(tables.as_flattened().iter().flat_map(|value| value.to_le_bytes()));
        bytes
    }

    #[test]
    fn values_have_their_table_and_key() {
        let keymap = Keymap::parse(&german()).unwrap();
        assert_eq!(keymap.values().count(), 256);
        let other: Vec<_> = keymap.values().filter(|(.., value)| *value != 0x200).collect();
        let letters =
            [(0, 18, 0xb65), (0, 21, 0xb7a), (0, 26, 0xbfc), (0, 57, 0x20), (1, 4, 0xf0a7), (1, 21, 0xb5a)];
        assert_eq!((other[0], &other[1..]), ((0, 13, 0x401), &letters[..]));
    }

    #[test]
    fn what_can_be_typed_is_known() {
        let keymap = Keymap::parse(&german()).unwrap();
        for letter in ['z', 'Z', '\u{fc}', '\u{a7}', '\u{e9}', '\''] {
            assert!(keymap.types(letter), "{letter}");
        }
        // Neither another accent, nor the same on a letter that no key types, nor what the kernel's table lacks.
        for letter in ['y', '\u{142}', '\u{1}', '\u{200}', 'è', 'á', 'ź', '`'] {
            assert!(!keymap.types(letter), "{letter}");
        }
        let with = |key: usize, value: u16| {
            let mut other = german();
            other[7 + 256 + key * 2..][..2].copy_from_slice(&value.to_le_bytes());
            Keymap::parse(&other).unwrap()
        };
        assert!(!with(13, 0x200).types('é') && !with(13, 0x200).types('\''));
        assert!(with(13, 0xd27).types('é'), "KT_DEAD2");
        assert!(
            !with(13, 0x20e).types('é') && with(13, 0x20e).types('z'),
            "Compose alone: no key types the accent"
        );
        assert!(!with(57, 0x200).types('\''), "no space");
        for (passphrase, untyped) in [("z\u{fc}Z", 0), ("y\u{142}z\n", 3), ("", 0)] {
            assert_eq!(keymap.untyped(passphrase.as_bytes()), Some(untyped), "{passphrase:?}");
        }
        assert_eq!(keymap.untyped(b"z\xff"), None);
    }

    #[test]
    fn variables_are_read_as_shells_do() {
        for (text, value) in [
            ("KEYMAP=de", Some("de")),
            ("# x\n KEYMAP=\"de-latin1\" \nFONT=y", Some("de-latin1")),
            ("KEYMAP=de\nKEYMAP='fr'\n", Some("fr")),
            ("KEYMAP=de\nKEYMAP=\n", None),
            ("KEYMAP_TOGGLE=de\n#KEYMAP=de", None),
        ] {
            assert_eq!(variable(text, "KEYMAP").as_deref(), value, "{text}");
        }
    }

    #[test]
    fn what_is_no_map_is_refused() {
        let good = german();
        assert_eq!(Keymap::parse(b"bkeymaq"), Err(Error::Magic));
        assert_eq!(Keymap::parse(&good[..200]), Err(Error::Magic));
        for bytes in [good[..good.len() - 1].to_vec(), [&good[..], b"x"].concat()] {
            let length = bytes.len();
            assert_eq!(Keymap::parse(&bytes), Err(Error::Length { tables: 2, bytes: length }));
        }
        let error = Keymap::parse(&good[..775 - 1 - 1]).unwrap_err().to_string();
        assert_eq!(error, "a keyboard map of 2 tables has 775 bytes, and it has 773");
        assert!(matches!(Keymap::parse(&[MAGIC, &[0; 256]].concat()), Err(Error::Length { tables: 0, .. })));
    }
}
