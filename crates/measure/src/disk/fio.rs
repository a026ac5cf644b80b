//! fio makes the requests where it is installed: it uses the kernel's queue (libaio), needs no
//! thread per request, and reports well-known figures. Its output is JSON (`--output-format=json+`,
//! fio's HOWTO, "JSON+ output", from fio 3.0 on): each latency bin with its count, in nanoseconds.
//!
//! fio writes only to the device that it is given: it creates no files and does not change the
//! device's size.

use super::engine::{Job, Run};
use super::workload::{Bound, Workload};
use crate::Clock;
use crate::results::Pattern;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// The installed fio.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fio {
    program: PathBuf,
    /// "3.33".
    pub version: String,
}

impl Fio {
    /// The fio found first in `$PATH`, if it runs and its version supports JSON+ with nanoseconds.
    pub fn find() -> Option<Self> {
        let program = PathBuf::from("fio");
        let output = Command::new(&program).arg("--version").stdin(Stdio::null()).output().ok()?;
        let version = String::from_utf8(output.stdout).ok()?.trim().strip_prefix("fio-")?.to_owned();
        let major: u32 = version.split('.').next()?.parse().ok()?;
        (output.status.success() && major >= 3).then_some(Self { program, version })
    }

    /// The seconds that fio takes to start and exit: a run of one small request, minus that
    /// request.
    ///
    /// # Errors
    /// The errors of [`Fio::run`].
    pub fn start_up(&self, device: &Path, clock: &dyn Clock, stop: &AtomicBool) -> io::Result<f64> {
        let (pattern, block) = (Pattern::SequentialRead, 4096);
        let workload = Workload { pattern, block, depth: 1, bound: Bound::Bytes(u64::from(block)) };
        let start = clock.now();
        let run = self.run(device, &Job { workload, region: 4096, seconds: 0.0, seed: 1, stop })?;
        Ok(((clock.now() - start).as_secs_f64() - run.seconds).max(0.0))
    }

    /// Runs fio with requests that bypass the page cache.
    ///
    /// # Errors
    /// fio's error message; [`io::ErrorKind::Interrupted`] if the run was stopped.
    pub fn run(&self, device: &Path, job: &Job<'_>) -> io::Result<Run> {
        let mut command = Command::new(&self.program);
        // An ordinary user's fio may not look for files in this process, which hides its memory from others: it inherits the
        // device, and opens it again.
        command.args(arguments(job)).stdin(File::open(device)?);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        let (output, errors) = Reaped(child).wait(job.stop)?;
        parse(&output, job.workload).map_err(|error| match errors.lines().last() {
            Some(line) if !line.trim().is_empty() => io::Error::other(line.trim().to_owned()),
            _ => error,
        })
    }
}

fn arguments(job: &Job<'_>) -> Vec<String> {
    let workload = job.workload;
    let engine = if workload.depth > 1 { "libaio" } else { "psync" };
    let order = match workload.pattern {
        Pattern::SequentialRead => "read",
        Pattern::SequentialWrite => "write",
        Pattern::RandomRead => "randread",
        Pattern::RandomWrite => "randwrite",
        Pattern::RandomMixed => "randrw",
    };
    // Jobs as threads of the fio process: separate processes would need shared memory. No map of
    // visited blocks: the built-in engine has none either. Refilled buffers give disks that
    // compress or deduplicate no advantage.
    let always = "--output-format=json+ --name=keyway --thread --allow_file_create=0 --direct=1 --rwmixread=70 \
                  --norandommap --refill_buffers --end_fsync=1 --filename=/proc/self/fd/0";
    let mut all: Vec<String> = always.split(' ').map(str::to_owned).collect();
    all.extend([
        format!("--ioengine={engine}"),
        format!("--rw={order}"),
        format!("--bs={}", workload.block),
        format!("--iodepth={}", workload.depth),
        format!("--size={}", workload.total().unwrap_or(job.region)),
        format!("--randseed={}", job.seed),
    ]);
    if workload.total().is_none() {
        all.extend(["--time_based".to_owned(), format!("--runtime={}ms", (job.seconds * 1000.0).ceil())]);
    }
    all
}

/// A child process that is killed and reaped when this value is dropped.
struct Reaped(Child);

impl Reaped {
    /// The child's stdout and stderr, once it has ended by itself.
    fn wait(mut self, stop: &AtomicBool) -> io::Result<(String, String)> {
        let (output, errors) = (self.0.stdout.take(), self.0.stderr.take());
        thread::scope(|scope| {
            let output = scope.spawn(|| read_all(output));
            let errors = scope.spawn(|| read_all(errors));
            while self.0.try_wait()?.is_none() {
                if stop.load(Ordering::Relaxed) {
                    drop(self);
                    return Err(io::ErrorKind::Interrupted.into());
                }
                thread::sleep(POLL);
            }
            // Ctrl-C reaches fio too.
            if stop.load(Ordering::Relaxed) {
                return Err(io::ErrorKind::Interrupted.into());
            }
            Ok((output.join().unwrap_or_default(), errors.join().unwrap_or_default()))
        })
    }
}

