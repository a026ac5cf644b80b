//! The display of untrusted text, such that nothing in it moves a terminal's cursor, changes the text
//! direction or is invisible.

use alloc::string::String;
use core::fmt::{self, Display, Write};

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
    use alloc::format;
    use alloc::string::ToString;

    #[test]
    fn what_commands_or_hides_is_shown_by_its_number() {
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
}
