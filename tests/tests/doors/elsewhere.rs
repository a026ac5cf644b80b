//! Sessions and mounts of volumes that are not files: over NBD and HTTP, with `open` and `mount`.

use crate::tls::free_port;
use keyway_tests::nbd::{Nbd, listens};
use keyway_tests::peers::CHEAP_LUKS2_PBKDF2;
use keyway_tests::timeouts;
use keyway_tests::{
    Background, Run, Scratch, assert_same_bytes, fusermount, keyway, need, need_that, peer, random,
};
use std::fs::{self, File};
use std::io::ErrorKind;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

/// A volume in a scratch directory, which also holds its sessions.
struct Volume {
    scratch: Scratch,
    plain: Vec<u8>,
    path: PathBuf,
}

impl Volume {
    fn new() -> Self {
        let scratch = Scratch::new();
        let plain = random(61, 4 << 20);
        let (source, key) = (scratch.file("plain", &plain), scratch.file("key", "correct horse"));
        let path = scratch.path("volume");
        keyway("build").args(CHEAP_LUKS2_PBKDF2).arg("-d").arg(key).arg(source).arg(&path).ok();
        Self { scratch, plain, path }
    }

    fn keyway(&self, line: &str) -> Run {
        keyway(line).directory(self.scratch.root()).env("XDG_RUNTIME_DIR", self.scratch.root())
    }

    fn connect(&self, name: &str) -> Nbd {
        Nbd::connect(&self.scratch.path("keyway").join(name).join("nbd"), "").expect("an open session")
    }

    /// Served by nbdkit, on a socket.
    fn by_nbd(&self, options: &str) -> (String, Background) {
        let socket = self.scratch.path("server.sock");
        let run = peer("nbdkit", "-f").args(options).arg("-U").arg(&socket).arg("file").arg(&self.path);
        let server = Background::start(&run, || listens(&socket));
        (format!("nbd+unix:///?socket={}", socket.display()), server)
    }

    /// Served by nbdkit, on a port.
    fn by_tcp(&self) -> (String, Background) {
        let port = free_port();
        let run = peer("nbdkit", "-f -i 127.0.0.1 -p").arg(port.to_string()).arg("file").arg(&self.path);
        let server = Background::start(&run, || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok());
        (format!("nbd://127.0.0.1:{port}"), server)
    }

    /// Served by busybox.
    fn by_http(&self) -> (String, Background) {
        let port = free_port();
        let run = peer("busybox", "httpd -f -h").arg(self.scratch.root()).arg("-p");
        let run = run.arg(format!("127.0.0.1:{port}"));
        let server = Background::start(&run, || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok());
        (format!("http://127.0.0.1:{port}/volume"), server)
    }
}

impl Drop for Volume {
    /// A failed test leaves no process behind.
    fn drop(&mut self) {
        for name in ["far", "other"] {
            let _ = self.keyway("close").arg(name).outcome();
        }
        let _ = peer("fusermount3", "-u -q -z").arg(self.scratch.path("mounted")).outcome();
    }
}

#[test]
fn a_session_of_an_export_reads_and_writes() {
    need!("nbdkit");
    let v = Volume::new();
    let (by_socket, _server) = v.by_nbd("");
    let (by_tcp, _other) = v.by_tcp();
    let mut expected = v.plain.clone();
    for (seed, uri) in [(1, by_socket), (2, by_tcp)] {
        v.keyway("open --backend nbd -d key")
            .arg(&uri)
            .arg("far")
            .ok()
            .says("far is open through nbd (read/write");
        v.keyway("status far").ok().says(&format!("  device:  {uri}\n")).says("  mode:    read/write\n");
        let mut client = v.connect("far");
        let patch = random(seed, 70_001);
        let at = seed as usize * 1_000_001;
        client.write(at as u64, &patch).unwrap();
        expected[at..at + patch.len()].copy_from_slice(&patch);
        assert_same_bytes(&uri, &client.read(0, 4 << 20).unwrap(), "expected", &expected);
        client.flush().unwrap();
        v.keyway("luksSuspend far").ok();
        v.keyway("luksResume far -d key").ok();
        v.keyway("resize far --size 2048").ok();
        assert_eq!(v.connect("far").size, 1 << 20);
        v.keyway("close far").ok().quiet();
    }
    let read = v.keyway("read -d key").arg(&v.path).ok();
    assert_same_bytes("the file", &read.stdout, "expected", &expected);
}

