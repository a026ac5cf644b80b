//! Seconds until a keyslot opens: the computations, and the rates of the machine that performs
//! them.
//!
//! A loader that tries keyslots one after the other computes each one's key and digest until the
//! right one has opened: a passphrase for the fourth keyslot takes four derivations and four
//! digests.
//!
//! GRUB's rates are given relative to Keyway's own PBKDF2-SHA-512 on the same CPU. Like GRUB's,
//! this is scalar code for 64-bit words, so the ratio hardly depends on the CPU. The ratios were
//! measured with `grub-fstest` (2.06 and 2.12 of Debian 12 and 13, 2.14 of forky), in CPU time, on
//! an AMD EPYC (Zen 5), November 2026. What `cryptomount -A` computes with special instructions is
//! given relative to Keyway with the same hash. docs/COST.md has the figures, [`speed`] those that are used.

mod argon2;
mod board;

pub use argon2::Argon2Rates;
pub use board::Board;

use keyway_crypto::Hash;
use keyway_crypto::kdf::speed::{self, Beside, FIRMWARE, KdfSpeed};
use keyway_format::interval::Interval;
use keyway_format::luks2::Kdf;

/// A single key derivation.
#[derive(Debug, Clone, PartialEq)]
pub enum Work {
    /// PBKDF2, of one block or several.
    Pbkdf2 {
        /// The hash, as named in the header.
        hash: String,
        /// Iterations per block.
        iterations: u64,
        /// The number of hash-sized blocks in the derived key.
        blocks: u64,
    },
    /// Argon2.
    Argon2 {
        /// Passes.
        time: u64,
        /// Memory in KiB.
        memory_kib: u64,
        /// Lanes.
        lanes: u64,
    },
    /// BitLocker's stretching: SHA-256, again and again.
    Stretching {
        /// How often.
        rounds: u64,
    },
}

impl Work {
    /// The derivation of this many bytes.
    pub fn of_kdf(kdf: &Kdf, len: usize) -> Self {
        match kdf {
            Kdf::Pbkdf2 { hash, iterations, .. } => Self::pbkdf2(hash, (*iterations).into(), len),
            Kdf::Argon2i { time, memory_kib, lanes, .. } | Kdf::Argon2id { time, memory_kib, lanes, .. } => {
                let (time, memory_kib, lanes) = ((*time).into(), (*memory_kib).into(), (*lanes).into());
                Self::Argon2 { time, memory_kib, lanes }
            }
        }
    }

    /// PBKDF2 for a key of this many bytes.
    pub fn pbkdf2(hash: &str, iterations: u64, len: usize) -> Self {
        let output = Hash::find(hash).map_or(32, Hash::output_len);
        Self::Pbkdf2 { hash: hash.to_owned(), iterations, blocks: len.div_ceil(output).max(1) as u64 }
    }
}

/// How fast a machine derives keys.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Rates {
    /// PBKDF2 by hash: iterations of one block per second.
    pub pbkdf2: Vec<(String, Interval)>,
    /// PBKDF2 by hash and number of blocks, where a program computes several side by side: iterations
    /// of all of them per second. What is not listed is computed block after block.
    pub side_by_side: Vec<(String, u64, Interval)>,
    /// Argon2.
    pub argon2: Argon2Rates,
    /// BitLocker's stretching: rounds per second.
    pub stretching: Option<Interval>,
    /// Seconds per keyslot besides the derivations: reading, merging the stripes, decrypting, and
    /// the start of the program.
    pub each_slot: Interval,
}

impl Rates {
    /// The seconds for one derivation; `None` if the rate is unknown.
    pub fn seconds(&self, work: &Work) -> Option<Interval> {
        match work {
            Work::Pbkdf2 { hash, iterations, blocks } => {
                let is_it = |name: &str, of: u64| of == *blocks && name.eq_ignore_ascii_case(hash);
                if let Some((.., rate)) = self.side_by_side.iter().find(|(name, of, _)| is_it(name, *of)) {
                    return Some(rate.under(*iterations as f64));
                }
                let rate = self.pbkdf2.iter().find(|(name, _)| name.eq_ignore_ascii_case(hash))?.1;
                Some(rate.under(*iterations as f64 * *blocks as f64))
            }
            Work::Argon2 { time, memory_kib, .. } => {
                Some(self.argon2.at(*memory_kib)?.under(*time as f64 * *memory_kib as f64))
            }
            Work::Stretching { rounds } => Some(self.stretching?.under(*rounds as f64)),
        }
    }

