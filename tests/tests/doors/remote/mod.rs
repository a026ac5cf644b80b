//! Volumes behind HTTP and in S3: the same bytes, no more requests than needed, and clear messages
//! if the server or the connection fails.

mod credentials;
mod hostile;
mod names;
mod s3;
mod server;
mod side_by_side;

use keyway_tests::peers::CHEAP_LUKS2_PBKDF2;
use keyway_tests::{Run, Scratch, assert_same_bytes, keyway, need, peer, random};
use server::{Manner, Server};
use std::fs;
use std::net::TcpListener;
use std::ops::Range;
use std::path::PathBuf;

/// A volume with random bytes, the key to it, and its content.
struct Volume {
    scratch: Scratch,
    key: PathBuf,
    path: PathBuf,
    plain: Vec<u8>,
}

impl Volume {
    fn new(mib: usize) -> Self {
        let scratch = Scratch::new();
        let plain = random(41, mib << 20);
        let key = scratch.file("key", "correct horse battery staple");
        let source = scratch.file("plain", &plain);
        let path = scratch.path("volume");
        keyway("build").args(CHEAP_LUKS2_PBKDF2).arg("-d").arg(&key).arg(source).arg(&path).ok();
        Self { scratch, key, path, plain }
    }

    fn bytes(&self) -> Vec<u8> {
        fs::read(&self.path).unwrap()
    }

    fn served(&self, manner: impl Fn(usize) -> Manner + Send + Sync + 'static) -> Server {
        Server::start(self.bytes(), manner)
    }

    fn read(&self, url: &str) -> Run {
        keyway("read").arg("-d").arg(&self.key).arg(url)
    }
}

#[test]
fn a_partition_of_an_object_is_read_and_named() {
    need!("sfdisk");
    let volume = Volume::new(2);
    let path = volume.scratch.sized("disk.img", 32 << 20);
    peer("sfdisk", "-q").arg(&path).stdin("label: gpt\nstart=2048,size=2048\nstart=8192,size=49152\n").ok();
    let (mut disk, bytes) = (fs::read(&path).unwrap(), volume.bytes());
    disk[4 << 20..][..bytes.len()].copy_from_slice(&bytes);
    let server = Server::start(disk, |_| Manner::Proper);
    let url = server.url();
    let read = volume.read(&format!("{url}?signature=secret#2")).arg("--length").arg("2M").ok();
    assert_same_bytes("by HTTP", &read.stdout, "original", &volume.plain);
    let shown = keyway("luksDump").arg(format!("{url}?signature=secret#1")).fails(1);
    shown.says(&format!("Device {url}#1 is not a valid LUKS device."));
    let row = format!("  {url}#2  24.0 MiB  from sector 8192, Linux");
    keyway("luksDump").arg(&url).fails(1).says(&row);
    let missing = format!("Device {url}#5 does not exist: {url} has no partition 5, only 1, 2.");
    keyway("luksDump").arg(format!("{url}#5")).fails(4).says(&missing).says(&row);
    keyway("luksErase -q").arg(format!("{url}#2")).fails(1).says("HTTP and S3 objects are read-only");
}

#[test]
fn every_block_is_asked_for_once() {
    let volume = Volume::new(48);
    let server = volume.served(|_| Manner::Proper);
    let read = volume.read(&server.url()).ok().quiet();
    assert_same_bytes("by HTTP", &read.stdout, "original", &volume.plain);
    let mut asked = server.asked();
    asked.sort_by_key(|range| range.start);
    assert!(asked.is_sorted_by(|a, b| a.end <= b.start), "asked for twice: {asked:?}");
    assert!(asked.len() < 60, "small requests: {asked:?}");
}

#[test]
fn no_more_than_needed_is_asked_for() {
    let volume = Volume::new(24);
    let server = volume.served(|_| Manner::Proper);
    let dump = keyway("luksDump").arg(server.url()).ok().quiet();
    let of_file = keyway("luksDump").arg(&volume.path).ok();
    assert_eq!(dump.stdout, of_file.stdout);
    let header = 0..256 << 10;
    assert_eq!(server.asked(), [header]);
    keyway("inspect").arg(server.url()).ok().says("LUKS2");

    let server = volume.served(|_| Manner::Proper);
    let read = volume.read(&server.url()).args("--offset 10000001 --length 5000").ok().quiet();
    assert!(read.stdout == volume.plain[10_000_001..10_005_001]);
    let total: usize = server.asked().iter().map(Range::len).sum();
    assert!(total <= 2 << 20, "{total} bytes for 5000");
}

#[test]
fn passing_failures_are_not_seen() {
    let volume = Volume::new(8);
    let manners: [fn(usize) -> Manner; 4] = [
        |n| if n < 2 { Manner::Status(500) } else { Manner::Proper },
        |n| if n % 3 == 1 { Manner::Cut } else { Manner::Proper },
        |n| if n % 4 == 2 { Manner::HangUp } else { Manner::Proper },
        |n| if n % 5 == 3 { Manner::Status(503) } else { Manner::Dated("Mon, 23 Nov 2026 05:47:13 GMT") },
    ];
    for (i, manner) in manners.into_iter().enumerate() {
        let server = volume.served(manner);
        let read = volume.read(&server.url()).ok().quiet();
        assert_same_bytes(&format!("manner {i}"), &read.stdout, "original", &volume.plain);
    }
}

