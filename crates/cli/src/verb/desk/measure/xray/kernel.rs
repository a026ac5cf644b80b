//! The running kernel, or one whose /proc/crypto somebody sent.

use super::place::{self, Place};
use super::subject::Subject;
use super::{ALL, KERNEL_VERSION, NO_MEASURE, PROC_CRYPTO};
use crate::device::whole_file;
use crate::door::Args;
use crate::say::failure::{Exit, Failure, Result};
use keyway_crypto::CipherSpec;
use keyway_measure::kernel::proc_crypto::Kind;
use keyway_measure::kernel::{Algorithm, Checked, CpuFacts, Line, System, Version, Xray, verdict};
use keyway_measure::machine;
use keyway_measure::results::Machine;
use std::collections::BTreeSet;
use std::path::Path;

/// All that was found.
#[derive(Default)]
pub(super) struct Findings {
    pub(super) system: Option<System>,
    pub(super) machine: Option<Machine>,
    pub(super) ciphers: Vec<Cipher>,
    pub(super) places: Vec<Place>,
}

/// One specification.
pub(super) struct Cipher {
    pub(super) xray: Xray,
    pub(super) verdict: Vec<Line>,
}

impl Findings {
    /// Looks at a kernel, and at what it lacks for the volume.
    pub(super) fn look(&mut self, args: &Args, subject: &Subject) -> Result<()> {
        let (mut system, is_here) = system(args)?;
        let machine = machine::look(Path::new("/"));
        let measures = is_here && !args.given(&NO_MEASURE);
        if args.given(&ALL) {
            self.all(&system, measures);
        } else {
            for spec in &subject.specs {
                let cipher = one(&mut system, spec, &machine, measures, is_here);
                self.ciphers.push(cipher);
            }
        }
        if is_here && subject.volume.is_some() {
            self.places.push(place::running(&system, subject));
        }
        (self.system, self.machine) = (Some(system), is_here.then_some(machine));
        Ok(())
    }

    /// Whether something needs to be done.
    pub(super) fn is_bad(&self) -> bool {
        let wrong = |cipher: &Cipher| {
            cipher
                .xray
                .rows
                .iter()
                .any(|row| matches!(row.checked, Some(Checked::Wrong(_) | Checked::Failed(_))))
        };
        self.ciphers.iter().any(wrong) || self.places.iter().any(Place::lacks_something)
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

/// The kernel, and whether it is the one that runs here.
fn system(args: &Args) -> Result<(System, bool)> {
    let Some(file) = args.path(&PROC_CRYPTO) else {
        let system = System::look(Path::new("/"));
        return system.map(|system| (system, true)).map_err(|why| {
            Failure::new(
                Exit::Device,
                format!(
                    "/proc/crypto cannot be read: {why}; is /proc mounted, and has this kernel CONFIG_CRYPTO?"
                ),
            )
        });
    };
    let unreadable = |why| Failure::new(Exit::Device, format!("{} cannot be read: {why}.", file.display()));
    let text = String::from_utf8_lossy(&whole_file::read(file, LARGEST).map_err(unreadable)?).into_owned();
    let version = match args.text(&KERNEL_VERSION) {
        Some(text) => Some(Version::parse(text).ok_or_else(|| {
            Failure::new(
                Exit::Parameters,
                format!("--kernel-version {text}: a version is needed, such as 6.1.174."),
            )
        })?),
        None => None,
    };
    let system = System::of_text(&text, version);
    match system.registry.drivers.is_empty() {
        true => Err(Failure::new(
            Exit::Device,
            format!("{} has no record of /proc/crypto's form (name, driver, …).", file.display()),
        )),
        false => Ok((system, false)),
    }
}

fn one(system: &mut System, spec: &CipherSpec, machine: &Machine, measures: bool, is_here: bool) -> Cipher {
    let look = |system: &mut System, spec: &CipherSpec| match measures {
        true => Xray::measure(system, spec),
        false => Xray::look(system, spec),
    };
    let mut xray = look(system, spec);
    let adiantum = CipherSpec::parse(ADIANTUM).ok().filter(|adiantum| measures && !adiantum.means(spec));
    let adiantum = adiantum.map(|adiantum| look(system, &adiantum));
    if measures {
        // What was loaded for Adiantum may have changed what is in use.
        let now = Xray::look(system, spec);
        (xray.dm_crypt, xray.fscrypt) = (now.dm_crypt, now.fscrypt);
    }
    let features = if is_here { &machine.features[..] } else { &[] };
    let cpu = CpuFacts { architecture: &machine.architecture, features };
    let verdict = verdict(&xray, adiantum.as_ref(), system, cpu);
    Cipher { xray, verdict }
}

/// Of a /proc/crypto: kernels with everything have half a MiB.
const LARGEST: u64 = 4 << 20;
const ADIANTUM: &str = "xchacha12,aes-adiantum-plain64";
