//! Base64 (RFC 4648, section 4) as LUKS2 uses it for salts and digests: padded, canonical, and with
//! white space skipped on reading, as in cryptsetup.

use alloc::string::String;
use alloc::vec::Vec;

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Encodes with padding.
pub fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let word = group.iter().fold(0u32, |word, &b| word << 8 | u32::from(b)) << (8 * (3 - group.len()));
        for position in 0..4 {
            if position <= group.len() {
                text.push(ALPHABET[(word >> (18 - 6 * position)) as usize & 63] as char);
            } else {
                text.push('=');
            }
        }
    }
    text
}

/// Decodes; `None` when a character is not Base64, the padding is missing, or bits are left over.
pub fn decode(text: &str) -> Option<Vec<u8>> {
    let mut symbols: Vec<u8> = text.bytes().filter(|b| !matches!(b, b' ' | b'\t' | b'\n' | b'\r')).collect();
    if !symbols.len().is_multiple_of(4) {
        return None;
    }
    let padding = symbols.iter().rev().take(2).take_while(|&&b| b == b'=').count();
    symbols.truncate(symbols.len() - padding);
    let mut bytes = Vec::with_capacity(symbols.len() / 4 * 3 + 2);
    for group in symbols.chunks(4) {
        let mut word = 0u32;
        for &symbol in group {
            word = word << 6 | value(symbol)?;
        }
        word <<= 6 * (4 - group.len());
        let whole = group.len() - 1;
        if word & (0xff_ffff >> (8 * whole)) != 0 {
            return None;
        }
        bytes.extend_from_slice(&word.to_be_bytes()[1..=whole]);
    }
    Some(bytes)
}

fn value(symbol: u8) -> Option<u32> {
    let value = match symbol {
        b'A'..=b'Z' => symbol - b'A',
        b'a'..=b'z' => symbol - b'a' + 26,
        b'0'..=b'9' => symbol - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    };
    Some(u32::from(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 4648, section 10.
    const VECTORS: [(&[u8], &str); 7] = [
        (b"", ""),
        (b"f", "Zg=="),
        (b"fo", "Zm8="),
        (b"foo", "Zm9v"),
        (b"foob", "Zm9vYg=="),
        (b"fooba", "Zm9vYmE="),
        (b"foobar", "Zm9vYmFy"),
    ];

    #[test]
    fn rfc_4648_vectors_both_ways() {
        for (bytes, text) in VECTORS {
            assert_eq!(encode(bytes), text);
            assert_eq!(decode(text).as_deref(), Some(bytes));
        }
        assert_eq!(encode(&[0xfb, 0xff, 0xfe]), "+//+");
    }

    #[test]
    fn what_cryptsetup_refuses_is_refused() {
        for text in
            ["Zg", "Zg=", "Z===", "====", "=g==", "Zh==", "Zm9=", "Zg==Zg==", "Zm-v", "Zm9v=", "Z\0=="]
        {
            assert_eq!(decode(text), None, "{text:?}");
        }
        assert_eq!(decode(" Zm9v\n Yg = =\t").as_deref(), Some(&b"foob"[..]));
    }
}
