//! The memory that is available to this process, in KiB: from `/proc/meminfo`, and from the limits
//! of its control groups.
//!
//! `/proc/self/cgroup` lists a process's groups (cgroups(7)), one line per hierarchy, by their
//! paths relative to the mounted hierarchy. Version 2 (`memory.max`, `memory.current`,
//! `memory.stat`) and version 1 (`memory.limit_in_bytes`, `memory.usage_in_bytes`;
//! admin-guide/cgroup-v1/memory.rst) can both be present; a group's limit applies to all groups
//! below it.

use crate::device::mounts::{self, Mount};
use std::fs;
use std::path::{Path, PathBuf};

/// The memory in `/proc/meminfo`, and the limits of control groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Memory {
    pub(crate) total_kib: u64,
    pub(crate) available_kib: u64,
    pub(crate) has_swap: bool,
    /// The memory that control groups leave, if they limit it. A process that takes more is killed.
    pub(crate) left_kib: Option<u64>,
}

impl Memory {
    /// Asks the kernel; `None` where it gives no answer.
    pub(crate) fn now() -> Option<Self> {
        let machine = Self::parse(&fs::read_to_string("/proc/meminfo").ok()?)?;
        let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        Some(machine.within(left_to(&groups, &mounts::all())))
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
            left_kib: None,
        })
    }

    /// The same memory, with control groups that leave this much.
    fn within(self, left_kib: Option<u64>) -> Self {
        let available_kib = left_kib.map_or(self.available_kib, |kib| kib.min(self.available_kib));
        Self { available_kib, left_kib, ..self }
    }

    /// The maximum that exists at once, whatever the cost to other processes; `None` where swap
    /// makes it unknown.
    pub(crate) fn most_kib(&self) -> Option<u64> {
        if self.has_swap { self.left_kib } else { Some(self.available_kib) }
    }
}

/// The minimum that any of the control groups, from the process's own up to those at the mounts'
/// roots, may still take.
fn left_to(groups: &str, mounts: &[Mount]) -> Option<u64> {
    let hierarchies = groups.lines().filter_map(|line| {
        let (_, rest) = line.split_once(':')?;
        let (controllers, path) = rest.split_once(':')?;
        let files = match controllers {
            "" => &VERSION_2,
            _ if controllers.split(',').any(|controller| controller == "memory") => &VERSION_1,
            _ => return None,
        };
        let (mount, group) = group_below(Path::new(path), files, mounts)?;
        let groups = group.ancestors().take_while(|group| group.starts_with(mount));
        groups.enumerate().filter_map(|(above, group)| files.left(group, above == 0)).min()
    });
    hierarchies.min().map(|bytes| bytes / 1024)
}

/// Where the hierarchy is mounted, and the directory of a group. If the mount does not show the
/// group, the mount's root is used: a container's own group is its mount's root, while its path is
/// the host's.
fn group_below<'a>(path: &Path, files: &Files, mounts: &'a [Mount]) -> Option<(&'a Path, PathBuf)> {
    let mut found = mounts.iter().filter(|mount| files.is_mounted(mount)).peekable();
    let first = found.peek()?.point.as_path();
    let shown = found.find_map(|mount| {
        let below = path.strip_prefix(&mount.root).ok()?;
        let is_inside = !below.components().any(|part| part.as_os_str() == "..");
        is_inside.then(|| (mount.point.as_path(), mount.point.join(below)))
    });
    Some(shown.unwrap_or_else(|| (first, first.to_owned())))
}

/// The file names of one version of control groups.
struct Files {
    kind: &'static str,
    option: Option<&'static str>,
    limit: &'static str,
    used: &'static str,
    /// Lines of `memory.stat`: the page cache counts as used, but is released when memory is short.
    cache: [&'static str; 2],
    /// A line of `memory.stat` with the lowest limit of all groups above, including those that are
    /// not visible.
    inherited: Option<&'static str>,
}

static VERSION_2: Files = Files {
    kind: "cgroup2",
    option: None,
    limit: "memory.max",
    used: "memory.current",
    cache: ["inactive_file ", "active_file "],
    inherited: None,
};

static VERSION_1: Files = Files {
    kind: "cgroup",
    option: Some("memory"),
    limit: "memory.limit_in_bytes",
    used: "memory.usage_in_bytes",
    cache: ["total_inactive_file ", "total_active_file "],
    inherited: Some("hierarchical_memory_limit "),
};

impl Files {
    fn is_mounted(&self, mount: &Mount) -> bool {
        let has = |option| mount.options.split(',').any(|word| word == option);
        mount.kind == self.kind && self.option.is_none_or(has)
    }

    /// What the group may still take, in bytes; `None` without a limit. Only the process's own
    /// group considers inherited limits.
    fn left(&self, group: &Path, is_own: bool) -> Option<u64> {
        let text = |file: &str| fs::read_to_string(group.join(file)).unwrap_or_default();
        if !is_own && text("memory.use_hierarchy").trim() == "0" {
            return None;
        }
        let stat = text("memory.stat");
        let line = |name: &str| stat.lines().find_map(|line| line.strip_prefix(name)?.parse::<u64>().ok());
        let own = text(self.limit).trim().parse::<u64>().ok();
        let above = self.inherited.filter(|_| is_own).and_then(line);
        let limit = own.into_iter().chain(above).min().filter(|limit| *limit < UNLIMITED)?;
        let used = text(self.used).trim().parse::<u64>().ok()?;
        let cache = self.cache.iter().filter_map(|name| line(name)).sum();
        Some(limit.saturating_sub(used.saturating_sub(cache)))
    }
}

/// Version 1 expresses "no limit" by the largest number of whole pages (PAGE_COUNTER_MAX).
const UNLIMITED: u64 = 1 << 62;

#[cfg(test)]
mod tests;
