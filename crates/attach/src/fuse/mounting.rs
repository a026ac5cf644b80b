//! Mounting and unmounting: by system call where this process has the permission, otherwise through
//! the set-uid program fusermount3.
//!
//! fusermount3 opens /dev/fuse, mounts, and sends the descriptor back over a socket whose number is
//! in the environment (libfuse, util/fusermount.c and lib/mount.c).

use super::{MAX_REQUEST, Options};
use crate::{Error, Refusal, Result};
use keyway_volume::device::mounts;
use rustix::fs::{AtFlags, CWD, Mode, OFlags, StatxFlags};
use rustix::io::Errno;
use rustix::mount::{MountFlags, UnmountFlags};
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
use std::ffi::CString;
use std::fs;
use std::io::{self, ErrorKind, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// The directory's absolute path, if it can be mounted on.
pub(super) fn check(dir: &Path) -> Result<PathBuf> {
    let dir = &std::path::absolute(dir).unwrap_or_else(|_| dir.to_owned());
    let shown = dir.display();
    let found = fs::metadata(dir).map_err(|e| match e.kind() {
        ErrorKind::NotFound => {
            Error::NotFound(format!("the directory {shown} does not exist; make it with mkdir"))
        }
        _ if is_dead(&e) => left_over(dir),
        ErrorKind::PermissionDenied => {
            Error::Permission(format!("{shown} cannot be used by this user, or another user has mounted it"))
        }
        _ => Error::Io { what: format!("looking at {shown}"), source: e },
    })?;
    if !found.is_dir() {
        return Err(Refusal::MountPoint.because(format!("{shown} is not a directory")));
    }
    let path =
        dir.canonicalize().map_err(|source| Error::Io { what: format!("looking at {shown}"), source })?;
    let is_empty = match fs::read_dir(&path) {
        Ok(mut entries) => entries.next().is_none(),
        Err(e) if is_dead(&e) => return Err(left_over(dir)),
        // A directory that cannot be listed may still be mounted on.
        Err(_) => true,
    };
    match is_empty {
        true => Ok(path),
        false if mounts::topmost(&mounts::all(), &path).is_some() => {
            Err(Error::Busy(format!("something is already mounted on {shown}")))
        }
        false => Err(Refusal::MountPoint.because(format!("{shown} is not empty: its files would be hidden"))),
    }
}

/// Whether this is the error of a mount that is no longer served.
fn is_dead(error: &io::Error) -> bool {
    error.raw_os_error() == Some(Errno::NOTCONN.raw_os_error())
}

fn left_over(dir: &Path) -> Error {
    let shown = dir.display();
    Error::Busy(format!(
        "{shown} is left over from a mount whose process was killed; \"fusermount3 -u {shown}\" (or umount, as root) \
         clears it"
    ))
}

/// Mounts, and returns the FUSE descriptor.
pub(super) fn mount(dir: &Path, options: &Options, read_only: bool) -> Result<OwnedFd> {
    let device = open_device()?;
    let mut flags = MountFlags::NOSUID | MountFlags::NODEV;
    if read_only {
        flags |= MountFlags::RDONLY;
    }
    let (user, group) = (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
    let data = format!(
        "fd={},rootmode=40000,user_id={user},group_id={group},{}",
        device.as_raw_fd(),
        kernel_options(options)
    );
    let data =
        CString::new(data).map_err(|_| Refusal::MountOption.because("a mount option contains a NUL byte"))?;
    // Mounts on the directory that was checked, even if its path now leads elsewhere.
    let failed = |source| Error::Io { what: format!("mounting {}", dir.display()), source };
    let place = place(dir).map_err(failed)?;
    let target = format!("/proc/self/fd/{}", place.as_raw_fd());
    match rustix::mount::mount(&*options.source, &*target, FILE_SYSTEM, flags, &*data) {
        Ok(()) => Ok(device.into()),
        Err(Errno::PERM) => mount_as_user(dir, options, read_only),
        Err(e) => Err(failed(e.into())),
    }
}

/// Opens the kernel's FUSE device. (fusermount3, too, opens it with the user's permissions only.)
pub(super) fn open_device() -> Result<fs::File> {
    fs::File::options().read(true).write(true).open(DEVICE).map_err(|e| match e.kind() {
        ErrorKind::PermissionDenied => Error::Permission(format!(
            "{DEVICE} cannot be opened by this user; root can allow it (chmod 666)"
        )),
        _ => {
            Error::Unavailable(format!("no FUSE here: {DEVICE}: {e} (root loads it with \"modprobe fuse\")"))
        }
    })
}

/// Whether the program that mounts for ordinary users is installed.
pub(super) fn has_helper() -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|directory| directory.join(FUSERMOUNT).is_file())
}

