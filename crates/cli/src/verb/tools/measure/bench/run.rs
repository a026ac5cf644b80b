//! Measuring: the cases, the machine, the rounds, and the conclusions at the end.

use super::asked::{Cases, cases};
use super::files;
use super::kept::RunOptions;
use super::live::{Live, announce};
use super::options;
use super::outputs::{Report, cannot_write};
use crate::args::{Args, Request};
use crate::output::failure::{Exit, Failure, Result};
use crate::process::interrupt;
use keyway_measure::clock::{Clock, Machine as MachineClock};
use keyway_measure::results::{SCHEMA, Settings, VERSION};
use keyway_measure::suite::{Asked, Listed};
use keyway_measure::{Results, machine, peers, prepare, report, rounds};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::{IsTerminal, stdout};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// `keyway bench` and `keyway bench kdf`: in memory.
pub(super) struct Memory {
    asked: Asked,
    options: RunOptions,
    /// Whether all rows are shown, wherever they go.
    whole: bool,
}

impl Request for Memory {
    fn from_args(args: &Args) -> Result<Self> {
        let whole = args.given(&options::WHOLE);
        Ok(Self { asked: Cases::from_args(args)?.0, options: RunOptions::from_args(args)?, whole })
    }

    fn run(self) -> Result<()> {
        let table = if self.whole || !stdout().is_terminal() { whole } else { brief };
        measure(self.asked, self.options, table)
    }
}

/// Every row.
fn whole(all: &[Results]) -> String {
    all.iter().map(report::terminal).collect()
}

/// The answer, where there is one.
fn brief(all: &[Results]) -> String {
    all.iter().map(|one| report::brief(one).unwrap_or_else(|| report::terminal(one))).collect()
}

fn measure(asked: Asked, options: RunOptions, table: Report) -> Result<()> {
    let clock = MachineClock::start();
    let (mut results, listed) = match options.resumed() {
        Some(path) => resumed(&asked, path)?,
        None => begun(&asked, &options, &clock)?,
    };
    let outputs = options.reports.open(table)?;
    let file = options.file.as_ref().map(|file| file.create(&results)).transpose()?;
    let path = options.file.as_ref().map(|file| file.path.as_path());
    let done: HashSet<&str> = results.rows.iter().map(|row| row.id.as_str()).collect();
    let rest: Vec<Listed> =
        listed.iter().filter(|it| !done.contains(it.case.id().as_str())).cloned().collect();
    let settings = results.settings.clone();
    if settings.time_seconds.is_none() {
        announce(options.manner.batch_mode, rounds::usual_seconds(&rest));
    }

    let stop = Arc::new(AtomicBool::new(false));
    let asked_to = Arc::clone(&stop);
    let stopping = interrupt::stop_by(move |_| asked_to.store(true, Ordering::Relaxed));
    let mut live = Live::new(options.manner.batch_mode, results, file, Arc::clone(&stop));
    rounds::run(&rest, &settings, &clock, &prepare, &mut live);
    live.finish();
    drop(stopping);

    results = live.results;
    conclude(&mut results, &listed);
    if let (Some(file), Some(path)) = (&mut live.file, path) {
        let written = live.error.take().map_or_else(|| file.rewrite(&results), Err);
        written.map_err(|error| cannot_write(path, &error))?;
    }
    let complete = results.complete;
    let (done, all) = (results.rows.len(), listed.len());
    outputs.write(&[results])?;
    if complete { Ok(()) } else { Err(stopped(path, done, all)) }
}

fn stopped(path: Option<&Path>, done: usize, all: usize) -> Failure {
    let hint =
        files::way_on(path, |path| format!("\"keyway bench --resume {}\" continues it.", path.display()));
    Failure::new(Exit::Parameters, format!("Stopped after {done} of {all} cases; {hint}"))
}

/// A new run.
fn begun(asked: &Asked, options: &RunOptions, clock: &MachineClock) -> Result<(Results, Vec<Listed>)> {
    let listed = cases(asked)?;
    let to_measure = listed.iter().filter(|it| it.outcome.is_none()).count();
    let settings = Settings {
        suite: suite_name(asked),
        filters: asked.filters(),
        ..rounds::settings(options.time, to_measure, clock.cost().as_secs_f64())
    };
    let mut here = machine::look(Path::new("/"));
    if let Some(name) = &options.name {
        here.name.clone_from(name);
    }
    let results = Results {
        version: VERSION,
        schema: SCHEMA.to_owned(),
        started: clock.date(),
        versions: versions(asked),
        warnings: machine::warnings(&here),
        machine: here,
        settings,
        rows: Vec::new(),
        complete: false,
    };
    Ok((results, listed))
}

fn suite_name(asked: &Asked) -> String {
    match asked.suite {
        Some(suite) => suite.name().to_owned(),
        None if asked.filters().is_empty() => "default".to_owned(),
        None => "slice".to_owned(),
    }
}

fn versions(asked: &Asked) -> BTreeMap<String, String> {
    let own = ("keyway".to_owned(), env!("CARGO_PKG_VERSION").to_owned());
    let peers = asked.compare.iter().filter(|name| *name != "kernel");
    let peers = peers.filter_map(|name| Some((name.clone(), peers::version(name)?)));
    std::iter::once(own).chain(peers).collect()
}

/// A run that was stopped, with its cases. It can be resumed only where it began.
fn resumed(asked: &Asked, path: &Path) -> Result<(Results, Vec<Listed>)> {
    let results = files::read(path)?;
    let refuse = |why: String| Err(Failure::new(Exit::Parameters, format!("{}: {why}", path.display())));
    if results.settings.suite == "disk" {
        let shown = path.display();
        return refuse(format!(
            "this run measured storage; \"keyway bench disk --resume {shown}\" continues it."
        ));
    }
    files::begun_here(&results, path)?;
    let Some(begun_with) = Asked::from_filters(&results.settings.filters, results.machine.cpus) else {
        return refuse("its options are not those of bench: it cannot be resumed.".to_owned());
    };
    if !asked.filters().is_empty() && asked.filters() != begun_with.filters() {
        let options = begun_with.filters().join(" ");
        return refuse(files::other_options(&options));
    }
    let listed = cases(&begun_with)?;
    Ok((results, listed))
}

/// Sorts the rows in the order of the cases, and adds the warnings about all of them.
fn conclude(results: &mut Results, listed: &[Listed]) {
    let places: HashMap<String, usize> =
        listed.iter().enumerate().map(|(place, it)| (it.case.id(), place)).collect();
    results.rows.sort_by_key(|row| places.get(&row.id).copied());
    results.complete = results.rows.len() == listed.len();
    // The machine's state during the run is known only now.
    let mut warnings = machine::warnings(&results.machine);
    warnings.extend(rounds::noise(results));
    results.warnings = warnings;
}
