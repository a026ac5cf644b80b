//! Sizes with units, read as cryptsetup reads them.

/// Parses a number of bytes: `s` is 512; K, M, G, T and KiB, MiB … count in 1024; KB, MB … in 1000.
/// `None` if the text is not of this form or the number does not fit into 64 bits.
pub(crate) fn parse(text: &str) -> Option<u64> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    number.parse::<u64>().ok()?.checked_mul(multiplier(unit)?)
}

fn multiplier(unit: &str) -> Option<u64> {
    let mut letters = unit.chars();
    let Some(prefix) = letters.next() else { return Some(1) };
    let base: u64 = match letters.as_str() {
        "" | "iB" => 1024,
        "B" => 1000,
        _ => return None,
    };
    match prefix.to_ascii_lowercase() {
        's' if unit.len() == 1 => Some(512),
        'k' => Some(base),
        'm' => Some(base.pow(2)),
        'g' => Some(base.pow(3)),
        't' => Some(base.pow(4)),
        _ => None,
    }
}

/// Parses a whole number in decimal, whatever zeros it begins with, as cryptsetup does; or in
/// hexadecimal (0x).
pub(crate) fn parse_number(text: &str) -> Option<u64> {
    let text = text.strip_prefix('+').unwrap_or(text);
    let hex = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
    let (digits, radix) = hex.map_or((text, 10), |hex| (hex, 16));
    if digits.starts_with(['+', '-']) { None } else { u64::from_str_radix(digits, radix).ok() }
}

/// A number of bytes in words: "16.0 MiB".
pub(crate) fn human(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    if bytes < 1024 {
        return format!("{bytes} bytes");
    }
    let mut value = bytes as f64 / 1024.0;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{value:.1} {}", UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_cryptsetups() {
        for (text, bytes) in [
            ("0", 0),
            ("512", 512),
            ("8s", 4096),
            ("8S", 4096),
            ("16k", 16 << 10),
            ("16K", 16 << 10),
            ("16KiB", 16 << 10),
            ("16KB", 16_000),
            ("1M", 1 << 20),
            ("1mB", 1_000_000),
            ("2GiB", 2 << 30),
            ("1T", 1 << 40),
        ] {
            assert_eq!(parse(text), Some(bytes), "{text}");
        }
        for text in ["", "K", "-1", "1X", "1Ki", "1KiBs", "1sB", "18446744073709551616", "16777216T", "1 K"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn numbers_are_decimal_or_hexadecimal() {
        for (text, number) in [("10", 10), ("0x10", 16), ("010", 10), ("08", 8), ("0", 0), ("+7", 7)] {
            assert_eq!(parse_number(text), Some(number), "{text}");
        }
        for text in ["", "x", "-1", "0x", "1K", "0x-1"] {
            assert_eq!(parse_number(text), None, "{text}");
        }
    }

    #[test]
    fn sizes_in_words() {
        assert_eq!(human(1023), "1023 bytes");
        assert_eq!(human(16 << 20), "16.0 MiB");
        assert_eq!(human(1536 << 20), "1.5 GiB");
    }
}
