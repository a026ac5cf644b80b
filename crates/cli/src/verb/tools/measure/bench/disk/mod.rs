//! `bench disk TARGET`: measures storage plain and encrypted, in turn, in one run.
//!
//! `asked` holds the parameters, from the options or from a run that is resumed; `target` examines
//! TARGET and refuses what must not be overwritten; `kernel` makes dm-crypt's mappings; `paths`
//! lists the ways to access the storage. Everything that is created here disappears when this
//! process ends, however it ends: the scratch file has no name, and the kernel removes the loop
//! device and the mappings when nobody has them open.
#![allow(clippy::result_large_err, reason = "what keeps a path from being measured is passed up once a path")]

mod asked;
mod kernel;
mod paths;
mod target;

use super::files;
use super::kept::RunOptions;
use super::live::{Live, announce};
use super::options;
use super::outputs::cannot_write;
use crate::args::{Args, Request};
use crate::output::failure::{Exit, Failure, Result};
use crate::process::interrupt;
use asked::Asked;
use keyway_measure::clock::{Clock, Machine as MachineClock};
use keyway_measure::disk::{self, Encryption, Engine, Fio, Scratch, Turns, fill, turns, workload};
use keyway_measure::results::{By, Case, SCHEMA, Settings, VERSION};
use keyway_measure::rounds::Watcher;
use keyway_measure::{Results, machine, prepare, report, rounds};
use paths::Paths;
use std::collections::BTreeMap;
use std::io::{self, IsTerminal, stdout};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use target::Target;

/// `keyway bench disk TARGET`.
pub(super) struct Disk {
    /// One cipher, at each sector size.
    encryptions: Vec<Encryption>,
    /// Whether the command line chooses the encryption.
    is_chosen: bool,
    /// `None` for a resumed run, which knows its own.
    target: Option<PathBuf>,
    options: RunOptions,
}

impl Request for Disk {
    fn from_args(args: &Args) -> Result<Self> {
        let chosen = [&options::CIPHER, &options::KEY_SIZE, &options::SECTOR_SIZE];
        let sizes = args.texts(&options::SECTOR_SIZE);
        let sizes: Vec<u32> = sizes.into_iter().filter_map(|text| text.parse().ok()).collect();
        let key_bits = args.number32(&options::KEY_SIZE);
        let encryptions = asked::encryptions(args.text(&options::CIPHER), key_bits, &sizes)?;
        let options = RunOptions::from_args(args)?;
        let target = match args.operands() {
            [_, target] => Some(PathBuf::from(target)),
            _ if options.resumed().is_some() => None,
            _ => {
                let usage = "bench disk takes one TARGET: a directory, a file or a block device.";
                return Err(Failure::new(Exit::Parameters, usage));
            }
        };
        let is_chosen = chosen.iter().any(|option| args.given(option));
        Ok(Self { encryptions, is_chosen, target, options })
    }

    fn run(self) -> Result<()> {
        let clock = MachineClock::start();
        let (results, asked) = match self.options.resumed() {
            Some(path) => {
                let chosen = self.is_chosen.then_some(&self.encryptions[..]);
                Asked::resumed(path, chosen, self.target.as_deref())?
            }
            None => {
                let target = self.target.unwrap_or_default();
                let asked = Asked { encryptions: self.encryptions, target, region: None };
                (begun(&self.options, &clock, &asked), asked)
            }
        };
        measure(&asked, results, self.options, &clock)
    }
}

fn measure(asked: &Asked, results: Results, options: RunOptions, clock: &MachineClock) -> Result<()> {
    let mut target = Target::of(&asked.target)?;
    let region = target.region(asked.region)?;
    let time = results.settings.time_seconds.unwrap_or(TIME);
    let outputs = options.reports.open(if stdout().is_terminal() { answered } else { tables })?;
    let file = options.file.as_ref().map(|file| file.create(&results)).transpose()?;
    let path = options.file.as_ref().map(|file| file.path.as_path());
    target.confirm(options.manner)?;
    if options.time.is_none() {
        announce(options.manner.batch_mode, time);
    }

    let stop = Arc::new(AtomicBool::new(false));
    let asked_to = Arc::clone(&stop);
    let stopping = interrupt::stop_by(move |_| asked_to.store(true, Ordering::Relaxed));
    let mut live = Live::new(options.manner.batch_mode, results, file, Arc::clone(&stop));
    let whole = Whole { clock, time, stop: &stop, asked };
    let measured = whole.measure(&mut target, region, &mut live);
    live.finish();
    drop(stopping);
    let listed = measured.map_err(|error| target.failed(&error))?;

    let mut results = live.results;
    results.rows.sort_by_cached_key(|row| listed.iter().position(|id| *id == row.id));
    let all = listed.len();
    let all_there = listed.iter().all(|id| results.row(id).is_some());
    results.complete = !stop.load(Ordering::Relaxed) && all > 0 && all_there;
    if let (Some(file), Some(path)) = (&mut live.file, path) {
        let written = live.error.take().map_or_else(|| file.rewrite(&results), Err);
        written.map_err(|error| cannot_write(path, &error))?;
    }
    let (complete, done) = (results.complete, results.rows.len());
    outputs.write(&[results])?;
    if complete { Ok(()) } else { Err(stopped(path, done, all)) }
}

