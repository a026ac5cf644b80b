//! Unmounting a volume: reliably, with everything written, and nothing but that volume.

use crate::mounted::Mounted;
use crate::served::Volume;
use crate::session::Runtime;
use keyway_tests::{Run, fusermount, need, need_that, peer, random, until};
use nix::unistd::geteuid;
use std::fs::{self, File};
use std::path::Path;
use std::time::Duration;

fn has_fuse() -> bool {
    File::options().read(true).write(true).open("/dev/fuse").is_ok()
}

/// The recipe, run verbatim.
#[test]
fn the_recipe_of_the_readme_works_every_time() {
    need!("fusermount3", "fuse2fs", "mke2fs", "debugfs", "sh");
    need_that!(has_fuse(), "/dev/fuse cannot be opened");
    let readme = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/RECIPES.md")).unwrap();
    let section = readme.split("## Mount without root").nth(1).expect("the section");
    let recipe = section.split("```").nth(1).expect("its recipe").trim();
    assert!(recipe.contains("fuse2fs") && recipe.contains("keyway umount"), "{recipe}");
    let (first, rest) = recipe.split_once('\n').unwrap();
    assert!(first.starts_with("mkdir mnt files"), "{first}");

    let runtime = Runtime::new();
    let at = runtime.0.root();
    // Large enough for fuse2fs to have something to write when it is ended.
    let image = runtime.0.sized("image", 24 << 20);
    peer("mke2fs", "-q -F -t ext4").arg(&image).ok();
    let key = runtime.0.file("key", "secret");
    let build = runtime.keyway("build -q --type luks1 --pbkdf-force-iterations 1000 --key-file").arg(&key);
    build.arg(&image).arg(runtime.0.path("disk.luks")).ok();
    let program = keyway_tests::peers::program();
    let path = format!("{}:{}", program.parent().unwrap().display(), std::env::var("PATH").unwrap());
    peer("sh", "-c").arg(first).directory(at).ok();
    for round in 0..6 {
        let content = runtime.0.file("content", random(round, 5 << 20));
        // Between mounting and unmounting, files are changed in it.
        let work = format!("cp '{}' files/content\n", content.display());
        let lines: Vec<&str> = rest.lines().collect();
        let (open, close) = lines.split_at(2);
        let script = format!("set -e\n{}\n{work}{}\n", open.join("\n"), close.join("\n"));
        let run = peer("sh", "-c").arg(script).directory(at).stdin("secret");
        run.env("PATH", &path).env("XDG_RUNTIME_DIR", at).ok();
        // The volume is released, and everything is written.
        runtime.keyway("list").ok().lacks("disk");
        let read = runtime.keyway("read --key-file").arg(&key).arg(runtime.0.path("disk.luks")).ok().stdout;
        let image = runtime.0.file("image", read);
        let found = peer("debugfs", "-R").arg("cat content").arg(&image).ok().stdout;
        assert!(found == fs::read(&content).unwrap(), "round {round}");
    }
}

#[test]
fn fusermount3_of_the_file_system_may_come_first() {
    need!("fusermount3", "fuse2fs", "mke2fs");
    need_that!(has_fuse(), "/dev/fuse cannot be opened");
    let m = Mounted::new();
    let files = m.scratch.path("files");
    fs::create_dir(&files).unwrap();
    for round in 0..4 {
        m.mount("").ok();
        if round == 0 {
            peer("mke2fs", "-q -F -t ext4").arg(m.file()).ok();
        }
        peer("fuse2fs", "-o fakeroot,rw").arg(m.file()).arg(&files).ok();
        fs::write(files.join("content"), random(round, 3 << 20)).unwrap();
        fusermount(&files);
        if round % 2 == 0 {
            umount(&m, "").arg(&m.directory).ok();
        } else {
            keyway(&m, "close volume").ok();
        }
        m.keyway("write").arg(&m.volume).arg(&m.key).args("--offset 20M --length 4").outcome();
        keyway(&m, "list").ok().lacks("volume");
    }
}

#[test]
fn whoever_uses_it_is_named_and_waited_for() {
    need!("fusermount3", "sleep");
    need_that!(has_fuse(), "/dev/fuse cannot be opened");
    let m = Mounted::with("");
    let mut user = peer("sh", "-c").arg(format!("exec sleep 60 <'{}'", m.file().display())).spawn().unwrap();
    let name = || fs::read_to_string(format!("/proc/{}/comm", user.id())).unwrap_or_default();
    until("it runs", || name() == "sleep\n");
    let who = format!("It is used by sleep (process {}).", user.id());
    umount(&m, "--wait 0").arg(&m.directory).fails(5).says("in use").says(&who);
    umount(&m, "--wait 1").arg(m.file()).fails(5).says(&who);
    assert!(m.file().exists(), "it stays open");
    let mut waiting = umount(&m, "").arg(&m.directory).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(300));
    assert!(waiting.try_wait().unwrap().is_none(), "it does not wait");
    user.kill().unwrap();
    user.wait().unwrap();
    assert!(waiting.wait().unwrap().success());
    assert!(!m.file().exists());
    assert!(m.read() == m.plaintext);
    // By its mount point.
    m.mount("").ok();
    keyway(&m, "status").arg(&m.directory).ok().says("volume is active");
    keyway(&m, "close").arg(&m.directory).ok();
    assert!(!m.file().exists());
}

