//! The cost of searching for a passphrase: guesses per second on hardware that can be bought or
//! rented, years, dollars.
//!
//! PBKDF2 is bound by computation: a guess costs its iterations times the number of blocks of the
//! derived key. The first block alone can rule out a guess only if the keyslot's cipher can be
//! tried with a part of its key; XTS, CBC and the others need all of it, so all blocks count.
//! Argon2 is bound by memory: a guess moves three times its memory per pass (two reads, one write;
//! one read less in the first pass): `bandwidth / (memory · (3·passes − 1))`. docs/COST.md traces
//! every figure.

pub mod cheap;
pub mod hardware;

pub use cheap::Least;
pub use hardware::Hardware;

use crate::unlock_time::Work;

/// Years of 365.25 days.
const YEAR: f64 = 365.25 * 86400.0;

/// The attacker's cost.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cost {
    /// Guesses per second on one device.
    pub guesses_per_second: f64,
    /// Years on one device until the passphrase is found on average: half of all are tried.
    pub years: f64,
    /// Dollars for those years at the hourly price.
    pub dollars: f64,
}

/// The cost of searching half of 2^`entropy` passphrases; `None` when the hardware's speed at this
/// is unknown.
pub fn cost(work: &Work, hardware: &Hardware, entropy: f64, dollars_per_hour: f64) -> Option<Cost> {
    Some(cost_at(guesses_per_second(work, hardware)?, entropy, dollars_per_hour))
}

fn cost_at(guesses_per_second: f64, entropy: f64, dollars_per_hour: f64) -> Cost {
    let seconds = (entropy - 1.0).exp2() / guesses_per_second;
    Cost { guesses_per_second, years: seconds / YEAR, dollars: seconds / 3600.0 * dollars_per_hour }
}

/// Guesses per second on one device. (The digest that follows a guess is ignored; its additional
/// cost is in the defender's favour.)
pub fn guesses_per_second(work: &Work, hardware: &Hardware) -> Option<f64> {
    match work {
        Work::Pbkdf2 { hash, iterations, blocks } => {
            let rate = hardware.pbkdf2(hash)?;
            Some(rate / (*iterations as f64 * *blocks as f64))
        }
        Work::Argon2 { time, memory_kib, .. } => {
            let moved = *memory_kib as f64 * 1024.0 * (3.0 * *time as f64 - 1.0);
            Some(hardware.bandwidth / moved)
        }
        Work::Stretching { rounds } => Some(hardware.stretching / *rounds as f64),
    }
}

/// The cost of the same search where a guess costs nothing but `times` digests of this hash.
pub fn cost_of_hash(hash: &str, times: usize, hardware: &Hardware, entropy: f64, price: f64) -> Option<Cost> {
    Some(cost_at(hardware.hash(hash)? / times.max(1) as f64, entropy, price))
}

/// The most that the same search costs where a guess takes not even a hash: as much as with the fastest one.
pub fn most_without_hash(hardware: &Hardware, entropy: f64, price: f64) -> Cost {
    cost_at(hardware.fastest_hash(), entropy, price)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_rates_come_out() {
        let gpu = Hardware::find("rtx4090").unwrap();
        // hashcat: 3122 kH/s at 1023 iterations (999 and the first, times the mode's 1.024).
        let sha512 = guesses_per_second(&Work::pbkdf2("sha512", 1023, 64), gpu).unwrap();
        assert!((3.0e6..3.3e6).contains(&sha512), "{sha512}");
        // hashcat, pull request 4284: 1667 guesses per second at 64 MiB, 3 passes, 1 lane; the
        // model is an upper bound.
        let argon2 = guesses_per_second(&Work::Argon2 { time: 3, memory_kib: 65536, lanes: 1 }, gpu).unwrap();
        assert!((1667.0..2000.0).contains(&argon2), "{argon2}");
        // A key of 64 bytes has two blocks of SHA-256: half the guesses.
        let one = guesses_per_second(&Work::pbkdf2("sha256", 600_000, 32), gpu).unwrap();
        let two = guesses_per_second(&Work::pbkdf2("sha256", 600_000, 64), gpu).unwrap();
        assert!((one / two - 2.0).abs() < 1e-9);
    }

    /// hashcat v6.2.6 on an RTX 4090 (gist Chick3nman/32e662a5bb63bc4f51b847bb422222fd), modes that open volumes.
    #[test]
    fn published_rates_of_volumes_come_out() {
        let gpu = Hardware::find("rtx4090").unwrap();
        let stretching = Work::Stretching { rounds: 1 << 20 };
        for (mode, work, published) in [
            (29421, Work::pbkdf2("sha512", 500_000, 64), 6432.0),
            (29423, Work::pbkdf2("sha512", 500_000, 192), 2198.0),
            (29451, Work::pbkdf2("sha256", 500_000, 64), 9066.0),
            (29411, Work::pbkdf2("ripemd160", 655_331, 64), 6587.0),
            (29413, Work::pbkdf2("ripemd160", 655_331, 192), 2639.0),
            (29431, Work::pbkdf2("whirlpool", 500_000, 64), 776.0),
            (29471, Work::pbkdf2("stribog512", 500_000, 64), 306.0),
            (20400, Work::pbkdf2("sha1", 131_000, 20), 164_100.0),
            (22100, stretching, 10_025.0),
            (16700, Work::pbkdf2("sha256", 20_000, 16), 430_100.0),
        ] {
            let told = guesses_per_second(&work, gpu).unwrap();
            assert!((told / published - 1.0).abs() < 0.05, "{mode}: {told} {published}");
        }
        let raw = |hash, times| cost_of_hash(hash, times, gpu, 40.0, 1.0).map(|it| it.guesses_per_second);
        assert_eq!([raw("sha256", 1), raw("sha256", 2), raw("sm3", 1)], [Some(2.2e10), Some(1.1e10), None]);
        assert_eq!(most_without_hash(gpu, 40.0, 1.0).guesses_per_second, 5.1e10);
    }

    #[test]
    fn a_bit_more_doubles_the_bill() {
        let gpu = Hardware::find("rtx4090").unwrap();
        let work = Work::pbkdf2("sha512", 300_000, 64);
        let (a, b) = (cost(&work, gpu, 40.0, 0.5).unwrap(), cost(&work, gpu, 41.0, 0.5).unwrap());
        assert!((b.dollars / a.dollars - 2.0).abs() < 1e-9 && (b.years / a.years - 2.0).abs() < 1e-9);
        assert!(cost(&Work::pbkdf2("sm3", 1000, 32), gpu, 40.0, 0.5).is_none());
    }
}
