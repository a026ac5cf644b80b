//! Other projects' code beside ours, through the programs that they install: a static program
//! cannot load their shared libraries. What these programs compute is not visible, so their figures
//! are not checked, and their rows say so.

pub(crate) mod cryptsetup;
pub(crate) mod openssl;

use crate::Clock;
use crate::results::{Outcome, Unit};
use crate::rounds::{Sample, Subject};
use std::process::{Command, Stdio};

/// The version of a peer's program, as it prints it; `None` if it is not installed.
pub fn version(peer: &str) -> Option<String> {
    let argument = if peer == "openssl" { "version" } else { "--version" };
    let output = Command::new(peer).arg(argument).stdin(Stdio::null()).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let line = text.lines().next()?.trim();
    let name = |word: &str| word.eq_ignore_ascii_case(peer);
    Some(line.split_once(' ').filter(|(word, _)| name(word)).map_or(line, |(_, rest)| rest).to_owned())
}

/// A program that prints one figure per run.
struct Printed {
    program: &'static str,
    arguments: Vec<String>,
    read: fn(&str) -> Option<f64>,
}

impl Printed {
    fn subject(self, unit: Unit, checked: &str, notes: Vec<String>) -> Subject {
        let sample = move |clock: &dyn Clock| {
            let before = clock.now();
            let value = self.run()?;
            Ok(Sample { value, seconds: clock.now().saturating_sub(before).as_secs_f64() })
        };
        let (sample, checked) = (Box::new(sample), checked.to_owned());
        let (least_samples, sample_seconds) = (Some(FEWEST), Some(SECONDS));
        let least_seconds = None;
        Subject { sample, unit, checked, code: None, least_samples, sample_seconds, least_seconds, notes }
    }

    fn run(&self) -> Result<f64, Outcome> {
        let program = self.program;
        let output = Command::new(program).args(&self.arguments).stdin(Stdio::null()).output();
        let output =
            output.map_err(|error| Outcome::not_measured(format!("{program} cannot be run: {error}")))?;
        let [text, errors] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
        let figure = (self.read)(&text).filter(|figure| *figure > 0.0);
        figure.ok_or_else(|| {
            let last = errors.lines().chain(text.lines()).rfind(|line| !line.trim().is_empty());
            let (last, arguments) = (last.unwrap_or("it printed nothing").trim(), self.arguments.join(" "));
            Outcome::not_measured(format!("\"{program} {arguments}\" printed no figure: {last}"))
        })
    }
}

/// Each sample takes a second or more, so only as many are taken as an interval needs.
const FEWEST: u32 = 6;
/// How long one takes: both programs measure for a second.
const SECONDS: f64 = 1.1;

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(program: &'static str, argument: &str) -> String {
        let none = Printed { program, arguments: vec![argument.to_owned()], read: |_| None };
        let Err(Outcome::NotMeasured { reason, .. }) = none.run() else { panic!("a figure") };
        reason
    }

    #[test]
    fn who_is_not_installed_is_not_measured_and_who_prints_no_figure_is_quoted() {
        let reason = refusal("no-such-program-anywhere", "");
        assert!(reason.starts_with("no-such-program-anywhere cannot be run"), "{reason}");
        assert_eq!(version("no-such-program-anywhere"), None);
        assert_eq!(refusal("echo", "sorry"), "\"echo sorry\" printed no figure: sorry");
    }
}
