//! Finds the holder of a file or a block device, as far as proc(5) and sysfs tell: for the refusal
//! message and, where a device cannot be opened, for the refusal itself.

mod process;

use crate::device::storage::Extent;
use crate::error::Holder;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// A file or a block device, independent of its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Subject {
    File { dev: u64, inode: u64 },
    Device { number: u64 },
}

impl Subject {
    pub(super) fn of(found: &fs::Metadata) -> Self {
        match found.file_type().is_block_device() {
            true => Self::Device { number: found.rdev() },
            false => Self::File { dev: found.dev(), inode: found.ino() },
        }
    }

    fn is_at(self, path: &Path) -> bool {
        fs::metadata(path).is_ok_and(|found| Self::of(&found) == self)
    }
}

/// A loop device with something behind it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Loop {
    /// Its node.
    pub(super) node: PathBuf,
    /// Its device number.
    pub(super) number: u64,
}

/// Where the kernel exposes its state.
pub(super) struct Kernel {
    proc: PathBuf,
    sys: PathBuf,
    dev: PathBuf,
    /// This process.
    pid: u32,
}

impl Kernel {
    /// The running kernel.
    pub(super) fn here() -> Self {
        Self { proc: "/proc".into(), sys: "/sys".into(), dev: "/dev".into(), pid: std::process::id() }
    }

    /// The holder; processes that merely have it open do not count.
    pub(super) fn holder(&self, of: Subject) -> Option<Holder> {
        let own = self.mount(of).or_else(|| self.is_swap(of).then_some(Holder::Swap));
        let Subject::Device { number } = of else { return own };
        let directory = self.directory(number);
        own.or_else(|| self.above(&directory)).or_else(|| self.beside(&directory))
    }

    /// The loop devices over it, or over a part of it, including loop devices over those.
    pub(super) fn loops_over(&self, of: Subject, part: Option<Extent>) -> Vec<Loop> {
        let (all, mounts) = (self.loops(), self.mounts());
        let mut found: Vec<Loop> = Vec::new();
        let mut below = vec![of];
        while let Some(subject) = below.pop() {
            for (device, backing) in &all {
                let shows = || subject != of || Extent::overlap(Some(self.bytes_behind(device.number)), part);
                if !found.contains(device) && self.is_at(subject, backing, &mounts) && shows() {
                    found.push(device.clone());
                    below.push(Subject::Device { number: device.number });
                }
            }
        }
        found
    }

    /// Whether only mappings of this LUKS volume are built on a device.
    pub(super) fn is_mapped_by_volume_alone(&self, number: u64, uuid: &str) -> bool {
        let directory = self.directory(number);
        let plain: String = uuid.chars().filter(|c| *c != '-').collect();
        let ours = ["LUKS1", "LUKS2"].map(|kind| format!("CRYPT-{kind}-{plain}-"));
        let mut names = self.names_above(&directory).peekable();
        let is_mapped = names.peek().is_some();
        let all_ours = names.all(|name| {
            let found = text(&self.sys.join("class/block").join(name).join("dm/uuid")).unwrap_or_default();
            ours.iter().any(|start| found.as_bytes().starts_with(start.as_bytes()))
        });
        is_mapped && all_ours && self.beside(&directory).is_none()
    }

    /// The file behind a loop device.
    pub(super) fn backing_file(&self, number: u64) -> Option<PathBuf> {
        text(&self.directory(number).join("loop/backing_file")).map(PathBuf::from)
    }

    /// The backing of a loop device, or of the loop device that a partition is on.
    pub(super) fn below(&self, number: u64) -> Option<(PathBuf, Subject)> {
        let path = self.backing_file(self.disk(number))?;
        let found = fs::metadata(&path).ok()?;
        Some((path, Subject::of(&found)))
    }

    /// The other loop devices that share bytes of `below` with the loop device `number`, which is
    /// backed by it.
    pub(super) fn loops_beside(&self, number: u64, below: Subject) -> Vec<Loop> {
        let own = self.disk(number);
        let bytes = self.bytes_behind(own);
        let overlaps = |device: &Loop| {
            let others = self.bytes_behind(device.number);
            device.number != own && Extent::overlap(Some(others), Some(bytes))
        };
        self.loops_over(below, None).into_iter().filter(overlaps).collect()
    }

    /// Which bytes of its backing file a loop device exposes.
    fn bytes_behind(&self, number: u64) -> Extent {
        let directory = self.directory(number).join("loop");
        let told = |name| text(&directory.join(name))?.to_str()?.parse::<u64>().ok();
        let start = told("offset").unwrap_or(0);
        let limit = told("sizelimit").filter(|limit| *limit > 0);
        Extent { start, len: limit.unwrap_or(u64::MAX) }
    }

    /// The disk that a partition is on, or the device itself.
    fn disk(&self, number: u64) -> u64 {
        let directory = self.directory(number);
        let is_partition = directory.join("partition").exists();
        is_partition.then(|| number_in(&directory.join(".."))).flatten().unwrap_or(number)
    }

    /// Where it is mounted: matched by device number, or by the mount source (btrfs, FUSE).
    fn mount(&self, of: Subject) -> Option<Holder> {
        let mounts = self.mounts();
        let found = mounts.iter().find(|mount| {
            let same = matches!(of, Subject::Device { number } if mount.number == name_of(number));
            same || self.is_at(of, &mount.source, &mounts)
        });
        found.map(|mount| Holder::Mount(mount.place.clone()))
    }

    /// All mounts that this process sees.
    fn mounts(&self) -> Vec<Mount> {
        let table = fs::read(self.proc.join("self/mountinfo")).unwrap_or_default();
        table.split(|byte| *byte == b'\n').filter_map(Mount::of).collect()
    }

