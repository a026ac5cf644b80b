//! The machine, as /proc and /sys show it. What they do not show is left out, not guessed.

mod proc;

use crate::results::{Frequency, Machine};
use keyway_crypto::Cpu;
use std::fs;
use std::path::Path;

/// Describes the machine whose root directory is `root` ("/").
pub fn look(root: &Path) -> Machine {
    let read = |path: &str| fs::read_to_string(root.join(path)).unwrap_or_default();
    let cpuinfo = read("proc/cpuinfo");
    Machine {
        name: read("proc/sys/kernel/hostname").trim().to_owned(),
        cpu: proc::cpu(&cpuinfo),
        architecture: std::env::consts::ARCH.to_owned(),
        cpus: std::thread::available_parallelism().map_or(1, |cpus| cpus.get() as u32),
        features: proc::features(&cpuinfo),
        aes_code: Cpu::detect().level().name().to_owned(),
        governor: some(read("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor").trim()),
        frequency: frequency(root),
        load: proc::load(&read("proc/loadavg")),
        memory_mib: proc::memory_mib(&read("proc/meminfo")),
        kernel: proc::kernel(&read("proc/version")),
        system: proc::system(&read("etc/os-release")),
        virtualisation: virtualisation(root, &cpuinfo),
    }
}

/// Clock frequencies of all CPUs at this moment.
pub fn frequency(root: &Path) -> Option<Frequency> {
    let cpuinfo = fs::read_to_string(root.join("proc/cpuinfo")).unwrap_or_default();
    let mut seen = proc::frequencies(&cpuinfo);
    if seen.is_empty() {
        let cpus = fs::read_dir(root.join("sys/devices/system/cpu")).ok()?.flatten();
        let khz = cpus.filter_map(|cpu| fs::read_to_string(cpu.path().join("cpufreq/scaling_cur_freq")).ok());
        seen = khz.filter_map(|khz| khz.trim().parse::<f64>().ok()).map(|khz| khz / 1000.0).collect();
    }
    let lowest = seen.iter().copied().min_by(f64::total_cmp)?;
    let highest = seen.iter().copied().max_by(f64::total_cmp)?;
    Some(Frequency { lowest_mhz: lowest, highest_mhz: highest })
}

/// The range that covers both, as far as they are known.
pub fn widest(a: Option<Frequency>, b: Option<Frequency>) -> Option<Frequency> {
    match (a, b) {
        (Some(a), Some(b)) => Some(Frequency {
            lowest_mhz: a.lowest_mhz.min(b.lowest_mhz),
            highest_mhz: a.highest_mhz.max(b.highest_mhz),
        }),
        (one, None) | (None, one) => one,
    }
}

/// What a reader must know about a machine before trusting its figures.
pub fn warnings(machine: &Machine) -> Vec<String> {
    let [minute, ..] = machine.load;
    let governor = machine.governor.as_deref().filter(|governor| *governor != "performance");
    let unsteady = machine.frequency.filter(|seen| seen.lowest_mhz < STEADY * seen.highest_mhz);
    let warnings = [
        (minute > BUSY).then(|| {
            format!("Other work ran on this machine before the run (load {minute:.2} in the last minute): figures may be too low.")
        }),
        governor.map(|governor| {
            format!("The frequency governor is {governor}: the clock varies. \"performance\" makes figures steadier.")
        }),
        unsteady.map(|Frequency { lowest_mhz, highest_mhz }| {
            format!("The clock frequency varied between {lowest_mhz:.0} and {highest_mhz:.0} MHz.")
        }),
        machine.virtualisation.as_ref().map(|where_| {
            format!("It ran inside {where_}: other load on the same hardware is not visible.")
        }),
    ];
    warnings.into_iter().flatten().collect()
}

/// The number of runnable processes above which the machine is not idle.
const BUSY: f64 = 0.5;
/// A clock frequency that falls below this fraction of its maximum is not steady.
const STEADY: f64 = 0.95;

fn virtualisation(root: &Path, cpuinfo: &str) -> Option<String> {
    let read = |path: &str| fs::read_to_string(root.join(path)).unwrap_or_default().trim().to_owned();
    let container = ["run/.containerenv", ".dockerenv"].iter().any(|file| root.join(file).exists());
    if !proc::is_guest(cpuinfo) && read("sys/hypervisor/type").is_empty() {
        return container.then(|| "a container".to_owned());
    }
    let product = [read("sys/class/dmi/id/sys_vendor"), read("sys/class/dmi/id/product_name")].join(" ");
    let product = some(product.trim()).map_or_else(String::new, |product| format!(" ({product})"));
    let within = if container { "a container in " } else { "" };
    Some(format!("{within}a virtual machine{product}"))
}

fn some(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}
