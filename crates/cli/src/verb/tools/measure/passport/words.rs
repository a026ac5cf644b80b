//! Costs as text, with only the significant digits.

use crate::output::figures::grouped;
use keyway_boot::unlock_time::Work;

/// The row of what opening takes on the target.
pub(super) const ON_TARGET: &str = "on the target";

/// The row of what a search costs.
pub(super) const TO_FIND: &str = "to find it";

/// In place of a time.
pub(super) const NO_RATE: &str = "no rate is known for it";

/// A passphrase's entropy, on a page.
pub(super) fn entropy(bits: f64) -> String {
    format!("{bits} bits of entropy")
}

/// A passphrase's entropy, as what a search tries.
pub(super) fn guesses(bits: f64) -> String {
    format!("{bits} bits: half of {} guesses", large(bits.exp2()))
}

/// BitLocker's key derivation.
pub(super) fn stretching(rounds: u64) -> String {
    format!("{} rounds of SHA-256", grouped(rounds))
}

/// "3 hours", "120 years", "4.5 million years".
pub(super) fn years(years: f64) -> String {
    let hours = years * 8766.0;
    match years {
        _ if hours < 1.0 => "under an hour".to_owned(),
        _ if hours < 48.0 => format!("{hours:.0} hours"),
        y if y < 2.0 => format!("{:.0} days", y * 365.25),
        y => format!("{} years", large(y)),
    }
}

/// "$0.03", "$12", "$1.2 million".
pub(super) fn dollars(dollars: f64) -> String {
    match dollars {
        d if d < 0.005 => "under a cent".to_owned(),
        d if d < 10.0 => format!("${d:.2}"),
        d => format!("${}", large(d)),
    }
}

/// "950", "12,000", "1.2 million", "3e21".
pub(super) fn large(number: f64) -> String {
    match number {
        n if n < 10.0 => format!("{n:.1}"),
        n if n < 1000.0 => format!("{n:.0}"),
        n if n < 1e6 => {
            let thousands = format!("{n:.0}");
            format!("{},{}", &thousands[..thousands.len() - 3], &thousands[thousands.len() - 3..])
        }
        n if n < 1e9 => scaled(n / 1e6, "million"),
        n if n < 1e12 => scaled(n / 1e9, "billion"),
        n if n < 1e15 => scaled(n / 1e12, "trillion"),
        n => format!("{n:.0e}"),
    }
}

fn scaled(number: f64, word: &str) -> String {
    if number < 10.0 { format!("{number:.1} {word}") } else { format!("{number:.0} {word}") }
}

/// "pbkdf2 sha512, 2,612,730 iterations"
pub(super) fn derivation(work: &Work, variant: &str) -> String {
    match work {
        Work::Pbkdf2 { hash, iterations, blocks: 1 } => {
            format!("{variant} {hash}, {} iterations", grouped(*iterations))
        }
        Work::Pbkdf2 { hash, iterations, blocks } => {
            format!("{variant} {hash}, {} iterations × {blocks} blocks", grouped(*iterations))
        }
        Work::Argon2 { time, memory_kib, lanes } => {
            let memory = crate::output::size::human(memory_kib * 1024);
            format!(
                "{variant}, {time} passes over {memory}, {lanes} {}",
                if *lanes == 1 { "lane" } else { "lanes" }
            )
        }
        Work::Stretching { rounds } => stretching(*rounds),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_for_people() {
        assert_eq!(
            [1e-5, 1e-3, 0.5, 3.0, 4.5e6].map(years),
            ["under an hour", "9 hours", "183 days", "3.0 years", "4.5 million years"]
        );
        assert_eq!(
            [0.001, 0.03, 12.0, 12_345.0, 1.2e7, 3e21].map(dollars),
            ["under a cent", "$0.03", "$12", "$12,345", "$12 million", "$3e21"]
        );
    }
}