    /// The seconds for all derivations, one after the other.
    pub fn total<'a>(&self, works: impl IntoIterator<Item = &'a Work>) -> Option<Interval> {
        works.into_iter().map(|work| self.seconds(work)).sum::<Option<Interval>>()
    }

    /// The times of keyslots that are tried one after the other: for each, what is computed when it
    /// is tried.
    pub fn in_turn<'a>(&self, keyslots: impl IntoIterator<Item = &'a [Work]>) -> Vec<Wait> {
        let mut before = Some(Interval::default());
        let wait = |works: &[Work]| {
            let each = if works.is_empty() { Interval::default() } else { self.each_slot };
            let alone = self.total(works).map(|sum| sum + each);
            let wait = Wait { alone, before };
            before = wait.until_opened();
            wait
        };
        keyslots.into_iter().map(wait).collect()
    }

    /// GRUB's rates on the CPU whose rates under Linux these are, with one lane of Argon2.
    #[must_use]
    pub fn of_grub(&self, speed: &KdfSpeed, place: Place) -> Self {
        let here = |hash: Hash| Some(self.pbkdf2.iter().find(|(name, _)| name == hash.name())?.1);
        let by = |rate: Interval, ratio| rate.times(ratio).widened(1.0 / LIKE, LIKE);
        let of_hash = |hash: Hash| {
            let beside = match speed.beside(hash) {
                Beside::SameHash => hash,
                Beside::Sha512 | Beside::Nothing => Hash::Sha512,
            };
            Some((hash.name().to_owned(), by(here(beside)?, speed.pbkdf2(hash)?)))
        };
        let pbkdf2 = speed.hashes().filter_map(of_hash).collect();
        let argon2 = self.argon2.filter_map(|kib, rate| Some(by(rate, speed.argon2(kib)?)));
        let firmware =
            Self { pbkdf2, argon2, each_slot: Interval::exact(0.02 * FIRMWARE), ..Self::default() };
        match place {
            Place::Utility => firmware.times(FIRMWARE),
            Place::Firmware => firmware,
        }
    }

    /// cryptsetup's rates on the CPU whose rates with this library these are.
    #[must_use]
    pub fn of_cryptsetup(&self) -> Self {
        let by = |rate: &Interval, ratio: f64, (less, more): (f64, f64)| {
            rate.times(ratio).widened(1.0 / less, more)
        };
        let ratio = |name: &str| speed::CRYPTSETUP.pbkdf2(Hash::find(name)?);
        let known = self.pbkdf2.iter().filter_map(|(hash, rate)| Some((hash, rate, ratio(hash)?)));
        let pbkdf2 = known.map(|(hash, rate, ratio)| (hash.clone(), by(rate, ratio, (LIKE, LIKE))));
        let of_argon2 = |kib, rate| Some(by(&rate, speed::CRYPTSETUP.argon2(kib)?, LIKE_ARGON2));
        let argon2 = self.argon2.filter_map(of_argon2);
        let each_slot = self.each_slot.times(CRYPTSETUPS_START);
        let of_rounds = |rate| Some(by(&rate, speed::CRYPTSETUP.stretching()?, (LIKE, LIKE)));
        let stretching = self.stretching.and_then(of_rounds);
        Self { pbkdf2: pbkdf2.collect(), argon2, stretching, each_slot, ..Self::default() }
    }

    /// The rates of a machine on which these computations, which these rates give `told` seconds, took
    /// `seconds`: everything is as much faster or slower, and what was computed is known to a tenth.
    #[must_use]
    pub fn measured<'a>(&self, told: f64, seconds: f64, works: impl IntoIterator<Item = &'a Work>) -> Self {
        let mut rates = self.clone().times(told / seconds);
        let known = |rate: Interval| Interval::exact(rate.likely).widened(0.9, 1.1);
        for work in works {
            match work {
                Work::Pbkdf2 { hash, .. } => {
                    let row = rates.pbkdf2.iter_mut().find(|(name, _)| name.eq_ignore_ascii_case(hash));
                    row.into_iter().for_each(|(_, rate)| *rate = known(*rate));
                    let rows = rates.side_by_side.iter_mut();
                    let rows = rows.filter(|(name, ..)| name.eq_ignore_ascii_case(hash));
                    rows.for_each(|(.., rate)| *rate = known(*rate));
                }
                Work::Argon2 { .. } => rates.argon2 = rates.argon2.filter_map(|_, rate| Some(known(rate))),
                Work::Stretching { .. } => rates.stretching = rates.stretching.map(known),
            }
        }
        rates
    }

    /// The rates of a machine that is faster by this factor.
    #[must_use]
    pub fn times(mut self, factor: f64) -> Self {
        self.pbkdf2.iter_mut().for_each(|(_, rate)| *rate = rate.times(factor));
        self.side_by_side.iter_mut().for_each(|(.., rate)| *rate = rate.times(factor));
        self.argon2 = self.argon2.filter_map(|_, rate| Some(rate.times(factor)));
        self.stretching = self.stretching.map(|rate| rate.times(factor));
        self.each_slot = self.each_slot.times(1.0 / factor);
        self
    }
}