fn tables(all: &[Results]) -> String {
    all.iter().map(report::terminal).collect()
}

/// What encryption costs, before the tables.
fn answered(all: &[Results]) -> String {
    all.iter().map(report::brief_of_storage).collect()
}

fn stopped(path: Option<&Path>, done: usize, all: usize) -> Failure {
    let hint = files::way_on(path, |path| {
        format!("\"keyway bench disk --resume {}\" continues it.", path.display())
    });
    let what = match (done, all) {
        (0, _) => "before anything was measured".to_owned(),
        (done, 0) => format!("after {done} cases"),
        (done, all) => format!("after {done} of {all} cases"),
    };
    Failure::new(Exit::Parameters, format!("Stopped {what}; {hint}"))
}

/// The run between preparation and report.
struct Whole<'a> {
    clock: &'a MachineClock,
    time: f64,
    stop: &'a AtomicBool,
    asked: &'a Asked,
}

impl Whole<'_> {
    /// Measures, and returns the names of all rows that there should be, in order; none if the run
    /// was stopped before they were known.
    fn measure(&self, target: &mut Target, region: u64, live: &mut Live) -> io::Result<Vec<String>> {
        let scratch = target.scratch(region)?;
        let resumed = self.asked.region.is_some();
        // A resumed run needs all the bytes that it began with.
        let seconds = if resumed { f64::INFINITY } else { self.time * FILL_PART };
        let mut progress = |bytes: u64| {
            let part = FILL_PART * bytes as f64 / region as f64;
            live.progress(part, "filling with random data");
        };
        let below = scratch.storage();
        let filled = fill::fill(&*below, region, seconds, self.clock, self.stop, &mut progress);
        let filled = match filled {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(Vec::new()),
            other => other?,
        };
        let _ = scratch.drop_caches();
        let asked = Asked { region: Some(filled.bytes), ..self.asked.clone() };
        live.results.settings.filters = asked.filters();
        live.rewrite();

        let began = if resumed { self.clock.now() } else { Duration::ZERO };
        let deadline = began + Duration::from_secs_f64(self.time);
        let workloads = workload::all();
        let fio = Fio::find().filter(|_| !resumed || live.results.versions.contains_key("fio"));
        let (paths, fio) = self.paths(&scratch, target, filled.bytes, fio, deadline)?;
        if let Some((fio, _)) = &fio {
            live.results.versions.insert("fio".into(), fio.version.clone());
        }
        for warning in &paths.warnings {
            live.warn(warning.clone());
        }
        live.rewrite();
        let ciphers = self.ciphers(&paths, live);
        let turns = Turns {
            paths: &paths.all,
            scratch: &scratch,
            region: filled.bytes,
            region_because: because(target, region, filled.bytes),
            keeps_data: paths.keeps_data,
            fill_speed: filled.speed,
            fio: fio.as_ref().map(|(fio, _)| fio),
            fio_start: fio.as_ref().map_or(0.0, |(_, start)| *start),
            cpus: live.results.machine.cpus,
            clock: self.clock,
            began,
            deadline,
            stop: self.stop,
        };
        let settings = live.results.settings.clone();
        let before = live.results.rows.clone();
        turns.run(&workloads, &settings, before, live);
        let of_workload = |workload| paths.all.iter().map(move |path| path.case(workload).id());
        Ok(ciphers.into_iter().chain(workloads.iter().flat_map(of_workload)).collect())
    }

    /// The ways to access the storage, and if fio makes requests, fio with the seconds that it
    /// takes to start. If starting fio would take most of the time, it is not used.
    fn paths(
        &self,
        scratch: &Scratch,
        target: &mut Target,
        region: u64,
        fio: Option<Fio>,
        deadline: Duration,
    ) -> io::Result<(Paths, Option<(Fio, f64)>)> {
        let encryptions = &self.asked.encryptions;
        let paths = Paths::over(scratch, target, region, encryptions, fio.is_some())?;
        let node = paths.all.iter().find_map(|path| match &path.engine {
            Engine::Fio(node) => Some(node.clone()),
            Engine::BuiltIn => None,
        });
        let (Some(fio), Some(node)) = (fio, node) else { return Ok((paths, None)) };
        let why = match fio.start_up(&node, self.clock, self.stop) {
            Ok(start) => {
                let left = deadline.saturating_sub(self.clock.now()).as_secs_f64();
                let least = turns::least_seconds(&paths.all, &workload::all(), region, start);
                if self.asked.region.is_some() || least <= left * MOST_STARTING {
                    return Ok((paths, Some((fio, start))));
                }
                format!(
                    "it takes {start:.2} s to start, and one sample of everything {least:.0} s of the {left:.0} \
                     s that are left"
                )
            }
            Err(error) => error.to_string(),
        };
        // Mappings have names, so the old ones must be removed first.
        drop(paths);
        let mut paths = Paths::over(scratch, target, region, encryptions, false)?;
        paths.warnings.push(format!("fio was not used; the built-in engine made all requests: {why}."));
        Ok((paths, None))
    }

    /// Measures the cipher alone, in memory, as the model needs it; for dm-crypt, the kernel's own
    /// cipher. Rows that exist already are not measured again. Returns the names of these rows.
    fn ciphers(&self, paths: &Paths, live: &mut Live) -> Vec<String> {
        let mut cases = disk::ciphers(&self.asked.encryptions);
        if paths.all.iter().any(|path| path.by == By::DmCrypt && path.access.is_ok()) {
            match disk::drivers(&self.asked.encryptions) {
                Ok(drivers) => cases.extend(drivers),
                Err(why) => live.warn(format!(
                    "the kernel's cipher could not be measured, so dm-crypt is compared with Keyway's: {why}"
                )),
            }
        }
        let all = cases.iter().map(|it| it.case.id()).collect();
        cases.retain(|it| live.results.row(&it.case.id()).is_none());
        let time = (self.time * CIPHER_PART).max(LEAST_CIPHER_SECONDS);
        let settings = rounds::settings(Some(time), cases.len(), self.clock.cost().as_secs_f64());
        // The model needs a median. If checking the output takes long, more samples would take time
        // from the disk.
        let settings = Settings { least_samples: LEAST_OF_CIPHER, ..settings };
        let mut quiet = Quiet(live, FILL_PART);
        rounds::run(&cases, &settings, self.clock, &prepare, &mut quiet);
        all
    }
}