#[test]
fn a_changed_object_is_an_error_and_never_mixed_data() {
    let volume = Volume::new(24);
    for changed in [Manner::Changed, Manner::Status(412)] {
        let server = volume.served(move |n| if n < 8 { Manner::Proper } else { changed });
        let out = volume.scratch.path("out");
        let read = volume.read(&server.url()).arg("-o").arg(&out);
        read.fails(4).says("the object has changed since it was opened");
        assert!(!out.exists());
    }
}

#[test]
fn lasting_failures_are_named() {
    let volume = Volume::new(4);
    for (manner, words) in [
        (Manner::NoRanges, "the server does not support range requests (status 200); download the object"),
        (Manner::Status(404), "there is no such object (status 404); check the URL"),
        (Manner::Status(403), "the server denies access"),
        (Manner::Status(503), "the server answers with status 503"),
        (Manner::HangUp, "the connection failed"),
    ] {
        let server = volume.served(move |_| manner);
        let dump = keyway("luksDump").arg(server.url()).fails(4).says(words);
        // The lines before it are progress messages for a waiting user.
        let line = dump.errors().lines().last().unwrap_or_default().to_owned();
        assert!(line.starts_with(&format!("Cannot open {}: ", server.url())), "{dump}");
        assert!(server.asked().len() <= 6, "{} requests", server.asked().len());
    }
}

#[test]
fn a_server_that_stops_is_named() {
    let volume = Volume::new(24);
    let server = volume.served(|n| if n < 5 { Manner::Proper } else { Manner::HangUp });
    let out = volume.scratch.path("out");
    volume.read(&server.url()).arg("-o").arg(&out).fails(4).says("the connection failed");
    assert!(!out.exists());

    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let dump = keyway("luksDump").arg(format!("http://{nobody}/volume"));
    dump.fails(4).says("the server cannot be reached").says("check host, port and network");
}

#[test]
fn what_would_write_refuses_before_it_asks_for_a_passphrase() {
    let volume = Volume::new(1);
    let server = volume.served(|_| Manner::Proper);
    let url = server.url().replace("http://", "http://user:secret@") + "?signature=secret";
    for command in
        ["luksAddKey", "luksKillSlot", "luksChangeKey", "luksFormat -q", "write", "config --label x"]
    {
        let run = keyway(command).arg(&url).args(if command == "luksKillSlot" { "0" } else { "" });
        let run = run.stdin("correct horse battery staple").fails(1);
        run.says("HTTP and S3 objects are read-only").lacks("secret").lacks("passphrase");
    }
    assert_eq!(server.asked(), []);
}

#[test]
fn certificates_are_checked() {
    need!("openssl");
    let volume = Volume::new(1);
    certificate(&volume.scratch);
    let server = Server::start_tls(volume.bytes(), &volume.scratch);
    let dump = || keyway("luksDump").arg(server.url());
    let authority = volume.scratch.path("ca.pem");
    dump().env("SSL_CERT_FILE", &authority).ok().says("LUKS header information");
    let other = volume.scratch.path("other");
    fs::create_dir(&other).unwrap();
    let unknown_ca = Scratch::new();
    certificate(&unknown_ca);
    let refused = dump().env("SSL_CERT_FILE", unknown_ca.path("ca.pem")).fails(4);
    refused.says("the server's certificate is not accepted").says("SSL_CERT_FILE");
    let by_name = server.url().replace("127.0.0.1", "localhost");
    let refused = keyway("luksDump").arg(by_name).env("SSL_CERT_FILE", &authority).fails(4);
    refused.says("the server's certificate is not accepted");
}

/// Creates a CA in `ca.pem`, and a certificate signed by it for 127.0.0.1 in `certificate.pem` with
/// `key.pem`.
fn certificate(scratch: &Scratch) {
    let new_key = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";
    let openssl = |line: &str| peer("openssl", line).directory(scratch.root()).ok();
    scratch.file("extensions", "subjectAltName=IP:127.0.0.1");
    openssl(&format!("req -x509 {new_key} -keyout ca.key -out ca.pem -subj /CN=authority -days 2"));
    openssl(&format!("req {new_key} -keyout key.pem -out request -subj /CN=server"));
    openssl(
        "x509 -req -in request -CA ca.pem -CAkey ca.key -CAcreateserial -extfile extensions -days 2 -out certificate.pem",
    );
}

#[test]
fn a_front_end_shows_it_read_only() {
    need!("nbdcopy", "nbdinfo");
    let volume = Volume::new(8);
    let server = volume.served(|_| Manner::Proper);
    let socket = volume.scratch.path("socket");
    let serve = keyway("serve -d").arg(&volume.key).arg("--socket").arg(&socket).arg(server.url());
    let _serving = s3::Service::start_at(&serve, &socket);
    let uri = format!("nbd+unix:///?socket={}", socket.display());
    let copied = peer("nbdcopy", "").arg(&uri).arg("-").ok();
    assert_same_bytes("by NBD", &copied.stdout, "original", &volume.plain);
    peer("nbdinfo", "--is read-only").arg(&uri).ok();
}

/// A third-party web server.
#[test]
fn busybox_serves_a_volume() {
    need!("busybox");
    let volume = Volume::new(8);
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let httpd = peer("busybox", "httpd -f -h").arg(volume.scratch.root()).arg("-p").arg(address.to_string());
    let _httpd = s3::Service::start(&httpd, address);
    let read = volume.read(&format!("http://{address}/volume")).ok().quiet();
    assert_same_bytes("by busybox httpd", &read.stdout, "original", &volume.plain);
}
