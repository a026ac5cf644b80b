//! Progress of long work, on standard error (of a re-encryption, on standard output): one line that is redrawn on a terminal, lines or JSON
//! in cryptsetup's form if requested, otherwise nothing.
//!
//! This is own code rather than a progress-bar crate because it is one line, drawn by one thread
//! that only reads a counter.

use crate::output::size::human;
use keyway::parts::Meter;
use std::io::{IsTerminal, Write, stderr, stdout};
use std::path::Path;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

/// The effect of `--progress-frequency`, `--progress-json` and `--batch-mode`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Progress {
    /// How often a line is printed.
    pub(crate) every: Option<Duration>,
    /// The lines are JSON.
    pub(crate) json: bool,
    /// Nothing is drawn on a terminal.
    pub(crate) quiet: bool,
    /// Lines and JSON go to standard output, as in cryptsetup, and an end is announced.
    pub(crate) on_output: bool,
}

/// Does `work` while watching its meter. `total` is the meter's final value, if known.
pub(crate) fn watch<T>(
    progress: Progress,
    device: &Path,
    total: Option<u64>,
    work: impl FnOnce(&Meter) -> T,
) -> T {
    watch_from(0, progress, device, total, work)
}

/// The same of work of which an earlier run has done `before` bytes: they count as done, but not in how
/// fast this run is.
pub(crate) fn watch_from<T>(
    before: u64,
    progress: Progress,
    device: &Path,
    total: Option<u64>,
    work: impl FnOnce(&Meter) -> T,
) -> T {
    let meter = Meter::new();
    meter.add(before);
    let Some(style) = Style::of(progress) else { return work(&meter) };
    let view = View {
        style,
        device: device.display().to_string(),
        before,
        total,
        start: Instant::now(),
        on_output: progress.on_output,
    };
    thread::scope(|scope| {
        let (done, wait) = mpsc::channel::<()>();
        let meter = &meter;
        scope.spawn(move || {
            while wait.recv_timeout(view.style.every()) == Err(RecvTimeoutError::Timeout) {
                view.draw(meter.done());
            }
            view.finish(meter.done());
        });
        let result = work(meter);
        drop(done);
        result
    })
}

/// How progress is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Style {
    /// One line on a terminal.
    Line,
    /// cryptsetup's lines, this often.
    Lines(Duration),
    /// cryptsetup's JSON objects, this often.
    Json(Duration),
}

impl Style {
    fn of(Progress { every, json, quiet, .. }: Progress) -> Option<Self> {
        if json {
            return Some(Self::Json(every.unwrap_or(HALF_A_SECOND)));
        }
        if quiet {
            return None;
        }
        every.map(Self::Lines).or_else(|| stderr().is_terminal().then_some(Self::Line))
    }

    fn every(self) -> Duration {
        match self {
            Self::Line => Duration::from_millis(200),
            Self::Lines(every) | Self::Json(every) => every,
        }
    }
}

struct View {
    style: Style,
    device: String,
    before: u64,
    total: Option<u64>,
    start: Instant,
    on_output: bool,
}

impl View {
    fn draw(&self, done: u64) {
        let line = match self.style {
            Style::Line => format!("\r\x1b[K{}", self.line(done)),
            Style::Lines(_) => format!("{}\n", self.cryptsetups_line(done)),
            Style::Json(_) => format!("{}\n", self.json(done)),
        };
        self.print(&line);
    }

    /// Where nobody listens any more, the work goes on.
    fn print(&self, line: &str) {
        let _ = match self.on_output && self.style != Style::Line {
            true => stdout().write_all(line.as_bytes()).and_then(|()| stdout().flush()),
            false => stderr().write_all(line.as_bytes()),
        };
    }

    /// Clears the terminal's line; logs get a closing line.
    fn finish(&self, done: u64) {
        let elapsed = self.start.elapsed();
        let line = match self.style {
            Style::Line if self.on_output => format!("\r\x1b[K{}", self.finished(done, elapsed)),
            Style::Line => "\r\x1b[K".to_owned(),
            Style::Lines(_) => self.finished(done, elapsed),
            Style::Json(_) => format!("{}\n", self.json(done)),
        };
        self.print(&line);
    }

    fn finished(&self, done: u64, elapsed: Duration) -> String {
        let speed = human(self.speed(done) as u64);
        format!("Finished, time {}, {} written, speed {speed}/s\n", minutes(elapsed), human(done))
    }

    /// "  45.2%  927.3 MiB of 2.0 GiB  1.3 GiB/s  00m01s left".
    fn line(&self, done: u64) -> String {
        let speed = human(self.speed(done) as u64);
        match self.total.filter(|t| *t > 0) {
            Some(total) => format!(
                "{:5.1}%  {} of {}  {speed}/s  {} left",
                self.percent(done, total),
                human(done),
                human(total),
                minutes(self.left(done, total)),
            ),
            None => format!("{}  {speed}/s  {}", human(done), minutes(self.start.elapsed())),
        }
    }

