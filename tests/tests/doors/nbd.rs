//! Third-party NBD clients on `keyway serve`: libnbd's programs, QEMU's, and one that breaks every
//! rule.

use keyway_tests::timeouts;
use keyway_tests::{Run, Scratch, assert_same_bytes, keyway, need, peer, random};
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::Child;
use std::time::{Duration, Instant};

/// A served volume of `SIZE` bytes, until the test is over.
struct Served {
    scratch: Scratch,
    volume: PathBuf,
    socket: PathBuf,
    child: Child,
}

impl Served {
    /// A new LUKS2 volume whose data was never written, served by `keyway serve` with additional
    /// `options`.
    fn new(options: &str) -> Self {
        let scratch = Scratch::new();
        let key = scratch.file("key", "secret");
        let (volume, socket) = (scratch.sized("disk.luks", HEADER + SIZE as u64), scratch.path("nbd.sock"));
        let costs = "--pbkdf pbkdf2 --pbkdf-force-iterations 1000 --luks2-keyslots-size 256K --offset 1024";
        keyway("luksFormat -q --type luks2 --sector-size 4096").args(costs).arg(&volume).arg(&key).ok();
        let run = keyway("serve").args(options).arg("--key-file").arg(&key).arg("--socket").arg(&socket);
        let child = run.arg(&volume).spawn().expect("keyway starts");
        let served = Self { scratch, volume, socket, child };
        let deadline = timeouts::within(timeouts::EVENT);
        while UnixStream::connect(&served.socket).is_err() {
            assert!(Instant::now() < deadline, "it does not listen");
            std::thread::sleep(Duration::from_millis(10));
        }
        served
    }

    fn uri(&self) -> String {
        format!("nbd+unix:///?socket={}", self.socket.display())
    }

    /// A client that is given the export's URI.
    fn client(&self, name: &str, line: &str) -> Run {
        peer(name, line).arg(self.uri())
    }

