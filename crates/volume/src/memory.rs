//! How much memory there is for this process, in KiB: what `/proc/meminfo` says, and what is left to the control groups
//! it is in (cgroup v2, `memory.max`, `memory.current`, `memory.stat`).

use std::fs;
use std::path::Path;

/// What `/proc/meminfo` says, and control groups take from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Memory {
    pub(crate) total_kib: u64,
    pub(crate) available_kib: u64,
    pub(crate) has_swap: bool,
}

impl Memory {
    /// Asks the kernel; `None` where it does not tell.
    pub(crate) fn now() -> Option<Self> {
        let machine = Self::parse(&fs::read_to_string("/proc/meminfo").ok()?)?;
        let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let left = left_to(&groups, Path::new("/sys/fs/cgroup"));
        Some(Self {
            available_kib: left.map_or(machine.available_kib, |kib| kib.min(machine.available_kib)),
            ..machine
        })
    }

    fn parse(text: &str) -> Option<Self> {
        let field = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name))?;
            line.split_ascii_whitespace().next()?.parse::<u64>().ok()
        };
        Some(Self {
            total_kib: field("MemTotal:")?,
            available_kib: field("MemAvailable:")?,
            has_swap: field("SwapTotal:").unwrap_or(0) > 0,
        })
    }
}

/// The least that one of the control groups, from the process's own up to the one mounted at `mount`, may still take.
/// A container sees its own group as the root.
fn left_to(groups: &str, mount: &Path) -> Option<u64> {
    let own = groups.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let left = |group: &Path| {
        let text = |file: &str| fs::read_to_string(mount.join(group).join(file)).ok();
        let max = text("memory.max")?.trim().parse::<u64>().ok()?;
        let current = text("memory.current")?.trim().parse::<u64>().ok()?;
        // The page cache counts as taken, but is given back when memory is short.
        let stat = text("memory.stat").unwrap_or_default();
        let cache = stat.lines().filter_map(|line| {
            let bytes = line.strip_prefix("inactive_file ").or_else(|| line.strip_prefix("active_file "))?;
            bytes.parse::<u64>().ok()
        });
        Some(max.saturating_sub(current.saturating_sub(cache.sum())) / 1024)
    };
    Path::new(own).ancestors().filter_map(left).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn meminfo_is_understood() {
        let text = "MemTotal:       24660548 kB\nMemFree:  1 kB\nMemAvailable:   24000000 kB\nSwapTotal:             0 kB\n";
        let memory = Memory { total_kib: 24_660_548, available_kib: 24_000_000, has_swap: false };
        assert_eq!(Memory::parse(text), Some(memory));
        assert_eq!(Memory::parse("nothing"), None);
    }

    #[test]
    fn the_narrowest_control_group_counts() {
        let mount = std::env::temp_dir().join(format!("keyway-cgroup-{}", std::process::id()));
        let group = |name: &str, max: &str, current: &str| {
            fs::create_dir_all(mount.join(name)).unwrap();
            fs::write(mount.join(name).join("memory.max"), max).unwrap();
            fs::write(mount.join(name).join("memory.current"), current).unwrap();
        };
        group("a/b", "max\n", "4096\n");
        assert_eq!(left_to("0::/a/b\n", &mount), None);
        group("a", "1048576\n", "524288\n");
        assert_eq!(left_to("1:cpu:/x\n0::/a/b\n", &mount), Some(512));
        fs::write(mount.join("a/memory.stat"), "anon 5\ninactive_file 1024\nactive_file 2048\n").unwrap();
        assert_eq!(left_to("0::/a/b\n", &mount), Some(515));
        group("a/b", "4096\n", "8192\n");
        assert_eq!(left_to("0::/a/b\n", &mount), Some(0));
        assert_eq!(left_to("1:cpu:/a/b\n", &mount), None);
        fs::remove_dir_all(mount).unwrap();
    }
}
