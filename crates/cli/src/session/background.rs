//! The second process: the same program, which goes on in the background with what the first hands to it.
//!
//! It starts on the user's terminal, where it asks for passphrases and complains. Its
//! standard output is a pipe to the process that the user started, which passes everything on
//! until a zero byte says that the door is open, or until the end says that it is not. The
//! pipe is a socket: the first things on it go the other way, the secrets of addresses and the
//! errand. Its command line is its name alone. Just before the zero byte the process gets a session
//! (setsid(2)) of its own, and so no signal of the terminal's.

use crate::device::remote;
use crate::door::address;
use crate::process::sys;
use crate::say::failure::{Exit, Failure, Result};
use keyway_crypto::Secret;
use rustix::fs::{FileType, fstat};
use rustix::io::{read, retry_on_intr};
use rustix::stdio::{dup2_stderr, dup2_stdin, dup2_stdout, stdout};
use std::env;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether this is the second process: it was handed an errand.
pub(super) fn is_inside() -> bool {
    INSIDE.load(Ordering::Relaxed)
}

static INSIDE: AtomicBool = AtomicBool::new(false);

/// Starts the second process with this errand and returns when its door is open.
pub(super) fn start(errand: &[u8]) -> Result<()> {
    let mut command = Command::new("/proc/self/exe");
    let (mut ours, theirs) = UnixStream::pair().map_err(|e| cannot_start(&e))?;
    command.arg0(NAME).stdout(OwnedFd::from(theirs));
    // What this process was given it was given for the other: a key file may be called /dev/fd/3.
    let mut child = sys::handing_down(|| command.spawn()).map_err(|e| cannot_start(&e))?;
    // Its end of the socket is to be the child's alone.
    drop(command);
    // Whoever cannot be told has ended, and its status says why.
    let _ = hand_on(&mut ours, errand);
    if pass_on(&mut ours).map_err(|e| cannot_start(&e))? {
        return Ok(());
    }
    let status = child.wait().map_err(|e| cannot_start(&e))?;
    Err(match status.code() {
        // It has said why.
        Some(code) => Failure::silent(Exit::from_code(code)),
        None => Failure::new(Exit::Parameters, format!("The background process was ended ({status}).")),
    })
}

/// The errand that [`start`] has handed to this process, if it is the second one. The secrets of
/// addresses that came with it are known from now on.
pub(crate) fn errand() -> Option<Vec<u8>> {
    if env::args_os().next()? != NAME || !is_socket(stdout()) {
        return None;
    }
    INSIDE.store(true, Ordering::Relaxed);
    Some(receive_errand().unwrap_or_default())
}

fn receive_errand() -> io::Result<Vec<u8>> {
    let mut seconds = [0; 8];
    receive(&mut seconds)?;
    remote::set_timeout(Some(u64::from_le_bytes(seconds)));
    let mut secrets = Secret::zeroed(receive_len()?);
    receive(secrets.expose_mut())?;
    address::learn(secrets.expose());
    let mut errand = vec![0; receive_len()?];
    receive(&mut errand)?;
    Ok(errand)
}

fn hand_on(socket: &mut UnixStream, errand: &[u8]) -> io::Result<()> {
    let seconds = remote::wanted_timeout().map_or(0, |timeout| timeout.as_secs());
    socket.write_all(&seconds.to_le_bytes())?;
    for bytes in [address::secrets().expose(), errand] {
        socket.write_all(&(bytes.len() as u32).to_le_bytes())?;
        socket.write_all(bytes)?;
    }
    Ok(())
}

fn is_socket(fd: BorrowedFd<'_>) -> bool {
    fstat(fd).is_ok_and(|found| FileType::from_raw_mode(found.st_mode) == FileType::Socket)
}

fn receive_len() -> io::Result<usize> {
    let mut len = [0; 4];
    receive(&mut len)?;
    Ok(u32::from_le_bytes(len) as usize)
}

/// From the first process, on standard output.
fn receive(mut buf: &mut [u8]) -> io::Result<()> {
    while !buf.is_empty() {
        let count = retry_on_intr(|| read(stdout(), &mut *buf))?;
        buf = buf.get_mut(count..).filter(|_| count > 0).ok_or(io::ErrorKind::UnexpectedEof)?;
    }
    Ok(())
}

/// Says that the door is open, and leaves the terminal and the directory that it was started in.
pub(super) fn leave_terminal(message: &str) -> Result<()> {
    // Before anybody is told: a terminal that is closed at once must not take the session with it.
    let _ = rustix::process::setsid();
    let mut stdout = io::stdout().lock();
    let told = stdout.write_all(message.as_bytes()).and_then(|()| stdout.write_all(&[OPEN]));
    // Whoever waited was interrupted: nobody would know of what is open now.
    told.and_then(|()| stdout.flush()).map_err(|_| Failure::silent(Exit::Parameters))?;
    let null = File::options().read(true).write(true).open("/dev/null");
    if let Ok(null) = null {
        let _ = dup2_stdin(&null);
        let _ = dup2_stdout(&null);
        let _ = dup2_stderr(&null);
    }
    // Whoever reads from the other end of one waits for its last holder.
    sys::close_inherited();
    let _ = env::set_current_dir(Path::new("/"));
    Ok(())
}

/// Passes the child's standard output on; whether the byte came that says open.
fn pass_on(output: &mut UnixStream) -> io::Result<bool> {
    let mut buffer = [0; 4096];
    loop {
        let got = match output.read(&mut buffer) {
            Ok(got) => &buffer[..got],
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            // It ended before it was told anything.
            Err(e) if e.kind() == io::ErrorKind::ConnectionReset => return Ok(false),
            Err(e) => return Err(e),
        };
        let end = got.iter().position(|byte| *byte == OPEN);
        // A reader that went away is no reason to lose the session.
        let mut stdout = io::stdout().lock();
        let _ = stdout.write_all(&got[..end.unwrap_or(got.len())]).and_then(|()| stdout.flush());
        if end.is_some() || got.is_empty() {
            return Ok(end.is_some());
        }
    }
}

fn cannot_start(why: &io::Error) -> Failure {
    Failure::new(Exit::Parameters, format!("Cannot start a background process: {why}."))
}

/// The second process's own name (`argv[0]`), which it is known by in lists of processes too.
pub(super) const NAME: &str = "keyway-session";

/// The byte that says that the door is open. No text holds it.
const OPEN: u8 = 0;
