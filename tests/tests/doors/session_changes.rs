//! Sessions that change while they are open: a new size, new permissions, the key removed and
//! restored.

use crate::served::Volume;
use crate::session::Runtime;
use keyway_tests::{fusermount, keyway, need, need_that, peer, random, until};
use std::fs;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::time::Duration;

#[test]
fn another_size_while_it_is_open() {
    let runtime = Runtime::new();
    let volume = Volume::new(&runtime.0, "disk.luks", 2);
    runtime.open(&volume, "--backend nbd", "home").ok();
    let mut before = runtime.connect("home");
    before.write(1 << 20, b"beyond").unwrap();

    // There is no passphrase prompt: the process has the key.
    runtime.keyway("resize home --size 1024").ok().quiet();
    runtime.keyway("status home").ok().says("  size:    1024 [512-byte units] (524288 [bytes])\n");
    let mut after = runtime.connect("home");
    assert_eq!(after.size, 512 << 10);
    after.write((512 << 10) - 5, b"inner").unwrap();
    assert!(before.read(512 << 10, 1).is_err() && before.write(1 << 20, b"x").is_err());
    runtime.keyway("resize home --device-size 1M").ok().quiet();
    assert_eq!(runtime.connect("home").size, 1 << 20);

    for (size, why) in [
        (
            "--size 1025",
            "Device size is not aligned to requested sector size: 524800 bytes are not a multiple of 4096, 524288 are.",
        ),
        ("--device-size 8M", "disk.luks is too small."),
    ] {
        runtime.keyway("resize home").args(size).fails(1).says(why);
    }
    runtime.keyway("luksSuspend home").ok();
    runtime.keyway("resize home").fails(1).says("Volume home is suspended; luksResume resumes it.");
    runtime.keyway("refresh home").fails(1).says("Volume home is suspended; luksResume resumes it.");
    runtime.keyway("luksResume home").stdin("secret").ok();
    assert_eq!(runtime.connect("home").size, 1 << 20, "it forgets its size while it is suspended");

    // Without a size it uses the current size of the file.
    let file = fs::File::options().write(true).open(volume.path()).unwrap();
    let grown = volume.size() + (1 << 20);
    file.set_len(file.metadata().unwrap().len() + (1 << 20)).unwrap();
    runtime.keyway("resize home").ok().quiet();
    let mut client = runtime.connect("home");
    assert_eq!(client.size, grown);
    client.write(grown - 4, b"last").unwrap();
    assert_eq!(client.read(1 << 20, 6).unwrap(), b"beyond");
    runtime.keyway("close home").ok();
    assert_eq!(volume.read(grown - 4, 4), b"last");
    assert_eq!(volume.read((512 << 10) - 5, 5), b"inner");
}

#[test]
fn a_file_grows_and_shrinks_with_its_session() {
    need!("fusermount3");
    need_that!(Path::new("/dev/fuse").exists(), "there is no /dev/fuse");
    let runtime = Runtime::new();
    let volume = Volume::new(&runtime.0, "disk.luks", 2);
    runtime.open(&volume, "--backend fuse", "home").ok();
    let path = runtime.directory("home").join("fuse/plain");
    let len = || fs::metadata(&path).unwrap().len();
    let content = random(3, 2 << 20);
    fs::File::options().write(true).open(&path).unwrap().write_all_at(&content, 0).unwrap();
    assert_eq!(len(), volume.size());
    runtime.keyway("resize home --size 2048").ok().quiet();
    assert_eq!(len(), 1 << 20);
    assert!(fs::read(&path).unwrap() == content[..1 << 20]);
    runtime.keyway("resize home").ok().quiet();
    assert_eq!(len(), volume.size());
    assert!(fs::read(&path).unwrap() == content);
    runtime.keyway("close home").ok();
}

