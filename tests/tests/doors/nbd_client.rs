//! Volumes behind NBD servers: nbdkit's and QEMU's, with all commands and with many threads.

use keyway_attach::nbd::Uri;
use keyway_attach::nbd::client::{Client, Options};
use keyway_tests::nbd::listens;
use keyway_tests::peers::CHEAP_LUKS2_PBKDF2;
use keyway_tests::{Background, Run, Scratch, assert_same_bytes, cryptsetup, keyway, need, peer, random};
use keyway_volume::Storage;
use std::fs::{self, read};
use std::io::ErrorKind;
use std::path::Path;
use std::thread;
use std::time::Duration;

#[test]
fn every_command_works_on_an_export() {
    need!("nbdkit");
    let scratch = Scratch::new();
    let server = Server::nbdkit(&scratch, "memory 64M");
    let (old, new) = (scratch.file("old", "old passphrase"), scratch.file("new", "new passphrase"));
    let plain = scratch.random_file("plain", 41, 3_000_001);
    let on = |line: &str| keyway(line).arg(&server.uri);

    on("luksFormat -q").arg(&old).args(CHEAP_LUKS2_PBKDF2).ok().quiet();
    on("isLuks").ok();
    on("luksDump").ok().says("Version:       \t2");
    on("inspect").ok().says("LUKS2");
    on("luksAddKey").arg(&new).arg("-d").arg(&old).args(CHEAP_LUKS2_PBKDF2).ok();
    keyway("open --test-passphrase -d").arg(&new).arg(&server.uri).ok();
    keyway("luksKillSlot -q -d").arg(&new).arg(&server.uri).arg("0").ok();
    keyway("open --test-passphrase -d").arg(&old).arg(&server.uri).fails(2);
    keyway("luksHeaderBackup --header-backup-file").arg(scratch.path("backup")).arg(&server.uri).ok();

    keyway("write --offset 12345 -d").arg(&new).arg(&server.uri).arg(&plain).ok();
    let part = keyway("read --offset 12345 --length 3000001 -d").arg(&new).arg(&server.uri).ok();
    assert_same_bytes("read", &part.stdout, "written", &read(&plain).unwrap());
    keyway("luksErase -q").arg(&server.uri).ok();
    keyway("luksHeaderRestore -q --header-backup-file").arg(scratch.path("backup")).arg(&server.uri).ok();
    keyway("copy --to raw -d").arg(&new).arg(&server.uri).arg(scratch.path("raw")).ok();
    let raw = read(scratch.path("raw")).unwrap();
    assert_same_bytes("copied", &raw[12345..][..3_000_001], "written", &read(&plain).unwrap());
}

#[test]
fn an_export_is_a_destination_too() {
    need!("nbdkit");
    let scratch = Scratch::new();
    let server = Server::nbdkit(&scratch, "memory 64M");
    let key = scratch.file("key", "secret");
    let image = scratch.random_file("image", 42, 5 << 20);
    keyway("copy -q")
        .arg(&image)
        .arg(&server.uri)
        .arg("--new-keyfile")
        .arg(&key)
        .args(CHEAP_LUKS2_PBKDF2)
        .ok();
    let back = keyway("read --length 5M -d").arg(&key).arg(&server.uri).ok();
    assert_same_bytes("read", &back.stdout, "image", &read(&image).unwrap());
    keyway("build -q -d").arg(&key).arg(&server.uri).arg(scratch.path("luks")).args(CHEAP_LUKS2_PBKDF2).ok();
}

#[test]
fn a_volume_in_a_qcow2_image_is_cryptsetups_too() {
    need!("qemu-nbd", "qemu-img", "cryptsetup");
    let scratch = Scratch::new();
    let (qcow2, raw) = (scratch.path("disk.qcow2"), scratch.path("disk.raw"));
    let (key, plain) = (scratch.file("key", "secret"), scratch.random_file("plain", 43, 4 << 20));
    peer("qemu-img", "create -q -f qcow2").arg(&qcow2).arg("64M").ok();

    let server = Server::qemu(&scratch, &qcow2);
    keyway("luksFormat -q").arg(&server.uri).arg(&key).args(CHEAP_LUKS2_PBKDF2).ok();
    keyway("write -d").arg(&key).arg(&server.uri).arg(&plain).ok();
    let dump = keyway("luksDump").arg(&server.uri).ok().text();
    server.program.kill();

    assert!(fs::metadata(&qcow2).unwrap().len() < 40 << 20, "what was never written takes no room");
    peer("qemu-img", "check").arg(&qcow2).ok();
    peer("qemu-img", "convert -f qcow2 -O raw").arg(&qcow2).arg(&raw).ok();
    cryptsetup("open --test-passphrase -d").arg(&key).arg(&raw).ok();
    let theirs = cryptsetup("luksDump").arg(&raw).ok().text();
    let uuid = |dump: &str| dump.lines().find(|l| l.starts_with("UUID")).map(str::to_owned);
    assert_eq!(uuid(&dump), uuid(&theirs));
    let back = keyway("read --length 4M -d").arg(&key).arg(&raw).ok();
    assert_same_bytes("raw", &back.stdout, "plain", &read(&plain).unwrap());
}

