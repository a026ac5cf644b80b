//! Names of exports on NBD servers: `nbd://host:port/export`, `nbd+unix:///export?socket=PATH`, and
//! `nbds…` for both with TLS.
//!
//! The NBD URI specification (NetworkBlockDevice/nbd, doc/uri.md) on top of RFC 3986. Query
//! parameters beyond it (`tls-certificates`) are libnbd's. Anything unknown is refused, as the
//! specification demands.

use crate::{Refusal, Result};
use std::ffi::OsString;
use std::fmt;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

/// An export on a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Uri {
    /// Where the server listens.
    pub address: Address,
    /// The export's name; empty for the server's default.
    pub export: String,
    /// Whether the connection has to be encrypted; otherwise it is unencrypted.
    pub tls: bool,
    /// The name that the server's certificate must contain, if it differs from the host's.
    pub tls_hostname: Option<String>,
    /// Whether the server's certificate is checked.
    pub tls_verify_peer: bool,
    /// The directory with the client's certificates.
    pub tls_certificates: Option<PathBuf>,
    text: String,
}

/// Where a server listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// A host and port.
    Tcp {
        /// A name, or an IP address (IPv6 without brackets).
        host: String,
        /// The port.
        port: u16,
    },
    /// A Unix domain socket; a path that starts with a NUL byte is in Linux's abstract namespace.
    Unix(PathBuf),
}

/// The port that IANA assigned to NBD.
pub const PORT: u16 = 10809;

impl Uri {
    /// Whether `text` refers to an NBD server rather than a file.
    pub fn recognises(text: &str) -> bool {
        let Some((scheme, _)) = text.split_once("://") else { return false };
        let scheme = scheme.to_ascii_lowercase();
        let transport = scheme.strip_prefix("nbds").or_else(|| scheme.strip_prefix("nbd"));
        transport.is_some_and(|rest| rest.is_empty() || rest.starts_with('+'))
    }

    /// Parses a text that [`Uri::recognises`].
    ///
    /// # Errors
    /// [`Refusal::Uri`], naming the invalid part; the caller knows the rest.
    pub fn parse(text: &str) -> Result<Self> {
        let wrong = |why: &str| Refusal::Uri.because(why);
        let (scheme, rest) = text.split_once("://").ok_or_else(|| wrong("this is not an NBD URI"))?;
        let (tls, unix) = match scheme.to_ascii_lowercase().as_str() {
            "nbd" => (false, false),
            "nbds" => (true, false),
            "nbd+unix" => (false, true),
            "nbds+unix" => (true, true),
            _ => return Err(wrong("NBD URIs start with nbd, nbds, nbd+unix or nbds+unix")),
        };
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        if rest.contains('#') || query.contains('#') {
            return Err(wrong("an NBD URI has no fragment; write # as %23"));
        }
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let export = decode_text(path).ok_or_else(|| wrong("the export's name is not UTF-8"))?;
        if export.contains('\0') || export.len() > LONGEST_NAME {
            return Err(wrong("an export's name has at most 4096 bytes and no NUL"));
        }
        let query = Query::parse(query).map_err(|why| wrong(&why))?;
        let address = match (unix, query.socket) {
            (true, Some(socket)) if host_of(authority).is_empty() => Address::Unix(socket),
            (true, Some(_)) => return Err(wrong("a Unix socket has no host: write nbd+unix:///")),
            (true, None) => return Err(wrong("the socket is missing: add ?socket=PATH")),
            (false, Some(_)) => return Err(wrong("?socket= needs nbd+unix:///")),
            (false, None) => parse_host(host_of(authority)).map_err(|why| wrong(&why))?,
        };
        Ok(Self {
            address,
            export,
            tls,
            tls_hostname: query.hostname,
            tls_verify_peer: query.verify_peer,
            tls_certificates: query.certificates,
            text: text.to_owned(),
        })
    }
}

impl fmt::Display for Uri {
    /// The URI as it was written.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The parameters after the question mark.
struct Query {
    socket: Option<PathBuf>,
    hostname: Option<String>,
    verify_peer: bool,
    certificates: Option<PathBuf>,
}

impl Query {
    fn parse(text: &str) -> std::result::Result<Self, String> {
        let mut query = Self { socket: None, hostname: None, verify_peer: true, certificates: None };
        // libnbd accepts a semicolon between parameters, too.
        for pair in text.split(['&', ';']).filter(|pair| !pair.is_empty()) {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            match key {
                "socket" => query.socket = Some(decode_path(value).ok_or("the socket's path is empty")?),
                "tls-certificates" => {
                    query.certificates = Some(decode_path(value).ok_or("tls-certificates is empty")?);
                }
                "tls-hostname" => {
                    query.hostname = Some(decode_text(value).ok_or("tls-hostname is not UTF-8")?);
                }
                "tls-verify-peer" => query.verify_peer = parse_switch(key, value)?,
                "tls-type" if value == "x509" => {}
                "tls-type" => return Err(format!("tls-type={value} is not supported: use x509")),
                "tls-psk-file" => return Err(NO_PSK.to_owned()),
                _ => return Err(format!("parameter {key} is unknown")),
            }
        }
        Ok(query)
    }
}

fn parse_switch(key: &str, value: &str) -> std::result::Result<bool, String> {
    match value {
        "0" | "false" => Ok(false),
        "1" | "true" => Ok(true),
        _ => Err(format!("{key} must be 0 or 1")),
    }
}

/// An authority without its user, which is relevant to pre-shared keys only.
fn host_of(authority: &str) -> &str {
    authority.rsplit_once('@').map_or(authority, |(_, host)| host)
}

/// `host`, `host:port`, `[address]`, `[address]:port`; the local machine if there is no host.
fn parse_host(text: &str) -> std::result::Result<Address, String> {
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (host, after) = rest.split_once(']').ok_or("the address has no closing bracket")?;
            let port = after.strip_prefix(':').unwrap_or(after);
            if port.len() == after.len() && !after.is_empty() {
                return Err(format!("\"{after}\" after the address is not a port"));
            }
            (host.to_owned(), port)
        }
        None => {
            let (host, port) = text.split_once(':').unwrap_or((text, ""));
            (decode_text(host).ok_or("the host is not UTF-8")?, port)
        }
    };
    let port = match port {
        "" => PORT,
        digits => digits.parse().map_err(|_| format!("\"{digits}\" is not a port"))?,
    };
    let host = if host.is_empty() { "localhost".to_owned() } else { host };
    Ok(Address::Tcp { host, port })
}

