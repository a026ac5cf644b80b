//! Selects the runner for a case by whose code it measures.

use crate::Clock;
use crate::memory;
use crate::peers;
use crate::results::{By, Case, Outcome, Settings};
use crate::rounds::Subject;

/// Prepares any case of a suite, or returns why there is nothing to measure.
pub fn prepare(case: &Case, settings: &Settings, clock: &dyn Clock) -> Result<Subject, Outcome> {
    let by = match case {
        Case::Cipher(case) => &case.by,
        Case::Kdf(case) => &case.by,
        Case::Driver(_) => return memory::prepare(case, settings, clock),
        Case::Disk(_) => {
            return Err(Outcome::not_measured(format!("{} is not measured in memory", case.id())));
        }
    };
    match by {
        By::Keyway | By::Kernel(_) => memory::prepare(case, settings, clock),
        By::Peer(_) => peers::prepare(case),
        By::Plain | By::DmCrypt => Err(Outcome::not_measured(format!("{by} is not measured in memory"))),
    }
}
