//! Text fields of fixed length in binary headers: up to the first NUL, or the whole field when
//! there is none.

use crate::Error;
pub use crate::shown::{Shown, is_hidden};
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;

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

#[cfg(test)]
mod tests {
    use super::*;

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
