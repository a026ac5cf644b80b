//! A volume key as cryptsetup's dumps show it.

use keyway_crypto::Secret;

/// `head`, and behind it the key in hexadecimal: a space after each byte, a new line after `per_line` of them. It holds
/// the key, and so is a secret itself.
pub(super) fn with_key(head: &str, key: &Secret, per_line: usize) -> Secret {
    let mut text = Secret::zeroed(head.len() + digits(key.expose(), per_line).count());
    let bytes = head.bytes().chain(digits(key.expose(), per_line));
    text.expose_mut().iter_mut().zip(bytes).for_each(|(place, byte)| *place = byte);
    text
}

fn digits(key: &[u8], per_line: usize) -> impl Iterator<Item = u8> + '_ {
    let digit = |nibble: u8| b"0123456789abcdef"[usize::from(nibble)];
    let bytes = key.iter().enumerate().flat_map(move |(index, byte)| {
        let breaks = if index > 0 && index.is_multiple_of(per_line) { &b"\n\t\t"[..] } else { b"" };
        breaks.iter().copied().chain([digit(byte >> 4), digit(byte & 15), b' '])
    });
    bytes.chain([b'\n'])
}
