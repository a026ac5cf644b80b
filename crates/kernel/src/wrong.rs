//! The first difference between an output and its expected value.

/// A wrong output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wrong {
    /// The offset of the first wrong byte.
    pub at: u64,
    /// The expected byte and some that follow, in hexadecimal.
    pub expected: String,
    /// The actual bytes.
    pub found: String,
    /// The operation: "encrypting sector 7 of 512 bytes".
    pub during: String,
}

impl Wrong {
    /// Compares the two; `None` if the output is right.
    pub fn first_difference(expected: &[u8], found: &[u8], during: &str) -> Option<Self> {
        let same_length = expected.len() == found.len();
        let at = expected.iter().zip(found).position(|(a, b)| a != b);
        let at = at.or_else(|| (!same_length).then(|| expected.len().min(found.len())))?;
        let from =
            |bytes: &[u8]| bytes.iter().skip(at).take(SHOWN).map(|byte| format!("{byte:02x}")).collect();
        Some(Self { at: at as u64, expected: from(expected), found: from(found), during: during.to_owned() })
    }
}

/// How many bytes of a difference are kept.
const SHOWN: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_wrong_byte_is_named() {
        assert_eq!(Wrong::first_difference(b"same", b"same", ""), None);
        let wrong = Wrong::first_difference(&[1, 2, 3, 4], &[1, 2, 0xf3, 4], "sample 2").unwrap();
        assert_eq!((wrong.at, &wrong.expected[..], &wrong.found[..]), (2, "0304", "f304"));
        let short = Wrong::first_difference(&[1, 2], &[1], "").unwrap();
        assert_eq!((short.at, &short.expected[..], &short.found[..]), (1, "02", ""));
    }
}
