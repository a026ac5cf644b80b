//! The background process: a second instance of the same program, which continues in the background
//! with what the first process hands to it.
//!
//! It starts on the user's terminal, where it asks for passphrases and reports errors. Its standard
//! output is a pipe to the process that the user started. That process passes all output on until a
//! zero byte says that the front end is open, or until end of file says that it is not. The pipe is a
//! socket, and its first bytes travel in the other direction: the secrets of addresses, then the
//! request. The command line consists of the process name alone. Just before the zero byte the
//! process starts a session of its own (setsid(2)), so that it receives no more signals from the
//! terminal.

use crate::args::address;
use crate::device::remote;
use crate::output::failure::{Exit, Failure, Result};
use crate::process::background::{NAME, enter};
use crate::process::sys;
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

/// Starts the background process with this request and returns when its front end is open.
pub(super) fn start(request: &[u8]) -> Result<()> {
    let mut command = Command::new("/proc/self/exe");
    let (mut ours, theirs) = UnixStream::pair().map_err(|e| cannot_start(&e))?;
    command.arg0(NAME).stdout(OwnedFd::from(theirs));
    // The child inherits the file descriptors that this process inherited: a key file may be called
    // /dev/fd/3.
    let mut child = sys::handing_down(|| command.spawn()).map_err(|e| cannot_start(&e))?;
    // Only the child may hold its end of the socket.
    drop(command);
    // If the request cannot be sent, the child has ended; its exit status says why.
    let _ = hand_on(&mut ours, request);
    if pass_on(&mut ours).map_err(|e| cannot_start(&e))? {
        return Ok(());
    }
    let status = child.wait().map_err(|e| cannot_start(&e))?;
    Err(match status.code() {
        // The child has already printed the reason.
        Some(code) => Failure::silent(Exit::from_code(code)),
        None => Failure::new(Exit::Parameters, format!("The background process was ended ({status}).")),
    })
}

/// The request that [`start`] handed to this process, if it is the background one. Also takes over
/// the secrets of addresses that came with the request.
pub(crate) fn request() -> Option<Vec<u8>> {
    if env::args_os().next()? != NAME || !is_socket(stdout()) {
        return None;
    }
    enter();
    Some(receive_request().unwrap_or_default())
}

fn receive_request() -> io::Result<Vec<u8>> {
    let mut seconds = [0; 8];
    receive(&mut seconds)?;
    remote::set_timeout(Some(u64::from_le_bytes(seconds)));
    let mut secrets = Secret::zeroed(receive_len()?);
    receive(secrets.expose_mut())?;
    address::learn(secrets.expose());
    let mut request = vec![0; receive_len()?];
    receive(&mut request)?;
    Ok(request)
}

fn hand_on(socket: &mut UnixStream, request: &[u8]) -> io::Result<()> {
    let seconds = remote::wanted_timeout().map_or(0, |timeout| timeout.as_secs());
    socket.write_all(&seconds.to_le_bytes())?;
    for bytes in [address::secrets().expose(), request] {
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

/// Reads what the first process sends, from standard output.
fn receive(mut buf: &mut [u8]) -> io::Result<()> {
    while !buf.is_empty() {
        let count = retry_on_intr(|| read(stdout(), &mut *buf))?;
        buf = buf.get_mut(count..).filter(|_| count > 0).ok_or(io::ErrorKind::UnexpectedEof)?;
    }
    Ok(())
}

/// Reports that the front end is open, then detaches from the terminal and leaves the directory that the
/// process was started in.
pub(super) fn leave_terminal(message: &str) -> Result<()> {
    // Before the report: a terminal that is closed right away must not end the session.
    let _ = rustix::process::setsid();
    let mut stdout = io::stdout().lock();
    let told = stdout.write_all(message.as_bytes()).and_then(|()| stdout.write_all(&[OPEN]));
    // The waiting process was interrupted: nobody would know what is open now.
    told.and_then(|()| stdout.flush()).map_err(|_| Failure::silent(Exit::Parameters))?;
    let null = File::options().read(true).write(true).open("/dev/null");
    if let Ok(null) = null {
        let _ = dup2_stdin(&null);
        let _ = dup2_stdout(&null);
        let _ = dup2_stderr(&null);
    }
    // A reader at the other end of an inherited pipe waits until its last holder closes it.
    sys::close_inherited();
    let _ = env::set_current_dir(Path::new("/"));
    Ok(())
}

/// Passes the child's standard output on. Returns whether the byte came that says "open".
fn pass_on(output: &mut UnixStream) -> io::Result<bool> {
    let mut buffer = [0; 4096];
    loop {
        let got = match output.read(&mut buffer) {
            Ok(got) => &buffer[..got],
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            // The child ended before it read the request.
            Err(e) if e.kind() == io::ErrorKind::ConnectionReset => return Ok(false),
            Err(e) => return Err(e),
        };
        let end = got.iter().position(|byte| *byte == OPEN);
        // A reader that has gone away is no reason to end the session.
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

/// The byte that says that the front end is open. It occurs in no text.
const OPEN: u8 = 0;
