//! Key derivations of more than a minute: said beforehand and asked for, because every unlocking
//! takes as long. Passes of Argon2 that were meant as iterations of PBKDF2 take hours.

use crate::args::Args;
use crate::make::calibration::{self, Data};
use crate::output::failure::{Exit, Failure, Result};
use crate::output::figures::{argon2, grouped, seconds};
use crate::output::manner::Manner;
use crate::output::{question, size};
use keyway::kdf_cost::{self, Cost};
use keyway::parts::KdfChoice;

/// Who is asked, and whether anybody can be.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SlowKdf {
    manner: Manner,
    /// Called by its name: cryptsetup starts such a derivation without a word, and scripts written
    /// for it must go on.
    is_cryptsetup: bool,
    /// Whether the function was named, not taken by default.
    named: bool,
}

impl SlowKdf {
    pub(super) fn from_args(args: &Args, named: bool) -> Self {
        Self { manner: args.manner(), is_cryptsetup: args.is_cryptsetup(), named }
    }

    /// Whether lines that need no answer are read by anybody.
    pub(super) fn is_heard(&self) -> bool {
        !self.manner.batch_mode
    }

    /// Says what is measured, where somebody reads it.
    pub(super) fn announce(&self, is_timed: bool, data: Option<Data>) {
        calibration::announce(self.manner, self.is_cryptsetup, is_timed, data);
    }

    /// Says what a long derivation takes, and fails unless it is wanted.
    pub(super) fn agree(&self, choice: &KdfChoice) -> Result<()> {
        let Some(seconds) = long(choice).filter(|_| !self.manner.batch_mode) else { return Ok(()) };
        let warning = self.warning(choice, seconds);
        if self.is_cryptsetup {
            say!("WARNING: {warning}");
            return Ok(());
        }
        if !rustix::termios::isatty(rustix::stdio::stdin()) {
            let message = question::unasked(&warning);
            return Err(Failure::new(Exit::Parameters, message));
        }
        question::confirm(self.manner, &warning, "Operation aborted.", Exit::Parameters)
    }

    fn warning(&self, choice: &KdfChoice, time: f64) -> String {
        let (what, meant) = match choice {
            KdfChoice::Pbkdf2 { hash, cost: Cost::Forced(iterations) } => (
                format!("{} iterations of PBKDF2 with {hash}", grouped((*iterations).into())),
                "--iter-time 2000 finds the iterations that take two seconds.",
            ),
            KdfChoice::Argon2 { variant, memory_kib, cost: Cost::Forced(passes), .. } => (
                format!(
                    "{} passes of {} over {}",
                    grouped((*passes).into()),
                    argon2(*variant),
                    size::human(u64::from(*memory_kib) * 1024)
                ),
                match self.named {
                    false => "For iterations of PBKDF2, give --pbkdf pbkdf2.",
                    true => "--iter-time 2000 finds the passes and the memory that take two seconds.",
                },
            ),
            KdfChoice::Pbkdf2 { cost: Cost::Time(_, opener), .. }
            | KdfChoice::Argon2 { cost: Cost::Time(_, opener), .. } => {
                let (took, place) = (seconds(time), opener.place());
                return format!(
                    "Key derivation with this --iter-time takes about {took} {place}, each time that it is \
                     opened. --iter-time is in milliseconds."
                );
            }
        };
        let took = seconds(time);
        format!("{what}: about {took} on this machine, now and each time that the volume is opened. {meant}")
    }
}

/// The seconds that a derivation takes, if they are more than a minute.
fn long(choice: &KdfChoice) -> Option<f64> {
    kdf_cost::seconds_of(choice).filter(|seconds| *seconds > LONG)
}

/// Seconds above which a derivation is asked for.
const LONG: f64 = 60.0;
#[cfg(test)]
mod tests {
    use super::*;
    use keyway::kdf_cost::Opener;
    use keyway_crypto::kdf::Argon2Variant;
    use std::time::Duration;

    fn passes_of_argon2(passes: u32) -> KdfChoice {
        let cost = Cost::Forced(passes);
        KdfChoice::Argon2 { variant: Argon2Variant::Argon2id, memory_kib: 1 << 20, lanes: 4, cost }
    }

    #[test]
    fn hours_are_noticed_and_seconds_are_not() {
        let hours = long(&passes_of_argon2(200_000)).expect("200,000 passes over 1 GiB");
        assert!(hours > 3600.0, "{hours}");
        assert_eq!(long(&passes_of_argon2(4)), None);
        let pbkdf2 = |cost| KdfChoice::Pbkdf2 { hash: "sha256".into(), cost };
        assert_eq!(long(&pbkdf2(Cost::Forced(200_000))), None);
        assert!(long(&pbkdf2(Cost::Forced(u32::MAX))).is_some());
        let time = |seconds| Cost::Time(Duration::from_secs(seconds), Opener::default());
        assert_eq!(long(&pbkdf2(time(60))), None);
        assert_eq!(long(&pbkdf2(time(90))), Some(90.0));
    }

    #[test]
    fn what_was_probably_meant_is_said() {
        let slow_kdf = |named| SlowKdf { manner: Manner::default(), is_cryptsetup: false, named };
        let said = slow_kdf(false).warning(&passes_of_argon2(200_000), 40_000.0);
        assert_eq!(
            said,
            "200,000 passes of Argon2id over 1.0 GiB: about 11 h on this machine, now and each time that the \
             volume is opened. For iterations of PBKDF2, give --pbkdf pbkdf2."
        );
        assert!(slow_kdf(true).warning(&passes_of_argon2(200_000), 40_000.0).contains("--iter-time"));
    }
}