#[test]
fn other_rights_while_it_is_open() {
    need!("fusermount3", "fallocate");
    need_that!(Path::new("/dev/fuse").exists(), "there is no /dev/fuse");
    let runtime = Runtime::new();
    let volume = Volume::new(&runtime.0, "disk.luks", 2);
    runtime.open(&volume, "--backend fuse", "home").ok();
    let path = runtime.directory("home").join("fuse/plain");
    let punch = || peer("fallocate", "--punch-hole --length 4096").arg(&path);
    punch().fails(1).says("unsupported");
    runtime.keyway("refresh home --allow-discards --persistent").ok().quiet();
    runtime.keyway("status home").ok().says("  flags:   discards \n");
    punch().ok();
    assert_eq!(fs::read(&path).unwrap()[..4096], [0; 4096]);
    keyway("luksDump").arg(volume.path()).ok().says("Flags:       \tallow-discards");

    // The header keeps the flag: it stays.
    runtime.keyway("refresh home").ok().quiet();
    punch().ok();
    runtime.keyway("refresh home --perf-no_read_workqueue --persistent").ok().quiet();
    runtime.keyway("refresh home").ok().quiet();
    runtime.keyway("status home").ok().lacks("discards");
    punch().fails(1).says("unsupported");

    let file = fs::File::options().write(true).open(&path).unwrap();
    file.write_all_at(b"once", 0).unwrap();
    runtime.keyway("refresh home --readonly").ok().quiet();
    runtime.keyway("status home").ok().says("  mode:    readonly\n");
    assert_eq!(file.write_all_at(b"more", 0).unwrap_err().raw_os_error(), Some(30), "EROFS");
    drop(file);
    runtime.keyway("refresh home").ok().quiet();
    runtime.keyway("status home").ok().says("  mode:    readonly\n");
    runtime.keyway("close home").ok();
    assert_eq!(volume.read(0, 4), b"once");
}

/// Trimming through NBD, with the allocated size of the image before and after.
#[test]
fn discards_go_through_when_they_are_allowed() {
    let runtime = Runtime::new();
    let volume = Volume::new(&runtime.0, "disk.luks", 8);
    volume.write(0, &random(4, 8 << 20));
    runtime.open(&volume, "--backend nbd", "home").ok();
    let mut client = runtime.connect("home");
    let room = || fs::metadata(volume.path()).unwrap().blocks() * 512;
    let full = room();
    client.trim(0, 4 << 20).unwrap();
    assert_eq!(room(), full);
    runtime.keyway("refresh home --allow-discards").ok().quiet();
    client.trim(4096, 4 << 20).unwrap();
    assert!(room() <= full - (4 << 20), "{} of {full} bytes are left", room());
    drop(client);
    runtime.keyway("close home").ok();
    assert_eq!(volume.read(0, 4096), random(4, 8 << 20)[..4096]);
}

#[test]
fn a_plain_volume_gets_its_own_key_back_only() {
    let runtime = Runtime::new();
    let image = runtime.0.random_file("plain.img", 5, 1 << 20);
    let plain = "--type plain --cipher aes-xts-plain64 --key-size 512 --hash sha256";
    let open = runtime.keyway("open -q --backend nbd").args(plain).arg(&image).arg("home");
    open.stdin("right").ok().quiet();
    let mut client = runtime.connect("home");
    client.write(100_000, b"before").unwrap();
    runtime.keyway("luksSuspend home").ok().quiet();
    runtime.keyway("status home").ok().says("  type:    PLAIN\n").says("(suspended)");
    runtime.keyway("luksSuspend home").fails(1).says("Volume home is already suspended.");
    let reader = std::thread::spawn(move || client.read(100_000, 6));
    for (passphrase, options) in [("wrong", ""), ("right", "--hash sha1")] {
        let resume = runtime.keyway("luksResume home").args(options).stdin(passphrase);
        resume.fails(2).says("No key available with this passphrase.");
    }
    assert!(!reader.is_finished(), "it reads without a key");
    runtime.keyway("luksResume home").stdin("right").ok().quiet();
    assert_eq!(reader.join().unwrap().unwrap(), b"before");

    // Only the user who opens it knows its size.
    runtime.keyway("resize home --size 64").ok().quiet();
    assert_eq!(runtime.connect("home").size, 64 * 512);
    runtime.keyway("resize home").ok().quiet();
    runtime.keyway("refresh home --allow-discards").ok().quiet();
    assert_eq!(runtime.connect("home").size, 1 << 20);
    runtime.keyway("close home").ok();
    let read = keyway("read -q --offset 100000 --length 6").args(plain).arg(&image).stdin("right").ok();
    assert_eq!(read.stdout, b"before");
}

