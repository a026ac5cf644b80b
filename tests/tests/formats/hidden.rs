//! Outer volumes of tcplay, written to while the volume hidden in them is protected.

use super::tcplay::{Loop, create};
use keyway_tests::nbd::Nbd;
use keyway_tests::{Run, Scratch, keyway, need, need_that, random};
use std::fs;
use std::path::{Path, PathBuf};

const OUTER: &str = "correct horse";
const HIDDEN: &str = "battery staple";
/// Where the hidden volume of 400 KiB is in the plaintext of the outer one: at its end.
const START: usize = (1 << 20) - 2 * DATA - (400 << 10);
const DATA: usize = 256 * 512;

fn made(scratch: &Scratch) -> PathBuf {
    create(scratch, "-g -a SHA512 -b AES-256-XTS -x whirlpool -y TWOFISH-256-XTS", &[OUTER, HIDDEN])
}

fn protected(line: &str, hidden: &str) -> Run {
    let run = keyway(line).args("--type tcrypt --disable-veracrypt --protect-hidden");
    run.stdin(format!("{OUTER}\n{hidden}\n"))
}

#[track_caller]
fn hidden_of(volume: &Path) -> Vec<u8> {
    keyway("read --type tcrypt --tcrypt-hidden --disable-veracrypt").arg(volume).stdin(HIDDEN).ok().stdout
}

#[test]
fn what_is_written_beside_a_hidden_volume_leaves_it_alone() {
    need!("tcplay", "losetup", "setsid");
    need_that!(Loop::is_there(), "loop devices cannot be had here");
    let scratch = Scratch::new();
    let volume = made(&scratch);
    let before = hidden_of(&volume);
    let new = random(7, START);
    let source = scratch.file("new", &new);
    protected("write", HIDDEN).arg(&volume).arg(&source).ok();
    assert!(hidden_of(&volume) == before);
    let outer = keyway("read --type tcrypt --disable-veracrypt").arg(&volume).stdin(OUTER).ok().stdout;
    assert!(outer[..START] == new);

    let untouched = fs::read(&volume).unwrap();
    let short = scratch.file("short", random(8, 600));
    let refused =
        protected(&format!("write --offset {}", START - 90), HIDDEN).arg(&volume).arg(&short).fails(1);
    refused.says("a hidden volume is at bytes 376832 to 786431: the write was refused");
    // What opens no hidden volume protects none.
    let refused = protected("write", "something else").arg(&volume).arg(&short).fails(1);
    refused.says("No hidden volume opens with this passphrase, PIM and key files: none can be protected.");
    for (options, message) in [
        ("--tcrypt-hidden", "it cannot be combined with --tcrypt-hidden or --tcrypt-system"),
        ("--tcrypt-system", "it cannot be combined with --tcrypt-hidden or --tcrypt-system"),
    ] {
        protected("write", HIDDEN).args(options).arg(&volume).arg(&short).fails(1).says(message);
    }
    let readonly = protected("serve --readonly", HIDDEN).arg(&volume).fails(1);
    readonly.says("Option --protect-hidden cannot be combined with --readonly: nothing is written.");
    let other = keyway("write --protect-hidden").arg(&volume).arg(&short).fails(1);
    other.says("Option --protect-hidden is for --type tcrypt.");
    let alone = keyway("write --type tcrypt --protection-pim 5").arg(&volume).arg(&short).fails(1);
    alone.says("need --protect-hidden");
    assert!(fs::read(&volume).unwrap() == untouched);
}

#[test]
fn a_served_volume_is_read_only_after_a_write_to_the_hidden_one() {
    need!("tcplay", "losetup", "setsid");
    need_that!(Loop::is_there(), "loop devices cannot be had here");
    let scratch = Scratch::new();
    let volume = made(&scratch);
    let before = hidden_of(&volume);
    let runtime = scratch.path("run");
    fs::create_dir(&runtime).unwrap();
    let session = |run: Run| run.env("XDG_RUNTIME_DIR", &runtime);
    session(protected("open --backend nbd", HIDDEN)).arg(&volume).arg("tc").ok();
    let socket = session(keyway("list --place tc")).ok().text();
    let socket = socket.trim().strip_prefix("nbd+unix:///?socket=").unwrap();
    let mut client = Nbd::connect_soon(Path::new(socket), "");
    client.write(5000, b"beside it").unwrap();
    client.trim(0, 1 << 18).unwrap();
    assert_eq!(client.read(5000, 9).unwrap(), b"beside it");
    client.write(START as u64 - 4, b"into it").unwrap_err();
    client.write(0, b"later").unwrap_err();
    assert_eq!(client.read(5000, 9).unwrap(), b"beside it");
    session(keyway("close tc")).ok();
    assert!(hidden_of(&volume) == before);
}
