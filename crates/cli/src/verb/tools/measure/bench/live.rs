//! A run in progress: writes rows to the results file, shows progress on the terminal, and checks
//! whether the user wants to stop.

use keyway_measure::results::{Case, Growing, Machine};
use keyway_measure::rounds::Watcher;
use keyway_measure::{Results, Row, machine};
use std::io::{IsTerminal, Write, stderr};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Watches a run and keeps its results.
pub(super) struct Live {
    pub(super) results: Results,
    /// The growing file, and its first error.
    pub(super) file: Option<Growing>,
    pub(super) error: Option<std::io::Error>,
    stop: Arc<AtomicBool>,
    line: Option<Line>,
}

/// The progress line, which is redrawn.
struct Line {
    start: Instant,
    drawn: Instant,
    part: f64,
}

impl Line {
    fn draw(text: &str) {
        let _ = stderr().write_all(format!("\r\x1b[K{text}").as_bytes());
    }

    /// What is done does not become less.
    fn reach(&mut self, part: f64) {
        self.part = self.part.max(part);
    }

    /// Draws the line if it is old enough.
    fn redraw(&mut self, text: impl FnOnce(&Self) -> String) {
        if self.drawn.elapsed() >= EVERY {
            self.drawn = Instant::now();
            Self::draw(&text(self));
        }
    }
}

impl Live {
    /// Watches until `stop` is set; shows a line on a terminal, unless `quiet`.
    pub(super) fn new(quiet: bool, results: Results, file: Option<Growing>, stop: Arc<AtomicBool>) -> Self {
        let shown = !quiet && stderr().is_terminal();
        let now = Instant::now();
        let line = shown.then_some(Line { start: now, drawn: now, part: 0.0 });
        if shown {
            Line::draw("  0.0 %  looking at the machine");
        }
        Self { results, file, error: None, stop, line }
    }

    /// Clears the progress line.
    pub(super) fn finish(&mut self) {
        if self.line.take().is_some() {
            let _ = stderr().write_all(b"\r\x1b[K");
        }
    }

    /// Rewrites the file, because the information in front of its rows is now more complete.
    pub(super) fn rewrite(&mut self) {
        let written = self.file.as_mut().map_or(Ok(()), |file| file.rewrite(&self.results));
        self.note(written);
    }

    /// Adds a warning once, even if a run is resumed several times.
    pub(super) fn warn(&mut self, warning: String) {
        if !self.results.warnings.contains(&warning) {
            self.results.warnings.push(warning);
        }
    }

    /// Stops on an error: measuring is pointless if the results cannot be saved.
    fn note(&mut self, written: std::io::Result<()>) {
        if let Err(error) = written {
            self.error.get_or_insert(error);
            self.stop.store(true, Ordering::Relaxed);
        }
    }

    fn look_at_the_clock_rate(machine: &mut Machine) {
        machine.frequency = machine::widest(machine.frequency, machine::frequency(Path::new("/")));
    }
}

impl Watcher for Live {
    fn row(&mut self, row: &Row) {
        Self::look_at_the_clock_rate(&mut self.results.machine);
        self.results.rows.push(row.clone());
        let written = self.file.as_mut().map_or(Ok(()), |file| file.append(row, &self.results));
        self.note(written);
    }

    fn preparing(&mut self, part: f64, case: &Case) {
        let Some(line) = &mut self.line else { return };
        line.reach(part);
        line.redraw(|line| format!("{:5.1} %  preparing {}", 100.0 * line.part, short(&case.in_words())));
    }

    fn sampling(&mut self, part: f64, case: &Case) {
        self.progress(part, &case.in_words());
    }

    fn progress(&mut self, part: f64, case: &str) {
        let Some(line) = &mut self.line else { return };
        line.reach(part);
        let part = line.part;
        let left = line.start.elapsed().as_secs_f64() * (1.0 - part) / part.max(1e-6);
        line.redraw(|_| format!("{:5.1} %  {} left  {}", 100.0 * part, minutes(left), short(case)));
    }

    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// As much of a name as fits into a line.
fn short(case: &str) -> String {
    case.chars().take(46).collect()
}

/// "01m12s", with hours in front from 90 minutes on.
fn minutes(seconds: f64) -> String {
    let seconds = seconds as u64;
    match seconds < 90 * 60 {
        true => format!("{:02}m{:02}s", seconds / 60, seconds % 60),
        false => format!("{}h{:02}m", seconds / 3600, seconds / 60 % 60),
    }
}

/// Says on standard error that a run takes long, before it begins, and what bounds it.
pub(super) fn announce(quiet: bool, seconds: f64) {
    if !quiet && seconds > SOON {
        let _ = writeln!(stderr(), "{}", words(seconds));
    }
}

fn words(seconds: f64) -> String {
    let (number, unit) = match seconds {
        ..90.0 => (seconds, "seconds"),
        ..5400.0 => (seconds / 60.0, "minutes"),
        _ => (seconds / 3600.0, "hours"),
    };
    format!("Measuring takes up to about {number:.0} {unit}; --time SECONDS bounds it.")
}

/// What takes no longer begins without a word.
const SOON: f64 = 25.0;
const EVERY: Duration = Duration::from_millis(200);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        assert_eq!(words(252.0), "Measuring takes up to about 4 minutes; --time SECONDS bounds it.");
        assert_eq!((minutes(72.9), minutes(5400.0)), ("01m12s".into(), "1h30m".into()));
    }
}
