//! fio: requests of one size, so many in flight, for a while.

use std::path::Path;
use std::process::{Command, Stdio};

/// What fio does.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Job {
    /// "randread", "randwrite", "read", "write".
    pub(crate) rw: &'static str,
    /// "4k", "128k".
    pub(crate) bs: &'static str,
    /// Requests in flight, in each process.
    pub(crate) depth: u32,
    /// Processes, each with a connection of its own.
    pub(crate) jobs: u32,
}

/// What came out.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Outcome {
    /// 10^6 bytes a second.
    pub(crate) megabytes: f64,
    /// Thousands of requests a second.
    pub(crate) kilo_iops: f64,
    /// From request to answer, on average.
    pub(crate) microseconds: f64,
}

impl Job {
    /// Over NBD, on the first `mib` MiB of what listens on `socket`.
    pub(crate) fn over_nbd(self, socket: &Path, mib: u64) -> Outcome {
        let mut command = self.command(mib);
        command.arg("--ioengine=nbd").arg("--time_based").arg("--runtime=2");
        command.arg(format!("--uri=nbd+unix:///?socket={}", socket.display()));
        self.run(command)
    }

    /// Once through a file, whose cached pages are dropped before.
    pub(crate) fn through_file(self, file: &Path, mib: u64) -> Outcome {
        let mut command = self.command(mib);
        command.arg("--ioengine=psync").arg("--invalidate=1").arg("--filename").arg(file);
        self.run(command)
    }

    fn command(self, mib: u64) -> Command {
        let mut command = Command::new("fio");
        command.arg("--name=keyway").arg("--output-format=terse").arg("--terse-version=3");
        command.arg("--group_reporting").arg(format!("--size={mib}M"));
        command.arg(format!("--rw={}", self.rw)).arg(format!("--bs={}", self.bs));
        command.arg(format!("--iodepth={}", self.depth)).arg(format!("--numjobs={}", self.jobs));
        command
    }

    /// The columns are those of fio(1), "terse output", version 3.
    fn run(self, mut command: Command) -> Outcome {
        let output = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output();
        let output = output.unwrap_or_else(|e| panic!("{command:?}: {e}"));
        assert!(output.status.success(), "{command:?}: {}", output.status);
        let text = String::from_utf8_lossy(&output.stdout);
        let line = text.lines().find(|line| line.starts_with("3;")).unwrap_or_else(|| panic!("fio: {text}"));
        let columns: Vec<&str> = line.split(';').collect();
        let first = if self.rw.ends_with("read") { READ } else { WRITE };
        let column = |number: usize| columns[first + number].parse::<f64>().expect("a number");
        Outcome {
            megabytes: column(BANDWIDTH) * 1024.0 / 1e6,
            kilo_iops: column(IOPS) / 1e3,
            microseconds: column(MEAN_LATENCY),
        }
    }
}

/// Where the read and the write columns begin, and what stands where in them.
const READ: usize = 5;
const WRITE: usize = 46;
const BANDWIDTH: usize = 1;
const IOPS: usize = 2;
const MEAN_LATENCY: usize = 34;
