//! `bench disk TARGET`: storage plain and encrypted, in turn, in one run.
//!
//! `target` says what TARGET is and refuses what must not be written over, `kernel` makes dm-crypt's mappings, `paths` lists the ways to the
//! storage. Whatever is made here goes by itself when this process ends, however it ends: the scratch file has no name, the loop
//! device and the mappings are removed by the kernel when nobody has them open.
#![allow(clippy::result_large_err, reason = "what keeps a path from being measured is passed up once a path")]

mod kernel;
mod paths;
mod target;

use super::live::Live;
use super::options;
use super::outputs::{Outputs, cannot_write};
use crate::args::{Args, shared};
use crate::failure::{Exit, Failure, Result};
use crate::interrupt;
use keyway_crypto::{CipherSpec, SectorSize};
use keyway_measure::clock::{Clock, Machine as MachineClock};
use keyway_measure::disk::{self, Encryption, Fio, Turns, fill, workload};
use keyway_measure::results::{Growing, SCHEMA, Settings};
use keyway_measure::rounds::Watcher;
use keyway_measure::suite::DEFAULT;
use keyway_measure::{Results, machine, prepare, report, rounds};
use paths::Paths;
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use target::Target;

/// `keyway bench disk TARGET`.
pub(super) fn run(args: &Args) -> Result<()> {
    let clock = MachineClock::start();
    let encryptions = encryptions(args)?;
    let mut target = Target::of(args)?;
    let region = target.region()?;
    let results = begun(args, &clock, &encryptions);
    let time = results.settings.time_seconds.unwrap_or(TIME);
    let outputs = Outputs::open(args, |all| all.iter().map(report::terminal).collect())?;
    let file = match args.path(&options::SAVE) {
        Some(path) => {
            let file = Growing::create(path, &results, args.given(&shared::FORCE));
            Some(file.map_err(|error| cannot_write(path, &error))?)
        }
        None => None,
    };
    target.confirm(args)?;

    let stop = Arc::new(AtomicBool::new(false));
    let asked_to = Arc::clone(&stop);
    let stopping = interrupt::stop_by(move |_| asked_to.store(true, Ordering::Relaxed));
    let mut live = Live::new(args, results, file, Arc::clone(&stop));
    let whole = Whole { clock: &clock, time, stop: &stop, encryptions: &encryptions };
    let measured = whole.measure(&mut target, region, &mut live);
    live.finish();
    drop(stopping);
    let listed = measured.map_err(|error| target.failed(&error))?;

    let mut results = live.results;
    results.complete = !stop.load(Ordering::Relaxed) && results.rows.len() >= listed;
    if let (Some(file), Some(path)) = (&mut live.file, args.path(&options::SAVE)) {
        let written = live.error.take().map_or_else(|| file.rewrite(&results), Err);
        written.map_err(|error| cannot_write(path, &error))?;
    }
    let (complete, done) = (results.complete, results.rows.len());
    outputs.write(&[results])?;
    match complete {
        true => Ok(()),
        false if listed == 0 => Err(Failure::new(Exit::Parameters, "Stopped before anything was measured.")),
        false => Err(Failure::new(Exit::Parameters, format!("Stopped with {done} of {listed} cases."))),
    }
}

/// The run between its preparations and its reports.
struct Whole<'a> {
    clock: &'a MachineClock,
    time: f64,
    stop: &'a AtomicBool,
    encryptions: &'a [Encryption],
}

impl Whole<'_> {
    /// How many rows there should be.
    fn measure(&self, target: &mut Target, region: u64, live: &mut Live) -> io::Result<usize> {
        let scratch = target.scratch(region)?;
        let seconds = self.time * FILL_PART;
        let mut progress = |bytes: u64| {
            let part = FILL_PART * bytes as f64 / region as f64;
            live.progress(part, "filling with random data");
        };
        let below = scratch.storage();
        let filled = fill::fill(&*below, region, seconds, self.clock, self.stop, &mut progress);
        let filled = match filled {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(0),
            other => other?,
        };
        let _ = scratch.drop_caches();

        let fio = Fio::find();
        if let Some(fio) = &fio {
            live.results.versions.insert("fio".into(), fio.version.clone());
        }
        let paths = Paths::over(&scratch, target, filled.bytes, self.encryptions, fio.is_some());
        live.results.warnings.extend(paths.warnings.iter().cloned());
        self.ciphers(live);
        let turns = Turns {
            paths: &paths.all,
            scratch: &scratch,
            region: filled.bytes,
            region_because: because(target, region, filled.bytes),
            keeps_data: paths.keeps_data,
            fill_speed: filled.speed,
            fio: fio.as_ref(),
            cpus: live.results.machine.cpus,
            clock: self.clock,
            began: Duration::ZERO,
            deadline: Duration::from_secs_f64(self.time),
            stop: self.stop,
        };
        let settings = live.results.settings.clone();
        let before = live.results.rows.clone();
        let workloads = workload::all();
        turns.run(&workloads, &settings, before, live);
        Ok(disk::ciphers(self.encryptions).len() + workloads.len() * paths.all.len())
    }

    /// The cipher alone, in memory: what the model needs.
    fn ciphers(&self, live: &mut Live) {
        let cases = disk::ciphers(self.encryptions);
        let time = (self.time * CIPHER_PART).max(0.5);
        let settings = rounds::settings(Some(time), cases.len(), self.clock.cost().as_secs_f64());
        let mut quiet = Quiet(live, FILL_PART);
        rounds::run(&cases, &settings, self.clock, &prepare, &mut quiet);
    }
}

