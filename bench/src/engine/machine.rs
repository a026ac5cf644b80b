//! What the figures belong to: the machine, its load, the peers and how they were built.

use super::floors::rates;
use crate::foreign::Peer;
use keyway_crypto::Cpu;
use rustix::system::uname;
use std::fs::read_to_string;
use std::thread::available_parallelism;

/// Prints the table's head.
pub(crate) fn header() {
    let cores = available_parallelism().map_or(1, usize::from);
    println!("{cores} × {}: {}", processor(), Cpu::detect());
    let system = uname();
    println!("kernel {}, load average {}", system.release().to_string_lossy(), load_average());
    for peer in Peer::ALL {
        match peer.presence() {
            Ok(version) => println!("  {:<20} {version}", peer.name()),
            Err(reason) => println!("  {:<20} MISSING: {reason}", peer.name()),
        }
    }
    println!("10^9 instructions a second, vectors of 512 bits: {}", rates());
    println!(
        "one thread: its own processor time, on page-aligned memory in cache, one IV a sector; several threads: wall time"
    );
    if busy() {
        println!(
            "WARNING: other work runs on this machine. Ratios of single threads hold, their absolute figures and the rows \
             with several threads do not."
        );
    }
    println!();
}

/// More than one program beside this one was running in the last minute.
fn busy() -> bool {
    let minute = load_average().split(' ').next().and_then(|load| load.parse::<f64>().ok());
    minute.is_some_and(|load| load > 1.2)
}

fn load_average() -> String {
    let text = read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').take(3).collect::<Vec<_>>().join(" ")
}

fn processor() -> String {
    let text = read_to_string("/proc/cpuinfo").unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with("model name"));
    line.and_then(|line| line.split(": ").nth(1)).unwrap_or("unknown processor").to_owned()
}
