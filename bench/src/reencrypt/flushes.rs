//! How often a re-encryption waits for stable storage, and how long: strace(1) counts the calls and
//! their time, which it lengthens a little.

use super::Volume;
use std::process::Command;

/// What strace saw of a run.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Flushes {
    pub(super) count: f64,
    pub(super) milliseconds: f64,
}

impl Flushes {
    /// Of a run of `name` on a fresh copy of the volume.
    pub(super) fn of(volume: &Volume, name: &str, resilience: &str) -> Self {
        volume.renew();
        let (report, run) = (volume.place.path("flushes"), volume.reencrypt(name, resilience));
        let mut strace = Command::new("strace");
        strace.args(["-f", "-w", "-c", "-e", "trace=fsync,fdatasync", "-o"]).arg(&report).arg("--");
        strace.arg(run.get_program()).args(run.get_args());
        let status = strace.status().expect("strace is installed");
        assert!(status.success(), "{strace:?}");
        Self::from_report(&std::fs::read_to_string(&report).expect("strace's report"))
    }

    /// "% time  seconds  usecs/call  calls  [errors]  syscall", a line for each call.
    fn from_report(report: &str) -> Self {
        let mut all = Self::default();
        for line in report.lines().filter(|line| line.ends_with("fsync") || line.ends_with("fdatasync")) {
            let words: Vec<&str> = line.split_whitespace().collect();
            let number = |at: usize| words.get(at).and_then(|word| word.parse().ok()).unwrap_or(0.0);
            all.milliseconds += 1000.0 * number(1);
            all.count += number(3);
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_and_seconds_are_added_up() {
        let report = "% time     seconds  usecs/call     calls    errors syscall\n\
                      ------ ----------- ----------- --------- --------- ----------------\n \
                      75.00    0.300000        2500       120           fsync\n \
                      25.00    0.100000        5000        20         1 fdatasync\n\
                      ------ ----------- ----------- --------- --------- ----------------\n\
                      100.00    0.400000        2857       140         1 total\n";
        let found = Flushes::from_report(report);
        assert_eq!((found.count, found.milliseconds.round()), (140.0, 400.0));
    }
}
