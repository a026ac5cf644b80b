//! Recovery passwords (libyal, "Recovery key"): eight groups of six digits, each a 16-bit number times eleven.
//! `471207-278498-422125-177177-561902-537405-468006-693451` is libyal's example.

use crate::Error;
use alloc::format;
use keyway_crypto::{Hash, Secret};

/// What a text is, as a recovery password.
pub enum RecoveryPassword {
    /// Something else: not eight groups of six digits.
    Not,
    /// One, but a group of it cannot be: the error names the group.
    Mistyped(Error),
    /// The 16 bytes that it stands for.
    Key(Secret),
}

impl RecoveryPassword {
    /// Reads a text; one newline at its end, and spaces for hyphens, are no matter.
    pub fn parse(text: &Secret) -> Self {
        let text = text.expose();
        let text = text.strip_suffix(b"\n").unwrap_or(text);
        if text.len() != 8 * 7 - 1 || !text.chunks(7).all(is_group) {
            return Self::Not;
        }
        let mut key = Secret::zeroed(16);
        for (index, (group, bytes)) in text.chunks(7).zip(key.expose_mut().as_chunks_mut().0).enumerate() {
            match number(&group[..6]) {
                Ok(number) => *bytes = number.to_le_bytes(),
                Err(why) => {
                    return Self::Mistyped(Error::invalid(
                        format!("recovery password: group {}", index + 1),
                        why,
                    ));
                }
            }
        }
        Self::Key(key)
    }
}

/// The recovery password that stands for 16 bytes: what [`RecoveryPassword::parse`] reads.
pub fn recovery_text(key: &Secret) -> Secret {
    let mut text = Secret::zeroed(8 * 7 - 1);
    for (group, bytes) in text.expose_mut().chunks_mut(7).zip(key.expose().as_chunks().0) {
        let mut number = 11 * u32::from(u16::from_le_bytes(*bytes));
        for digit in group[..6].iter_mut().rev() {
            *digit = b'0' + (number % 10) as u8;
            number /= 10;
        }
        group[6..].fill(b'-');
    }
    text
}

/// What the stretching of a recovery password starts from: SHA-256 of its 16 bytes.
pub fn recovery_digest(key: &Secret) -> Secret {
    let mut digest = Secret::zeroed(32);
    Hash::Sha256.digest_into(&[key.expose()], digest.expose_mut());
    digest
}

/// Six digits, and what separates them from the next.
fn is_group(group: &[u8]) -> bool {
    group[..6].iter().all(u8::is_ascii_digit) && matches!(group.get(6), None | Some(b'-' | b' '))
}

/// The messages tell nothing of the digits.
fn number(digits: &[u8]) -> Result<u16, &'static str> {
    let number = digits.iter().fold(0, |number, digit| 10 * number + u32::from(digit - b'0'));
    match u16::try_from(number / 11) {
        _ if !number.is_multiple_of(11) => Err("it is not a multiple of 11, as each is: a digit is wrong"),
        Err(_) => Err("it is more than 720885, the largest there is: a digit is wrong"),
        Ok(number) => Ok(number),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::{String, ToString};
    use alloc::vec::Vec;

    /// libyal's example.
    const EXAMPLE: &str = "471207-278498-422125-177177-561902-537405-468006-693451";

    fn parse(text: &str) -> Result<Vec<u8>, String> {
        match RecoveryPassword::parse(&Secret::copy_from(text.as_bytes())) {
            RecoveryPassword::Not => Err("not".into()),
            RecoveryPassword::Mistyped(error) => Err(error.to_string()),
            RecoveryPassword::Key(key) => Ok(key.expose().to_vec()),
        }
    }

    #[test]
    fn groups_are_numbers() {
        let groups = [42837, 25318, 38375, 16107, 51082, 48855, 42546, 63041_u16];
        let expected: Vec<u8> = groups.into_iter().flat_map(u16::to_le_bytes).collect();
        assert_eq!(parse(EXAMPLE), Ok(expected.clone()));
        assert_eq!(parse(&format!("{EXAMPLE}\n")), Ok(expected.clone()));
        assert_eq!(parse(&EXAMPLE.replace('-', " ")), Ok(expected));
        assert_eq!(parse(&"720885-".repeat(8)[..55]), Ok([0xff; 16].to_vec()));
    }

    #[test]
    fn bytes_are_written_as_they_are_read() {
        for text in [EXAMPLE, &"000000-".repeat(8)[..55], &"720885-".repeat(8)[..55]] {
            let key = parse(text).unwrap();
            assert_eq!(recovery_text(&Secret::copy_from(&key)).expose(), text.as_bytes());
        }
    }

    #[test]
    fn a_wrong_group_is_named_by_its_number_alone() {
        let wrong = "recovery password: group 3: it is not a multiple of 11, as each is: a digit is wrong";
        assert_eq!(parse(&EXAMPLE.replace("422125", "422126")), Err(wrong.into()));
        let large =
            "recovery password: group 8: it is more than 720885, the largest there is: a digit is wrong";
        assert_eq!(parse(&EXAMPLE.replace("693451", "720896")), Err(large.into()));
    }

    #[test]
    fn other_texts_are_not_recovery_passwords() {
        let not =
            ["", "anaconda", &EXAMPLE[1..], &EXAMPLE.replace("4712", "471a"), &EXAMPLE.replace('-', ".")];
        not.iter().for_each(|text| assert_eq!(parse(text), Err("not".into()), "{text}"));
        assert_eq!(parse(&format!("{EXAMPLE}-")), Err("not".into()));
    }
}
