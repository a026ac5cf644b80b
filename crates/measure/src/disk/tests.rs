//! Whole runs over a file of a few megabytes: every row, its reason or its figures.

use super::cpu::Whose;
use super::workload::Bound;
use super::*;
use crate::clock::Machine;
use crate::results::{By, Outcome, Row, Settings};
use crate::rounds::Watcher;
use keyway_volume::Storage;
use std::collections::HashSet;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Counts rows; stops after a given number.
#[derive(Default)]
struct Counting {
    rows: usize,
    stop_after: Option<usize>,
}

impl Watcher for Counting {
    fn row(&mut self, _: &Row) {
        self.rows += 1;
    }

    fn progress(&mut self, part: f64, _: &str) {
        assert!((0.0..1.0).contains(&part), "{part}");
    }

    fn stopped(&self) -> bool {
        self.stop_after.is_some_and(|after| self.rows >= after)
    }
}

/// A disk that was unplugged.
struct Gone;

impl Storage for Gone {
    fn len(&self) -> u64 {
        REGION
    }

    fn read_at(&self, _: &mut [u8], _: u64) -> io::Result<()> {
        Err(io::Error::from_raw_os_error(NO_SUCH_DEVICE))
    }

    fn write_at(&self, _: &[u8], _: u64) -> io::Result<()> {
        Err(io::Error::from_raw_os_error(NO_SUCH_DEVICE))
    }

    fn flush(&self) -> io::Result<()> {
        Ok(())
    }

    fn discard(&self, _: Range<u64>) -> io::Result<()> {
        Ok(())
    }
}

/// ENODEV.
const NO_SUCH_DEVICE: i32 = 19;

const REGION: u64 = 12 << 20;

/// Filled storage, and the paths to it.
struct Bench {
    scratch: Scratch,
    paths: Vec<Path>,
}

impl Bench {
    fn new() -> Self {
        let directory = std::env::current_exe().unwrap();
        let scratch = Scratch::in_directory(directory.parent().unwrap(), REGION).unwrap();
        let (clock, stop) = (Machine::start(), AtomicBool::new(false));
        let filled = fill::fill(&*scratch.storage(), REGION, 60.0, &clock, &stop, &mut |_| {}).unwrap();
        assert_eq!(filled.bytes, REGION);
        Self { paths: paths(&scratch), scratch }
    }

    fn run(&self, seconds: u64, watcher: &mut Counting) -> Vec<Row> {
        self.go_on(seconds, Vec::new(), watcher)
    }

    fn go_on(&self, seconds: u64, rows: Vec<Row>, watcher: &mut Counting) -> Vec<Row> {
        let (clock, stop) = (Machine::start(), AtomicBool::new(false));
        let turns = Turns {
            paths: &self.paths,
            scratch: &self.scratch,
            region: REGION,
            region_because: "the target has room for 12 MiB".into(),
            keeps_data: true,
            fill_speed: 1e9,
            fio: None,
            fio_start: 0.0,
            cpus: 2,
            clock: &clock,
            began: Duration::ZERO,
            deadline: Duration::from_secs(seconds),
            stop: &stop,
        };
        let settings = Settings { precision: 0.5, most_samples: 7, ..Settings::default() };
        turns.run(&workload::all(), &settings, rows, watcher)
    }

    /// The number of rows that a whole run has.
    fn all(&self) -> usize {
        self.paths.len() * workload::all().len()
    }
}

fn names(rows: &[Row]) -> HashSet<&str> {
    rows.iter().map(|row| &*row.id).collect()
}

fn paths(scratch: &Scratch) -> Vec<Path> {
    let below = scratch.storage();
    let path = |by, encryption, access| {
        let (medium, flags, engine) = ("file".to_owned(), Vec::new(), Engine::BuiltIn);
        Path { by, medium, encryption, flags, engine, access }
    };
    let access = |view| Access { view, below: below.clone(), cpu: Whose::Own, notes: Vec::new() };
    let of_size = |sector_size| Encryption { spec: "aes-xts-plain64".into(), key_bits: 512, sector_size };
    let keyway = |it: Encryption| {
        let view = path::keyway(below.clone(), &it, REGION);
        path(By::Keyway, Some(it), view.map(access))
    };
    let nothing = Err(Outcome::not_measured("there is no dm-crypt"));
    vec![
        path(By::Plain, None, Ok(access(below.clone()))),
        keyway(of_size(512)),
        keyway(of_size(4096)),
        path(By::DmCrypt, Some(of_size(512)), nothing),
    ]
}