#[test]
fn a_loop_device_in_it() {
    need!("mke2fs", "mount", "umount");
    need_that!(geteuid().is_root() && has_fuse(), "only root mounts a loop device");
    let m = Mounted::with("");
    peer("mke2fs", "-q -F -t ext2").arg(m.file()).ok();
    let files = m.scratch.path("files");
    fs::create_dir(&files).unwrap();
    let mounted = peer("mount", "-o loop").arg(m.file()).arg(&files).outcome();
    need_that!(mounted.code == Some(0), "no loop device can be mounted");
    fs::write(files.join("content"), "written").unwrap();
    umount(&m, "--wait 0").arg(&m.directory).fails(5).says("/dev/loop");
    umount(&m, "").arg(&files).arg(&m.directory).ok();
    assert!(!files.join("content").exists() && !m.file().exists());
    assert!(m.read().windows(7).any(|bytes| bytes == b"written"));
}

#[test]
fn nothing_else_is_unmounted() {
    need!("fusermount3", "mount", "umount");
    need_that!(geteuid().is_root() && has_fuse(), "only root mounts tmpfs");
    let m = Mounted::new();
    umount(&m, "").arg(&m.directory).fails(4).says("Nothing is mounted on");
    umount(&m, "").arg(m.scratch.path("missing")).fails(4).says("Nothing is mounted on");
    let mounted = peer("mount", "-t tmpfs others").arg(&m.directory).outcome();
    need_that!(mounted.code == Some(0), "tmpfs cannot be mounted");
    umount(&m, "").arg(&m.directory).fails(4).says("is tmpfs of others").says("is not unmounted");
    assert!(is_mounted(&m.directory, "tmpfs"));
    peer("umount", "").arg(&m.directory).ok();
}

/// Something mounted on top of a volume's directory is not Keyway's.
#[test]
fn the_front_end_takes_away_its_own_mount_only() {
    need!("fusermount3", "mount", "umount", "kill");
    need_that!(geteuid().is_root() && has_fuse(), "only root mounts tmpfs");
    let m = Mounted::with("");
    let mounted = peer("mount", "-t tmpfs others").arg(&m.directory).outcome();
    need_that!(mounted.code == Some(0), "tmpfs cannot be mounted");
    fs::write(m.directory.join("theirs"), "kept").unwrap();
    let on_top = "omething else (tmpfs of others) is mounted on top of";
    keyway(&m, "close volume").fails(5).says(on_top).says("unmount that first");
    umount(&m, "--wait 0").arg(&m.directory).fails(5).says(on_top);
    assert_eq!(fs::read_to_string(m.directory.join("theirs")).unwrap(), "kept");
    // A signal does not unmount it either.
    let pid = pid_of(&m);
    peer("kill", "-TERM").arg(&pid).ok();
    std::thread::sleep(Duration::from_millis(200));
    assert!(is_mounted(&m.directory, "tmpfs"));
    keyway(&m, "status volume").ok().says("is active");
    peer("umount", "").arg(&m.directory).ok();
    assert!(m.file().exists());
    keyway(&m, "close volume").ok();
    assert!(!m.file().exists());
    assert!(m.read() == m.plaintext);
}

/// Nor does the cleanup after a killed process.
#[test]
fn clearing_takes_away_dead_mounts_only() {
    need!("fusermount3", "mount", "umount");
    need_that!(geteuid().is_root() && has_fuse(), "only root mounts tmpfs");
    let runtime = Runtime::new();
    let volume = Volume::new(&runtime.0, "disk.luks", 1);
    runtime.open(&volume, "--backend fuse", "home").ok();
    let place = runtime.directory("home").join("fuse");
    runtime.kill("home");
    let mounted = peer("mount", "-t tmpfs others").arg(&place).outcome();
    need_that!(mounted.code == Some(0), "tmpfs cannot be mounted");
    fs::write(place.join("theirs"), "kept").unwrap();
    runtime.keyway("list").ok().lacks("home");
    assert_eq!(fs::read_to_string(place.join("theirs")).unwrap(), "kept");
    peer("umount", "").arg(&place).ok();
    assert!(is_mounted(&place, "fuse.keyway"));
    runtime.keyway("list").ok();
    assert!(!is_mounted(&place, "fuse.keyway") && !runtime.directory("home").exists());
}

fn umount(m: &Mounted, options: &str) -> Run {
    keyway(m, "umount").args(options)
}

/// A command that needs no key.
fn keyway(m: &Mounted, line: &str) -> Run {
    keyway_tests::keyway(line).env("XDG_RUNTIME_DIR", m.scratch.root())
}

fn pid_of(m: &Mounted) -> String {
    let facts = fs::read_to_string(m.scratch.path("keyway/volume/facts")).unwrap();
    facts.lines().find_map(|line| line.strip_prefix("pid ")).expect("its process").to_owned()
}

fn is_mounted(place: &Path, kind: &str) -> bool {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
    mounts.lines().any(|line| {
        let mut words = line.split(' ').skip(1);
        words.next() == place.to_str() && words.next() == Some(kind)
    })
}