#[test]
fn an_export_that_is_read_only_is_open_so_or_not_at_all() {
    need!("nbdkit");
    let v = Volume::new();
    let (uri, _server) = v.by_nbd("-r");
    v.keyway("open --backend nbd -d key")
        .arg(&uri)
        .arg("far")
        .fails(1)
        .says("its server exports it read-only");
    v.keyway("open --backend nbd --readonly -d key").arg(&uri).arg("far").ok().says("(read-only,");
    assert_same_bytes("read-only", &v.connect("far").read(0, 4 << 20).unwrap(), "original", &v.plain);
    assert!(v.connect("far").write(0, b"x").is_err());
    v.keyway("close far").ok();
    v.keyway("open --backend kernel -d key")
        .arg(&uri)
        .arg("far")
        .fails(1)
        .says("The kernel maps block devices and files");
    v.keyway("open --backend nbd --direct-io --readonly -d key")
        .arg(&uri)
        .arg("far")
        .fails(4)
        .says("omit --direct-io");
}

#[test]
fn an_object_behind_http_is_open_read_only_without_being_told() {
    need!("busybox");
    let v = Volume::new();
    let before = fs::read(&v.path).unwrap();
    let (url, _server) = v.by_http();
    v.keyway("open --backend nbd -d key")
        .arg(&url)
        .arg("far")
        .ok()
        .says("far is open through nbd (read-only, 4194304 bytes)");
    v.keyway("status far").ok().says(&format!("  device:  {url}\n")).says("  mode:    readonly\n");
    let mut client = v.connect("far");
    assert_same_bytes("by HTTP", &client.read(0, 4 << 20).unwrap(), "original", &v.plain);
    assert!(client.write(0, b"x").is_err(), "it takes writes");
    v.keyway("luksSuspend far").ok();
    v.keyway("luksResume far").stdin("wrong").fails(2);
    v.keyway("luksResume far -d key").ok();
    assert_eq!(v.connect("far").read(5000, 100).unwrap(), v.plain[5000..5100]);
    v.keyway("refresh --persistent --allow-discards far").fails(1).says("read-only");
    v.keyway("close far").ok();
    assert!(fs::read(&v.path).unwrap() == before);
}

#[test]
fn mounts_of_what_is_far_away() {
    need!("busybox", "nbdkit", "fusermount3");
    need_that!(has_fuse(), "/dev/fuse cannot be opened");
    let v = Volume::new();
    let directory = v.scratch.path("mounted");
    fs::create_dir(&directory).unwrap();
    let file = directory.join("plain");
    let (url, _server) = v.by_http();
    v.keyway("mount -d key").arg(&url).arg(&directory).ok().says("is mounted (read-only, 4194304 bytes)");
    assert_same_bytes("by HTTP", &fs::read(&file).unwrap(), "original", &v.plain);
    let refused = File::options().write(true).open(&file).unwrap_err().kind();
    assert!(matches!(refused, ErrorKind::ReadOnlyFilesystem | ErrorKind::PermissionDenied), "{refused}");
    v.unmount();

    let (uri, _other) = v.by_nbd("");
    v.keyway("mount -d key").arg(&uri).arg(&directory).ok().says("is mounted (read/write, 4194304 bytes)");
    let patch = random(3, 300_001);
    File::options().write(true).open(&file).unwrap().write_all_at(&patch, 54_321).unwrap();
    v.unmount();
    let read = v.keyway("read --offset 54321 --length 300001 -d key").arg(&v.path).ok();
    assert_same_bytes("the file", &read.stdout, "written", &patch);
}

impl Volume {
    /// Unmounts and waits until the background process is gone.
    fn unmount(&self) {
        fusermount(&self.scratch.path("mounted"));
        let deadline = timeouts::within(timeouts::EVENT);
        while !self.keyway("list").ok().text().is_empty() {
            assert!(Instant::now() < deadline, "its process is still there");
            thread::sleep(Duration::from_millis(20));
        }
    }
}

fn has_fuse() -> bool {
    File::options().read(true).write(true).open("/dev/fuse").is_ok()
}
