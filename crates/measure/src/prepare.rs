//! Selects the runner for a case by whose code it measures.

use crate::Clock;
use crate::memory::{cipher, driver, kdf, kernel};
use crate::peers::{cryptsetup, openssl};
use crate::results::{By, Case, CipherCase, KdfCase, Outcome, Settings};
use crate::rounds::Subject;

/// Prepares any case of a suite, or returns why there is nothing to measure: also if that takes
/// more than the seconds that are left.
pub fn prepare(case: &Case, settings: &Settings, clock: &dyn Clock, left: f64) -> Result<Subject, Outcome> {
    let by = match case {
        Case::Driver(it) => return driver::prepare(it, settings, clock),
        Case::Cipher(CipherCase { by, .. }) | Case::Kdf(KdfCase { by, .. }) => by,
        Case::Disk(_) => return Err(not_in_memory(&case.id())),
    };
    match (case, by) {
        (Case::Cipher(it), By::Keyway) => cipher::prepare(it, settings, clock),
        (Case::Cipher(it), By::Kernel(None)) => kernel::prepare(it, settings, clock),
        (Case::Kdf(it), By::Keyway) => kdf::prepare(it, settings, clock, left),
        (Case::Cipher(it), By::Peer(name)) if name == "openssl" => openssl::prepare(it),
        (Case::Kdf(it), By::Peer(name)) if name == "cryptsetup" => cryptsetup::prepare(it),
        (_, By::Peer(name)) => Err(Outcome::not_measured(format!("{name} does not measure this"))),
        (_, By::Plain | By::DmCrypt) => Err(not_in_memory(&by.to_string())),
        (case, _) => Err(not_in_memory(&case.id())),
    }
}

fn not_in_memory(what: &str) -> Outcome {
    Outcome::not_measured(format!("{what} is not measured in memory"))
}
