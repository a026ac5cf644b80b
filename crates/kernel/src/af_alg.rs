//! The kernel's ciphers from user space (Linux,
//! Documentation/crypto/userspace-if.rst; crypto/algif_skcipher.c).
//!
//! A socket is bound to an algorithm or a driver by name, is given a key, and is accepted from: the
//! resulting descriptor takes messages and returns them encrypted. One message is one request,
//! which the kernel processes while the result is being read.
//!
//! Since 2026, kernels provide access only to drivers that run on the CPU, and from 7.3 on only to
//! a short list of algorithms unless /proc/sys/crypto/af_alg_restrict is 0; whatever they hide is
//! "not found" (ENOENT).

use crate::{Engine, Missing};
use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, AlgAddr, ControlMessage, MsgFlags, SockFlag, SockType, bind, sendmsg, setsockopt, socket,
    sockopt,
};
use rustix::net::{SocketFlags, accept_with};
use std::fs;
use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsRawFd, OwnedFd};

/// The direction of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Plaintext to ciphertext.
    Encrypt,
    /// Ciphertext to plaintext.
    Decrypt,
}

impl Direction {
    /// The direction as a participle: "encrypting".
    pub const fn doing(self) -> &'static str {
        match self {
            Self::Encrypt => "encrypting",
            Self::Decrypt => "decrypting",
        }
    }
}

/// A driver, without a key.
#[derive(Debug)]
pub struct Algorithm {
    socket: OwnedFd,
}

/// A driver with a key.
#[derive(Debug)]
pub struct Cipher {
    /// Kept open because the key belongs to it.
    _bound: OwnedFd,
    operation: OwnedFd,
}

impl Algorithm {
    /// Finds a sector cipher by the name of its algorithm or driver. This makes the kernel load
    /// what it needs, and instantiate templates.
    pub fn find(name: &str) -> Result<Self, Missing> {
        if name.len() >= LONGEST_NAME {
            return Err(Missing::new(format!("AF_ALG takes names of up to {} characters", LONGEST_NAME - 1)));
        }
        let socket = socket(AddressFamily::Alg, SockType::SeqPacket, SockFlag::SOCK_CLOEXEC, None)
            .map_err(no_socket)?;
        match bind(socket.as_raw_fd(), &AlgAddr::new(KIND, name)) {
            Ok(()) => Ok(Self { socket }),
            Err(errno) => Err(not_found(name, errno)),
        }
    }

    /// Sets the key.
    pub fn key(self, key: &[u8]) -> io::Result<Cipher> {
        setsockopt(&self.socket, sockopt::AlgSetKey::default(), &key)?;
        let operation = accept_with(&self.socket, SocketFlags::CLOEXEC)?;
        Ok(Cipher { _bound: self.socket, operation })
    }
}

impl Cipher {
    /// Sends a request, in one piece or several. For an algorithm without IVs, `iv` is empty.
    pub fn send(&self, direction: Direction, iv: &[u8], pieces: &[&[u8]]) -> io::Result<()> {
        let operation = match direction {
            Direction::Encrypt => nix::libc::ALG_OP_ENCRYPT,
            Direction::Decrypt => nix::libc::ALG_OP_DECRYPT,
        };
        let start = [ControlMessage::AlgSetOp(&operation), ControlMessage::AlgSetIv(iv)];
        let start = if iv.is_empty() { &start[..1] } else { &start[..] };
        for (number, piece) in pieces.iter().enumerate() {
            let control = if number == 0 { start } else { &[] };
            let more = if number + 1 < pieces.len() { MORE } else { MsgFlags::empty() };
            let sent =
                sendmsg::<()>(self.operation.as_raw_fd(), &[IoSlice::new(piece)], control, more, None)?;
            if sent != piece.len() {
                return Err(io::Error::other("the kernel took only part of the request"));
            }
        }
        Ok(())
    }

    /// Receives results, into buffers of any sizes. If they have room for the whole result, it is
    /// processed as one request.
    pub fn receive(&self, buffers: &mut [IoSliceMut<'_>]) -> io::Result<()> {
        let wanted: usize = buffers.iter().map(|buffer| buffer.len()).sum();
        match rustix::io::readv(&self.operation, buffers)? {
            length if length == wanted => Ok(()),
            length => Err(io::Error::other(format!("the kernel returned {length} bytes of {wanted}"))),
        }
    }

    /// Processes a whole request in place.
    pub fn run(&self, direction: Direction, iv: &[u8], data: &mut [u8]) -> io::Result<()> {
        self.send(direction, iv, &[data])?;
        self.receive(&mut [IoSliceMut::new(data)])
    }
}

/// Whether any cipher of the kernel can be accessed.
pub fn reachable() -> Result<(), Missing> {
    Algorithm::find(PROBE).map(drop)
}

fn no_socket(errno: Errno) -> Missing {
    match errno {
        Errno::EAFNOSUPPORT if restriction() == Some(2) => Missing::right(
            "AF_ALG is disabled (sysctl crypto.af_alg_restrict is 2)",
            "sysctl crypto.af_alg_restrict=0",
        ),
        Errno::EAFNOSUPPORT => Missing::module("af_alg", "CRYPTO_USER_API_SKCIPHER"),
        Errno::EPERM | Errno::EACCES => {
            Missing::right("this process is not allowed to open AF_ALG sockets", "AF_ALG sockets (seccomp)")
        }
        errno => Missing::new(format!("AF_ALG: {}", errno.desc())),
    }
}

/// The kernel reports ENOENT for a driver that does not exist, for one that it hides, and if its
/// own module is missing.
fn not_found(name: &str, errno: Errno) -> Missing {
    match errno {
        Errno::ENOENT if name == PROBE || reachable().is_err() => match restriction() {
            Some(1) => Missing::right(
                "AF_ALG offers only a short list of algorithms (sysctl crypto.af_alg_restrict is 1)",
                "sysctl crypto.af_alg_restrict=0",
            ),
            _ => Missing::module("algif_skcipher", "CRYPTO_USER_API_SKCIPHER"),
        },
        Errno::ENOENT if Engine::of(name).is_some() => {
            Missing::new("this kernel's AF_ALG offers no engines outside the CPU")
        }
        Errno::ENOENT => Missing::new("AF_ALG does not find it"),
        Errno::ELIBBAD => Missing::new("it failed its self-test"),
        errno => Missing::new(errno.desc()),
    }
}

/// The setting, which exists in kernels from 7.3 on.
fn restriction() -> Option<u32> {
    fs::read_to_string("/proc/sys/crypto/af_alg_restrict").ok()?.trim().parse().ok()
}

/// The request continues in the next message; nix has no name for this flag.
const MORE: MsgFlags = MsgFlags::from_bits_retain(nix::libc::MSG_MORE);
/// An algorithm that every kernel with AF_ALG ciphers has or can load.
const PROBE: &str = "ecb(aes)";
const KIND: &str = "skcipher";
/// `salg_name` including the NUL.
const LONGEST_NAME: usize = 64;
