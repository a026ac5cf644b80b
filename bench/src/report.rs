//! The table on the terminal, row by row as it is measured, and every sample as CSV.

use crate::rounds::{Goal, Samples, Unit};
use std::fs::File;
use std::io::Write;

/// A table being printed.
pub(crate) struct Table {
    csv: Option<File>,
    reached: usize,
    missed: Vec<String>,
    absent: Vec<String>,
}

impl Table {
    /// Prints the head. The CSV file is opened before anything is measured.
    pub(crate) fn begin(csv: Option<&str>) -> Self {
        let mut csv = csv.map(|path| File::create(path).unwrap_or_else(|e| panic!("{path}: {e}")));
        if let Some(file) = &mut csv {
            writeln!(file, "case,contestant,unit,round,value").expect("the CSV file takes a line");
        }
        println!("{:<52} {:>14}  {:>14} {:<24} {:>6}  wanted", "", "Keyway", "peer", "", "ratio");
        Self { csv, reached: 0, missed: Vec::new(), absent: Vec::new() }
    }

    /// Prints one case: a line for each peer, or for Keyway alone; then its floor.
    pub(crate) fn row(&mut self, samples: &Samples) {
        let case = &samples.case;
        let title = format!("{}{}", case.title, label(case.unit));
        let first_peer = 1.min(case.contestants.len() - 1);
        for number in 0..case.contestants.len() {
            self.csv_lines(samples, &case.contestants[number].name, &samples.values[number]);
            if number == first_peer {
                self.line(samples, number, &title, &measured(samples, 0));
            } else if number > first_peer {
                self.line(samples, number, "", "");
            }
        }
        if let Err(reason) = &case.contestants[0].sample {
            println!("    Keyway: {reason}");
            self.absent.push(format!("{}: {reason}", case.title));
        }
        if let Some(floor) = &case.floor {
            self.floor(samples, &floor.reason);
        }
    }

    /// Prints how many goals were reached, which were not, and what was
    /// not there. False when contestants disagreed.
    pub(crate) fn end(&self) -> bool {
        println!("\n{} goals reached, {} not", self.reached, self.missed.len());
        self.missed.iter().for_each(|line| println!("  not reached: {line}"));
        self.absent.iter().for_each(|line| println!("  not measured: {line}"));
        !self.absent.iter().any(|line| line.ends_with(DISAGREES))
    }

    fn line(&mut self, samples: &Samples, number: usize, title: &str, ours: &str) {
        let contestant = &samples.case.contestants[number];
        if number == 0 {
            return println!(
                "{title:<52} {ours:>14}  {:>14} {:<24} {:>6}  {}",
                "",
                "",
                "",
                self.wanted(samples, 0)
            );
        }
        if let Err(reason) = &contestant.sample {
            println!("{title:<52} {ours:>14}  {:>14} {}: {reason}", "-", contestant.name);
            self.absent.push(format!("{}, {}: {reason}", samples.case.title, contestant.name));
            return;
        }
        let theirs = measured(samples, number);
        let ratio = samples.ratio(number).map_or_else(|| "-".into(), |ratio| format!("{ratio:.2}"));
        let wanted = self.wanted(samples, number);
        println!("{title:<52} {ours:>14}  {theirs:>14} {:<24} {ratio:>6}  {wanted}", contestant.name);
    }

    fn wanted(&mut self, samples: &Samples, number: usize) -> String {
        let contestant = &samples.case.contestants[number];
        let Some(goal) = contestant.goal else { return String::new() };
        let text = match goal {
            Goal::RatioAtLeast(ratio) => format!("≥ {ratio}"),
            Goal::RatioAtMost(ratio) => format!("≤ {ratio}"),
            Goal::Below(value) => format!("< {value}"),
        };
        match samples.reached(number, goal) {
            Some(true) => {
                self.reached += 1;
                format!("{text} reached")
            }
            Some(false) => {
                let (ratio, limit) =
                    (samples.ratio(number).unwrap_or_default(), Self::limit(samples, number));
                let title = &samples.case.title;
                self.missed.push(format!("{title} / {}: {ratio:.2}, {text}{limit}", contestant.name));
                format!("{text} NOT reached{}", limit)
            }
            None => format!("{text} NOT measured"),
        }
    }

    /// The ratio that Keyway would have at the floor.
    fn limit(samples: &Samples, number: usize) -> String {
        let (Some(floor), Some(theirs)) = (samples.floor(), samples.median(number)) else {
            return String::new();
        };
        format!(" (at the floor {:.2})", floor / theirs)
    }

    /// The floor below its case, with the part of it that is reached.
    fn floor(&mut self, samples: &Samples, reason: &str) {
        let Some(floor) = samples.floor() else { return };
        let part =
            samples.median(0).map_or_else(String::new, |ours| format!(" ({:.0} %)", ours / floor * 100.0));
        println!("    floor {}{part}: {reason}", figure(floor));
        self.csv_lines(samples, "floor", &samples.floors);
    }

    fn csv_lines(&mut self, samples: &Samples, name: &str, values: &[f64]) {
        let Some(file) = &mut self.csv else { return };
        for (round, value) in values.iter().enumerate() {
            writeln!(file, "\"{}\",\"{name}\",{:?},{round},{value}", samples.case.title, samples.case.unit)
                .expect("the CSV file takes a line");
        }
    }
}

/// What is said of a contestant whose output differs from Keyway's.
pub(crate) const DISAGREES: &str = "its output DIFFERS from Keyway's";

fn label(unit: Unit) -> &'static str {
    match unit {
        Unit::Megabytes => ", MB/s",
        Unit::Iterations => ", M iterations/s",
        Unit::Milliseconds => ", ms",
        Unit::Mebibytes => ", MiB",
        Unit::KiloIops => ", thousand/s",
        Unit::Microseconds => ", µs",
        Unit::Count => "",
    }
}

/// The median and its spread.
fn measured(samples: &Samples, contestant: usize) -> String {
    match (samples.median(contestant), samples.spread(contestant)) {
        (Some(median), Some(spread)) => format!("{} ±{:>2.0}%", figure(median), spread * 100.0),
        _ => "-".into(),
    }
}

/// Three significant digits, more for large numbers.
fn figure(value: f64) -> String {
    match value {
        v if v >= 100.0 => format!("{v:.0}"),
        v if v >= 10.0 => format!("{v:.1}"),
        v => format!("{v:.2}"),
    }
}
