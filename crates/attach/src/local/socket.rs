//! Sockets in a directory of this user's: both ends are checked before a byte is sent.

use super::{Directory, peer};
use crate::{Error, Result};
use rustix::fs::{Mode, fchmod};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, listen, socket_with};
use std::io;
use std::os::unix::net::{UnixListener, UnixStream};

impl Directory {
    /// Listens on the new socket `name`, which only this user may connect to.
    ///
    /// # Errors
    /// The system's, for example when the name is taken.
    pub fn listen(&self, name: &str) -> io::Result<UnixListener> {
        let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
        // The node takes its permissions from the socket, so there is no moment at which others
        // could connect.
        fchmod(&socket, OWNER_ONLY)?;
        bind(&socket, &SocketAddrUnix::new(self.through(name))?)?;
        listen(&socket, BACKLOG)?;
        Ok(socket.into())
    }

    /// Connects to the socket `name`, and checks that this user or root listens on it.
    ///
    /// # Errors
    /// [`Error::Permission`] when somebody else listens; nothing has been sent then. Otherwise the
    /// system's.
    pub fn connect(&self, name: &str) -> Result<UnixStream> {
        let failed = |source| Error::Io {
            what: format!("connecting to {}", self.path().join(name).display()),
            source,
        };
        let stream = UnixStream::connect(self.through(name)).map_err(failed)?;
        peer::check(&stream)?;
        Ok(stream)
    }
}

const OWNER_ONLY: Mode = Mode::RUSR.union(Mode::WUSR);

/// How many connections may wait to be accepted.
const BACKLOG: i32 = 128;

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::io::{Read, Write};
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn sockets_of_long_paths_are_this_users_alone() {
        let path =
            std::env::temp_dir().join(format!("keyway-socket-{}-{}", std::process::id(), "x".repeat(120)));
        let _ = fs::remove_dir_all(&path);
        let directory = Directory::open_or_make(&path).unwrap();
        let listener = directory.listen("control").unwrap();
        assert_eq!(fs::metadata(path.join("control")).unwrap().permissions().mode() & 0o777, 0o600);
        directory.listen("control").expect_err("it is taken");
        let mut stream = directory.connect("control").unwrap();
        stream.write_all(b"x").unwrap();
        drop(stream);
        let mut got = Vec::new();
        listener.accept().unwrap().0.read_to_end(&mut got).unwrap();
        assert_eq!(got, b"x");
        drop(listener);
        assert!(matches!(directory.connect("control"), Err(Error::Io { .. })), "nobody listens");
        fs::remove_dir_all(path).unwrap();
    }
}
