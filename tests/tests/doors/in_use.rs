//! A program that uses a volume locks it: QEMU and Keyway refuse each other, two Keyway processes
//! refuse each other, and cryptsetup edits the header all the same.

use crate::mounted::Mounted;
use crate::served::Volume;
use crate::session::Runtime;
use keyway_tests::nbd::listens;
use keyway_tests::peers::{CHEAP_LUKS2_PBKDF2, CHEAP_PBKDF2};
use keyway_tests::timeouts;
use keyway_tests::{cryptsetup, fusermount, need, need_that, peer};
use std::fs::File;
use std::path::Path;
use std::process::Child;
use std::thread;
use std::time::{Duration, Instant};

#[test]
fn two_keyways_and_formatting_are_refused() {
    need!("fusermount3");
    need_that!(has_fuse(), "/dev/fuse cannot be opened");
    let m = Mounted::with("");
    let again = m.scratch.path("again");
    std::fs::create_dir(&again).unwrap();
    let mount = |options: &str| m.keyway("mount").args(options).arg(&m.volume).arg(&again);
    let reads = "--readonly --shared reads it meanwhile; two writers would destroy it.";
    mount("").fails(5).says("in use").says(reads);
    mount("--readonly").fails(5).says("in use").says(reads);
    let write = m.keyway("write").arg(&m.volume).arg(&m.key).fails(5).says("in use").lacks("--shared");
    write.says("(open in keyway-session, process ").says(", session volume)");
    keyway_tests::keyway("luksFormat -q --type luks1").arg(&m.volume).arg(&m.key).fails(5).says("in use");
    m.keyway("write --shared").arg(&m.volume).arg(&m.key).ok();
    mount("--shared").ok();
    fusermount(&again);
    m.unmount();
    m.keyway("write").arg(&m.volume).arg(&m.key).ok();

    // Readers do not exclude each other.
    m.mount("--readonly").ok();
    mount("--readonly").ok();
    m.keyway("write").arg(&m.volume).arg(&m.key).fails(5).says("in use");
    fusermount(&again);
    m.unmount();
}

/// A refused user is told which session to close.
#[test]
fn the_busy_message_names_session_process_and_program() {
    let runtime = Runtime::new();
    let volume = Volume::new(&runtime.0, "disk.luks", 1);
    runtime.open(&volume, "--backend nbd", "home").ok();
    let pid = runtime.pid("home");
    let again = runtime.open(&volume, "--backend nbd", "other").fails(5);
    again.says("in use").says("home").says(&format!("process {pid}")).says("keyway-session");
    let write = runtime.keyway("write --volume-key-file").arg(volume.key_file()).arg(volume.path());
    let write = write.stdin("x").fails(5);
    write.says("in use").says("home").says(&format!("process {pid}")).says("keyway-session");
    runtime.keyway("close home").ok();
}

/// The header of an open volume stays what it is, wherever it is; its keyslots can be edited.
#[test]
fn the_detached_header_of_an_open_volume_is_not_overwritten() {
    let runtime = Runtime::new();
    let scratch = &runtime.0;
    let (data, header) = (scratch.sized("data", 1 << 20), scratch.path("header"));
    let (key, other) = (scratch.file("key", "secret"), scratch.sized("other", 4 << 20));
    let format = |data: &Path| {
        let run = runtime.keyway("luksFormat -q").args(CHEAP_LUKS2_PBKDF2).arg("--header").arg(&header);
        run.arg(data).arg(&key)
    };
    format(&data).ok();
    let open = runtime.keyway("open --backend nbd --header").arg(&header).arg("--key-file").arg(&key);
    open.arg(&data).arg("apart").ok();
    let before = std::fs::read(&header).unwrap();
    format(&other).fails(5).says("in use").says("session apart");
    let build = runtime.keyway("build --force").args(CHEAP_LUKS2_PBKDF2).arg("--key-file").arg(&key);
    build.arg(&other).arg(&header).fails(5).says("in use");
    let read = runtime.keyway("read --force --key-file").arg(&key).arg("--header").arg(&header).arg(&data);
    read.arg("-o").arg(&header).fails(1).says("is an input of this command");
    assert!(std::fs::read(&header).unwrap() == before, "the header was changed");
    let add = runtime.keyway("luksAddKey -q").args(CHEAP_LUKS2_PBKDF2).arg("--key-file").arg(&key);
    add.arg(&header).arg(&other).ok();
    runtime.keyway("close apart").ok();
    format(&other).ok();
}

