//! Nothing that a command line reads is written to by it, under whichever name, and nothing that
//! somebody uses is replaced.

use super::{CHEAP, plaintext, volume_of};
use keyway_tests::peers::program;
use keyway_tests::{Run, Scratch, keyway, need, peer, random};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

const INPUT: &str = "is an input of this command; name another file.";

#[test]
fn no_input_is_an_output_under_any_name() {
    need!("sh");
    let scratch = Scratch::new();
    let key = scratch.file("key", "secret");
    let content = random(62, 65536);
    let volume = volume_of(&scratch, &content, &key, "");
    let raw = scratch.file("raw", &content);
    let policy = scratch.file("policy", "formats = [\"luks2\"]\n");
    let device = scratch.sized("device", 32 << 20);
    let token = scratch.file("token", "{\"type\":\"x\",\"keyslots\":[]}");
    keyway("token import --token-id 0 --json-file").arg(&token).arg(&volume).ok();
    symlink(&key, scratch.path("link")).unwrap();
    fs::hard_link(&key, scratch.path("name")).unwrap();
    let files = [&key, &volume, &raw, &policy, &device, &token];
    let before = files.map(|path| fs::read(path).unwrap());
    let key_of = |run: Run| run.args(CHEAP).arg("-d").arg(&key);
    let tries = [
        key_of(keyway("copy -q --force")).arg("--new-keyfile").arg(&key).arg(&volume).arg(&volume),
        key_of(keyway("copy -q --force")).arg(&raw).arg(&raw),
        keyway("copy -q --force --to raw -d")
            .arg(&key)
            .arg("--require")
            .arg(&policy)
            .arg(&volume)
            .arg(&policy),
        key_of(keyway("build -q --force")).arg(&raw).arg(scratch.path("link")),
        key_of(keyway("build -q --force")).arg(&raw).arg(scratch.path("name")),
        keyway("read --force -d").arg(&key).arg("--require").arg(&policy).arg(&volume).arg("-o").arg(&policy),
        // In place.
        keyway("luksFormat -q").args(CHEAP).arg("--header").arg(&key).arg(&device).arg(&key),
        keyway("luksFormat -q").args(CHEAP).arg("--header").arg(scratch.path("link")).arg(&device).arg(&key),
        keyway("luksFormat -q").args(CHEAP).arg(&device).arg(&device),
        keyway("luksFormat -q").args(CHEAP).arg("-d").arg(&device).arg(&device),
        keyway("luksAddKey").args(CHEAP).arg("-d").arg(&key).arg(&volume).arg(&volume),
        keyway("luksHeaderRestore -q").arg(&volume).arg("--header-backup-file").arg(&volume),
        keyway("write -d").arg(&key).arg(&volume).arg(&volume),
        keyway("write -d").arg(&key).arg("--require").arg(&volume).arg(&volume).stdin("x"),
        keyway("token export --token-id 0 --json-file").arg(&volume).arg(&volume),
        keyway("token import --json-file").arg(&volume).arg(&volume),
        // Only of a device is a part no other part's input.
        key_of(keyway("build -q --force --keyfile-offset 2")).arg(&raw).arg(&key),
    ];
    for (number, run) in tries.into_iter().enumerate() {
        // A volume is no policy: that is said first.
        let (code, why) = if number == 13 { (1, "nothing is opened") } else { (1, INPUT) };
        run.fails(code).says(why);
        assert!(files.map(|path| fs::read(path).unwrap()) == before, "{number}");
    }
    for line in [
        "build -q --force raw key <key",
        "copy -q --force raw key <key",
        "read --force volume -o key <key",
        "luksFormat -q device <device",
        "luksFormat -q --header key device - <key",
        "write -d key volume <volume",
    ] {
        let (words, from) = line.split_once('<').unwrap();
        let line = format!("{} {words} {CHEAP} <{from}", program().display());
        let line = if words.starts_with("read") || words.starts_with("write") {
            format!("{} {words} <{from}", program().display())
        } else {
            line
        };
        let run = peer("sh", "-c").arg(line).directory(scratch.root());
        run.fails(1).says("is this command's standard input; name another file.");
        assert!(files.map(|path| fs::read(path).unwrap()) == before, "{words}");
    }
    assert!(plaintext(&volume, &key) == content);
    // What is made in the place of what it was made of, because that was asked for.
    key_of(keyway("build -q --force")).arg(&raw).arg(&raw).ok();
    assert!(plaintext(&raw, &key) == content);
}

#[test]
fn what_a_loop_device_shows_is_not_replaced() {
    need!("losetup");
    let scratch = Scratch::new();
    let (key, raw) = (scratch.file("key", "secret"), scratch.file("raw", random(63, 65536)));
    let file = scratch.sized("attached", 1 << 20);
    let attached = peer("losetup", "--find --show").arg(&file).outcome();
    if attached.code != Some(0) {
        return keyway_tests::skip::record(
            "what_a_loop_device_shows_is_not_replaced",
            "this user attaches nothing",
        );
    }
    let node = attached.text().trim().to_owned();
    let _detached = Detached(&node);
    let volume = volume_of(&scratch, &random(64, 4096), &key, "");
    let token = scratch.file("token", "{\"type\":\"x\",\"keyslots\":[]}");
    keyway("token import --token-id 0 --json-file").arg(&token).arg(&volume).ok();
    let refused = |run: Run| {
        run.fails(5).says(&format!("which is in use (attached to {node})."));
        assert_eq!(fs::read(&file).unwrap(), vec![0; 1 << 20]);
    };
    refused(keyway("build -q --force").args(CHEAP).arg("-d").arg(&key).arg(&raw).arg(&file));
    refused(keyway("copy -q --force --to raw -d").arg(&key).arg(&volume).arg(&file));
    refused(keyway("read --force -d").arg(&key).arg(&volume).arg("-o").arg(&file));
    refused(keyway("token export --token-id 0 --json-file").arg(&file).arg(&volume));
    // The file behind a loop device is that device: as an input, too.
    let run = keyway("build -q --force").args(CHEAP).args("--keyfile-size 64 -d").arg(Path::new(&node));
    run.arg(&raw).arg(&file).fails(1).says(INPUT);
}

/// Detaches the loop device in the end.
struct Detached<'a>(&'a str);

impl Drop for Detached<'_> {
    fn drop(&mut self) {
        peer("losetup", "--detach").arg(self.0).outcome();
    }
}