    fn is_swap(&self, of: Subject) -> bool {
        let table = fs::read(self.proc.join("swaps")).unwrap_or_default();
        let lines = table.split(|byte| *byte == b'\n').skip(1);
        let mut names = lines.filter_map(|line| line.split(|byte| *byte == b' ').next());
        let mounts = self.mounts();
        names.any(|name| self.is_at(of, Path::new(&unescaped(name)), &mounts))
    }

    /// Whether it is at this path, which the kernel gave. A file system whose server may never
    /// answer is not asked, unless it is the one being looked for.
    fn is_at(&self, of: Subject, path: &Path, mounts: &[Mount]) -> bool {
        if !path.is_absolute() {
            return false;
        }
        let longest = mounts.iter().filter(|it| path.starts_with(&it.place));
        let home = longest.max_by_key(|it| it.place.as_os_str().len());
        let is_own = |home: &Mount| matches!(of, Subject::File { dev, .. } if home.number == name_of(dev));
        home.is_none_or(|home| !home.has_server() || is_own(home)) && of.is_at(path)
    }

    /// A device that is built on the one in this sysfs directory.
    fn above(&self, directory: &Path) -> Option<Holder> {
        let name = self.names_above(directory).next()?;
        match text(&self.sys.join("class/block").join(&name).join("dm/name")) {
            Some(mapping) => Some(Holder::Mapping(mapping.to_string_lossy().into_owned())),
            None => Some(Holder::Device(name.to_string_lossy().into_owned())),
        }
    }

    /// The kernel names of the devices that are built on the one in this directory.
    fn names_above(&self, directory: &Path) -> impl Iterator<Item = OsString> + use<> {
        let entries = fs::read_dir(directory.join("holders")).into_iter().flatten().flatten();
        entries.map(|entry| entry.file_name())
    }

    /// The holder of a partition of the disk in this directory, or of the disk of this partition.
    fn beside(&self, directory: &Path) -> Option<Holder> {
        let directory = fs::canonicalize(directory).ok()?;
        let disk = directory.join("partition").exists().then(|| directory.parent().map(Path::to_owned));
        let entries = fs::read_dir(&directory).ok()?.flatten().map(|entry| entry.path());
        let partitions = entries.filter(|path| path.join("partition").exists());
        disk.flatten().into_iter().chain(partitions).find_map(|other| {
            let number = number_in(&other)?;
            let own = self.mount(Subject::Device { number });
            let swap = || self.is_swap(Subject::Device { number }).then_some(Holder::Swap);
            let holder = own.or_else(swap).or_else(|| self.above(&other))?;
            Some(Holder::Through(self.dev.join(other.file_name()?), Box::new(holder)))
        })
    }

    /// All loop devices that have a backing file or device.
    fn loops(&self) -> Vec<(Loop, PathBuf)> {
        let entries = fs::read_dir(self.sys.join("class/block")).into_iter().flatten().flatten();
        let found = entries.filter_map(|entry| {
            let backing = text(&entry.path().join("loop/backing_file"))?;
            let device = Loop { node: self.dev.join(entry.file_name()), number: number_in(&entry.path())? };
            Some((device, backing.into()))
        });
        found.collect()
    }

    fn directory(&self, number: u64) -> PathBuf {
        self.sys.join("dev/block").join(name_of(number))
    }
}

/// A line of mountinfo.
struct Mount {
    number: String,
    place: PathBuf,
    kind: String,
    source: PathBuf,
}

impl Mount {
    fn of(line: &[u8]) -> Option<Self> {
        let mut fields = line.split(|byte| *byte == b' ');
        let number = String::from_utf8_lossy(fields.nth(2)?).into_owned();
        let place = unescaped(fields.nth(1)?).into();
        let mut behind = fields.skip_while(|field| *field != b"-").skip(1);
        let kind = String::from_utf8_lossy(behind.next()?).into_owned();
        Some(Self { number, place, kind, source: unescaped(behind.next()?).into() })
    }

    fn has_server(&self) -> bool {
        SERVED.iter().any(|kind| self.kind.starts_with(kind))
    }
}

/// File systems that a process or another machine serves, by the prefixes of their types.
const SERVED: &[&str] = &["fuse", "nfs", "cifs", "smb", "9p", "ceph", "afs", "autofs", "virtiofs"];

/// A device number as sysfs and mountinfo write it.
fn name_of(number: u64) -> String {
    format!("{}:{}", rustix::fs::major(number), rustix::fs::minor(number))
}

/// The number of the block device in this sysfs directory.
fn number_in(directory: &Path) -> Option<u64> {
    let text = fs::read_to_string(directory.join("dev")).ok()?;
    let (major, minor) = text.trim_end().split_once(':')?;
    Some(rustix::fs::makedev(major.parse().ok()?, minor.parse().ok()?))
}

/// The content of a one-line file.
fn text(path: &Path) -> Option<OsString> {
    let bytes = fs::read(path).ok()?;
    Some(OsStr::from_bytes(bytes.strip_suffix(b"\n").unwrap_or(&bytes)).to_owned())
}

/// Decodes a path of mountinfo or swaps, where space, tab, newline and backslash are written as `\`
/// and three octal digits.
fn unescaped(field: &[u8]) -> OsString {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let [first, tail @ ..] = rest {
        let octal = |digits: &[u8]| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok();
        match tail.get(..3).filter(|_| *first == b'\\').and_then(octal) {
            Some(byte) => {
                bytes.push(byte);
                rest = &tail[3..];
            }
            None => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    OsString::from_vec(bytes)
}

#[cfg(test)]
pub(super) mod tests;
