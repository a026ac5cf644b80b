//! The running kernel, or one whose /proc/crypto was sent in.

use super::place::{self, Place};
use super::subject::Subject;
use crate::device::whole_file;
use crate::output::failure::{Exit, Failure, Result};
use keyway_crypto::CipherSpec;
use keyway_kernel::proc_crypto::Kind;
use keyway_kernel::{Algorithm, Checked, CpuFacts, Line, Row, System, Version, Xray, verdict};
use keyway_measure::machine;
use keyway_measure::results::Machine;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// All findings.
#[derive(Default)]
pub(super) struct Findings {
    pub(super) system: Option<System>,
    pub(super) machine: Option<Machine>,
    pub(super) ciphers: Vec<Cipher>,
    pub(super) places: Vec<Place>,
}

/// The findings for one specification.
pub(super) struct Cipher {
    pub(super) xray: Xray,
    pub(super) verdict: Vec<Line>,
}

/// How to examine a kernel.
pub(super) struct Look {
    /// Another machine's kernel; if `None`, the one that runs here.
    pub(super) sent: Option<Sent>,
    /// Every sector cipher that is in use.
    pub(super) all: bool,
    /// Whether drivers are tested.
    pub(super) measures: bool,
}

/// A /proc/crypto from another machine.
pub(super) struct Sent {
    pub(super) file: PathBuf,
    /// The version of Linux that it comes from.
    pub(super) version: Option<Version>,
}

impl Findings {
    /// Examines a kernel, and finds what it lacks for the volume.
    pub(super) fn of_kernel(look: &Look, subject: &Subject) -> Result<Self> {
        let mut found = Self::default();
        let is_here = look.sent.is_none();
        let mut system = match &look.sent {
            None => running()?,
            Some(sent) => sent.read()?,
        };
        let machine = machine::look(Path::new("/"));
        if look.all {
            found.all(&system, look.measures);
        } else {
            for spec in &subject.specs {
                let cipher = one(&mut system, spec, &machine, look.measures, is_here);
                found.ciphers.push(cipher);
            }
        }
        if is_here && subject.volume.is_some() {
            found.places.push(place::running(&system, subject));
        }
        (found.system, found.machine) = (Some(system), is_here.then_some(machine));
        Ok(found)
    }

    /// Whether the user needs to act.
    pub(super) fn is_bad(&self) -> bool {
        let mut rows = self.ciphers.iter().flat_map(|cipher| &cipher.xray.rows);
        rows.any(is_wrong) || self.places.iter().any(Place::lacks_something)
    }

    fn all(&mut self, system: &System, measures: bool) {
        let drivers =
            system.registry.drivers.iter().filter(|driver| driver.kind == Kind::Skcipher && !driver.internal);
        let names: BTreeSet<&str> = drivers.map(|driver| &driver.name[..]).collect();
        for name in names {
            let mut xray = Xray::of_algorithm(system, Algorithm::parse(name));
            if measures {
                xray.try_drivers(false);
            }
            self.ciphers.push(Cipher { xray, verdict: Vec::new() });
        }
    }
}

/// Whether a driver's output could not be obtained, or is wrong.
pub(super) fn is_wrong(row: &Row) -> bool {
    matches!(row.checked, Some(Checked::Wrong(_) | Checked::Failed(_)))
}

fn running() -> Result<System> {
    System::look(Path::new("/")).map_err(|why| {
        let hint = "is /proc mounted, and does this kernel have CONFIG_CRYPTO?";
        Failure::new(Exit::Device, format!("/proc/crypto cannot be read: {why}; {hint}"))
    })
}

impl Sent {
    fn read(&self) -> Result<System> {
        let refused = |exit, why: String| Failure::new(exit, format!("{} {why}.", self.file.display()));
        let text = whole_file::read(&self.file, LARGEST);
        let text =
            text.map_err(|why| refused(Exit::of_file(&why, Exit::Device), format!("cannot be read: {why}")))?;
        let system = System::of_text(&String::from_utf8_lossy(&text), self.version);
        match system.registry.drivers.is_empty() {
            true => Err(refused(
                Exit::Parameters,
                "has no record of /proc/crypto's form (name, driver, …)".to_owned(),
            )),
            false => Ok(system),
        }
    }
}

fn one(system: &mut System, spec: &CipherSpec, machine: &Machine, measures: bool, is_here: bool) -> Cipher {
    let look = |system: &mut System, spec: &CipherSpec| match measures {
        true => Xray::measure(system, spec),
        false => Xray::look(system, spec),
    };
    let mut xray = look(system, spec);
    let adiantum = CipherSpec::parse(ADIANTUM).ok().filter(|adiantum| !adiantum.means(spec));
    let adiantum = adiantum.map(|adiantum| look(system, &adiantum));
    if measures {
        // Loading modules for Adiantum may have changed which drivers are in use.
        let now = Xray::look(system, spec);
        (xray.dm_crypt, xray.fscrypt) = (now.dm_crypt, now.fscrypt);
    }
    let cpu = match is_here {
        true => CpuFacts { architecture: &machine.architecture, features: &machine.features },
        false => CpuFacts { architecture: "", features: &[] },
    };
    let verdict = verdict(&xray, adiantum.as_ref(), system, cpu);
    Cipher { xray, verdict }
}

/// The size limit for /proc/crypto: kernels with everything have half a MiB.
const LARGEST: u64 = 4 << 20;
/// Of its two kinds the one that is recommended: 20 rounds.
const ADIANTUM: &str = "xchacha20,aes-adiantum-plain64";