/// The seconds that a keyslot takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Wait {
    /// If it is tried first; `None` if a rate is unknown.
    pub alone: Option<Interval>,
    /// For the keyslots that are tried before it.
    pub before: Option<Interval>,
}

impl Wait {
    /// With the keyslots that are tried before it.
    pub fn until_opened(&self) -> Option<Interval> {
        self.before.zip(self.alone).map(|(before, alone)| before + alone)
    }
}

/// Where GRUB runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// As a program on Linux: `grub-fstest`.
    Utility,
    /// In firmware.
    Firmware,
}

/// Ratios of two programs on the same CPU are taken for those on another: good to about a fifth.
const LIKE: f64 = 1.2;
/// The same for Argon2: caches differ.
const LIKE_ARGON2: (f64, f64) = (1.5, 1.5);
/// cryptsetup looks at more devices and loads more libraries before it derives.
const CRYPTSETUPS_START: f64 = 2.0;
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_and_digests_count() {
        let rates = Rates {
            pbkdf2: vec![("sha256".into(), Interval::exact(1000.0))],
            argon2: Argon2Rates::of_any(Interval::exact(4096.0)),
            ..Rates::default()
        };
        let exact = |seconds| Some(Interval::exact(seconds));
        assert_eq!(rates.seconds(&Work::pbkdf2("SHA256", 1000, 64)), exact(2.0));
        assert_eq!(rates.seconds(&Work::pbkdf2("sha256", 1000, 20)), exact(1.0));
        assert_eq!(rates.seconds(&Work::pbkdf2("sha1", 1000, 20)), None);
        let argon2 = Work::Argon2 { time: 4, memory_kib: 1024, lanes: 4 };
        assert_eq!(rates.total([&argon2, &argon2]), exact(2.0));
        assert_eq!(rates.times(2.0).seconds(&argon2), exact(0.5));
    }

    #[test]
    fn blocks_that_are_computed_side_by_side_are_not_summed() {
        let (one, two) = (Interval::exact(1000.0), Interval::exact(900.0));
        let rates = Rates {
            pbkdf2: vec![("sha256".into(), one), ("sha512".into(), one)],
            side_by_side: vec![("sha256".into(), 2, two)],
            ..Rates::default()
        };
        let seconds = |rates: &Rates, hash: &str, len| {
            rates.seconds(&Work::pbkdf2(hash, 1800, len)).map(|time| time.likely)
        };
        let all = |rates: &Rates| {
            [("SHA256", 32), ("SHA256", 64), ("sha256", 96), ("sha512", 64)]
                .map(|(hash, len)| seconds(rates, hash, len))
        };
        assert_eq!(all(&rates), [Some(1.8), Some(2.0), Some(5.4), Some(1.8)]);
        assert_eq!(all(&rates.clone().times(2.0)), [Some(0.9), Some(1.0), Some(2.7), Some(0.9)]);
        // Other programs compute one after the other.
        let others = rates.of_cryptsetup();
        assert_eq!(seconds(&others, "sha256", 64).unwrap(), 2.0 * seconds(&others, "sha256", 32).unwrap());
        let watched = rates.measured(1.0, 1.0, [&Work::pbkdf2("sha256", 1, 64)]);
        let time = watched.seconds(&Work::pbkdf2("sha256", 900, 64)).unwrap();
        assert!(time.low < 1.0 && time.likely == 1.0 && time.high > 1.0, "known to a tenth: {time:?}");
    }

    #[test]
    fn what_a_watch_showed_scales_everything_and_narrows_what_was_computed() {
        let around = |rate: f64| Interval::exact(rate).widened(0.5, 2.0);
        let pbkdf2 = vec![("sha256".into(), around(1000.0)), ("sha512".into(), around(100.0))];
        let argon2 = Argon2Rates::of_any(around(8.0));
        let rates = Rates { pbkdf2, argon2, each_slot: Interval::exact(0.1), ..Rates::default() };
        let work = Work::pbkdf2("SHA256", 1000, 32);
        let told = rates.seconds(&work).unwrap().likely + rates.each_slot.likely;
        let scaled = rates.measured(told, 2.0 * told, [&work]);
        assert_eq!(scaled.seconds(&work).unwrap().likely + scaled.each_slot.likely, 2.0 * told);
        let row = |at: usize| (scaled.pbkdf2[at].1.low, scaled.pbkdf2[at].1.high);
        assert_eq!((row(0), row(1)), ((450.0, 550.00), (25.0, 100.0)));
        assert_eq!(scaled.argon2, Argon2Rates::of_any(around(4.0)));
    }

    #[test]
    fn keyslots_wait_for_those_before_them() {
        let rates = Rates {
            pbkdf2: vec![("sha256".into(), Interval::exact(1000.0))],
            each_slot: Interval::exact(0.5),
            ..Rates::default()
        };
        let pbkdf2 = |iterations| vec![Work::pbkdf2("sha256", iterations, 32); 2];
        let argon2 = vec![Work::Argon2 { time: 4, memory_kib: 1024, lanes: 4 }];
        let keyslots = [pbkdf2(1000), Vec::new(), pbkdf2(2000), argon2, pbkdf2(1000)];
        let waits = rates.in_turn(keyslots.iter().map(Vec::as_slice));
        let exact = |seconds: Option<f64>| seconds.map(Interval::exact);
        let of = |alone, before| Wait { alone: exact(alone), before: exact(before) };
        let known = [of(Some(2.5), Some(0.0)), of(Some(0.0), Some(2.5)), of(Some(4.5), Some(2.5))];
        assert_eq!(waits[..3], known, "a keyslot that is not tried takes no time");
        assert_eq!(waits[2].until_opened(), exact(Some(7.0)));
        assert_eq!(waits[3..], [of(None, Some(7.0)), of(Some(2.5), None)]);
    }

    #[test]
    fn boards_have_rates_of_every_hash() {
        let seconds = |board: &str, hash| {
            Board::find(board).unwrap().rates().seconds(&Work::pbkdf2(hash, 233_224, 32)).unwrap().likely
        };
        assert_eq!(seconds("PI4", "sha256"), 1.0);
        for hash in ["sha1", "sha256", "sha512", "ripemd160", "whirlpool"] {
            let ratio = seconds("pi3", hash) / seconds("pi4", hash);
            assert!((1.01..1.02).contains(&ratio), "{hash}: {ratio}");
        }
    }

    /// What GRUB accelerates follows this CPU's speed with the same hash; the rest does not.
    #[test]
    fn accelerated_grub_follows_the_hash() {
        let at = |hash: &str, rate| (hash.to_owned(), Interval::exact(rate));
        let rates =
            |sha256| Rates { pbkdf2: vec![at("sha512", 1e6), at("sha256", sha256)], ..Rates::default() };
        let rate = |cpu: &Rates, speed, hash: &str| {
            let rates = cpu.of_grub(speed, Place::Utility).pbkdf2;
            rates.into_iter().find(|(name, _)| name == hash).map(|(_, rate)| rate.likely.round())
        };
        let (slow, fast) = (rates(1e6), rates(4e6));
        let sha256 = speed::GRUB_2_14_ACCEL.pbkdf2(Hash::Sha256).unwrap() * FIRMWARE;
        assert_eq!(rate(&slow, &speed::GRUB_2_14_ACCEL, "sha256"), Some((1e6 * sha256).round()));
        assert_eq!(rate(&fast, &speed::GRUB_2_14_ACCEL, "sha256"), Some((4e6 * sha256).round()));
        assert_eq!(rate(&fast, &speed::GRUB_2_14_ACCEL, "sha512"), Some(630_000.0));
        assert_eq!(rate(&fast, &speed::GRUB_2_14_ACCEL, "sha224"), None, "not measured there");
        for hash in ["sha1", "ripemd160"] {
            let plain = rate(&fast, &speed::GRUB_2_14, hash);
            assert!(plain.is_some() && rate(&fast, &speed::GRUB_2_14_ACCEL, hash) == plain, "{hash}");
        }
        assert_eq!(rate(&fast, &speed::GRUB_2_14, "sha256"), Some(800_000.0));
    }

    /// The article: 2,612,730 iterations of SHA-512, 450,000 per second under Linux, around 45 s in
    /// GRUB; with 200,000 around 4 s.
    #[test]
    fn the_article() {
        let pbkdf2 = vec![("sha512".into(), Interval::exact(450_000.0))];
        let grub = Rates { pbkdf2, ..Rates::default() }.of_grub(&speed::GRUB_2_06, Place::Firmware);
        let seconds = |iterations| grub.seconds(&Work::pbkdf2("sha512", iterations, 64)).unwrap().likely;
        assert!((36.0..54.0).contains(&seconds(2_612_730)), "{}", seconds(2_612_730));
        assert!((2.5..5.0).contains(&seconds(200_000)), "{}", seconds(200_000));
        // Conclusion 3: four keyslots with a digest of a quarter of their iterations take as long
        // as five.
        let slot = Work::pbkdf2("sha512", 2_612_730, 64);
        let digest = Work::pbkdf2("sha512", 2_612_730 / 4, 20);
        let four = grub.total([&slot, &digest].repeat(4)).unwrap().likely;
        assert!((4.9..5.1).contains(&(four / seconds(2_612_730))));
    }
}
