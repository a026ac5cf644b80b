//! Two programs that write to one volume destroy it. So a program that uses a volume marks it as in
//! use, and checks whether another program uses it already.
//!
//! Regular files are marked by byte locks that QEMU knows ([`marks`]); so are the files behind loop
//! devices. Block devices are additionally opened with O_EXCL. The kernel grants O_EXCL to one user
//! at a time, be it a mount, a mapping, swap or a program, and never for both a disk and one of its
//! partitions. For a file, all loop devices over it are claimed in this way, so that none of them
//! can be mounted meanwhile. For a loop device, all other loop devices that expose bytes of the
//! same file are claimed.
//!
//! A partition of an image is marked as such ([`marks`]): those of one image can be used side by
//! side, but none is written to beside the whole image. Of a loop device over the image, only those that show bytes of
//! the partition are claimed. A disk is claimed whole, whichever partition of it is meant: the
//! kernel has devices for its partitions.
//!
//! The lock of the header ([`crate::device::lock`]), which cryptsetup knows, is a separate lock: the
//! keyslots of a volume in use can be edited.

mod holder;
mod marks;

pub use crate::error::Holder;

use crate::device::storage::{self, Extent, NewFile, image_of};
use crate::{Error, Result, Storage};
use holder::{Kernel, Loop, Subject};
use marks::Marks;
use nix::errno::Errno;
use nix::fcntl::{OFlag, open};
use nix::sys::stat::Mode;
use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How a volume is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Its data is read; nobody else may write to it meanwhile.
    ReadOnly,
    /// Its data is read and written, by this process alone.
    Write,
}

/// The mark of a volume in use; dropping it removes the mark.
#[derive(Debug, Default)]
pub struct InUse {
    /// The open file descriptions that hold the locks.
    marks: Vec<OwnedFd>,
    /// The claimed block devices.
    claims: Vec<OwnedFd>,
    exclusive: bool,
}

impl InUse {
    /// Marks `storage` as in use. With `shared`, others may use it too, now or later: the caller is
    /// responsible for that. Storage that is neither a file nor a device, and files on file systems
    /// without locks, are not marked.
    ///
    /// # Errors
    /// [`Error::InUse`] when a conflicting user exists; if that user is a process, only when it
    /// still uses the storage half a second later.
    pub fn acquire(storage: &dyn Storage, access: Access, shared: bool) -> Result<Self> {
        Wish { access, shared, volume: None }.insist(storage)
    }

    /// Marks `storage` as in use by this process alone, but allows mappings of the LUKS volume
    /// `uuid` itself: its header may be saved while the volume is open.
    ///
    /// # Errors
    /// As [`InUse::acquire`].
    pub(crate) fn acquire_beside_mappings(storage: &dyn Storage, uuid: &str) -> Result<Self> {
        Wish { access: Access::Write, shared: false, volume: Some(uuid) }.insist(storage)
    }

    /// Both marks: of a volume's data, and of its header elsewhere.
    #[must_use]
    pub fn with(mut self, other: Self) -> Self {
        self.marks.extend(other.marks);
        self
    }

    /// Whether nobody else can be using it.
    pub fn is_exclusive(&self) -> bool {
        self.exclusive
    }

    /// Lets the kernel claim the block devices, for a mapping that is about to be created on them.
    /// The marks stay: they keep out other Keyways, which check marks first.
    pub fn leave_to_the_kernel(&mut self) {
        self.claims.clear();
        self.exclusive = false;
    }

    /// Marks the file behind a loop device, where it can be opened.
    fn mark_below(&mut self, kernel: &Kernel, number: u64, access: Access) -> Result<()> {
        let Some(backing) = kernel.backing_file(number) else { return Ok(()) };
        let file = File::open(&backing).and_then(|file| Ok((file.metadata()?.is_file(), file)));
        let Ok((true, file)) = file else { return Ok(()) };
        match Marks::set(file.as_fd(), access, false, None)? {
            Marks::Set(locks) => self.marks.push(locks),
            Marks::Unknown => {}
            Marks::Refused => {
                let holder = kernel.process(subject(file.as_fd())?, None);
                return Err(Error::InUse(Holder::Through(backing, holder.into())));
            }
        }
        Ok(())
    }
}

/// The loop device over the file, or the partition of an image, at `path`, if there is one.
pub fn loop_device_of(path: &Path) -> Option<PathBuf> {
    let found = std::fs::metadata(image_of(path)).ok().filter(std::fs::Metadata::is_file)?;
    let part = storage::File::open(path).ok().and_then(|file| file.part());
    Kernel::here().loops_over(Subject::of(&found), part).into_iter().next().map(|device| device.node)
}