/// Where nobody can be asked, a device that holds something is overwritten only on request.
#[test]
fn a_device_that_holds_something_is_not_overwritten_unasked() {
    let runtime = Runtime::new();
    let volume = Volume::new(&runtime.0, "disk.luks", 8);
    runtime.open(&volume, "--backend nbd", "home").ok();
    let export = format!("nbd+unix:///?socket={}", runtime.directory("home").join("nbd").display());
    let (key, image) = (runtime.0.file("key", "secret"), runtime.0.random_file("image", 3, 1 << 20));
    let build = |options: &str| {
        let costs = "--luks2-keyslots-size 256K --offset 1024";
        let run = runtime.keyway("build").args(options).args(CHEAP_LUKS2_PBKDF2).args(costs);
        run.arg("--key-file").arg(&key).arg(&image).arg(&export)
    };
    build("").ok();
    let refused = build("").fails(5).says("already contains a 'crypto_LUKS' superblock signature.");
    refused.says("--force replaces it.");
    let copy = |options: &str| {
        let run = runtime.keyway("copy --to raw").args(options).arg("--key-file");
        run.arg(&key).arg(Volume::new(&runtime.0, "small", 1).path()).arg(&export)
    };
    copy("").fails(5).says("--force replaces it.");
    build("--force").ok();
    build("-q").ok();
    copy("--force").ok();
    runtime.keyway("close home").ok();
}

#[test]
fn qemu_refuses_what_keyway_uses() {
    need!("fusermount3", "qemu-io");
    need_that!(has_fuse(), "/dev/fuse cannot be opened");
    let m = Mounted::with("");
    let write = || peer("qemu-io", "-f raw -c").arg("write 0 512").arg(&m.volume);
    write().fails(1).says("lock");
    m.unmount();
    m.mount("--readonly").ok();
    write().fails(1).says("lock");
    m.unmount();
    // Zeros where the header's magic is: this is the last operation on this volume.
    write().ok();
}

#[test]
fn keyway_refuses_what_qemu_uses() {
    need!("fusermount3", "qemu-nbd");
    need_that!(has_fuse(), "/dev/fuse cannot be opened");
    let m = Mounted::new();
    let mut qemu = qemu_nbd(&m, "");
    let refused = [m.mount(""), m.mount("--readonly"), m.keyway("write").arg(&m.volume).arg(&m.key)];
    let refused = refused.map(|run| run.outcome());
    m.mount("--shared").ok();
    m.unmount();
    end(&mut qemu);
    for outcome in refused {
        assert_eq!(outcome.code, Some(5), "{outcome}");
        outcome.says("in use (open in qemu-nbd, process ");
    }

    // Readers do not exclude each other.
    let mut qemu = qemu_nbd(&m, "--read-only");
    let reading = m.mount("--readonly").outcome();
    end(&mut qemu);
    assert_eq!(reading.code, Some(0), "{reading}");
    m.unmount();
}

#[test]
fn cryptsetup_edits_the_keyslots_of_a_volume_in_use() {
    need!("fusermount3", "cryptsetup");
    need_that!(has_fuse(), "/dev/fuse cannot be opened");
    let m = Mounted::with("");
    cryptsetup("luksDump").arg(&m.volume).ok().says("Key Slot 0: ENABLED");
    let second = m.scratch.file("second", "another passphrase");
    cryptsetup("luksAddKey -q --key-file").arg(&m.key).args(CHEAP_PBKDF2).arg(&m.volume).arg(&second).ok();
    cryptsetup("open --test-passphrase --key-file").arg(&second).arg(&m.volume).ok();
    m.unmount();
}

/// qemu-nbd, serving the volume's raw file.
fn qemu_nbd(m: &Mounted, options: &str) -> Child {
    let socket = m.scratch.path("qemu.sock");
    let _ = std::fs::remove_file(&socket);
    let run =
        peer("qemu-nbd", "-f raw --persistent").args(options).arg("--socket").arg(&socket).arg(&m.volume);
    let child = run.spawn().unwrap();
    let deadline = timeouts::within(timeouts::EVENT);
    while !listens(&socket) {
        assert!(Instant::now() < deadline, "qemu-nbd does not start");
        thread::sleep(Duration::from_millis(20));
    }
    child
}

fn end(child: &mut Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

fn has_fuse() -> bool {
    File::options().read(true).write(true).open("/dev/fuse").is_ok()
}