/// Passes rows on; the whole run's progress is another's.
struct Quiet<'a>(&'a mut Live, f64);

impl Watcher for Quiet<'_> {
    fn row(&mut self, row: &keyway_measure::Row) {
        self.0.row(row);
    }

    fn progress(&mut self, part: f64, case: &str) {
        self.0.progress(self.1 + part * CIPHER_PART, case);
    }

    fn stopped(&self) -> bool {
        self.0.stopped()
    }
}

/// Why larger sizes have no figures.
fn because(target: &Target, region: u64, filled: u64) -> String {
    let mib = filled >> 20;
    match filled < region {
        true => format!("filling more than {mib} MiB would have taken too much of --time"),
        false => format!("{} has room for {mib} MiB", target.name()),
    }
}

fn begun(args: &Args, clock: &MachineClock, encryptions: &[Encryption]) -> Results {
    let mut here = machine::look(Path::new("/"));
    if let Some(name) = args.text(&options::NAME) {
        name.clone_into(&mut here.name);
    }
    let time = args.number(&options::TIME).filter(|seconds| *seconds > 0).map_or(TIME, |time| time as f64);
    let mut filters = Vec::new();
    for it in encryptions {
        filters.push(format!(
            "--cipher {} --key-size {} --sector-size {}",
            it.spec, it.key_bits, it.sector_size
        ));
    }
    let settings = Settings {
        suite: "disk".into(),
        filters,
        time_seconds: Some(time),
        precision: 0.01,
        least_samples: 1,
        most_samples: 101,
        sample_seconds: 0.0,
        clock_seconds: clock.cost().as_secs_f64(),
    };
    Results {
        schema: SCHEMA.to_owned(),
        started: clock.date(),
        versions: BTreeMap::from([("keyway".to_owned(), env!("CARGO_PKG_VERSION").to_owned())]),
        warnings: machine::warnings(&here),
        machine: here,
        settings,
        rows: Vec::new(),
        complete: false,
    }
}

/// What is encrypted with: one cipher, at each sector size that it takes.
fn encryptions(args: &Args) -> Result<Vec<Encryption>> {
    let spec = args.text(&options::CIPHER).unwrap_or(DEFAULT.0);
    let wrong =
        |error: keyway_crypto::Error| Failure::new(Exit::Parameters, format!("Cipher {spec}: {error}."));
    let parsed = CipherSpec::parse(spec).map_err(wrong)?;
    let key_bits = match args.number32(&options::KEY_SIZE) {
        Some(bits) => bits,
        None if spec == DEFAULT.0 => DEFAULT.1,
        None => 256,
    };
    parsed.check_key_bits(key_bits as usize).map_err(wrong)?;
    let asked: Vec<u32> =
        args.texts(&options::SECTOR_SIZE).iter().filter_map(|text| text.parse().ok()).collect();
    let sizes = if asked.is_empty() { vec![512, 4096] } else { asked.clone() };
    let mut all = Vec::new();
    for sector_size in sizes {
        match SectorSize::new(sector_size).and_then(|size| parsed.check_sector_size(size)) {
            Ok(()) => all.push(Encryption { spec: spec.to_owned(), key_bits, sector_size }),
            // Of the usual ones those that the cipher takes.
            Err(_) if asked.is_empty() => {}
            Err(error) => return Err(wrong(error)),
        }
    }
    Ok(all)
}

/// Seconds of a run, when --time does not say.
const TIME: f64 = 300.0;
/// The part of them in which the target is filled, at most.
const FILL_PART: f64 = 0.15;
/// The part in which the cipher is measured in memory.
const CIPHER_PART: f64 = 0.03;
