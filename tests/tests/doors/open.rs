//! `keyway open` without the kernel's dm-crypt: the volume behind one of Keyway's own front ends,
//! through `status`, `luksSuspend`, `luksResume`, `resize` and `close`.

use keyway_tests::peers::CHEAP_LUKS2_PBKDF2;
use keyway_tests::{Run, Scratch, assert_same_bytes, keyway, need, need_that, peer, random, until};
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

/// A LUKS2 volume and the directory in which its sessions live.
struct Opened {
    scratch: Scratch,
    plaintext: Vec<u8>,
}

impl Opened {
    fn new() -> Self {
        let scratch = Scratch::new();
        let plaintext = random(91, 4 << 20);
        scratch.file("original", &plaintext);
        scratch.file("key", "correct horse");
        scratch.file("wrong", "battery staple");
        let made = Self { scratch, plaintext };
        made.keyway("build --type luks2 --sector-size 512")
            .args(CHEAP_LUKS2_PBKDF2)
            .args("--key-file key original volume")
            .ok();
        made
    }

    /// A Keyway command in the scratch directory.
    fn keyway(&self, line: &str) -> Run {
        keyway(line).directory(self.scratch.root()).env("XDG_RUNTIME_DIR", self.scratch.root())
    }

    /// The file of the FUSE front end.
    fn file(&self, name: &str) -> PathBuf {
        self.scratch.path("keyway").join(name).join("fuse/plain")
    }

    /// The rows of `status`, without the process's number.
    #[track_caller]
    fn status(&self, name: &str) -> String {
        let text = self.keyway("status").arg(name).ok().quiet().text();
        let stays = |line: &&str| !line.starts_with("  key location: process ");
        text.lines().filter(stays).map(|line| format!("{line}\n")).collect()
    }
}

impl Drop for Opened {
    /// A failed test leaves no process behind.
    fn drop(&mut self) {
        for name in ["home", "served", "table"] {
            let _ = self.keyway("close").arg(name).outcome();
        }
    }
}

#[test]
fn a_volume_is_a_file_until_it_is_closed() {
    need!("fusermount3");
    need_that!(has_fuse(), "/dev/fuse cannot be opened");
    let o = Opened::new();
    let file = o.file("home");
    let place = file.display().to_string();
    let opened = o.keyway("open --backend fuse volume home --key-file key").ok().quiet();
    assert!(
        opened.text().starts_with("home is open through fuse (read/write, 4194304 bytes) at "),
        "{opened}"
    );
    let opened = opened.says(&place).says("keyway close home");
    drop(opened);
    assert_same_bytes("the file", &fs::read(&file).unwrap(), "original", &o.plaintext);
    let volume = o.scratch.path("volume").canonicalize().unwrap();
    let offset = (fs::metadata(&volume).unwrap().len() - (4 << 20)) / 512;
    let status = |mode: &str| {
        format!(
            "home is active.\n  type:    LUKS2\n  cipher:  aes-xts-plain64\n  keysize: 512 [bits]\n  device:  {}\n  \
             sector size:  512 [bytes]\n  offset:  {offset} [512-byte units] ({} [bytes])\n  \
             size:    8192 [512-byte units] (4194304 [bytes])\n  mode:    {mode}\n  backend: fuse\n  place:   \
             {place}\n",
            volume.display(),
            offset * 512
        )
    };
    // The kernel tells a FUSE server asynchronously that a file was closed.
    until("nobody has it open", || !o.status("home").contains("in use"));
    assert_eq!(o.status("home"), status("read/write"));

    // Two sessions of one name, and two writers.
    o.keyway("open --backend fuse volume home --key-file key").fails(5).says("Device home already exists.");
    o.keyway("open --backend nbd volume served --key-file key")
        .fails(5)
        .says("Cannot use device volume which is in use");
    o.keyway("write volume original --key-file key")
        .fails(5)
        .says("Cannot use device volume which is in use");

    let patch = random(92, 10_001);
    OpenOptions::new().write(true).open(&file).unwrap().write_all_at(&patch, 70_001).unwrap();
    o.keyway("close home").ok().quiet();
    assert!(!file.exists());
    let mut expected = o.plaintext.clone();
    expected[70_001..][..patch.len()].copy_from_slice(&patch);
    let read = o.keyway("read volume --key-file key").ok();
    assert_same_bytes("keyway read", &read.stdout, "expected", &expected);
    o.keyway("close home").fails(4).says("Device home is not active.");
    o.keyway("status home").fails(4).says("/dev/mapper/home is inactive.");
}

#[test]
fn a_suspended_volume_has_no_key_until_a_passphrase_brings_it_back() {
    need!("fusermount3");
    need_that!(has_fuse(), "/dev/fuse cannot be opened");
    let o = Opened::new();
    o.keyway("open --backend fuse volume home --key-file key").ok();
    o.keyway("luksResume home --key-file key").fails(1).says("Volume home is not suspended.");
    o.keyway("luksSuspend home").ok().quiet();
    assert!(o.status("home").contains("  mode:    read/write (suspended)\n"));
    o.keyway("luksSuspend home").fails(1).says("Volume home is already suspended.");
    let file = o.file("home");
    let reader = std::thread::spawn(move || {
        let mut bytes = vec![0; 4096];
        File::open(file).and_then(|file| file.read_exact_at(&mut bytes, 1 << 20)).map(|()| bytes)
    });
    std::thread::sleep(std::time::Duration::from_millis(200));
    assert!(!reader.is_finished(), "it reads without a key");
    o.keyway("luksResume home --key-file wrong").fails(2).says("No key available with this passphrase.");
    o.keyway("luksResume home --key-file key").ok().quiet();
    let read = reader.join().unwrap().unwrap();
    assert_same_bytes("the file", &read, "original", &o.plaintext[1 << 20..][..4096]);
    o.keyway("close home").ok().quiet();
}