fn decode_path(text: &str) -> Option<PathBuf> {
    let bytes = decode(text)?;
    (!bytes.is_empty()).then(|| PathBuf::from(OsString::from_vec(bytes)))
}

fn decode_text(text: &str) -> Option<String> {
    String::from_utf8(decode(text)?).ok()
}

/// Decodes percent-encoding (RFC 3986, 2.1); `None` where a percent sign is not followed by two
/// digits.
fn decode(text: &str) -> Option<Vec<u8>> {
    let mut bytes = text.bytes();
    let mut decoded = Vec::with_capacity(text.len());
    while let Some(byte) = bytes.next() {
        decoded.push(match byte {
            b'%' => hex(bytes.next()?)? << 4 | hex(bytes.next()?)?,
            other => other,
        });
    }
    Some(decoded)
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).map(|value| value as u8)
}

/// "MUST be no longer than 4096 bytes" (doc/proto.md, Conventions).
const LONGEST_NAME: usize = 4096;

/// The message about pre-shared keys.
pub(crate) const NO_PSK: &str = "this TLS library does not support pre-shared keys (PSK); use certificates";

#[cfg(test)]
mod tests {
    use super::*;

    fn tcp(host: &str, port: u16) -> Address {
        Address::Tcp { host: host.to_owned(), port }
    }

    #[test]
    fn the_specifications_own_examples() {
        for (text, export) in [
            ("nbd://example.com/disk", "disk"),
            ("nbd+unix:///disk?socket=sock", "disk"),
            ("nbd://example.com/", ""),
            ("nbd://example.com", ""),
            ("nbd://example.com//disk", "/disk"),
            ("nbd://example.com/hello%20world", "hello world"),
        ] {
            assert_eq!(Uri::parse(text).unwrap().export, export, "{text}");
        }
        let unix = Uri::parse("nbd+unix:///?socket=%00/abstract").unwrap();
        assert_eq!(unix.address, Address::Unix(PathBuf::from("\0/abstract")));
    }

    #[test]
    fn hosts_and_ports() {
        for (text, address) in [
            ("nbd://example.com:10810/x", tcp("example.com", 10810)),
            ("nbd://user@example.com/x", tcp("example.com", PORT)),
            ("NBD://[::1]", tcp("::1", PORT)),
            ("nbds://[fe80::1]:7/x", tcp("fe80::1", 7)),
            ("nbd:///x", tcp("localhost", PORT)),
        ] {
            assert_eq!(Uri::parse(text).unwrap().address, address, "{text}");
        }
        assert!(Uri::parse("nbds://h").unwrap().tls && !Uri::parse("nbd://h").unwrap().tls);
    }

    #[test]
    fn tls_parameters() {
        let uri = "nbds+unix:///?socket=/run/a%3fb&tls-certificates=/etc/pki&tls-verify-peer=0&tls-hostname=disk.example";
        let uri = Uri::parse(uri).unwrap();
        assert_eq!(uri.address, Address::Unix("/run/a?b".into()));
        assert_eq!(uri.tls_certificates, Some("/etc/pki".into()));
        assert_eq!(uri.tls_hostname.as_deref(), Some("disk.example"));
        assert!(uri.tls && !uri.tls_verify_peer);
    }

    #[test]
    fn what_cannot_be_is_named() {
        for (text, why) in [
            ("nbd+vsock:///", "NBD URIs start with"),
            ("nbd+unix:///x", "the socket is missing"),
            ("nbd+unix://host/x?socket=s", "has no host"),
            ("nbd://host/x?socket=s", "needs nbd+unix"),
            ("nbd://host/x?colour=red", "parameter colour is unknown"),
            ("nbd://host:ten/", "\"ten\" is not a port"),
            ("nbd://host:70000/", "\"70000\" is not a port"),
            ("nbd://[::1/", "no closing bracket"),
            ("nbd://[::1]8/", "not a port"),
            ("nbd://host/%00", "no NUL"),
            ("nbd://host/%f", "not UTF-8"),
            ("nbd://host/%ff", "not UTF-8"),
            ("nbd://host/a#b", "no fragment"),
            ("nbds://host/?tls-psk-file=keys", "use certificates"),
            ("nbds://host/?tls-type=anon", "use x509"),
            ("nbds://host/?tls-verify-peer=maybe", "0 or 1"),
        ] {
            let error = Uri::parse(text).unwrap_err().to_string();
            assert!(!error.starts_with(text) && error.contains(why), "{error}");
        }
    }

    #[test]
    fn files_are_no_uris() {
        assert!(Uri::recognises("nbd://h/x") && Uri::recognises("NBDS+unix:///?socket=s"));
        for file in ["disk.img", "nbd", "nbd:x", "./nbd://h/x", "nbdx://h", "http://h/nbd://"] {
            assert!(!Uri::recognises(file), "{file}");
        }
    }
}
