//! What is said of a key derivation's cost while it is measured and when it is chosen: a new keyslot
//! takes seconds to make, and as long to open.

use crate::say::figures::{argon2, grouped, seconds};
use crate::say::manner::Manner;
use crate::say::size::human;
use keyway_crypto::kdf::Argon2Cost;
use keyway_volume::kdf_cost::{self, Calibration, SettledKdf};
use std::io::{IsTerminal, Write, stderr};
use std::time::Duration;

/// From now on, says what is measured: on a terminal, or with `-v`. Other output stays as scripts
/// written for cryptsetup know it.
pub(super) fn announce(manner: Manner, is_cryptsetup: bool) {
    if !manner.batch_mode && !is_cryptsetup && (manner.verbose || stderr().is_terminal()) {
        kdf_cost::announce(say_it);
    }
}

fn say_it(calibration: Calibration<'_>) {
    let on_terminal = |text: &str| {
        if stderr().is_terminal() {
            let _ = stderr().write_all(text.as_bytes());
        }
    };
    match calibration {
        Calibration::Starts => on_terminal("Calibrating the key derivation …"),
        Calibration::Ends(chosen) => {
            on_terminal("\r\x1b[K");
            if let Some((kdf, took)) = chosen {
                say!("{}", line(kdf, took));
            }
        }
    }
}

fn line(kdf: &SettledKdf, took: Duration) -> String {
    let cost = match kdf {
        SettledKdf::Pbkdf2 { hash, iterations } => {
            format!("PBKDF2 with {}, {} iterations", hash.name(), grouped((*iterations).into()))
        }
        SettledKdf::Argon2 { variant, cost: Argon2Cost { time, memory_kib, lanes } } => {
            let (memory, threads) =
                (human(u64::from(*memory_kib) * 1024), if *lanes == 1 { "" } else { "s" });
            format!("{}, {memory}, {time} passes, {lanes} thread{threads}", argon2(*variant))
        }
    };
    format!("Key derivation calibrated: {cost}: {} here.", seconds(took.as_secs_f64()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use keyway_crypto::Hash;
    use keyway_crypto::kdf::Argon2Variant;

    #[test]
    fn the_line_says_what_was_chosen() {
        let cost = Argon2Cost { time: 4, memory_kib: 1 << 20, lanes: 4 };
        let kdf = SettledKdf::Argon2 { variant: Argon2Variant::Argon2id, cost };
        assert_eq!(
            line(&kdf, Duration::from_millis(2040)),
            "Key derivation calibrated: Argon2id, 1.0 GiB, 4 passes, 4 threads: 2.0 s here."
        );
        let pbkdf2 = SettledKdf::Pbkdf2 { hash: Hash::parse("sha512").unwrap(), iterations: 1_234_567 };
        assert_eq!(
            line(&pbkdf2, Duration::from_millis(500)),
            "Key derivation calibrated: PBKDF2 with sha512, 1,234,567 iterations: 0.50 s here."
        );
    }
}
