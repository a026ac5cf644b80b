//! Names of mappings, as libdevmapper writes them.
//!
//! The kernel accepts any byte but `/`; udev does not. libdevmapper therefore escapes every
//! character except letters, digits and `#+-.:=@_` as `\xNN` ("hex" mangling; in its default mode
//! "auto", a name that is already escaped stays as it is). Source: libdm/libdm-common.c,
//! mangle_string.

use crate::{Refusal, Result};

/// The name under which the kernel and udev know a mapping.
///
/// # Errors
/// [`Refusal::MappingName`] if the name is empty or too long, contains a `/`, or mixes escapes with
/// characters that need escaping.
pub fn mangle(name: &str) -> Result<String> {
    if name.is_empty() || name.contains('/') || name == "." || name == ".." || name == "control" {
        return Err(Refusal::MappingName.because(format!("{name:?} is not a valid name for a mapping")));
    }
    checked(name, NAME_ROOM, "name")
}

/// As [`mangle`], for UUIDs.
///
/// # Errors
/// [`Refusal::MappingName`] if the UUID is too long, or mixes escapes with characters that need escaping.
pub(crate) fn mangle_uuid(uuid: &str) -> Result<String> {
    checked(uuid, UUID_ROOM, "UUID")
}

/// The name without escapes.
pub(crate) fn unmangle(name: &str) -> String {
    let mut bytes = Vec::with_capacity(name.len());
    let mut rest = name.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        match written(rest) {
            Some(byte) => {
                bytes.push(byte);
                rest = &rest[WRITTEN..];
            }
            None => {
                bytes.push(first);
                rest = after;
            }
        }
    }
    String::from_utf8(bytes).unwrap_or_else(|_| name.to_owned())
}

fn checked(text: &str, room: usize, what: &str) -> Result<String> {
    let mangled = mangled(text).ok_or_else(|| {
        Refusal::MappingName.because(format!("the {what} {text:?} has an odd number of hexadecimal digits"))
    })?;
    // One byte of the kernel's field is for the terminating NUL.
    if mangled.len() >= room {
        return Err(
            Refusal::MappingName.because(format!("the {what} {text:?} is longer than {} bytes", room - 1))
        );
    }
    Ok(mangled)
}

/// The escaped text; `None` if it mixes escapes with characters that need escaping.
fn mangled(text: &str) -> Option<String> {
    let (mut mangled, mut has_written, mut wrote) = (String::new(), false, false);
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        if written(rest).is_some() {
            has_written = true;
            mangled.push_str(&text[text.len() - rest.len()..][..WRITTEN]);
            rest = &rest[WRITTEN..];
            continue;
        }
        if first.is_ascii_alphanumeric() || PLAIN.contains(&first) {
            mangled.push(char::from(first));
        } else {
            wrote = true;
            mangled += &format!("\\x{first:02x}");
        }
        rest = after;
    }
    (!(has_written && wrote)).then_some(mangled)
}

/// The character encoded by a leading `\xNN`.
fn written(text: &[u8]) -> Option<u8> {
    let digits = text.strip_prefix(b"\\x")?.get(..2)?;
    let digit = |byte: u8| char::from(byte).to_digit(16);
    u8::try_from(digit(digits[0])? * 16 + digit(digits[1])?).ok()
}

/// `DM_NAME_LEN` and `DM_UUID_LEN`, with the NUL.
const NAME_ROOM: usize = 128;
const UUID_ROOM: usize = 129;

/// Characters besides letters and digits that need no escaping.
const PLAIN: &[u8] = b"#+-.:=@_";
const WRITTEN: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_are_written_and_read_again() {
        for (name, written) in
            [("home", "home"), ("my disk", "my\\x20disk"), ("a#+-.:=@_9", "a#+-.:=@_9"), ("ü", "\\xc3\\xbc")]
        {
            assert_eq!(mangle(name).unwrap(), written);
            assert_eq!(unmangle(written), name);
            assert_eq!(mangle(written).unwrap(), written, "a written name stays");
        }
        assert_eq!(mangle("a\\b").unwrap(), "a\\x5cb");
        assert_eq!(unmangle("a\\xzz"), "a\\xzz");
    }

    #[test]
    fn names_that_cannot_be() {
        for name in ["", "a/b", ".", "..", "control", "my disk\\x20", &"n".repeat(128)] {
            assert!(mangle(name).is_err(), "{name}");
        }
        assert!(mangle(&"n".repeat(127)).is_ok());
        assert!(mangle_uuid(&"n".repeat(128)).is_ok());
        assert!(mangle_uuid(&"n".repeat(129)).is_err());
    }
}
