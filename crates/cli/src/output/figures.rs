//! Times and counts for people, with only the digits that mean something.

use keyway_crypto::kdf::Argon2Variant;
use keyway_format::interval::Interval;

/// "0.12 s", "45 s", "10 min", "11 h".
pub(crate) fn seconds(seconds: f64) -> String {
    match seconds {
        s if s < 0.01 => "under 0.01 s".to_owned(),
        s => Scale::of(s).with_unit(s),
    }
}

/// The likely time and its range in the same unit: "4.1 s, 3.9–4.6"; the range is left out where it
/// shows in no digit.
pub(crate) fn span(time: Interval) -> String {
    let scale = Scale::of(time.likely);
    let [low, likely, high] = [time.low, time.likely, time.high].map(|end| scale.digits(end));
    match time.likely < 0.01 || (low == likely && likely == high) {
        true => seconds(time.likely),
        false => format!("{}, {low}–{high}", scale.with_unit(time.likely)),
    }
}

/// That other programs took this machine's time while it was measured.
#[cfg(feature = "tools")]
pub(crate) fn busy(interference: f64) -> Option<String> {
    (interference > BUSY).then(|| {
        format!(
            "This machine is busy: computing took {interference:.1} times as long as without other programs. \
             The times here leave that out."
        )
    })
}

/// The name of a variant of Argon2, as people write it.
pub(crate) fn argon2(variant: Argon2Variant) -> &'static str {
    match variant {
        Argon2Variant::Argon2i => "Argon2i",
        Argon2Variant::Argon2id => "Argon2id",
    }
}

/// "1,234,567".
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// The unit of a time and its decimals.
struct Scale {
    unit: &'static str,
    seconds: f64,
    decimals: usize,
}

impl Scale {
    fn of(seconds: f64) -> Self {
        let (unit, each, decimals) = match seconds {
            s if s < 1.0 => ("s", 1.0, 2),
            s if s < 10.0 => ("s", 1.0, 1),
            s if s < 120.0 => ("s", 1.0, 0),
            s if s < 7200.0 => ("min", 60.0, 0),
            s if s < 172_800.0 => ("h", 3600.0, 0),
            s if s < 730.5 * 86400.0 => ("days", 86400.0, 0),
            _ => ("years", 365.25 * 86400.0, 0),
        };
        Self { unit, seconds: each, decimals }
    }

    fn digits(&self, seconds: f64) -> String {
        format!("{:.*}", self.decimals, seconds / self.seconds)
    }

    fn with_unit(&self, seconds: f64) -> String {
        format!("{} {}", self.digits(seconds), self.unit)
    }
}

/// Above this, interference is worth a line.
#[cfg(feature = "tools")]
const BUSY: f64 = 1.1;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_for_people() {
        assert_eq!(
            [0.001, 0.5, 4.04, 45.3, 600.0].map(seconds),
            ["under 0.01 s", "0.50 s", "4.0 s", "45 s", "10 min"]
        );
        assert_eq!(seconds(1e5), "28 h");
        assert_eq!([0, 1000, 2_612_730].map(grouped), ["0", "1,000", "2,612,730"]);
    }

    #[test]
    fn a_range_has_its_figures_unit() {
        let of = |low, likely, high| span(Interval { low, likely, high });
        assert_eq!(of(3.9, 4.1, 4.6), "4.1 s, 3.9–4.6");
        assert_eq!(of(0.4, 0.5, 1.2), "0.50 s, 0.40–1.20");
        assert_eq!(of(500.0, 600.0, 660.0), "10 min, 8–11");
        assert_eq!(of(4.04, 4.05, 4.05), "4.0 s");
        assert_eq!(of(0.001, 0.002, 0.003), "under 0.01 s");
    }
}