/// Makes the kernel read ahead in the largest requests instead of its usual 128 KiB. This requires
/// root; otherwise everything works the same, in smaller requests.
pub(super) fn read_far_ahead(mounted: &Path) {
    let Ok(found) = rustix::fs::stat(mounted) else { return };
    let (major, minor) = (rustix::fs::major(found.st_dev), rustix::fs::minor(found.st_dev));
    let _ =
        fs::write(format!("/sys/class/bdi/{major}:{minor}/read_ahead_kb"), (MAX_REQUEST / 1024).to_string());
}

/// When to unmount.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unmount {
    /// Now, if nobody uses it.
    WhenUnused,
    /// Detach now, and clean up when the last user is done.
    Lazily,
}

/// Unmounts the mount of `device` from `dir`, and nothing else: anything mounted on top of it is
/// left alone.
pub(super) fn unmount_own(dir: &Path, device: u64, when: Unmount) -> Result<()> {
    if device_at(dir).ok() == Some(device) {
        return unmount(dir, when);
    }
    let mounts = mounts::all();
    if !mounts.iter().any(|mount| mount.point == dir && number(mount) == device) {
        // It was unmounted already.
        return Ok(());
    }
    Err(covered(&mounts, dir))
}

/// Unmounts `mount`, as listed by the kernel, and nothing else.
pub(super) fn unmount_listed(mount: &mounts::Mount) -> Result<()> {
    let mounts = mounts::all();
    match mounts::topmost(&mounts, &mount.point) {
        Some(top) if top.id == mount.id => unmount(&mount.point, Unmount::WhenUnused),
        _ if mounts.iter().any(|other| other.id == mount.id) => Err(covered(&mounts, &mount.point)),
        _ => Ok(()),
    }
}

fn covered(mounts: &[mounts::Mount], dir: &Path) -> Error {
    let above = mounts::topmost(mounts, dir).map_or_else(String::new, |top| {
        format!(" ({} of {})", top.kind, top.source.display().to_string().escape_debug())
    });
    Error::Busy(format!("something else{above} is mounted on top of {}: unmount that first", dir.display()))
}

/// The device number of the file system visible at `dir`. Its server is not asked.
pub(super) fn device_at(dir: &Path) -> io::Result<u64> {
    let flags = AtFlags::EMPTY_PATH | AtFlags::STATX_DONT_SYNC;
    let stat = rustix::fs::statx(place(dir)?, c"", flags, StatxFlags::TYPE)?;
    Ok(rustix::fs::makedev(stat.stx_dev_major, stat.stx_dev_minor))
}

/// Unmounts the mount of `device` from `dir` if it is no longer served, and no other.
pub(super) fn clear_dead(dir: &Path, device: u64) -> Result<()> {
    // (A caller that asks at the very moment of its death gets "Software caused connection abort".)
    // The result of stat may be from before it died.
    let dead = [Errno::NOTCONN, Errno::CONNABORTED].map(|errno| Some(errno.raw_os_error()));
    let is_dead = || fs::read_dir(dir).is_err_and(|error| dead.contains(&error.raw_os_error()));
    match device_at(dir) {
        Ok(found) if found == device && is_dead() => unmount(dir, Unmount::Lazily),
        _ => Ok(()),
    }
}

/// A descriptor that refers to the directory, whatever happens to its path.
fn place(dir: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(rustix::fs::openat(CWD, dir, flags, Mode::empty())?)
}

fn number(mount: &mounts::Mount) -> u64 {
    rustix::fs::makedev(mount.device.0, mount.device.1)
}

/// Unmounts the topmost mount at `dir`.
fn unmount(dir: &Path, when: Unmount) -> Result<()> {
    let flags = match when {
        Unmount::WhenUnused => UnmountFlags::NOFOLLOW,
        Unmount::Lazily => UnmountFlags::NOFOLLOW | UnmountFlags::DETACH,
    };
    match rustix::mount::unmount(dir, flags) {
        Ok(()) => Ok(()),
        Err(Errno::BUSY) => Err(busy(dir)),
        Err(Errno::PERM) => unmount_as_user(dir, when),
        Err(e) => Err(Error::Io { what: format!("unmounting {}", dir.display()), source: e.into() }),
    }
}

