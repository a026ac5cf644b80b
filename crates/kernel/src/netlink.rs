//! The kernel's list of algorithms with all their flags (Linux,
//! crypto/crypto_user.c; include/uapi/linux/cryptouser.h).
//!
//! ```text
//! → nlmsghdr 16   type CRYPTO_MSG_GETALG, flags REQUEST | DUMP
//!   crypto_user_alg 208, zeros
//! ← for each: nlmsghdr 16, crypto_user_alg 208:
//!     0 name  64 driver  128 module (64 bytes each, zero-terminated: longer names are cut)
//!     192 type  196 mask  200 references  204 flags
//!   attributes: length 2, type 2, value, padded to 4 bytes; type 1 is the priority
//!   at the end a message of type DONE, or ERROR with a negative errno
//! ```
//!
//! Listing requires no privileges, only the module crypto_user, which the kernel loads on demand.
//! Numbers are in native byte order.

use crate::proc_crypto::Driver;
use crate::{Flags, Missing};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, recv, send, socket_with, sockopt,
};
use std::time::Duration;

/// One driver, as the kernel reports it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Report {
    name: String,
    driver: String,
    flags: Flags,
    priority: i64,
}

/// The result of parsing a datagram.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// More datagrams follow.
    More,
    /// The list is complete.
    Done,
    /// The kernel refused with this errno.
    Refused(i32),
}

/// Requests the list from the running kernel.
pub(crate) fn reports() -> Result<Vec<Report>, Missing> {
    let unavailable = |errno: Errno| match errno {
        Errno::PROTONOSUPPORT | Errno::AFNOSUPPORT | Errno::CONNREFUSED => {
            Missing::module("crypto_user", "CRYPTO_USER")
        }
        errno => {
            let why = std::io::Error::from(errno);
            Missing::new(format!("the kernel's list of drivers (NETLINK_CRYPTO): {why}"))
        }
    };
    let protocol = Some(netlink::CRYPTO);
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, protocol)
        .map_err(unavailable)?;
    sockopt::set_socket_timeout(&socket, sockopt::Timeout::Recv, Some(TIMEOUT)).map_err(unavailable)?;
    send(&socket, &request(), SendFlags::empty()).map_err(unavailable)?;
    let (mut found, mut datagram) = (Vec::new(), vec![0; DATAGRAM]);
    loop {
        let (length, _) = recv(&socket, &mut datagram[..], RecvFlags::empty()).map_err(unavailable)?;
        match parse(&datagram[..length], &mut found) {
            Part::More if found.len() < MOST && length > 0 => {}
            Part::Refused(errno) => return Err(unavailable(Errno::from_raw_os_error(errno))),
            _ => return Ok(found),
        }
    }
}

/// Sets the flags reported for each driver.
pub(crate) fn add_flags(drivers: &mut [Driver], reports: &[Report]) {
    for driver in drivers {
        let (name, its_driver, priority) = (cut(&driver.name), cut(&driver.driver), driver.priority);
        let same = |it: &&Report| (&*it.name, &*it.driver, it.priority) == (name, its_driver, priority);
        driver.flags = reports.iter().find(same).map(|report| report.flags);
    }
}

