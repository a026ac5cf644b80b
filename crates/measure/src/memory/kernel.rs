//! The kernel's cipher on the same buffers, with the same expected output: AF_ALG with one sector
//! per request, since neither AF_ALG nor dm-crypt handles more than one IV per request. Each
//! request needs two system calls, which dm-crypt does not.
//!
//! What runs is the driver that dm-crypt would get. IVs are those of plain64, whatever the
//! specification says, unless the crypto API generates them itself (essiv): dm-crypt computes all
//! others.

use super::cipher::{Worker, over_messages, sectors};
use super::keyed::{Keyed, key};
use super::missing;
use crate::Clock;
use crate::results::{CipherCase, Outcome, Settings};
use crate::rounds::Subject;
use crate::spec::Spec;
use keyway_crypto::{CipherSpec, Cpu};
use keyway_kernel::{Algorithm, Chosen, af_alg, reference};
use nix::sys::resource::{Resource, getrlimit, setrlimit};

pub(crate) fn prepare(case: &CipherCase, settings: &Settings, clock: &dyn Clock) -> Result<Subject, Outcome> {
    let Spec::One(spec) = Spec::parse(&case.spec).map_err(Outcome::impossible)? else {
        return Err(Outcome::not_measured(NO_CHAINS));
    };
    let reference = reference(&spec, case)?;
    let portable = Keyed::new(&Spec::One(reference.clone()), case, Cpu::portable())?;
    let chosen = Chosen::of(&spec).map_err(missing)?;
    let failed = |why: std::io::Error| {
        Outcome::not_measured(format!("{} does not accept such a key: {why}", chosen.driver))
    };
    make_room();
    let cipher = |_| {
        let found = af_alg::Algorithm::find(&chosen.driver).map_err(missing)?;
        found.key(key(case.key_bits as usize / 8).expose()).map_err(failed)
    };
    // One per thread: a request is answered on its own socket.
    let ciphers: Vec<af_alg::Cipher> = (0..case.threads.max(1)).map(cipher).collect::<Result<_, _>>()?;
    let ivs: Vec<Vec<u8>> = sectors(case).map(|sector| reference::iv(&reference, sector)).collect();
    let (sector, direction) = (case.sector_size as usize, af_alg::Direction::from(case.direction));
    let driver = chosen.driver.clone();
    let pass = move |member: usize, data: &mut [u8]| {
        let mut sectors = data.chunks_exact_mut(sector).zip(&ivs);
        let done = sectors.try_for_each(|(sector, iv)| ciphers[member].run(direction, iv, sector));
        done.map_err(|why| Outcome::not_measured(format!("{driver} fails: {why}")))
    };
    let mut notes = vec![CALLS.to_owned()];
    if !spec.means(&reference) {
        notes.push(format!("IVs of plain64: those of {spec} are dm-crypt's own"));
    }
    let worker = Worker {
        pass: Box::new(pass),
        code: chosen.driver,
        checked_by: "Keyway's portable code".to_owned(),
        remedy: chosen.remedy,
        notes,
    };
    over_messages(case, worker, portable, settings, clock)
}

const NO_CHAINS: &str = "dm-crypt has no chains of ciphers: it stacks a mapping for each";
const CALLS: &str = "AF_ALG, one sector per request, with two system calls each that dm-crypt does not need";

/// Raises the limit on open files to the maximum: hundreds of cases take turns, each with two
/// sockets per thread. If the maximum is too low, rows say so.
fn make_room() {
    if let Ok((_, most)) = getrlimit(Resource::RLIMIT_NOFILE) {
        let _ = setrlimit(Resource::RLIMIT_NOFILE, most, most);
    }
}

/// The Keyway specification for the part of `spec` that the crypto API does.
fn reference(spec: &CipherSpec, case: &CipherCase) -> Result<CipherSpec, Outcome> {
    let algorithm = Algorithm::of_spec(spec);
    if spec.key_count() > 1 || !Algorithm::for_the_iv(spec).is_empty() {
        return Err(Outcome::not_measured(format!(
            "the kernel's {algorithm} is only a part of it; dm-crypt does the rest"
        )));
    }
    let found =
        reference::spec(&algorithm).filter(|found| found.check_key_bits(case.key_bits as usize).is_ok());
    found.ok_or_else(|| {
        Outcome::not_measured(format!("Keyway has no {algorithm} to compare the kernel's with"))
    })
}