#[test]
fn every_path_and_workload_has_its_row() {
    let bench = Bench::new();
    let rows = bench.run(12, &mut Counting::default());
    assert_eq!(rows.len(), bench.all());
    assert_eq!(names(&rows).len(), rows.len());
    // A slow machine may run out of time, but not from the start.
    let late = |reason: &str| reason.contains("but --time leaves") || reason == "--time was over";
    let (mut measured_rows, mut late_rows) = (0, 0);
    for row in &rows {
        let Case::Disk(case) = &row.case else { panic!("{row:?}") };
        match &row.outcome {
            Outcome::NotMeasured { reason, .. } if case.by == By::DmCrypt => {
                assert_eq!(reason, "there is no dm-crypt");
            }
            Outcome::NotMeasured { reason, .. } if case.total.is_some_and(|total| total > REGION) => {
                assert_eq!(reason, "the target has room for 12 MiB");
            }
            Outcome::NotMeasured { reason, .. } if late(reason) => late_rows += 1,
            Outcome::Measured(measured) => {
                measured_rows += 1;
                assert!(!measured.samples.is_empty() && measured.samples.iter().all(|sample| *sample > 0.0));
                assert!(measured.latency.is_some() && measured.cpu_seconds_per_gb.is_some(), "{row:?}");
                assert_eq!(measured.code.is_some(), case.by == By::Keyway);
            }
            other => panic!("{}: {other:?}", row.id),
        }
    }
    assert!(measured_rows > late_rows, "{measured_rows} {late_rows}");
}

#[test]
fn a_path_that_lies_is_a_wrong_row_and_the_others_go_on() {
    let mut bench = Bench::new();
    // A path that claims to encrypt and does not.
    bench.paths[1].access = bench.paths[0].access.clone();
    let rows = bench.run(6, &mut Counting::default());
    for row in rows.iter().filter(|row| row.id.contains("keyway/file")) {
        let lies = row.id.contains("sector512");
        assert_eq!(lies, matches!(row.outcome, Outcome::Wrong(_)), "{row:?}");
    }
}

#[test]
fn a_stopped_run_has_the_rows_that_were_measured() {
    let bench = Bench::new();
    let rows = bench.run(12, &mut Counting { rows: 0, stop_after: Some(1) });
    assert!((1..=4).contains(&rows.len()), "{}", rows.len());
}

#[test]
fn rows_that_there_are_stay_as_they_are() {
    let bench = Bench::new();
    let mut first = bench.run(12, &mut Counting { rows: 0, stop_after: Some(9) });
    // Truncated between two rows of a workload.
    first.truncate(7);
    let mut watcher = Counting::default();
    let all = bench.go_on(6, first.clone(), &mut watcher);
    assert_eq!(all[..7], first[..]);
    assert_eq!((all.len(), watcher.rows), (bench.all(), all.len() - 7));
    assert_eq!(names(&all).len(), all.len());
    let mut watcher = Counting::default();
    assert_eq!(bench.go_on(6, all.clone(), &mut watcher), all);
    assert_eq!(watcher.rows, 0);
}

#[test]
fn how_long_fio_takes_to_start_counts() {
    let mut bench = Bench::new();
    let workloads = workload::all();
    let least = |paths: &[Path], start| turns::least_seconds(paths, &workloads, REGION, start);
    // Three paths: six random workloads of a twentieth of a second each, and two sustained ones of two
    // tenths.
    let built_in = least(&bench.paths, 9.0);
    assert!((built_in - 3.0 * (6.0 * 0.05 + 2.0 * 0.2)).abs() < 1e-9, "{built_in}");
    for path in &mut bench.paths {
        path.engine = Engine::Fio("/dev/null".into());
    }
    // Also ten megabytes twice; a sustained run is six fio runs.
    let by_fio = least(&bench.paths, 0.5);
    assert!((by_fio - built_in - 3.0 * 0.5 * (2.0 + 6.0 + 2.0 * 6.0)).abs() < 1e-9, "{by_fio}");
}

#[test]
fn storage_that_vanishes_is_a_row_for_each_case() {
    let mut bench = Bench::new();
    let gone: Arc<dyn Storage> = Arc::new(Gone);
    bench.paths[2].access =
        Ok(Access { view: gone.clone(), below: gone, cpu: Whose::Own, notes: Vec::new() });
    let rows = bench.run(6, &mut Counting::default());
    assert_eq!(rows.len(), bench.all());
    let of_path = |row: &&Row| row.id.contains("keyway/file") && row.id.contains("sector4096");
    for row in rows.iter().filter(of_path) {
        let Outcome::NotMeasured { reason, .. } = &row.outcome else { panic!("{row:?}") };
        assert!(reason.starts_with("the storage failed: No such device"), "{reason}");
    }
    assert!(rows.iter().any(|row| row.measured().is_some()));
    assert!(rows.iter().filter_map(Row::measured).all(|measured| !measured.checked.is_empty()));
    let lasting = rows.iter().find(|row| row.id.contains("sustained")).unwrap();
    assert!(workload::all().iter().any(|one| one.bound == Bound::Sustained) && lasting.measured().is_some());
}
