//! Text fields of fixed length in binary headers: up to the first NUL, or the whole field when
//! there is none. Also the display of untrusted text, such that nothing in it moves a terminal's
//! cursor, changes the text direction or is invisible.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use core::fmt::{self, Display, Write};

use crate::Error;

/// The bytes of a field before its first NUL.
pub(crate) fn before_nul(field: &[u8]) -> &[u8] {
    let end = field.iter().position(|&b| b == 0).unwrap_or(field.len());
    &field[..end]
}

/// A name (cipher, mode, hash): printable ASCII without spaces, at least one character.
pub(crate) fn name(field: &[u8], place: &str) -> Result<String, Error> {
    let bytes = before_nul(field);
    match core::str::from_utf8(bytes) {
        Ok("") => Err(Error::invalid(place, "is empty")),
        Ok(text) if bytes.iter().all(u8::is_ascii_graphic) => Ok(text.to_owned()),
        _ => Err(Error::invalid(place, "is not printable text")),
    }
}

/// Text for people (label, UUID): invalid UTF-8 is replaced, but the bytes themselves stay in the
/// header. The field's last byte is reserved for a NUL, and never shown.
pub(crate) fn lossy(field: &[u8]) -> String {
    let text = field.split_last().map_or(field, |(_, text)| text);
    String::from_utf8_lossy(before_nul(text)).into_owned()
}

/// Writes `text` to a field: NUL-padded, with at least one NUL.
pub(crate) fn store(field: &mut [u8], text: &str, place: &str) -> Result<(), Error> {
    let bytes = text.as_bytes();
    if bytes.len() >= field.len() {
        return Err(Error::invalid(place, format!("{} bytes, at most {} fit", bytes.len(), field.len() - 1)));
    }
    if bytes.contains(&0) {
        return Err(Error::invalid(place, "contains a NUL byte"));
    }
    field.fill(0);
    field[..bytes.len()].copy_from_slice(bytes);
    Ok(())
}

/// Untrusted text, for people: characters that are invisible or control a terminal are shown by
/// their numbers. All others are unchanged.
#[derive(Debug, Clone, Copy)]
pub struct Shown<'a>(pub &'a str);

impl Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Formatted as one string, so that field widths are respected.
        let mut shown = String::with_capacity(self.0.len());
        for c in self.0.chars() {
            if is_hidden(c) { write!(shown, "{}", c.escape_default())? } else { shown.push(c) }
        }
        f.pad(&shown)
    }
}

/// Whether a character is a control character (C0, DEL, C1), changes the text direction, separates
/// lines, or is invisible (Unicode 16: general categories Cc, Cf, Zl and Zp, and the remaining
/// characters with Default_Ignorable_Code_Point).
pub fn is_hidden(c: char) -> bool {
    let code = c as u32;
    c.is_control() || HIDDEN.iter().any(|&(first, last)| (first..=last).contains(&code))
}

/// Sorted ranges.
const HIDDEN: &[(u32, u32)] = &[
    (0x00ad, 0x00ad),
    (0x034f, 0x034f),
    (0x0600, 0x0605),
    (0x061c, 0x061c),
    (0x06dd, 0x06dd),
    (0x070f, 0x070f),
    (0x0890, 0x0891),
    (0x08e2, 0x08e2),
    (0x115f, 0x1160),
    (0x17b4, 0x17b5),
    (0x180b, 0x180f),
    (0x200b, 0x200f),
    (0x2028, 0x202e),
    (0x2060, 0x206f),
    (0x3164, 0x3164),
    (0xfe00, 0xfe0f),
    (0xfeff, 0xfeff),
    (0xffa0, 0xffa0),
    (0xfff0, 0xfffb),
    (0x110bd, 0x110bd),
    (0x110cd, 0x110cd),
    (0x13430, 0x1343f),
    (0x1bca0, 0x1bca3),
    (0x1d173, 0x1d17a),
    (0xe0000, 0xe0fff),
];

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn a12_what_commands_or_hides_is_shown_by_its_number() {
        for (text, shown) in [
            (
                "plain, Großbuchstaben, 漢字, \\ and 'quotes\"",
                "plain, Großbuchstaben, 漢字, \\ and 'quotes\"",
            ),
            ("\x1b[2J\x07", "\\u{1b}[2J\\u{7}"),
            ("a\nb\r\tc\x7f", "a\\nb\\r\\tc\\u{7f}"),
            ("\u{9b}31m", "\\u{9b}31m"),
            ("\u{202e}gpj.exe\u{2066}x\u{2069}", "\\u{202e}gpj.exe\\u{2066}x\\u{2069}"),
            ("\u{200e}\u{200f}\u{61c}\u{200b}\u{feff}", "\\u{200e}\\u{200f}\\u{61c}\\u{200b}\\u{feff}"),
            ("\u{2028}\u{2029}\u{e0041}", "\\u{2028}\\u{2029}\\u{e0041}"),
            ("\u{fffd}", "\u{fffd}"),
        ] {
            assert_eq!(Shown(text).to_string(), shown);
        }
        assert_eq!(format!("{:<6}|", Shown("\x07")), "\\u{7} |");
    }

    #[test]
    fn the_table_is_in_order() {
        assert!(HIDDEN.windows(2).all(|pair| pair[0].1 < pair[1].0));
        assert!(HIDDEN.iter().all(|(first, last)| first <= last));
    }

    #[test]
    fn a_field_without_nul_is_read_whole() {
        assert_eq!(name(b"sha256", "hash"), Ok("sha256".into()));
        assert_eq!(name(b"sha256\0junk", "hash"), Ok("sha256".into()));
        assert_eq!(name(b"\0sha", "hash").unwrap_err(), Error::invalid("hash", "is empty"));
        assert_eq!(name(b"sha 1", "hash").unwrap_err(), Error::invalid("hash", "is not printable text"));
        assert_eq!(name(b"sha\xff", "hash").unwrap_err(), Error::invalid("hash", "is not printable text"));
    }

    /// As cryptsetup shows a label that fills all of its 48 bytes.
    #[test]
    fn text_for_people_leaves_room_for_a_nul() {
        assert_eq!(lossy(&[b'l'; 48]), "l".repeat(47));
        assert_eq!(lossy(b"ab\0c"), "ab");
        assert_eq!(lossy(b""), "");
    }

    #[test]
    fn stored_text_ends_with_a_nul() {
        let mut field = [7u8; 4];
        store(&mut field, "ab", "label").unwrap();
        assert_eq!(field, *b"ab\0\0");
        assert_eq!(
            store(&mut field, "abcd", "label").unwrap_err(),
            Error::invalid("label", "4 bytes, at most 3 fit")
        );
        assert_eq!(
            store(&mut field, "a\0b", "label").unwrap_err(),
            Error::invalid("label", "contains a NUL byte")
        );
        assert_eq!(field, *b"ab\0\0", "a refused text changes nothing");
    }
}