impl Drop for Reaped {
    fn drop(&mut self) {
        // Neither call has an effect if the child has ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

const POLL: Duration = Duration::from_millis(5);

fn read_all(stream: Option<impl Read>) -> String {
    let mut text = Vec::new();
    if let Some(mut stream) = stream {
        let _ = stream.read_to_end(&mut text);
    }
    String::from_utf8_lossy(&text).into_owned()
}

/// Parses fio's report of a run. Warnings may precede the JSON document.
///
/// # Errors
/// If `output` is not such a document, fio reports an error, or nothing was read or written.
pub fn parse(output: &str, workload: Workload) -> io::Result<Run> {
    let start = output.find('{').unwrap_or(0);
    let document: Document = serde_json::from_str(&output[start..])
        .map_err(|error| io::Error::other(format!("fio's output cannot be parsed: {error}")))?;
    let job = document.jobs.first().ok_or_else(|| io::Error::other("fio's output has no job"))?;
    if job.error != 0 {
        return Err(io::Error::from_raw_os_error(job.error));
    }
    let mut run = Run::default();
    for side in [&job.read, &job.write] {
        run.bytes += side.io_bytes;
        run.requests += side.total_ios;
        // The reads and writes of a mixed run share the same time.
        run.seconds = run.seconds.max(side.seconds(workload.depth));
        for (nanoseconds, count) in &side.clat_ns.bins {
            run.latencies.record(nanoseconds.parse().unwrap_or(0), *count);
        }
    }
    if run.bytes == 0 || run.seconds <= 0.0 {
        return Err(io::Error::other("fio has read and written nothing"));
    }
    run.cpu = Some((job.usr_cpu + job.sys_cpu) / 100.0 * run.seconds);
    if workload.bound == Bound::Sustained {
        run.parts = vec![run.bytes as f64 / run.seconds];
    }
    Ok(run)
}

#[derive(Deserialize)]
struct Document {
    jobs: Vec<JobReport>,
}

#[derive(Deserialize)]
struct JobReport {
    error: i32,
    /// In percent of its thread's run time.
    #[serde(default)]
    usr_cpu: f64,
    #[serde(default)]
    sys_cpu: f64,
    read: Side,
    write: Side,
}

#[derive(Deserialize)]
struct Side {
    io_bytes: u64,
    /// In milliseconds.
    runtime: u64,
    total_ios: u64,
    lat_ns: Mean,
    clat_ns: Bins,
}

#[derive(Deserialize)]
struct Mean {
    mean: f64,
}

#[derive(Deserialize)]
struct Bins {
    #[serde(default)]
    bins: BTreeMap<String, u64>,
}

impl Side {
    /// fio reports its run time in whole milliseconds, and a small size takes only a few. With one
    /// request at a time, the run takes as long as the sum of its requests, which is known to the
    /// nanosecond.
    fn seconds(&self, depth: u32) -> f64 {
        match depth {
            1 if self.runtime < SHORT_MS => self.lat_ns.mean * self.total_ios as f64 / 1e9,
            _ => self.runtime as f64 / 1e3,
        }
    }
}

/// Below this a millisecond is more than half a percent.
const SHORT_MS: u64 = 200;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::workload;

    fn workload(pattern: Pattern, depth: u32) -> Workload {
        *workload::all().iter().find(|one| one.pattern == pattern && one.depth == depth).unwrap()
    }

    /// Recorded from fio 3.33 (Debian 12): `--rw=randrw --rwmixread=70
    /// --bs=4096 --iodepth=32 --ioengine=libaio`.
    const MIXED: &str = include_str!("fio-3.33-mixed.json");
    /// From the same fio: `--rw=write --bs=1048576 --size=10485760 --ioengine=psync`.
    const WRITE: &str = include_str!("fio-3.33-write.json");
    /// From the same fio, writing to a file that does not exist.
    const ABSENT: &str = include_str!("fio-3.33-absent.json");

    #[test]
    fn a_recorded_mixed_run() {
        let run = parse(MIXED, workload(Pattern::RandomMixed, 32)).unwrap();
        assert_eq!(run.requests, run.latencies.count());
        assert_eq!(run.bytes, run.requests * 4096);
        assert!((0.07..0.08).contains(&run.seconds), "{}", run.seconds);
        let cpu = run.cpu.unwrap();
        assert!(cpu > 0.0 && cpu < run.seconds, "{cpu}");
        let reads = MIXED_READS as f64 / run.requests as f64;
        assert!((0.65..0.75).contains(&reads), "{reads}");
    }

    /// `total_ios` of the reads.
    const MIXED_READS: u64 = 115;

    #[test]
    fn a_short_run_is_as_long_as_its_requests() {
        let run = parse(WRITE, workload(Pattern::SequentialWrite, 1)).unwrap();
        assert_eq!((run.bytes, run.requests), (10 << 20, 10));
        assert!(
            run.seconds > 0.0 && run.seconds < 0.2 && run.seconds * 1000.0 % 1.0 != 0.0,
            "{}",
            run.seconds
        );
    }

    #[test]
    fn errors_are_errors() {
        let error = parse(ABSENT, workload(Pattern::SequentialWrite, 1)).unwrap_err();
        assert_eq!(error.to_string(), "fio has read and written nothing");
        let error = parse("fio: nonsense\n", workload(Pattern::RandomRead, 1)).unwrap_err();
        assert!(error.to_string().starts_with("fio's output cannot be parsed"), "{error}");
        let error = parse("{\"jobs\": []}", workload(Pattern::RandomRead, 1)).unwrap_err();
        assert_eq!(error.to_string(), "fio's output has no job");
    }
}