#[test]
fn a_volume_is_served_on_a_socket_read_only() {
    need!("nbdinfo", "nbdcopy");
    let o = Opened::new();
    let opened = o.keyway("open --backend nbd --readonly volume served --key-file key").ok().quiet().text();
    let uri = opened.lines().next().unwrap().rsplit(' ').next().unwrap().to_owned();
    assert!(
        opened.starts_with("served is open through nbd (read-only, 4194304 bytes) at nbd+unix:///"),
        "{opened}"
    );
    assert_eq!(peer("nbdinfo", "--size").arg(&uri).ok().text(), "4194304\n");
    let copied = peer("nbdcopy", "").arg(&uri).arg("-").ok();
    assert_same_bytes("nbdcopy", &copied.stdout, "original", &o.plaintext);
    assert!(o.status("served").contains("  mode:    readonly\n  backend: nbd\n"));
    assert!(o.keyway("list").ok().text().contains(&uri));
    // A reader that stays open beside it.
    o.keyway("open --backend nbd volume home --key-file key").fails(5).says("in use");
    o.keyway("close served").ok().quiet();
}

/// A volume with nothing on it needs a file system first, and one with a file system does not.
#[test]
fn the_line_after_opening_an_empty_volume_is_mkfs() {
    need!("fusermount3", "mke2fs");
    need_that!(has_fuse(), "/dev/fuse cannot be opened");
    let o = Opened::new();
    let open = |options: &str| o.keyway("open volume home --key-file key").args(options).ok().quiet().text();
    // The look at it is over when the next command comes.
    for _ in 0..5 {
        let opened = open("--backend nbd");
        let last = opened.lines().last().unwrap();
        assert!(last.starts_with("  mkfs.ext4 '/dev/nbd0'    (once, after nbd-client,"), "{opened}");
        o.keyway("close home").ok().quiet();
        let opened = open("--backend fuse");
        let file = o.file("home").display().to_string();
        let last = opened.lines().last().unwrap();
        assert!(last.starts_with(&format!("  mkfs.ext4 '{file}'    (once, if it is new:")), "{opened}");
        o.keyway("close home").ok().quiet();
    }
    for options in ["--backend fuse --readonly", "--backend nbd -q"] {
        assert!(!open(options).contains("mkfs"), "{options}");
        o.keyway("close home").ok();
    }
    open("--backend fuse");
    peer("mke2fs", "-q -F -t ext4").arg(o.file("home")).ok();
    o.keyway("close home").ok();
    assert!(!open("--backend fuse").contains("mkfs"));
    o.keyway("close home").ok();
}

/// The place of one volume, in a terminal's session and where nothing names a runtime directory.
#[test]
fn a_script_finds_the_place() {
    need!("nbdinfo", "sh");
    let o = Opened::new();
    let opened = o.keyway("open --backend nbd volume served --key-file key").ok().text();
    let uri = opened.lines().next().unwrap().rsplit(' ').next().unwrap();
    assert_eq!(o.keyway("list --place served").ok().quiet().text(), format!("{uri}\n"));
    assert_eq!(o.keyway("list --place").ok().text(), format!("{uri}\n"));
    o.keyway("list served").ok().says("served").says("nbd");
    o.keyway("list --json other").fails(4).says("Device other is not active.");
    o.keyway("list --place other").fails(4).says("Device other is not active.");
    o.keyway("list --place --json").fails(1).says("Options --place and --json cannot be combined.");
    o.keyway("close served").ok();

    let name = format!("place-{}", std::process::id());
    let program = keyway_tests::peers::program().canonicalize().unwrap();
    let lines = format!(
        "unset XDG_RUNTIME_DIR; keyway() {{ '{}' \"$@\"; }}; keyway open --backend nbd volume {name} --key-file key && \
         nbdinfo --size \"$(keyway list --place {name})\"; keyway close {name}",
        program.display()
    );
    let run = peer("sh", "-c").arg(lines).directory(o.scratch.root()).ok().text();
    assert!(run.ends_with("\n4194304\n"), "{run}");
}

#[test]
fn what_only_the_kernel_can_do_is_refused_by_name() {
    let o = Opened::new();
    o.keyway("open --backend nbd volume served --key-file key --link-vk-to-keyring @u::x")
        .fails(1)
        .says("--link-vk-to-keyring needs --backend kernel");
    o.keyway("open --backend nbd volume served --key-file wrong").fails(2).says("No key available");
    o.keyway("open --backend nbd nowhere served --key-file key").fails(4);
    assert_eq!(o.keyway("list").ok().text(), "");
}

fn has_fuse() -> bool {
    OpenOptions::new().read(true).write(true).open("/dev/fuse").is_ok()
}