/// Like qemu-nbd without `--persistent`: the server accepts one client and ends with it.
#[test]
fn a_server_that_ends_with_its_client_sees_one() {
    need!("qemu-nbd");
    let scratch = Scratch::new();
    let key = scratch.file("key", "secret");
    let image = scratch.sized("image", 40 << 20);
    keyway("luksFormat -q").arg(&image).arg(&key).args(CHEAP_LUKS2_PBKDF2).ok();
    let socket = scratch.path("once");
    let run = peer("qemu-nbd", "-f raw -k").arg(&socket).arg(&image);
    let mut server = Background::start(&run, || listens(&socket));
    keyway("copy --to raw -d").arg(&key).arg(unix_uri(&socket)).arg(scratch.path("raw")).ok();
    assert!(server.ends(), "nobody said goodbye");
}

#[test]
fn what_cannot_be_is_said_in_one_line() {
    need!("nbdkit");
    let scratch = Scratch::new();
    let server = Server::nbdkit(&scratch, "-r memory 1M");
    let refuses = |uri: &str, code, text: &str| {
        let outcome = keyway("luksFormat -q --force-password").arg(uri).stdin("x").fails(code).says(text);
        assert_eq!(outcome.errors().lines().count(), 1, "{outcome}");
    };
    refuses(&server.uri, 1, "its server exports it read-only.");
    refuses("nbd+unix:///?socket=/nowhere/at/all", 4, "No such file or directory");
    refuses("nbd://localhost:1/", 4, "refused");
    refuses("nbd://localhost/?colour=red", 1, "parameter colour is unknown.");
    refuses("nbds://localhost/?tls-psk-file=keys", 1, "use certificates.");
    refuses(&server.uri.replace("nbd+", "nbds+"), 4, "certificates");
}

/// The server refuses requests that are not whole blocks of 4096 bytes.
#[test]
fn blocks_are_respected_by_many_threads() {
    need!("nbdkit");
    let scratch = Scratch::new();
    let server = Server::nbdkit(
        &scratch,
        "--filter=blocksize-policy memory 4M blocksize-minimum=4096 blocksize-maximum=65536 \
         blocksize-preferred=4096 blocksize-error-policy=error",
    );
    let client = server.connect();
    assert_eq!(client.unit(), 4096);
    // Threads share blocks: each writes every eighth piece of 1000 bytes.
    let content = random(44, 4 << 20);
    thread::scope(|scope| {
        for first in 0..8 {
            let (client, content) = (&client, &content);
            scope.spawn(move || {
                for at in (first * 1000..content.len()).step_by(8000) {
                    let piece = &content[at..(at + 1000).min(content.len())];
                    client.write_at(piece, at as u64).unwrap();
                }
            });
        }
    });
    let mut back = vec![0; 4 << 20];
    client.read_at(&mut back, 0).unwrap();
    assert_same_bytes("export", &back, "written", &content);
    let mut odd = vec![0; 100_001];
    client.read_at(&mut odd, 4097).unwrap();
    assert_same_bytes("odd", &odd, "written", &content[4097..104_098]);
    client.write_zeroes(5000..20_001, true).unwrap();
    client.read_at(&mut odd, 0).unwrap();
    assert!(odd[5000..20_001].iter().all(|b| *b == 0) && odd[..5000] == content[..5000]);
    assert_eq!(odd[20_001], content[20_001]);
    assert_eq!(client.read_at(&mut odd, (4 << 20) - 5).unwrap_err().kind(), ErrorKind::UnexpectedEof);
    assert_eq!(client.write_at(&odd, (4 << 20) - 5).unwrap_err().kind(), ErrorKind::StorageFull);
}

#[test]
fn many_threads_share_connections() {
    need!("nbdkit");
    let scratch = Scratch::new();
    let server = Server::nbdkit(&scratch, "memory 32M");
    for connections in [1, 4] {
        let client =
            Client::connect(&server.parsed(), Options { connections, ..Options::default() }).unwrap();
        thread::scope(|scope| {
            for number in 0..16u64 {
                let client = &client;
                scope.spawn(move || {
                    for round in 0..40 {
                        let at = (number << 21) + round * 37_123;
                        let content = random(number * 1000 + round, 3000 + 2000 * (round as usize % 7));
                        client.write_at(&content, at).unwrap();
                        let mut back = vec![0; content.len()];
                        client.read_at(&mut back, at).unwrap();
                        assert_eq!(back, content, "thread {number}, round {round}");
                    }
                });
            }
        });
        client.flush().unwrap();
    }
}

