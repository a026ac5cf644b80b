//! Measuring: the cases, the machine, the rounds, and what is said at the end.

use super::asked::{asked, cases};
use super::live::Live;
use super::outputs::{Outputs, cannot_write};
use super::{files, options};
use crate::door::{Args, shared};
use crate::process::interrupt;
use crate::say::failure::{Exit, Failure, Result};
use keyway_measure::clock::{Clock, Machine as MachineClock};
use keyway_measure::results::{Growing, SCHEMA, Settings};
use keyway_measure::suite::{Asked, Listed};
use keyway_measure::{Results, machine, peers, prepare, report, rounds};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// `keyway bench`.
pub(super) fn run(args: &Args) -> Result<()> {
    let clock = MachineClock::start();
    let (mut results, listed, path) = match args.path(&options::RESUME) {
        Some(path) => {
            let (results, listed) = resumed(args, path)?;
            (results, listed, Some(path))
        }
        None => {
            let (results, listed) = begun(args, &clock)?;
            (results, listed, args.path(&options::SAVE))
        }
    };
    let outputs = Outputs::open(args, |all| all.iter().map(report::terminal).collect())?;
    let file = match path {
        Some(path) => {
            let replace = args.given(&options::RESUME) || args.given(&shared::FORCE);
            Some(Growing::create(path, &results, replace).map_err(|error| cannot_write(path, &error))?)
        }
        None => None,
    };
    let done: HashSet<&str> = results.rows.iter().map(|row| row.id.as_str()).collect();
    let rest: Vec<Listed> =
        listed.iter().filter(|it| !done.contains(it.case.id().as_str())).cloned().collect();
    let settings = results.settings.clone();

    let stop = Arc::new(AtomicBool::new(false));
    let asked_to = Arc::clone(&stop);
    let stopping = interrupt::stop_by(move |_| asked_to.store(true, Ordering::Relaxed));
    let mut live = Live::new(args, results, file, Arc::clone(&stop));
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
    let hint = path.map_or_else(
        || "with --save it could be gone on with.".to_owned(),
        |path| format!("\"keyway bench --resume {}\" goes on.", path.display()),
    );
    Failure::new(Exit::Parameters, format!("Stopped with {done} of {all} cases; {hint}"))
}

/// A new run.
fn begun(args: &Args, clock: &MachineClock) -> Result<(Results, Vec<Listed>)> {
    let asked = asked(args)?;
    let listed = cases(&asked)?;
    let to_measure = listed.iter().filter(|it| it.outcome.is_none()).count();
    let time = args.number(&options::TIME).filter(|seconds| *seconds > 0).map(|seconds| seconds as f64);
    let settings = Settings {
        suite: suite_name(&asked),
        filters: asked.filters(),
        ..rounds::settings(time, to_measure, clock.cost().as_secs_f64())
    };
    let mut here = machine::look(Path::new("/"));
    if let Some(name) = args.text(&options::NAME) {
        name.clone_into(&mut here.name);
    }
    let results = Results {
        schema: SCHEMA.to_owned(),
        started: clock.date(),
        versions: versions(&asked),
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

/// A run that was stopped, with the cases that it has. It goes on only where it began.
fn resumed(args: &Args, path: &Path) -> Result<(Results, Vec<Listed>)> {
    let results = files::read(path)?;
    let refuse = |why: String| Err(Failure::new(Exit::Parameters, format!("{}: {why}", path.display())));
    if results.settings.suite == "disk" {
        let shown = path.display();
        return refuse(format!("this run was over storage; \"keyway bench disk --resume {shown}\" goes on."));
    }
    begun_here(&results, path)?;
    let Some(begun_with) = Asked::from_filters(&results.settings.filters, results.machine.cpus) else {
        return refuse("its options are none of bench's: it cannot be gone on with.".to_owned());
    };
    let asked = asked(args)?;
    if !asked.filters().is_empty() && asked.filters() != begun_with.filters() {
        let options = begun_with.filters().join(" ");
        return refuse(format!("the run began with other options ({options}); leave them out to go on."));
    }
    let listed = cases(&begun_with)?;
    Ok((results, listed))
}

/// Whether the run began on this machine with this program.
///
/// # Errors
/// What is not as it was.
pub(super) fn begun_here(results: &Results, path: &Path) -> Result<()> {
    let refuse = |why: String| Err(Failure::new(Exit::Parameters, format!("{}: {why}", path.display())));
    let here = machine::look(Path::new("/"));
    let there = &results.machine;
    for (what, here, there) in [
        ("CPU", &here.cpu, &there.cpu),
        ("number of CPUs", &here.cpus.to_string(), &there.cpus.to_string()),
        ("kernel", &here.kernel, &there.kernel),
    ] {
        if here != there {
            return refuse(format!("the run began with another {what} ({there}); here it is {here}."));
        }
    }
    let version = env!("CARGO_PKG_VERSION");
    if results.versions.get("keyway").map(String::as_str) != Some(version) {
        return refuse(format!("the run began with another version of Keyway; this is {version}."));
    }
    Ok(())
}

/// The rows in the order of the cases, and what is to be said about all of them.
fn conclude(results: &mut Results, listed: &[Listed]) {
    let places: HashMap<String, usize> =
        listed.iter().enumerate().map(|(place, it)| (it.case.id(), place)).collect();
    results.rows.sort_by_key(|row| places.get(&row.id).copied());
    results.complete = results.rows.len() == listed.len();
    // What the machine did meanwhile is known only now.
    let mut warnings = machine::warnings(&results.machine);
    warnings.extend(rounds::noise(results));
    results.warnings = warnings;
}