    /// Ends the server in the normal way and returns the volume's content.
    fn end(mut self) -> Vec<u8> {
        kill_process(Pid::from_child(&self.child), Signal::TERM).expect("our child");
        let status = self.child.wait().expect("a child");
        assert!(status.success(), "{status}");
        assert!(!self.socket.exists());
        let key = self.scratch.path("key");
        keyway("read").arg("--key-file").arg(key).arg(&self.volume).ok().stdout
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn nbdinfo_shows_all_that_the_server_can() {
    need!("nbdinfo");
    let served = Served::new("");
    let said = served.client("nbdinfo", "--json").ok().text();
    let facts = [
        r#""protocol": "newstyle-fixed""#,
        r#""structured": true"#,
        r#""base:allocation""#,
        r#""is_read_only": false"#,
        r#""can_cache": true"#,
        r#""can_df": true"#,
        r#""can_fast_zero": true"#,
        r#""can_flush": true"#,
        r#""can_fua": true"#,
        r#""can_multi_conn": true"#,
        r#""can_trim": true"#,
        r#""can_zero": true"#,
        r#""block_size_minimum": 1"#,
        r#""block_size_preferred": 4096"#,
        r#""block_size_maximum": 33554432"#,
        r#""export-size": 8388608"#,
    ];
    for fact in facts {
        assert!(said.contains(fact), "{fact} in {said}");
    }
    served.client("nbdinfo", "--list").ok().says("export-size: 8388608");
    served.client("nbdinfo", "--can connect").ok();

    let served = Served::new("--readonly");
    served.client("nbdinfo", "--is read-only").ok();
    served.client("nbdinfo", "--can write").fails(2);
}

#[test]
fn a_volume_is_copied_both_ways() {
    need!("nbdcopy", "qemu-img");
    let served = Served::new("");
    let image = served.scratch.random_file("image", 1, SIZE);
    peer("nbdcopy", "--connections=4 --requests=64").arg(&image).arg(served.uri()).ok();
    let copy = served.scratch.path("copy");
    peer("nbdcopy", "").arg(served.uri()).arg(&copy).ok();
    assert_same_bytes("written", &fs::read(&image).unwrap(), "nbdcopy", &fs::read(&copy).unwrap());
    peer("qemu-img", "compare -f raw -F raw").arg(&image).arg(served.uri()).ok().says("identical");

    let other = served.scratch.random_file("other", 2, SIZE);
    peer("qemu-img", "convert -n -f raw -O raw -W -m 8").arg(&other).arg(served.uri()).ok();
    let back = served.scratch.path("back");
    peer("qemu-img", "convert -f raw -O raw").arg(served.uri()).arg(&back).ok();
    assert_same_bytes("written", &fs::read(&other).unwrap(), "qemu-img", &fs::read(&back).unwrap());
    assert_same_bytes("written", &fs::read(&other).unwrap(), "keyway read", &served.end());
}

/// Both clients pipeline: writes over several connections, then reads of the same random data
/// beside writes.
#[test]
fn libnbds_and_qemus_pipelines_get_their_own_bytes() {
    need!("nbdcopy", "qemu-img", "qemu-io");
    let served = Served::new("");
    let image = served.scratch.random_file("image", 5, SIZE);
    let plain = fs::read(&image).unwrap();
    for lengths in ["--request-size=4096", "--request-size=262144", "--request-size=4194304"] {
        let copies = |line: &str| peer("nbdcopy", "--connections=4 --requests=64").args(lengths).args(line);
        copies("").arg(&image).arg(served.uri()).ok();
        let copy = served.scratch.path("copy");
        copies("").arg(served.uri()).arg(&copy).ok();
        assert_same_bytes("nbdcopy", &fs::read(&copy).unwrap(), "written", &plain);
    }
    let copy = served.scratch.path("qemu");
    peer("qemu-img", "convert -f raw -O raw -W -m 16").arg(served.uri()).arg(&copy).ok();
    assert_same_bytes("qemu-img", &fs::read(&copy).unwrap(), "written", &plain);
    // Writes of one pattern around long reads of another.
    let mut run = peer("qemu-io", "-f raw").args("-c").arg("write -P 9 0 6M");
    for round in 0..8 {
        let small = (6 << 20) + round * 4096;
        let long = format!("aio_read -P 9 {} 5M", round * 65536);
        for command in [long, format!("aio_write -P {round} {small} 4k"), "aio_read -P 9 5M 512".to_owned()] {
            run = run.arg("-c").arg(command);
        }
    }
    run.arg("-c").arg("aio_flush").arg(served.uri()).ok().lacks("failed").lacks("error");
    let mut expected = plain;
    expected[..6 << 20].fill(9);
    for round in 0..8 {
        expected[(6 << 20) + round * 4096..][..4096].fill(round as u8);
    }
    assert_same_bytes("expected", &expected, "keyway read", &served.end());
}

#[test]
fn qemu_writes_bytes_and_zeros_anywhere() {
    need!("qemu-io");
    let served = Served::new("");
    let commands = [
        "write -P 1 0 1M",
        "write -P 2 1000 5000",
        "write -f -P 3 4095 2",
        "write -P 4 2000000 3000001",
        "write -z 300000 100001",
        "discard 0 4k",
        "aio_write -P 5 6M 256k",
        "aio_write -P 6 7M 1M",
        "aio_flush",
        "flush",
        "read -P 3 4095 2",
        "read -P 0 300000 100001",
    ];
    let mut run = peer("qemu-io", "-f raw");
    for command in commands {
        run = run.arg("-c").arg(command);
    }
    run.arg(served.uri()).ok().lacks("failed");
    let holds = served.end();
    let mut expected = holds.clone();
    expected[..1 << 20].fill(1);
    expected[1000..6000].fill(2);
    expected[4095..4097].fill(3);
    expected[2_000_000..5_000_001].fill(4);
    expected[300_000..400_001].fill(0);
    expected[6 << 20..(6 << 20) + (256 << 10)].fill(5);
    expected[7 << 20..8 << 20].fill(6);
    assert_same_bytes("expected", &expected, "keyway read", &holds);
}

#[test]
fn holes_are_shown_and_are_no_zeros() {
    need!("nbdinfo", "nbdcopy", "qemu-io");
    let served = Served::new("");
    peer("qemu-io", "-f raw -c").arg("write -P 7 1M 64k").arg(served.uri()).ok();
    let map = served.client("nbdinfo", "--map").ok().text();
    let lines: Vec<Vec<&str>> = map.lines().map(|line| line.split_whitespace().collect()).collect();
    // A file system that keeps no holes shows none.
    if lines.len() > 1 {
        let expected =
            [["0", "1048576", "1"].as_slice(), &["1048576", "65536", "0"], &["1114112", "7274496", "1"]];
        let starts: Vec<&[&str]> = lines.iter().map(|line| &line[..3]).collect();
        assert_eq!(starts, expected);
    }
    // Sectors that were never written decrypt to noise: a copy must contain what a read returns.
    let copy = served.scratch.path("copy");
    peer("nbdcopy", "").arg(served.uri()).arg(&copy).ok();
    let copy = fs::read(copy).unwrap();
    assert_ne!(copy[..4096], [0; 4096]);
    assert_same_bytes("nbdcopy", &copy, "keyway read", &served.end());
}

#[test]
fn a_client_that_breaks_the_rules_harms_nobody() {
    need!("nbdcopy");
    let served = Served::new("");
    let image = served.scratch.random_file("image", 3, SIZE);
    let write = |length: u32, sent: usize| {
        // magic, flags and type, cookie, offset, length.
        let mut bytes = [&0x2560_9513u32.to_be_bytes()[..], &[0, 0, 0, 1], &[7; 8], &[0; 8]].concat();
        bytes.extend_from_slice(&length.to_be_bytes());
        bytes.resize(28 + sent, 0xff);
        bytes
    };
    let lies = [
        random(4, 10_000),
        write(4096, 4000),
        write(1 << 20, 1 << 19),
        write(33 << 20, 100),
        write(u32::MAX, 100_000),
        Vec::new(),
    ];
    for (i, lie) in lies.iter().cycle().take(24).enumerate() {
        if i % 6 == 0 {
            peer("nbdcopy", "").arg(&image).arg(served.uri()).ok();
        }
        let mut stream = UnixStream::connect(&served.socket).unwrap();
        stream.set_read_timeout(Some(timeouts::scaled(timeouts::EVENT))).unwrap();
        stream.read_exact(&mut [0; 18]).unwrap();
        if i % 2 == 0 {
            // NBD_OPT_EXPORT_NAME of the default export, without zeros after the answer.
            stream.write_all(b"\0\0\0\x03IHAVEOPT\0\0\0\x01\0\0\0\0").unwrap();
            stream.read_exact(&mut [0; 10]).unwrap();
        }
        // The server may hang up before it has read everything.
        let _ = stream.write_all(lie);
    }
    assert_same_bytes("written", &fs::read(image).unwrap(), "keyway read", &served.end());
}

/// Room for two small headers and a keyslot.
const HEADER: u64 = 512 << 10;

/// Bytes of plaintext.
const SIZE: usize = 8 << 20;
