//! Figures as text: with significant digits only and a suitable unit.

use crate::results::Unit;
use crate::stats::Summary;

/// A figure in that unit: "5.21 GiB/s", "1.25 million iterations/s".
pub(super) fn value(value: f64, unit: Unit) -> String {
    match unit {
        Unit::BytesPerSecond => throughput(value),
        Unit::Cost => count(value),
        Unit::Seconds => microseconds(value * 1e6),
        _ => format!("{} {}", count(value), unit_name(unit)),
    }
}

/// The same without the unit, for the end of a bar in a chart whose axis shows the unit.
pub(super) fn short(figure: f64, unit: Unit) -> String {
    match unit {
        Unit::BytesPerSecond | Unit::Seconds => value(figure, unit),
        _ => count(figure),
    }
}

/// Bytes per second: "812 MiB/s".
pub(in crate::report) fn throughput(bytes: f64) -> String {
    let (per, unit) = throughput_unit(bytes);
    format!("{} {unit}", digits(bytes / per))
}

/// The largest unit that is not larger than the value.
fn throughput_unit(bytes: f64) -> (f64, &'static str) {
    let units = [(GIB, "GiB/s"), (MIB, "MiB/s"), (KIB, "KiB/s")];
    units.into_iter().find(|(per, _)| bytes >= *per).unwrap_or((1.0, "B/s"))
}

/// The value of an axis's unit, and its name.
pub(super) fn axis(highest: f64, unit: Unit) -> (f64, String) {
    match unit {
        Unit::BytesPerSecond => {
            let (per, unit) = throughput_unit(highest);
            (per, unit.to_owned())
        }
        _ => axis_of(highest, unit_name(unit)),
    }
}

/// Thousands and millions of a unit, as the axis needs them.
pub(super) fn axis_of(highest: f64, unit: &str) -> (f64, String) {
    match highest {
        highest if highest >= 2e6 => (1e6, format!("million {unit}")),
        highest if highest >= 2e4 => (1e3, format!("thousand {unit}")),
        _ => (1.0, unit.to_owned()),
    }
}

/// The name of the unit on an axis.
pub(super) fn unit_name(unit: Unit) -> &'static str {
    match unit {
        Unit::BytesPerSecond => "bytes/s",
        Unit::IterationsPerSecond => "iterations/s",
        Unit::PassesPerSecond => "passes/s",
        Unit::Cost => "iterations or passes",
        Unit::RequestsPerSecond => "requests/s",
        Unit::Seconds => "s",
    }
}

/// In MiB/s, for a table's column.
pub(super) fn mib(bytes: f64) -> String {
    digits(bytes / MIB)
}

/// At least three digits: "5.21", "94.7", "812", "12345".
pub(super) fn digits(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return "0".to_owned();
    }
    let after = 2 - value.abs().log10().floor() as i32;
    format!("{:.*}", after.clamp(0, 6) as usize, value)
}

/// "995,025", "1.25 million".
pub(super) fn count(value: f64) -> String {
    for (per, word) in [(1e12, "trillion"), (1e9, "billion"), (1e6, "million")] {
        if value >= per {
            return format!("{} {word}", digits(value / per));
        }
    }
    if value < 100.0 {
        return trimmed(digits(value));
    }
    let mut whole = format!("{value:.0}");
    if whole.len() > 3 {
        whole.insert(whole.len() - 3, ',');
    }
    whole
}

/// Without zeros that mean nothing.
pub(super) fn trimmed(text: String) -> String {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// "512 bytes", "64 KiB", "2000 MiB".
pub(super) fn bytes(count: u64) -> String {
    let units = [(1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    match units.into_iter().find(|(per, _)| count > 0 && count.is_multiple_of(*per)) {
        Some((per, unit)) => format!("{} {unit}", count / per),
        None => format!("{count} bytes"),
    }
}

/// "17.5 µs", "1.20 ms".
pub(super) fn microseconds(time: f64) -> String {
    match time {
        time if time < 1e3 => format!("{} µs", digits(time)),
        time if time < 1e6 => format!("{} ms", digits(time / 1e3)),
        time => format!("{} s", digits(time / 1e6)),
    }
}

/// A fraction as "0.4 %", "12 %".
pub(super) fn percent(part: f64) -> String {
    let percent = 100.0 * part;
    if percent.abs() < 10.0 { format!("{percent:.1} %") } else { format!("{percent:.0} %") }
}

/// "±0.4 %"; empty if there are too few samples.
pub(super) fn precision(summary: &Summary) -> String {
    summary.precision().map_or_else(String::new, |part| match part < 0.000_5 {
        true => "±<0.1 %".to_owned(),
        false => format!("±{}", percent(part)),
    })
}

/// "1.4 times as fast".
pub(super) fn times(ratio: f64) -> String {
    if ratio < 2.0 { format!("{ratio:.2} times") } else { format!("{} times", digits(ratio)) }
}

/// Several names as in a sentence: "a, b and c".
pub(super) fn list(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// "1 core", "2 cores".
pub(super) fn plural(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// At most `most` characters.
pub(super) fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most.saturating_sub(1)).chain(['…']).collect()
}

pub(super) const KIB: f64 = 1024.0;
pub(super) const MIB: f64 = KIB * 1024.0;
pub(super) const GIB: f64 = MIB * 1024.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_as_many_digits_as_mean_something() {
        assert_eq!(throughput(5.2134 * GIB), "5.21 GiB/s");
        assert_eq!(throughput(94.68 * MIB), "94.7 MiB/s");
        assert_eq!(throughput(1020.0 * MIB), "1020 MiB/s");
        assert_eq!(throughput(3.0), "3.00 B/s");
        assert_eq!(
            [count(995_024.8), count(1.2512e6), count(17.0), count(0.25)],
            ["995,025", "1.25 million", "17", "0.25"]
        );
        assert_eq!(
            [bytes(512), bytes(65536), bytes(2000 << 20), bytes(0)],
            ["512 bytes", "64 KiB", "2000 MiB", "0 bytes"]
        );
        assert_eq!(
            [microseconds(17.53), microseconds(1200.0), microseconds(2e6)],
            ["17.5 µs", "1.20 ms", "2.00 s"]
        );
        assert_eq!([percent(0.004), percent(0.123), percent(-0.05)], ["0.4 %", "12 %", "-5.0 %"]);
        assert_eq!(list(&["a".into(), "b".into(), "c".into()]), "a, b and c");
        assert_eq!([cut("abcd", 4), cut("abcde", 4)], ["abcd", "abc…"]);
        assert_eq!(digits(f64::MAX / 1e300), "179769313");
    }
}
