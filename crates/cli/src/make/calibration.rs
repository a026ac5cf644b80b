//! What is said of a key derivation's cost while it is measured and when it is chosen: a new keyslot
//! takes seconds to make, and as long to open. What is cheap to guess is always said.

use crate::output::figures::{argon2, grouped, seconds};
use crate::output::manner::Manner;
use crate::output::size::human;
use keyway::kdf_cost::{self, Calibrated, Calibration, DEFAULT_HASH, Opener, SettledKdf};
use keyway_boot::attack::Least;
use keyway_boot::loader::grub::{Loader, Planned, Version};
use keyway_boot::unlock_time::Work;
use keyway_crypto::kdf::Argon2Cost;
use std::io::{IsTerminal, Write, stderr};
use std::sync::OnceLock;

/// The cipher of the data that a new keyslot is for, and the length of its key in bytes.
#[derive(Debug, Clone)]
pub(crate) struct Data {
    pub(crate) cipher: String,
    pub(crate) key_len: usize,
}

/// What is said.
#[derive(Debug)]
struct Announced {
    /// What is measured and chosen: on a terminal, or with `-v`. Other output stays as scripts written
    /// for cryptsetup know it.
    choice: bool,
    /// That the chosen cost is cheap to guess.
    cheap: bool,
    data: Option<Data>,
}

/// From now on, says what is measured. `data` tells whether GRUB reads the volume; cryptsetup's scripts
/// that give a time (`is_timed`) know what they ask for.
pub(super) fn announce(manner: Manner, is_cryptsetup: bool, is_timed: bool, data: Option<Data>) {
    let choice = !manner.batch_mode && !is_cryptsetup && (manner.verbose || stderr().is_terminal());
    let cheap = !(is_cryptsetup && (manner.batch_mode || is_timed));
    if ANNOUNCED.set(Announced { choice, cheap, data }).is_ok() {
        kdf_cost::announce(say_it);
    }
}

static ANNOUNCED: OnceLock<Announced> = OnceLock::new();

fn say_it(calibration: Calibration<'_, '_>) {
    let Some(Announced { choice, cheap, data }) = ANNOUNCED.get() else { return };
    let on_terminal = |text: &str| {
        if *choice && stderr().is_terminal() {
            let _ = stderr().write_all(text.as_bytes());
        }
    };
    match calibration {
        Calibration::Starts => on_terminal("Calibrating the key derivation …"),
        Calibration::Ends(chosen) => {
            let Some(chosen) = chosen else { return on_terminal(CLEARED) };
            let line = choice.then(|| line(chosen, data.as_ref()));
            on_terminal(CLEARED);
            line.iter().for_each(|line| say!("{line}"));
            if let Some(warning) = warning(&chosen.kdf).filter(|_| *cheap) {
                say!("{warning}");
            }
        }
    }
}

const CLEARED: &str = "\r\x1b[K";

/// What was chosen, and how long it takes: here, in cryptsetup, in GRUB if it reads such a volume, and
/// where it was asked for.
fn line(chosen: &Calibrated<'_>, data: Option<&Data>) -> String {
    let of_linux = [Opener::Keyway, Opener::default()];
    let mut places: Vec<Opener> = of_linux.into_iter().chain(grubs(&chosen.kdf, data)).collect();
    if !places.contains(&chosen.opener) {
        places.push(chosen.opener);
    }
    let told = places.into_iter().filter_map(|it| {
        let time = chosen.seconds(it)?;
        Some(format!("{} {}", seconds(time), it.place()))
    });
    let told: Vec<String> = told.collect();
    format!("Key derivation calibrated: {}: {}.", cost(&chosen.kdf), told.join(", "))
}

/// The releases of GRUB that open such a keyslot. (2.06 is as fast as 2.12.)
fn grubs(kdf: &SettledKdf, data: Option<&Data>) -> Vec<Opener> {
    let (hash, argon2) = match kdf {
        SettledKdf::Pbkdf2 { hash, .. } => (hash.name(), false),
        SettledKdf::Argon2 { .. } => (DEFAULT_HASH, true),
    };
    let opens = |version: &Version| {
        data.is_some_and(|data| {
            let data = Some((data.cipher.as_str(), data.key_len));
            Loader::new(*version).refuses(&Planned { format: 2, hash, argon2, data }).is_none()
        })
    };
    let versions = [Version::V2_12, Version::V2_14].into_iter().filter(opens);
    versions.map(|version| Opener::Other(version.speed())).collect()
}