    fn cryptsetups_line(&self, done: u64) -> String {
        let total = self.total.unwrap_or(done).max(1);
        format!(
            "Progress: {:5.1}%, ETA {}, {} written, speed {}/s",
            self.percent(done, total),
            minutes(self.left(done, total)),
            human(done),
            human(self.speed(done) as u64),
        )
    }

    fn json(&self, done: u64) -> String {
        let total = self.total.unwrap_or(done);
        format!(
            "{{\"device\":\"{}\",\"device_bytes\":\"{done}\",\"device_size\":\"{total}\",\"speed\":\"{}\",\
             \"eta_ms\":\"{}\",\"time_ms\":\"{}\"}}",
            escaped(&self.device),
            self.speed(done) as u64,
            self.left(done, total).as_millis(),
            self.start.elapsed().as_millis(),
        )
    }

    fn percent(&self, done: u64, total: u64) -> f64 {
        done as f64 / total as f64 * 100.0
    }

    /// Bytes of this run per second since its start.
    fn speed(&self, done: u64) -> f64 {
        done.saturating_sub(self.before) as f64 / self.start.elapsed().as_secs_f64().max(1e-6)
    }

    fn left(&self, done: u64, total: u64) -> Duration {
        let seconds = total.saturating_sub(done) as f64 / self.speed(done).max(1.0);
        Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
    }
}

/// "12m44s", with hours in front from 90 minutes on.
fn minutes(time: Duration) -> String {
    let seconds = time.as_secs();
    if seconds < 90 * 60 {
        format!("{:02}m{:02}s", seconds / 60, seconds % 60)
    } else {
        format!("{}h{:02}m", seconds / 3600, seconds / 60 % 60)
    }
}

/// A file name as it is written between JSON's quotes.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c < ' ' => out.push_str(&format!("\\u{:04x}", c as u32)),
            c => out.push(c),
        }
    }
    out
}

const HALF_A_SECOND: Duration = Duration::from_millis(500);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_say_how_far_how_fast_and_how_long() {
        let start = Instant::now() - Duration::from_secs(2);
        let view = View {
            style: Style::Line,
            device: "a\"b".into(),
            before: 0,
            total: Some(4 << 30),
            start,
            on_output: false,
        };
        let line = view.line(1 << 30);
        assert!(line.starts_with(" 25.0%  1.0 GiB of 4.0 GiB  51"), "{line}");
        assert!(line.ends_with("MiB/s  00m06s left"), "{line}");
        let json = view.json(1 << 30);
        assert!(json.starts_with("{\"device\":\"a\\\"b\",\"device_bytes\":\"1073741824\""), "{json}");
        assert!(json.contains("\"device_size\":\"4294967296\",\"speed\":\"53"), "{json}");
        assert!(view.cryptsetups_line(1 << 30).starts_with("Progress:  25.0%, ETA 00m06s, 1.0 GiB written,"));
        let unknown = View { total: None, ..view };
        assert!(unknown.line(1 << 30).starts_with("1.0 GiB  51"));
    }

    /// What an earlier run has done is done, but says nothing about speed: 1 of 3 GiB took 2 seconds.
    #[test]
    fn a_run_that_goes_on_has_its_own_speed() {
        let start = Instant::now() - Duration::from_secs(2);
        let view = View {
            style: Style::Line,
            device: "a".into(),
            before: 1 << 30,
            total: Some(4 << 30),
            start,
            on_output: true,
        };
        let line = view.line(2 << 30);
        assert!(line.starts_with(" 50.0%  2.0 GiB of 4.0 GiB  51"), "{line}");
        assert!(line.ends_with("MiB/s  00m04s left"), "{line}");
        let line = view.cryptsetups_line(2 << 30);
        assert!(line.starts_with("Progress:  50.0%, ETA 00m04s, 2.0 GiB written, speed 51"), "{line}");
        let json = view.json(2 << 30);
        assert!(
            json.contains("\"device_bytes\":\"2147483648\",\"device_size\":\"4294967296\",\"speed\":\"53"),
            "{json}"
        );
        assert!(json.contains("\"eta_ms\":\"4"), "{json}");
        let end = view.finished(4 << 30, Duration::from_secs(6));
        assert!(end.starts_with("Finished, time 00m06s, 4.0 GiB written, speed 1.5 GiB/s"), "{end}");
        assert!(view.cryptsetups_line(1 << 30).contains("speed 0 bytes/s"), "nothing yet");
    }

    #[test]
    fn times() {
        assert_eq!(minutes(Duration::from_secs(764)), "12m44s");
        assert_eq!(minutes(Duration::from_secs(5400)), "1h30m");
        assert_eq!(minutes(Duration::MAX).len(), "5124095576030431h00m".len());
    }
}