/// Claims the file that a new one is to replace: another program that has it open, or a loop device
/// that it is attached to, would go on with what nobody finds any more.
///
/// # Errors
/// [`Error::InUse`].
pub fn claim_replaced(new: &NewFile) -> Result<Option<InUse>> {
    let Some(object) = new.replaced() else { return Ok(None) };
    holder_of_file(object.as_fd()).map_or(Ok(()), |holder| Err(Error::InUse(holder)))?;
    // A user who cannot read a file may still be able to replace it.
    let file = File::open(link(object.as_fd())).and_then(|file| storage::File::from_file(file, ""));
    file.ok().map(|file| InUse::acquire(&file, Access::Write, false)).transpose()
}

/// Who holds an open file: a mount, swap, a loop device over it. (A file that is open with O_PATH
/// will do.)
pub fn holder_of_file(file: BorrowedFd<'_>) -> Option<Holder> {
    let (kernel, of) = (Kernel::here(), subject(file).ok()?);
    kernel.holder(of).or_else(|| {
        let Loop { node, number } = kernel.loops_over(of, None).into_iter().next()?;
        Some(match kernel.holder(Subject::Device { number }) {
            Some(holder) => Holder::Through(node, Box::new(holder)),
            None => Holder::Loop(node),
        })
    })
}

/// Another process that has an open file open, too, if that can be seen.
pub fn opener_of_file(file: BorrowedFd<'_>) -> Option<Holder> {
    Kernel::here().opener(subject(file).ok()?, None)
}

/// Who holds a block device, if that can be seen: a mount, swap, a device that is built on it, or
/// else a process that has it open.
pub fn holder_of_device(major: u32, minor: u32) -> Option<Holder> {
    let (kernel, of) = (Kernel::here(), Subject::Device { number: rustix::fs::makedev(major, minor) });
    kernel.holder(of).or_else(|| kernel.opener(of, None))
}

/// The process that holds a lock of the file at `path`, if it can be seen.
pub(crate) fn locker_of(path: &Path) -> Option<Holder> {
    Kernel::here().locker(Subject::of(&std::fs::metadata(path).ok()?))
}

/// Whether both have the same bytes: one file, one block device under any node, or a loop device
/// and its backing. Two partitions of an image have none in common.
pub fn is_same(one: &dyn Storage, other: &dyn Storage) -> bool {
    let part = |storage: &dyn Storage| storage.lock_target().and_then(|target| target.part());
    Extent::overlap(part(one), part(other))
        && Bottom::of_storage(one).is_some_and(|one| Bottom::of_storage(other) == Some(one))
}

/// The file or block device that holds the bytes, whatever its name; a loop device is the file behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Bottom(Subject);

impl Bottom {
    /// Of an open file; `None` if that cannot be seen.
    pub(crate) fn of(file: BorrowedFd<'_>) -> Option<Self> {
        let (kernel, mut at) = (Kernel::here(), subject(file).ok()?);
        while let Subject::Device { number } = at {
            let Some((_, below)) = kernel.below(number) else { break };
            at = below;
        }
        Some(Self(at))
    }

    /// Of a storage; none of memory or an export.
    pub(crate) fn of_storage(storage: &dyn Storage) -> Option<Self> {
        Self::of(storage.lock_target()?.fd())
    }
}

/// How something is going to be used.
#[derive(Clone, Copy)]
struct Wish<'a> {
    access: Access,
    shared: bool,
    /// The LUKS volume whose mappings are allowed.
    volume: Option<&'a str>,
}