fn mount_as_user(dir: &Path, options: &Options, read_only: bool) -> Result<OwnedFd> {
    let access = if read_only { "ro" } else { "rw" };
    // A comma would end the name.
    let source = options.source.replace('\\', "\\\\").replace(',', "\\,");
    let list = format!("{access},nosuid,nodev,fsname={source},subtype={SUBTYPE},{}", kernel_options(options));
    let failed = |source| Error::Io { what: format!("mounting {}", dir.display()), source };
    let (ours, theirs) = UnixStream::pair().map_err(failed)?;
    // The socket is the program's standard input: descriptor 0 is inherited without further
    // measures.
    let child = Command::new(FUSERMOUNT)
        .arg("-o")
        .arg(list)
        .arg("--")
        .arg(dir)
        .env("_FUSE_COMMFD", "0")
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(no_fusermount)?;
    let device = receive_descriptor(&ours);
    let (_, why) = finish(child).map_err(failed)?;
    match (device, why) {
        (Ok(Some(device)), _) => Ok(device),
        (_, No::OthersNotAllowed(_)) => Err(Error::Permission(
            "an ordinary user can allow other users only if /etc/fuse.conf has a line \"user_allow_other\""
                .into(),
        )),
        (Ok(None), why) => Err(Error::Permission(format!(
            "fusermount3 refuses to mount on {}: {}",
            dir.display(),
            why.said()
        ))),
        (Err(e), _) => Err(failed(e.into())),
    }
}

fn unmount_as_user(dir: &Path, when: Unmount) -> Result<()> {
    let mut command = Command::new(FUSERMOUNT);
    command.arg("-u").args((when == Unmount::Lazily).then_some("-z")).arg("--").arg(dir);
    let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
    let refuses =
        |said: &str| Error::Permission(format!("fusermount3 refuses to unmount {}: {said}", dir.display()));
    match child.and_then(finish).map_err(no_fusermount)? {
        (true, _) => Ok(()),
        (false, No::Busy(_)) => Err(busy(dir)),
        (false, why) => Err(refuses(&why.said())),
    }
}

/// The options that both ways of mounting have in common. The kernel itself checks the file's owner
/// and mode.
fn kernel_options(options: &Options) -> String {
    let shared = if options.allow_other { ",allow_other" } else { "" };
    format!("default_permissions,max_read={MAX_REQUEST}{shared}")
}

/// Receives the descriptor that the program sends; `None` if it exits without sending one.
fn receive_descriptor(socket: &UnixStream) -> rustix::io::Result<Option<OwnedFd>> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    let flags = RecvFlags::CMSG_CLOEXEC;
    rustix::io::retry_on_intr(|| recvmsg(socket, &mut [IoSliceMut::new(&mut byte)], &mut control, flags))?;
    Ok(control.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
        _ => None,
    }))
}

/// Waits for the program. Returns whether it succeeded, and what its error output means if not.
fn finish(child: Child) -> io::Result<(bool, No)> {
    let output = child.wait_with_output()?;
    Ok((output.status.success(), No::parse(&output.stderr)))
}

/// Why fusermount3 refused, which it only says in words (libfuse, util/fusermount.c).
#[derive(Debug, PartialEq, Eq)]
enum No {
    /// /etc/fuse.conf does not let users open their mounts to others.
    OthersNotAllowed(String),
    /// The mount is in use.
    Busy(String),
    /// Anything else.
    Other(String),
}

impl No {
    fn parse(said: &[u8]) -> Self {
        let said = String::from_utf8_lossy(said).trim().to_owned();
        if said.contains("user_allow_other") {
            Self::OthersNotAllowed(said)
        } else if said.contains("busy") {
            Self::Busy(said)
        } else {
            Self::Other(said)
        }
    }

    fn said(self) -> String {
        let (Self::OthersNotAllowed(said) | Self::Busy(said) | Self::Other(said)) = self;
        said
    }
}

pub(super) fn busy(dir: &Path) -> Error {
    Error::Busy(format!(
        "{} is in use: a program has the file open, or a shell is in the directory",
        dir.display()
    ))
}

fn no_fusermount(error: io::Error) -> Error {
    match error.kind() {
        ErrorKind::NotFound => Error::Unavailable(format!(
            "an ordinary user needs {FUSERMOUNT} to mount, and it is not installed (package fuse3)"
        )),
        _ => Error::Io { what: format!("running {FUSERMOUNT}"), source: error },
    }
}

const DEVICE: &str = "/dev/fuse";
const FUSERMOUNT: &str = "fusermount3";
const SUBTYPE: &str = "keyway";
const FILE_SYSTEM: &str = "fuse.keyway";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fusermount3_says_is_a_kind() {
        for (said, expected) in [
            ("fusermount3: failed to unmount /m: Device or resource busy\n", No::Busy as fn(String) -> No),
            (
                "fusermount3: option allow_other only allowed if 'user_allow_other' is set in /etc/fuse.conf\n",
                No::OthersNotAllowed,
            ),
            ("fusermount3: entry for /m not found in /etc/mtab\n", No::Other),
        ] {
            assert_eq!(No::parse(said.as_bytes()), expected(said.trim().to_owned()));
        }
    }
}