/// Bypassing the page cache: the same bytes; the kernel's front end has no such option.
#[test]
fn direct_access_below_a_session() {
    need_that!(
        rustix::process::getuid().is_root(),
        "the descriptors of a process that holds keys are shown to root alone"
    );
    let runtime = Runtime::new();
    let volume = Volume::new(&runtime.0, "disk.luks", 2);
    runtime.open(&volume, "--backend nbd --direct-io", "home").ok();
    let descriptors = fs::read_dir(format!("/proc/{}/fdinfo", runtime.pid("home"))).unwrap().flatten();
    let flags = descriptors.filter_map(|entry| {
        let text = fs::read_to_string(entry.path()).ok()?;
        let line = text.lines().find_map(|line| line.strip_prefix("flags:"))?;
        u32::from_str_radix(line.trim(), 8).ok()
    });
    assert_eq!(flags.filter(|flags| flags & O_DIRECT != 0).count(), 1, "one file is read past the cache");
    let content = random(6, 70_001);
    let mut client = runtime.connect("home");
    client.write(12_345, &content).unwrap();
    assert_eq!(client.read(12_345, content.len()).unwrap(), content);
    runtime.keyway("close home").ok();
    assert_eq!(volume.read(12_345, content.len()), content);
    runtime
        .open(&volume, "--backend kernel --direct-io", "home")
        .fails(1)
        .says("--direct-io is for --backend");
}

/// include/uapi/asm-generic/fcntl.h
const O_DIRECT: u32 = 0o40000;

/// Writes acknowledged before the key was removed are flushed: there is no error to report.
#[test]
fn a_suspended_session_closes() {
    let runtime = Runtime::new();
    let volume = Volume::new(&runtime.0, "disk.luks", 1);
    runtime.open(&volume, "--backend nbd", "home").ok();
    let mut client = runtime.connect("home");
    client.write(5, b"before").unwrap();
    runtime.keyway("luksSuspend home").ok();
    runtime.keyway("close home").ok().quiet();
    assert!(!runtime.directory("home").exists());
    assert_eq!(volume.read(5, 6), b"before");

    // A waiting write fails on `close`: both its client and the caller of `close` are told.
    runtime.open(&volume, "--backend nbd", "home").ok();
    let mut client = runtime.connect("home");
    runtime.keyway("luksSuspend home").ok();
    let writer = std::thread::spawn(move || client.write(0, b"lost"));
    std::thread::sleep(Duration::from_millis(200));
    assert!(!writer.is_finished());
    runtime.keyway("close home").ok().says("home: Writes that waited for its key were refused.");
    assert!(writer.join().unwrap().is_err());
    assert_eq!(volume.read(5, 6), b"before");
}

#[test]
fn a_suspended_mount_closes() {
    need!("fusermount3");
    need_that!(Path::new("/dev/fuse").exists(), "there is no /dev/fuse");
    let runtime = Runtime::new();
    let volume = Volume::new(&runtime.0, "disk.luks", 1);
    let plain = runtime.directory("home").join("fuse/plain");
    let open = || runtime.open(&volume, "--backend fuse", "home").ok();
    open();
    fs::File::options().write(true).open(&plain).unwrap().write_all_at(b"before", 5).unwrap();
    runtime.keyway("luksSuspend home").ok();
    runtime.keyway("close home").ok().quiet();
    assert!(!plain.exists() && !runtime.directory("home").exists());
    assert_eq!(volume.read(5, 6), b"before");

    // While in use the session stays open, and waiting requests go on waiting.
    open();
    let file = fs::File::options().read(true).write(true).open(&plain).unwrap();
    runtime.keyway("luksSuspend home").ok();
    let writer = std::thread::spawn(move || file.write_all_at(b"after!", 5));
    runtime.keyway("close home").fails(5).says("in use");
    assert!(!writer.is_finished(), "its write was refused though the volume stays");
    runtime.keyway("luksResume home").stdin("secret").ok();
    writer.join().unwrap().unwrap();
    runtime.keyway("close home").ok().quiet();
    assert_eq!(volume.read(5, 6), b"after!");

    // From outside.
    open();
    runtime.keyway("luksSuspend home").ok();
    fusermount(plain.parent().unwrap());
    until("the session is over", || !runtime.directory("home").exists());
}
