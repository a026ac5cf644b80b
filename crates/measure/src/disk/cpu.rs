//! Processor time. The work of this process and of fio is counted per process (getrusage(2)).
//! dm-crypt works in kernel threads, so its time shows only in the whole machine's time
//! (/proc/stat, proc(5)), which includes all other processes.

use nix::sys::resource::{Usage, UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use std::fs;

/// Whose processor time is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whose {
    /// The time of this process and of its children that have ended.
    Own,
    /// The time of the whole machine.
    Machine,
}

/// Seconds of processor time since some fixed moment; `None` if the machine does not report it.
pub fn seconds(whose: Whose) -> Option<f64> {
    match whose {
        Whose::Own => Some(used(UsageWho::RUSAGE_SELF)? + used(UsageWho::RUSAGE_CHILDREN)?),
        Whose::Machine => busy_seconds(&fs::read_to_string("/proc/stat").ok()?),
    }
}

fn used(who: UsageWho) -> Option<f64> {
    let usage: Usage = getrusage(who).ok()?;
    Some((usage.user_time().num_microseconds() + usage.system_time().num_microseconds()) as f64 / 1e6)
}

/// user, nice, system, (idle, iowait,) irq, softirq of the line for all CPUs. Time that a
/// hypervisor gave to other guests is not counted.
fn busy_seconds(stat: &str) -> Option<f64> {
    let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let ticks: Vec<u64> = line.split_whitespace().map_while(|field| field.parse().ok()).collect();
    let busy = [0, 1, 2, 5, 6].iter().filter_map(|place| ticks.get(*place)).sum::<u64>();
    (ticks.len() >= 4).then_some(busy as f64 / TICKS_PER_SECOND)
}

/// Linux uses this value on every architecture the benchmark supports (USER_HZ).
const TICKS_PER_SECOND: f64 = 100.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_and_stolen_time_is_nobodys() {
        let stat = "cpu  100 20 30 9999 888 4 6 777 0 0\ncpu0 50 10 15 1 1 1 1 1 0 0\n";
        assert_eq!(busy_seconds(stat), Some(1.6));
        assert_eq!(busy_seconds("intr 1 2 3\n"), None);
    }

    #[test]
    fn work_takes_time() {
        let before = (seconds(Whose::Own).unwrap(), seconds(Whose::Machine).unwrap());
        let mut sum = 0u64;
        while seconds(Whose::Own).unwrap() < before.0 + 0.02 {
            sum = std::hint::black_box(sum.wrapping_mul(3).wrapping_add(1));
        }
        assert!(seconds(Whose::Machine).unwrap() >= before.1);
    }
}
