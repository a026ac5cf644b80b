//! Processes that have a file or device open, and the locks of it that they hold (proc(5), `fd` and
//! `fdinfo`).

use super::{Holder, Kernel, Subject, text};
use crate::device::in_use::marks;
use crate::device::storage::Extent;
use std::ffi::OsStr;
use std::fs;
use std::path::Path;

impl Kernel {
    /// A process that has it open; a process that has locked it takes precedence. One that uses
    /// another part of it alone is not meant.
    pub(in crate::device::in_use) fn process(&self, of: Subject, part: Option<Extent>) -> Holder {
        self.opener(of, part).unwrap_or(Holder::Unseen)
    }

    /// The same, if there is one.
    pub(in crate::device::in_use) fn opener(&self, of: Subject, part: Option<Extent>) -> Option<Holder> {
        let how_open = |pid| self.opened(pid, of)?.map(|info| Open::of(&info, part)).max();
        let found = self.pids().filter_map(|pid| Some((how_open(pid)?, pid)));
        let found = found.filter(|(how, _)| *how != Open::Beside);
        // This process has it open itself.
        let found = found.filter(|(how, pid)| *how == Open::Locked || *pid != self.pid);
        // The maximum: among equals, the process that was started last.
        found.max().map(|(_, pid)| self.named(pid))
    }

    /// Another process that has locked it by flock(2).
    pub(in crate::device::in_use) fn locker(&self, of: Subject) -> Option<Holder> {
        let is_flock = |lock: &[u8]| lock.windows(5).any(|word| word == b"FLOCK");
        let has_locked = |pid: &u32| {
            self.opened(*pid, of).is_some_and(|mut infos| infos.any(|info| locks(&info).any(is_flock)))
        };
        self.pids().find(|pid| *pid != self.pid && has_locked(pid)).map(|pid| self.named(pid))
    }

    fn pids(&self) -> impl Iterator<Item = u32> {
        let entries = fs::read_dir(&self.proc).into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok())
    }

    fn named(&self, pid: u32) -> Holder {
        let process = self.proc.join(pid.to_string());
        // A process that re-executed itself through /proc has "exe" as its other name (comm).
        let path = fs::read_link(process.join("exe")).ok();
        let name = path.and_then(|path| path.file_name().map(OsStr::to_owned));
        let name = name.or_else(|| text(&process.join("comm"))).unwrap_or_default();
        Holder::Process { pid, program: name.to_string_lossy().into_owned() }
    }

    /// What the kernel tells of each of this process's descriptors that refer to it.
    fn opened(&self, pid: u32, of: Subject) -> Option<impl Iterator<Item = Vec<u8>>> {
        let process = self.proc.join(pid.to_string());
        let descriptors = fs::read_dir(process.join("fd")).ok()?.flatten();
        Some(descriptors.filter_map(move |descriptor| {
            let info = fs::read(process.join("fdinfo").join(descriptor.file_name())).unwrap_or_default();
            let is_it = self.may_be(of, &descriptor.path(), &info) && of.is_at(&descriptor.path());
            is_it.then_some(info)
        }))
    }

    /// Whether a descriptor may refer to it, without asking its file system, which may never answer
    /// (FUSE, NFS): the kernel gives the inode number for files (since Linux 5.14) and the name for
    /// devices.
    pub(super) fn may_be(&self, of: Subject, descriptor: &Path, info: &[u8]) -> bool {
        match of {
            Subject::Device { .. } => {
                fs::read_link(descriptor).is_ok_and(|target| target.starts_with(&self.dev))
            }
            Subject::File { inode, .. } => {
                let mut numbers =
                    info.split(|byte| *byte == b'\n').filter_map(|line| line.strip_prefix(b"ino:"));
                let same = |number: &[u8]| number.trim_ascii() == inode.to_string().as_bytes();
                numbers.next().is_none_or(same)
            }
        }
    }
}

/// How a process has something open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Open {
    Plainly,
    /// Another part of it is, by its locks; its other descriptors are for that.
    Beside,
    Locked,
}

impl Open {
    /// What a descriptor's information says about use of this part.
    fn of(info: &[u8], part: Option<Extent>) -> Self {
        let mut locks = locks(info).peekable();
        match part {
            _ if locks.peek().is_none() => Self::Plainly,
            Some(part) if !locks.any(|lock| concerns(lock, part)) => Self::Beside,
            _ => Self::Locked,
        }
    }
}

/// Whether a lock is of this part's users, or of somebody who uses the whole: it includes one of the
/// bytes that say so. One that cannot be read may be.
fn concerns(lock: &[u8], part: Extent) -> bool {
    let number = |field: Option<&[u8]>| std::str::from_utf8(field?).ok()?.parse::<u64>().ok();
    let mut fields = lock.rsplit(|byte| *byte == b' ').filter(|field| !field.is_empty());
    let (end, start) = (fields.next(), fields.next());
    let end = if end == Some(b"EOF") { Some(u64::MAX) } else { number(end) };
    let (Some(start), Some(end)) = (number(start), end) else { return true };
    marks::saying_so(part).any(|byte| (start..=end).contains(&byte))
}

/// The locks that a descriptor's information lists.
fn locks(info: &[u8]) -> impl Iterator<Item = &[u8]> {
    info.split(|byte| *byte == b'\n').filter_map(|line| line.strip_prefix(b"lock:"))
}
