//! A small NBD client that sends exactly what the test specifies, over a Unix socket: one request
//! at a time, simple replies.
//!
//! NetworkBlockDevice/nbd, doc/proto.md: fixed newstyle handshake with NBD_OPT_GO, then requests.

use crate::timeouts;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

/// Whether a server listens there, checked without connecting (a server for a single client would
/// end). The socket file exists a moment earlier, while connections are still refused.
pub fn listens(socket: &Path) -> bool {
    // proc(5): Num RefCount Protocol Flags Type St Inode Path.
    let sockets = std::fs::read_to_string("/proc/net/unix").expect("Linux has it");
    sockets.lines().any(|line| {
        let mut fields = line.split_ascii_whitespace().skip(3);
        let flags = fields.next().and_then(|flags| u32::from_str_radix(flags, 16).ok());
        flags.is_some_and(|flags| flags & ACCEPTS != 0)
            && fields.nth(3).is_some_and(|path| Path::new(path) == socket)
    })
}

/// A connection to one export.
pub struct Nbd {
    stream: UnixStream,
    cookie: u64,
    /// Bytes of the export.
    pub size: u64,
    /// NBD_FLAG_* of the export.
    pub flags: u16,
}

impl Nbd {
    /// Connects to the export `name`.
    ///
    /// # Errors
    /// If no server listens there, or the server refuses the name.
    pub fn connect(socket: &Path, name: &str) -> io::Result<Self> {
        let stream = UnixStream::connect(socket)?;
        stream.set_read_timeout(Some(timeouts::scaled(timeouts::EVENT)))?;
        let mut nbd = Self { stream, cookie: 0, size: 0, flags: 0 };
        let mut greeting = [0; 18];
        nbd.stream.read_exact(&mut greeting)?;
        if !greeting.starts_with(b"NBDMAGICIHAVEOPT") {
            return Err(io::Error::other("not an NBD server"));
        }
        nbd.stream.write_all(&FIXED_NEWSTYLE_NO_ZEROES.to_be_bytes())?;
        nbd.go(name)?;
        Ok(nbd)
    }

    /// Connects as soon as a server listens, once it does.
    pub fn connect_soon(socket: &Path, name: &str) -> Self {
        let deadline = timeouts::within(timeouts::EVENT);
        loop {
            match Self::connect(socket, name) {
                Ok(nbd) => return nbd,
                Err(e) if Instant::now() > deadline => panic!("{}: {e}", socket.display()),
                Err(_) => std::thread::sleep(Duration::from_millis(2)),
            }
        }
    }

    /// Reads `len` bytes.
    ///
    /// # Errors
    /// The server's error, or a broken connection.
    pub fn read(&mut self, offset: u64, len: usize) -> io::Result<Vec<u8>> {
        self.request(READ, 0, offset, len)?;
        self.reply()?;
        let mut data = vec![0; len];
        self.stream.read_exact(&mut data)?;
        Ok(data)
    }

    /// Writes all of `data`.
    ///
    /// # Errors
    /// The same as [`Nbd::read`].
    pub fn write(&mut self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.request(WRITE, 0, offset, data.len())?;
        self.stream.write_all(data)?;
        self.reply()
    }

    /// Tells the server that the range is no longer used.
    ///
    /// # Errors
    /// The same as [`Nbd::read`].
    pub fn trim(&mut self, offset: u64, len: usize) -> io::Result<()> {
        self.request(TRIM, 0, offset, len)?;
        self.reply()
    }

    /// Returns when everything acknowledged is on stable storage.
    ///
    /// # Errors
    /// The same as [`Nbd::read`].
    pub fn flush(&mut self) -> io::Result<()> {
        self.request(FLUSH, 0, 0, 0)?;
        self.reply()
    }

    fn go(&mut self, name: &str) -> io::Result<()> {
        let mut data = (name.len() as u32).to_be_bytes().to_vec();
        data.extend_from_slice(name.as_bytes());
        data.extend_from_slice(&[0, 0]);
        self.stream.write_all(b"IHAVEOPT")?;
        self.stream.write_all(&GO.to_be_bytes())?;
        self.stream.write_all(&(data.len() as u32).to_be_bytes())?;
        self.stream.write_all(&data)?;
        loop {
            let mut head = [0; 20];
            self.stream.read_exact(&mut head)?;
            let kind = u32::from_be_bytes([head[12], head[13], head[14], head[15]]);
            let len = u32::from_be_bytes([head[16], head[17], head[18], head[19]]);
            let mut data = vec![0; len as usize];
            self.stream.read_exact(&mut data)?;
            match kind {
                REP_ACK => return Ok(()),
                REP_INFO => self.learn(&data),
                error => return Err(io::Error::other(format!("the server answers {error:#x}"))),
            }
        }
    }

    /// NBD_INFO_EXPORT: type 0, size, flags.
    fn learn(&mut self, info: &[u8]) {
        if let Some(([0, 0], rest)) = info.split_first_chunk::<2>()
            && let Some((size, rest)) = rest.split_first_chunk::<8>()
        {
            self.size = u64::from_be_bytes(*size);
            self.flags = rest.first_chunk().map_or(0, |flags| u16::from_be_bytes(*flags));
        }
    }

    fn request(&mut self, kind: u16, flags: u16, offset: u64, len: usize) -> io::Result<()> {
        self.cookie += 1;
        let mut message = REQUEST.to_be_bytes().to_vec();
        message.extend_from_slice(&flags.to_be_bytes());
        message.extend_from_slice(&kind.to_be_bytes());
        message.extend_from_slice(&self.cookie.to_be_bytes());
        message.extend_from_slice(&offset.to_be_bytes());
        message.extend_from_slice(&(len as u32).to_be_bytes());
        self.stream.write_all(&message)
    }

    fn reply(&mut self) -> io::Result<()> {
        let mut head = [0; 16];
        self.stream.read_exact(&mut head)?;
        let error = u32::from_be_bytes([head[4], head[5], head[6], head[7]]);
        if head[..4] != SIMPLE_REPLY.to_be_bytes() || head[8..] != self.cookie.to_be_bytes() {
            return Err(io::Error::other("not the reply to what was asked"));
        }
        if error == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(error as i32)) }
    }
}

/// NBD_FLAG_READ_ONLY.
pub const READ_ONLY: u16 = 1 << 1;

/// `__SO_ACCEPTCON` (Linux, include/uapi/linux/net.h).
const ACCEPTS: u32 = 1 << 16;

// doc/proto.md, "Values".
const FIXED_NEWSTYLE_NO_ZEROES: u32 = 0b11;
const GO: u32 = 7;
const REP_ACK: u32 = 1;
const REP_INFO: u32 = 3;
const REQUEST: u32 = 0x2560_9513;
const SIMPLE_REPLY: u32 = 0x6744_6698;
const READ: u16 = 0;
const WRITE: u16 = 1;
const FLUSH: u16 = 3;
const TRIM: u16 = 4;
