//! The user at the other end of a Unix socket, as the kernel reports it (unix(7), SO_PEERCRED): for
//! a client the user who connected, for a server the user who listened.

use crate::{Error, Result};
use rustix::net::sockopt::socket_peercred;
use rustix::process::geteuid;
use std::os::fd::AsFd;

/// Refuses a peer that belongs to neither this user nor root, who can obtain every secret anyway.
///
/// # Errors
/// [`Error::Permission`], naming user and process.
pub fn check(socket: impl AsFd) -> Result<()> {
    let peer = socket_peercred(socket).map_err(|e| Error::Io {
        what: "asking who is at the socket's other end".into(),
        source: e.into(),
    })?;
    let user = peer.uid.as_raw();
    match is_trusted(user, geteuid().as_raw()) {
        true => Ok(()),
        false => Err(Error::Permission(format!(
            "the socket's other end belongs to another user ({user}, process {})",
            peer.pid.as_raw_pid()
        ))),
    }
}

fn is_trusted(peer: u32, own: u32) -> bool {
    peer == own || peer == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};
    use std::os::unix::net::UnixStream;

    #[test]
    fn this_user_and_root() {
        assert!(is_trusted(1000, 1000) && is_trusted(0, 1000) && is_trusted(0, 0));
        assert!(!is_trusted(1001, 1000) && !is_trusted(1000, 0) && !is_trusted(u32::MAX, 0));
    }

    #[test]
    fn the_kernel_says_who() {
        let (one, other) = UnixStream::pair().unwrap();
        check(&one).unwrap();
        check(&other).unwrap();
        // For a network connection the kernel has no peer credentials.
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let network = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        assert!(matches!(check(&network), Err(Error::Permission(_) | Error::Io { .. })));
    }
}