impl Wish<'_> {
    fn insist(self, storage: &dyn Storage) -> Result<InUse> {
        let deadline = Instant::now() + TIMEOUT;
        loop {
            match self.attempt(storage) {
                Err(Error::InUse(holder)) if holder.may_be_leaving() && Instant::now() < deadline => {
                    std::thread::sleep(pause());
                }
                result => return result,
            }
        }
    }

    fn attempt(self, storage: &dyn Storage) -> Result<InUse> {
        let Self { access, shared, .. } = self;
        let exclusive = access == Access::Write && !shared;
        let mut mark = InUse { exclusive, ..InUse::default() };
        let Some(target) = storage.lock_target() else { return Ok(mark) };
        let (fd, part) = (target.fd(), target.part());
        let kernel = Kernel::here();
        let subject = subject(fd)?;
        // The marks first: a process that leaves a device to the kernel keeps others out by its
        // marks.
        match Marks::set(fd, access, shared, part)? {
            Marks::Set(locks) => mark.marks.push(locks),
            Marks::Unknown => {}
            Marks::Refused => return Err(Error::InUse(kernel.process(subject, part))),
        }
        match subject {
            Subject::Device { number } if !shared => {
                let claimed = self.claim(&kernel, number, reopen(fd, OFlag::O_EXCL))?;
                // A reader only checks that a claim is possible: others may read as well.
                mark.claims.extend(claimed.filter(|_| exclusive));
                mark.mark_below(&kernel, number, access)?;
            }
            Subject::File { .. } if exclusive => {
                kernel.holder(subject).map_or(Ok(()), |holder| Err(Error::InUse(holder)))?;
            }
            _ => {}
        }
        if exclusive {
            for device in showing_the_same(&kernel, subject, part)? {
                mark.claims.extend(self.claim_loop(&kernel, &device)?);
            }
        }
        Ok(mark)
    }

    /// The result of opening a block device exclusively; `None` where only mappings of the volume
    /// itself hold it.
    fn claim(self, kernel: &Kernel, number: u64, opened: nix::Result<OwnedFd>) -> Result<Option<OwnedFd>> {
        let subject = Subject::Device { number };
        match opened {
            Ok(claim) => Ok(Some(claim)),
            Err(Errno::EBUSY) if self.is_mapping_of_volume(kernel, number) => Ok(None),
            Err(Errno::EBUSY) => {
                Err(Error::InUse(kernel.holder(subject).unwrap_or_else(|| kernel.process(subject, None))))
            }
            Err(errno) => Err(failed(errno)),
        }
    }

    /// Claims a loop device; where this user may not open it, relies on the kernel's information.
    fn claim_loop(self, kernel: &Kernel, device: &Loop) -> Result<Option<OwnedFd>> {
        let claimed = match open(&device.node, CLAIM, Mode::empty()) {
            opened @ (Ok(_) | Err(Errno::EBUSY)) => self.claim(kernel, device.number, opened),
            Err(_) => match kernel.holder(Subject::Device { number: device.number }) {
                Some(holder) if !self.is_mapping_of_volume(kernel, device.number) => {
                    Err(Error::InUse(holder))
                }
                _ => Ok(None),
            },
        };
        claimed.map_err(|error| match error {
            Error::InUse(holder) => Error::InUse(Holder::Through(device.node.clone(), holder.into())),
            other => other,
        })
    }

    fn is_mapping_of_volume(self, kernel: &Kernel, number: u64) -> bool {
        self.volume.is_some_and(|uuid| kernel.is_mapped_by_volume_alone(number, uuid))
    }
}

/// All other devices that expose the same bytes: loop devices over it, the backing if it is a loop
/// device itself, and other loop devices over that backing.
fn showing_the_same(kernel: &Kernel, subject: Subject, part: Option<Extent>) -> Result<Vec<Loop>> {
    let mut found = kernel.loops_over(subject, part);
    let mut at = subject;
    while let Subject::Device { number } = at {
        let Some((path, below)) = kernel.below(number) else { break };
        found.extend(kernel.loops_beside(number, below));
        match below {
            Subject::Device { number } => found.push(Loop { node: path, number }),
            Subject::File { .. } => {
                let through = |holder| Err(Error::InUse(Holder::Through(path, Box::new(holder))));
                kernel.holder(below).map_or(Ok(()), through)?;
            }
        }
        at = below;
    }
    // Each device once: a second claim would conflict with the first.
    found.sort_by_key(|device| device.number);
    found.dedup_by_key(|device| device.number);
    found.retain(|device| !matches!(subject, Subject::Device { number } if number == device.number));
    Ok(found)
}

fn subject(fd: BorrowedFd<'_>) -> Result<Subject> {
    let found = std::fs::metadata(link(fd));
    let found = found.map_err(|source| Error::Io { what: LOOKING.into(), source })?;
    Ok(Subject::of(&found))
}

fn reopen(file: BorrowedFd<'_>, flags: OFlag) -> nix::Result<OwnedFd> {
    open(Path::new(&link(file)), OFlag::O_RDONLY | OFlag::O_CLOEXEC | flags, Mode::empty())
}

fn link(file: BorrowedFd<'_>) -> String {
    format!("/proc/self/fd/{}", file.as_raw_fd())
}

fn failed(errno: Errno) -> Error {
    Error::Io { what: LOOKING.into(), source: errno.into() }
}

/// Random, so that two processes that arrive at the same time and see each other do not wait
/// equally long.
fn pause() -> Duration {
    let mut random = [0];
    let _ = getrandom::fill(&mut random);
    POLL + Duration::from_micros(100 * u64::from(random[0]))
}

const CLAIM: OFlag = OFlag::O_RDONLY.union(OFlag::O_CLOEXEC).union(OFlag::O_EXCL);
const LOOKING: &str = "marking the volume as in use";

/// A process that was just unmounted or told to end may still be flushing.
const TIMEOUT: Duration = Duration::from_millis(500);
const POLL: Duration = Duration::from_millis(10);

#[cfg(test)]
mod tests;