#[test]
fn holes_are_found() {
    need!("nbdkit");
    let scratch = Scratch::new();
    let server = Server::nbdkit(&scratch, "memory 64M");
    let client = server.connect();
    assert_eq!(client.next_data(0).unwrap(), None);
    client.write_at(&[7; 100], 40 << 20).unwrap();
    let data = client.next_data(1 << 20).unwrap().unwrap();
    assert!(data.start <= 40 << 20 && data.start > 39 << 20 && data.end < 41 << 20, "{data:?}");
    assert_eq!(client.next_data(data.end).unwrap(), None);
    client.discard(0..64 << 20).unwrap();
    assert_eq!(client.next_data(0).unwrap(), None);
}

/// A server that was killed and restarted: reads continue; a flush of unflushed writes fails
/// permanently.
#[test]
fn a_lost_connection_is_made_again_and_lost_writes_are_not_forgotten() {
    need!("nbdkit");
    let scratch = Scratch::new();
    let image = scratch.random_file("image", 45, 1 << 20);
    let line = format!("file {}", image.display());
    let server = Server::nbdkit(&scratch, &line);
    let client = server.connect();
    let mut back = vec![0; 4096];
    client.write_at(&[1; 4096], 0).unwrap();
    client.flush().unwrap();

    // Everything was flushed: nothing can be missing.
    let server = server.again(&scratch, &line);
    client.write_at(&[2; 4096], 4096).unwrap();
    client.read_at(&mut back, 0).unwrap();
    assert_eq!(back, [1; 4096]);

    let server = server.again(&scratch, &line);
    client.read_at(&mut back, 8192).unwrap();
    assert_same_bytes("after", &back, "image", &random(45, 1 << 20)[8192..12288]);
    let error = client.flush().unwrap_err();
    assert!(error.to_string().contains("since the last flush"), "{error}");
    assert!(client.write_at(&[3; 512], 0).is_err() && client.flush().is_err());
    client.read_at(&mut back, 0).unwrap();

    // Another export is not mistaken for the old one.
    fs::OpenOptions::new().write(true).open(&image).unwrap().set_len(2 << 20).unwrap();
    let server = server.again(&scratch, &line);
    let error = client.read_at(&mut back, 0).unwrap_err();
    assert!(error.to_string().contains("the export now has 2097152 bytes"), "{error}");
    drop(server);
}

#[test]
fn a_server_that_stays_away_is_given_up() {
    need!("nbdkit");
    let scratch = Scratch::new();
    let server = Server::nbdkit(&scratch, "memory 1M");
    let options = Options { reconnect: Duration::from_millis(300), ..Options::default() };
    let client = Client::connect(&server.parsed(), options).unwrap();
    server.program.kill();
    assert!(client.read_at(&mut [0; 512], 0).is_err());
    assert!(client.write_at(&[0; 512], 0).is_err());
}

/// A server in the background, on a socket in the scratch directory.
struct Server {
    program: Background,
    uri: String,
}

impl Server {
    fn nbdkit(scratch: &Scratch, line: &str) -> Self {
        let socket = scratch.path("nbd.sock");
        let run = peer("nbdkit", "-f -U").arg(&socket).args(line);
        Self::start(&run, &socket)
    }

    fn qemu(scratch: &Scratch, image: &Path) -> Self {
        let socket = scratch.path("nbd.sock");
        let run = peer("qemu-nbd", "--persistent -f qcow2 -k").arg(&socket).arg(image);
        Self::start(&run, &socket)
    }

    fn start(run: &Run, socket: &Path) -> Self {
        Self { program: Background::start(run, || listens(socket)), uri: unix_uri(socket) }
    }

    /// Kills it and starts it again on the same socket.
    fn again(self, scratch: &Scratch, line: &str) -> Self {
        self.program.kill();
        fs::remove_file(scratch.path("nbd.sock")).unwrap();
        Self::nbdkit(scratch, line)
    }

    fn parsed(&self) -> Uri {
        Uri::parse(&self.uri).unwrap()
    }

    fn connect(&self) -> Client {
        Client::connect(&self.parsed(), Options::default()).unwrap()
    }
}

fn unix_uri(socket: &Path) -> String {
    format!("nbd+unix:///?socket={}", socket.display())
}