/// Parses one datagram of the answer.
pub(crate) fn parse(mut datagram: &[u8], found: &mut Vec<Report>) -> Part {
    while let (Some(length), Some(kind)) = (word(datagram, 0), half(datagram, 4)) {
        let length = length as usize;
        let Some(message) = datagram.get(HEADER..length) else { return Part::Done };
        match kind {
            DONE => return Part::Done,
            ERROR => return Part::Refused(word(message, 0).map_or(0, |errno| (errno as i32).wrapping_neg())),
            GET_ALGORITHM => found.extend(report(message)),
            _ => {}
        }
        datagram = datagram.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    Part::More
}

fn report(message: &[u8]) -> Option<Report> {
    let flags = Flags::from_bits(word(message, 204)?);
    let (name, driver) = (text(message.get(..64)?), text(message.get(64..128)?));
    let mut attributes = message.get(ALGORITHM..)?;
    let mut priority = 0;
    while let (Some(length), Some(kind)) = (half(attributes, 0), half(attributes, 2)) {
        let length = usize::from(length);
        if length < 4 {
            break;
        }
        if kind == PRIORITY {
            priority = word(attributes, 4).map_or(0, |value| i64::from(value as i32));
        }
        attributes = attributes.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    (!flags.has_any(Flags::LARVAL.with(Flags::GOING))).then_some(Report { name, driver, flags, priority })
}

fn request() -> Vec<u8> {
    let mut message = Vec::from((LENGTH as u32).to_ne_bytes());
    message.extend(GET_ALGORITHM.to_ne_bytes());
    message.extend((REQUEST | DUMP).to_ne_bytes());
    message.resize(LENGTH, 0);
    message
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn half(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn text(field: &[u8]) -> String {
    String::from_utf8_lossy(field.split(|byte| *byte == 0).next().unwrap_or_default()).into_owned()
}

/// The part of a name that fits into the answer.
fn cut(name: &str) -> &str {
    name.get(..63).unwrap_or(name)
}

const HEADER: usize = 16;
const ALGORITHM: usize = 208;
const LENGTH: usize = HEADER + ALGORITHM;
const ERROR: u16 = 2;
const DONE: u16 = 3;
const GET_ALGORITHM: u16 = 0x13;
const REQUEST: u16 = 0x1;
const DUMP: u16 = 0x300;
const PRIORITY: u16 = 1;
/// The kernel fills pages, with at most this much at a time.
const DATAGRAM: usize = 1 << 16;
/// More than any kernel has.
const MOST: usize = 1 << 16;
const TIMEOUT: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use super::*;

    /// A message in the layout above.
    fn message(kind: u16, name: &str, driver: &str, flags: u32, priority: i32) -> Vec<u8> {
        let mut payload = vec![0; ALGORITHM];
        payload[..name.len()].copy_from_slice(name.as_bytes());
        payload[64..64 + driver.len()].copy_from_slice(driver.as_bytes());
        payload[204..208].copy_from_slice(&flags.to_ne_bytes());
        payload.extend(8_u16.to_ne_bytes());
        payload.extend(PRIORITY.to_ne_bytes());
        payload.extend(priority.to_ne_bytes());
        let mut message = Vec::from(((HEADER + payload.len()) as u32).to_ne_bytes());
        message.extend(kind.to_ne_bytes());
        message.resize(HEADER, 0);
        message.extend(payload);
        message
    }

    #[test]
    fn an_answer_in_pieces() {
        let mut found = Vec::new();
        let mut datagram = message(GET_ALGORITHM, "xts(aes)", "xts-aes-caam", 0x1_1085, 3000);
        datagram.extend(message(GET_ALGORITHM, "cbc(aes)", "larval", 0x10, 0));
        assert_eq!(parse(&datagram, &mut found), Part::More);
        assert_eq!(parse(&message(DONE, "", "", 0, 0), &mut found), Part::Done);
        assert_eq!(found.len(), 1);
        let mut drivers = [Driver {
            name: "xts(aes)".into(),
            driver: "xts-aes-caam".into(),
            priority: 3000,
            ..Driver::default()
        }];
        add_flags(&mut drivers, &found);
        assert_eq!(drivers[0].flags.unwrap().to_string(), "ALLOCATES_MEMORY, KERN_DRIVER_ONLY, ASYNC");
    }

    #[test]
    fn refusals_and_nonsense() {
        let mut found = Vec::new();
        let mut refusal = Vec::from(36_u32.to_ne_bytes());
        refusal.extend(ERROR.to_ne_bytes());
        refusal.resize(16, 0);
        refusal.extend((-1_i32).to_ne_bytes());
        refusal.resize(36, 0);
        assert_eq!(parse(&refusal, &mut found), Part::Refused(1));
        let whole = message(GET_ALGORITHM, "a", "b", 0, 1);
        for length in 0..whole.len() {
            let _ = parse(&whole[..length], &mut found);
        }
        assert_eq!(parse(&[0; 64], &mut found), Part::Done, "a length of zero ends it");
        assert_eq!(found, []);
    }
}
