//! An S3 store: moto's server, which `tests/moto/prepare` fetches from PyPI.

use super::Volume;
use keyway_tests::timeouts;
use keyway_tests::{Run, assert_same_bytes, keyway, need_that};
use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::thread;
use std::time::{Duration, Instant};

/// A third-party server, killed on drop.
pub(super) struct Service(Child);

impl Service {
    /// Starts it and waits until it listens.
    pub(super) fn start(run: &Run, address: SocketAddr) -> Self {
        Self::start_until(run, || TcpStream::connect(address).is_ok())
    }

    /// The same for one that listens at a path.
    pub(super) fn start_at(run: &Run, socket: &Path) -> Self {
        Self::start_until(run, || UnixStream::connect(socket).is_ok())
    }

    fn start_until(run: &Run, listens: impl Fn() -> bool) -> Self {
        let mut child = run.spawn().unwrap_or_else(|e| panic!("{run}: {e}"));
        // Its log output is not read.
        for stream in [child.stdout.take().map(Into::into), child.stderr.take().map(Into::into)] {
            let stream: Option<OwnedFd> = stream;
            thread::spawn(move || io::copy(&mut File::from(stream?), &mut io::sink()).ok());
        }
        let service = Self(child);
        let started = Instant::now();
        while !listens() {
            assert!(timeouts::is_within(timeouts::EVENT, started), "{run} does not listen");
            thread::sleep(Duration::from_millis(50));
        }
        service
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// An S3 store for this test.
pub(super) struct Store {
    address: SocketAddr,
    _moto: Service,
}

impl Store {
    pub(super) fn start(moto: &Path) -> Self {
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let run = Run::new(moto, "-H 127.0.0.1 -p").arg(address.port().to_string());
        Self { address, _moto: Service::start(&run, address) }
    }

    pub(super) fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(super) fn put(&self, path: &str, body: &[u8]) {
        put(self.address, path, body);
    }
}

#[test]
fn a_volume_in_a_bucket() {
    let moto = moto_server();
    need_that!(moto.exists(), "moto is not installed (tests/moto/prepare)");
    let store = Store::start(&moto);
    let volume = Volume::new(8);
    store.put("/disks", &[]);
    store.put("/disks/lab/one.img", &volume.bytes());
    let at = |run: Run| {
        let run = run.env("AWS_ENDPOINT_URL", store.endpoint()).env("AWS_REGION", "eu-central-1");
        run.env("AWS_ACCESS_KEY_ID", "AKIDKEYWAY").env("AWS_SECRET_ACCESS_KEY", "wJalrXUtnFEMI")
    };

    let read = at(volume.read("s3://disks/lab/one.img")).ok().quiet();
    assert_same_bytes("from S3", &read.stdout, "original", &volume.plain);
    let dump =
        at(keyway("luksDump --debug").arg("s3://disks/lab/one.img")).ok().says("LUKS header information");
    dump.lacks("AKIDKEYWAY").lacks("wJalrXUtnFEMI");
    let missing = at(keyway("luksDump").arg("s3://disks/lab/two.img")).fails(4);
    missing.says("Cannot open s3://disks/lab/two.img: there is no such object (status 404); check the URL.");
    let write = at(keyway("luksAddKey").arg("s3://disks/lab/one.img")).fails(1);
    write.says("HTTP and S3 objects are read-only");
}

#[test]
fn a_bucket_without_credentials() {
    let dump = keyway("luksDump s3://disks/lab/one.img").fails(4);
    dump.says("there are no credentials for it; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY");
    keyway("luksDump s3://disks").fails(4).says("s3://BUCKET/KEY");
}

pub(super) fn moto_server() -> PathBuf {
    let cache = concat!(env!("CARGO_MANIFEST_DIR"), "/../.cache/moto");
    std::env::var_os("KEYWAY_MOTO")
        .map_or_else(|| PathBuf::from(cache), PathBuf::from)
        .join("bin/moto_server")
}

/// moto accepts uploads without a signature.
fn put(address: SocketAddr, path: &str, body: &[u8]) {
    let mut stream = TcpStream::connect(address).unwrap();
    let length = body.len();
    write!(
        stream,
        "PUT {path} HTTP/1.1\r\nHost: {address}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    )
    .unwrap();
    stream.write_all(body).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}