fn cost(kdf: &SettledKdf) -> String {
    match kdf {
        SettledKdf::Pbkdf2 { hash, iterations } => {
            format!("PBKDF2 with {}, {} iterations", hash.name(), grouped((*iterations).into()))
        }
        SettledKdf::Argon2 { variant, cost: Argon2Cost { time, memory_kib, lanes } } => {
            let (memory, threads) =
                (human(u64::from(*memory_kib) * 1024), if *lanes == 1 { "" } else { "s" });
            format!("{}, {memory}, {time} passes, {lanes} thread{threads}", argon2(*variant))
        }
    }
}

/// That the chosen cost is below what is recommended.
fn warning(kdf: &SettledKdf) -> Option<String> {
    let work = match kdf {
        SettledKdf::Pbkdf2 { hash, iterations } => Work::pbkdf2(hash.name(), (*iterations).into(), 1),
        SettledKdf::Argon2 { cost: Argon2Cost { time, memory_kib, lanes }, .. } => {
            Work::Argon2 { time: (*time).into(), memory_kib: (*memory_kib).into(), lanes: (*lanes).into() }
        }
    };
    let least = match Least::missed_by(&work)? {
        Least::Iterations(least) => format!("{} iterations", grouped(least.into())),
        least @ Least::KibPasses(_) => least.to_string(),
    };
    Some(format!(
        "WARNING: {} is cheap to guess: at least {least} are recommended. A longer --iter-time gives more.",
        cost(kdf)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use keyway_crypto::Hash;
    use keyway_crypto::kdf::Argon2Variant;

    fn pbkdf2(hash: &str, iterations: u32) -> SettledKdf {
        SettledKdf::Pbkdf2 { hash: Hash::parse(hash).unwrap(), iterations }
    }

    fn argon2id(time: u32, memory_kib: u32, lanes: u32) -> SettledKdf {
        SettledKdf::Argon2 { variant: Argon2Variant::Argon2id, cost: Argon2Cost { time, memory_kib, lanes } }
    }

    #[test]
    fn the_cost_is_told_in_words() {
        assert_eq!(cost(&argon2id(4, 1 << 20, 4)), "Argon2id, 1.0 GiB, 4 passes, 4 threads");
        assert_eq!(cost(&argon2id(4, 1 << 20, 1)), "Argon2id, 1.0 GiB, 4 passes, 1 thread");
        assert_eq!(cost(&pbkdf2("sha512", 1_234_567)), "PBKDF2 with sha512, 1,234,567 iterations");
    }

    #[test]
    fn what_is_cheap_to_guess_is_said() {
        assert_eq!(
            warning(&pbkdf2("sha256", 599_999)).unwrap(),
            "WARNING: PBKDF2 with sha256, 599,999 iterations is cheap to guess: at least 600,000 iterations are \
             recommended. A longer --iter-time gives more."
        );
        assert!(warning(&argon2id(4, 1024, 1)).unwrap().contains("at least 2 passes over 19 MiB"));
        assert_eq!(warning(&pbkdf2("sha256", 600_000)), None);
        assert_eq!(warning(&pbkdf2("sha512", 210_000)), None);
        assert_eq!(warning(&argon2id(4, 1 << 20, 4)), None);
    }

    #[test]
    fn grub_is_named_where_it_opens_such_a_keyslot() {
        let data = |cipher: &str| Data { cipher: cipher.to_owned(), key_len: 64 };
        let names = |kdf: &SettledKdf, data: Option<&Data>| -> Vec<&str> {
            grubs(kdf, data).into_iter().map(Opener::name).collect()
        };
        let xts = data("aes-xts-plain64");
        assert_eq!(names(&pbkdf2("sha256", 1000), Some(&xts)), ["grub-2.12", "grub-2.14"]);
        assert_eq!(names(&pbkdf2("whirlpool", 1000), Some(&xts)), ["grub-2.12"]);
        assert_eq!(names(&argon2id(4, 1024, 1), Some(&xts)), ["grub-2.14"]);
        let none: [&str; 0] = [];
        assert_eq!(names(&pbkdf2("blake2b-512", 1000), None), none);
        assert_eq!(names(&pbkdf2("sha256", 1000), Some(&data("aes-hctr2-plain64"))), none);
        assert_eq!(names(&pbkdf2("sha256", 1000), None), none);
    }
}
