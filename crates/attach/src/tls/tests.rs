//! Which certificates are trusted: those of `fixture/pki`, and not those of `fixture/unknown-ca`,
//! which contain the same names but come from another authority. They never expire; openssl made
//! the keys and certtool the rest.

use super::certificates::{all, identity, repaired};
use super::{Client, Server, Socket};
use crate::{Error, Refusal, Result};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivateSec1KeyDer};
use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::thread;

impl Socket for UnixStream {
    fn receive(&self, buf: &mut [u8]) -> io::Result<usize> {
        Read::read(&mut &*self, buf)
    }

    fn send(&self, bytes: &[u8]) -> io::Result<()> {
        Write::write_all(&mut &*self, bytes)
    }
}

#[test]
fn clients_have_to_show_a_certificate_of_the_authority() {
    let anonymous = Directory::new("anonymous", &["ca-cert.pem"]);
    let unknown_ca = Directory::new("unknown-ca", &["ca-cert.pem"]);
    for who in ["client-cert.pem", "client-key.pem"] {
        unknown_ca.copy(&fixture("unknown-ca"), who, who);
    }
    for verify_peer in [false, true] {
        let server = Server::from_directory(&fixture("pki"), verify_peer).unwrap();
        assert_eq!(server.verifies_clients(), verify_peer);
        let serves = |directory: &Path| {
            let client = Client::from_directory(Some(directory), Some("disk.example"), true).unwrap();
            meet(&server, &client)
        };
        assert!(serves(&fixture("pki")));
        assert_eq!(serves(&anonymous.0), !verify_peer);
        assert_eq!(serves(&unknown_ca.0), !verify_peer);
    }
}

#[test]
fn revoked_clients_are_refused() {
    let files = ["ca-cert.pem", "server-cert.pem", "server-key.pem"];
    let directory = Directory::new("revoking", &files);
    let client = Client::from_directory(Some(&fixture("pki")), Some("disk.example"), true).unwrap();
    let serves = || meet(&Server::from_directory(&directory.0, true).unwrap(), &client);
    assert!(serves());
    directory.copy(&fixture("pki"), "revoked-client.pem", "ca-crl.pem");
    assert!(!serves());
    fs::write(directory.0.join("ca-crl.pem"), "").unwrap();
    let why = refused(Server::from_directory(&directory.0, true));
    assert!(why.ends_with("ca-crl.pem: it contains no PEM block of the expected kind"), "{why}");
}

#[test]
fn servers_are_believed_by_authority_and_name() {
    for (servers, name, verify_peer, is_believed) in [
        ("pki", Some("disk.example"), true, true),
        ("pki", Some("other.example"), true, false),
        ("pki", Some("other.example"), false, true),
        ("pki", None, true, true),
        ("unknown-ca", Some("disk.example"), true, false),
        ("unknown-ca", Some("disk.example"), false, true),
        ("unknown-ca", None, true, false),
    ] {
        let server = Server::from_directory(&fixture(servers), false).unwrap();
        let client = Client::from_directory(Some(&fixture("pki")), name, verify_peer).unwrap();
        assert_eq!(meet(&server, &client), is_believed, "{servers} {name:?} {verify_peer}");
    }
}

#[test]
fn what_is_missing_or_broken_is_named() {
    let directory = Directory::new("broken", &[]);
    let (path, server) =
        (directory.0.as_path(), |verify_peer| Server::from_directory(&directory.0, verify_peer));
    let missing = |made: Result<Server>, file: &str| match made {
        Err(Error::NotFound(text)) => assert!(text.ends_with(&format!("{file} does not exist")), "{text}"),
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("{file} is missing"),
    };
    missing(server(true), "ca-cert.pem");
    missing(server(false), "server-cert.pem");
    assert!(identity(path, "client").unwrap().is_none());
    directory.copy(&fixture("pki"), "server-key.pem", "server-key.pem");
    missing(server(false), "server-cert.pem");
    fs::remove_file(path.join("server-key.pem")).unwrap();
    directory.copy(&fixture("pki"), "server-cert.pem", "server-cert.pem");
    missing(server(false), "server-key.pem");
    // Another certificate's key.
    directory.copy(&fixture("pki"), "client-key.pem", "server-key.pem");
    assert!(refused(server(false)).contains("server-key.pem: "));
    fs::write(path.join("server-cert.pem"), "nothing").unwrap();
    assert!(refused(server(false)).contains("server-cert.pem: it contains no PEM block"));
    // A directory exists, but cannot be read as a file.
    match all::<CertificateDer>(path).unwrap_err() {
        Error::Io { what, .. } => assert!(what.starts_with("reading "), "{what}"),
        other => panic!("{other}"),
    }
}

#[test]
fn keys_with_a_zero_in_front_are_repaired() {
    let key = |bytes: &[u8]| PrivateKeyDer::Sec1(PrivateSec1KeyDer::from(bytes.to_vec()));
    let repaired = |bytes: &[u8]| repaired(key(bytes)).secret_der().to_vec();
    let (small, large) = ([0xfe; 32 + 12], [0xfd; 48 + 12]);
    let p256 = |head: &[u8]| [head, &small].concat();
    let p384 = |head: &[u8]| [head, &large].concat();
    assert_eq!(repaired(&p256(&[0x30, 50, 2, 1, 1, 4, 33, 0])), p256(&[0x30, 49, 2, 1, 1, 4, 32]));
    let head = [0x30, 0x81, 67, 2, 1, 1, 4, 49, 0];
    assert_eq!(repaired(&p384(&head)), p384(&[0x30, 0x81, 66, 2, 1, 1, 4, 48]));
    let right = p256(&[0x30, 49, 2, 1, 1, 4, 32]);
    assert_eq!(repaired(&right), right);
}

/// Whether the two can send each other a byte, in both directions.
fn meet(server: &Server, client: &Client) -> bool {
    let (here, there) = UnixStream::pair().unwrap();
    let echo = |mut byte: [u8; 1]| {
        let stream = server.accept(there)?;
        (&stream).read_exact(&mut byte)?;
        (&stream).write_all(&byte)
    };
    let ask = |mut byte: [u8; 1]| {
        let stream = client.connect(here)?;
        (&stream).write_all(&[7])?;
        (&stream).read_exact(&mut byte).map(|()| assert_eq!(byte, [7]))
    };
    thread::scope(|scope| {
        let served = scope.spawn(|| echo([0]));
        let asked: io::Result<()> = ask([0]);
        served.join().unwrap().is_ok() && asked.is_ok()
    })
}

fn refused<T>(made: Result<T>) -> String {
    match made {
        Err(Error::Refused { kind: Refusal::Certificate, why }) => why,
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("it was accepted"),
    }
}

fn fixture(authority: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/tls/fixture").join(authority)
}

/// A directory with some of the files of `fixture/pki`, removed with the test.
struct Directory(PathBuf);

impl Directory {
    fn new(name: &str, files: &[&str]) -> Self {
        let path = std::env::temp_dir().join(format!("keyway-tls-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        let made = Self(path);
        files.iter().for_each(|file| made.copy(&fixture("pki"), file, file));
        made
    }

    fn copy(&self, from: &Path, file: &str, name: &str) {
        fs::copy(from.join(file), self.0.join(name)).unwrap();
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
