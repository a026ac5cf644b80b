//! Processes that have a file or device open, and the locks of it that they hold (proc(5), `fd` and
//! `fdinfo`).

use super::{Holder, Kernel, Subject, text};
use std::ffi::OsStr;
use std::fs;
use std::path::Path;

impl Kernel {
    /// A process that has it open; a process that has locked it takes precedence.
    pub(in crate::device::in_use) fn process(&self, of: Subject) -> Holder {
        self.opener(of).unwrap_or(Holder::Unseen)
    }

    /// The same, if there is one.
    pub(in crate::device::in_use) fn opener(&self, of: Subject) -> Option<Holder> {
        let how_open = |pid| {
            let is_locked = |info: &[u8]| locks(info).next().is_some();
            self.opened(pid, of)?
                .map(|info| if is_locked(&info) { Open::Locked } else { Open::Plainly })
                .max()
        };
        let found = self.pids().filter_map(|pid| Some((how_open(pid)?, pid)));
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
    Locked,
}

/// The locks that a descriptor's information lists.
fn locks(info: &[u8]) -> impl Iterator<Item = &[u8]> {
    info.split(|byte| *byte == b'\n').filter_map(|line| line.strip_prefix(b"lock:"))
}