/// Passes rows on, and scales progress to this part of the whole run.
struct Quiet<'a>(&'a mut Live, f64);

impl Watcher for Quiet<'_> {
    fn row(&mut self, row: &keyway_measure::Row) {
        self.0.row(row);
    }

    fn preparing(&mut self, part: f64, case: &Case) {
        self.0.preparing(self.1 + part * CIPHER_PART, case);
    }

    fn sampling(&mut self, part: f64, case: &Case) {
        self.0.sampling(self.1 + part * CIPHER_PART, case);
    }

    fn progress(&mut self, part: f64, case: &str) {
        self.0.progress(self.1 + part * CIPHER_PART, case);
    }

    fn stopped(&self) -> bool {
        self.0.stopped()
    }
}

/// Why there are no figures for larger sizes.
fn because(target: &Target, region: u64, filled: u64) -> String {
    let mib = filled >> 20;
    match filled < region {
        true => format!("filling more than {mib} MiB would have taken too much of --time"),
        false => format!("{} has room for {mib} MiB", target.name()),
    }
}

fn begun(options: &RunOptions, clock: &MachineClock, asked: &Asked) -> Results {
    let mut here = machine::look(Path::new("/"));
    if let Some(name) = &options.name {
        here.name.clone_from(name);
    }
    let settings = Settings {
        suite: asked::SUITE.into(),
        filters: asked.filters(),
        time_seconds: Some(options.time.unwrap_or(TIME)),
        precision: 0.01,
        least_samples: 1,
        most_samples: 101,
        sample_seconds: 0.0,
        clock_seconds: clock.cost().as_secs_f64(),
    };
    Results {
        version: VERSION,
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

/// The length of a run in seconds if --time is not given.
const TIME: f64 = 300.0;
/// The largest part of it in which the target is filled.
const FILL_PART: f64 = 0.15;
/// The part of it in which the cipher is measured in memory.
const CIPHER_PART: f64 = 0.03;
/// However short the run is: without the cipher in memory nothing explains what encryption costs.
const LEAST_CIPHER_SECONDS: f64 = 1.0;
/// The fewest samples of the cipher: as many as an interval needs.
const LEAST_OF_CIPHER: u32 = 6;
/// The largest part of the remaining time that one sample of everything by fio may take.
const MOST_STARTING: f64 = 0.7;
