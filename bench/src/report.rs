//! The table on the terminal, row by row as it is measured, and every sample as CSV.

use crate::rounds::{Goal, Samples, Unit};
use std::fs::File;
use std::io::Write;

/// A table being printed.
pub(crate) struct Table {
    csv: Option<File>,
}

impl Table {
    /// Prints the head. The CSV file is opened before anything is measured.
    pub(crate) fn begin(csv: Option<&str>) -> Self {
        let mut csv = csv.map(|path| File::create(path).unwrap_or_else(|e| panic!("{path}: {e}")));
        if let Some(file) = &mut csv {
            writeln!(file, "case,contestant,unit,round,value").expect("the CSV file takes a line");
        }
        println!("{:<52} {:>10}  {:>10} {:<24} {:>6}  wanted", "", "Keyway", "peer", "", "ratio");
        Self { csv }
    }

    /// Prints one case: a line for each peer, or for Keyway alone.
    pub(crate) fn row(&mut self, samples: &Samples) {
        let case = &samples.case;
        let first_peer = 1.min(case.contestants.len() - 1);
        for (number, contestant) in case.contestants.iter().enumerate() {
            self.write_csv(samples, number);
            if number < first_peer {
                continue;
            }
            let title = format!("{}{}", case.title, label(case.unit));
            let (title, ours) =
                if number == first_peer { (title, figure(samples.median(0))) } else { Default::default() };
            let (theirs, name, ratio) = match number {
                0 => Default::default(),
                _ => (
                    figure(samples.median(number)),
                    contestant.name.as_str(),
                    format!("{:.2}", samples.ratio(number)),
                ),
            };
            let wanted = wanted(samples, number);
            println!("{title:<52} {ours:>10}  {theirs:>10} {name:<24} {ratio:>6}  {wanted}");
        }
    }

    fn write_csv(&mut self, samples: &Samples, contestant: usize) {
        let Some(file) = &mut self.csv else { return };
        let (title, name) = (&samples.case.title, &samples.case.contestants[contestant].name);
        for (round, value) in samples.values[contestant].iter().enumerate() {
            writeln!(file, "\"{title}\",\"{name}\",{:?},{round},{value}", samples.case.unit)
                .expect("the CSV file takes a line");
        }
    }
}

fn label(unit: Unit) -> &'static str {
    match unit {
        Unit::Megabytes => ", MB/s",
        Unit::Iterations => ", M iterations/s",
        Unit::Milliseconds => ", ms",
        Unit::Mebibytes => ", MiB",
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

fn wanted(samples: &Samples, contestant: usize) -> String {
    let Some(goal) = samples.case.contestants[contestant].goal else { return String::new() };
    let text = match goal {
        Goal::RatioAtLeast(ratio) => format!("≥ {ratio}"),
        Goal::RatioAtMost(ratio) => format!("≤ {ratio}"),
        Goal::Below(value) => format!("< {value}"),
    };
    let verdict = if samples.reached(contestant, goal) { "reached" } else { "NOT reached" };
    format!("{text} {verdict}")
}
