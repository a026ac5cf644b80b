//! `--require`: requirements for a volume before any command opens it; and `inspect --require`,
//! which audits.

use super::CHEAP;
use keyway_tests::{Run, Scratch, keyway, random};
use std::path::{Path, PathBuf};

/// A volume of 1 MiB, and its key file.
fn volume(scratch: &Scratch) -> (PathBuf, PathBuf) {
    let key = scratch.file("key", "policy");
    let plain = scratch.file("plain", random(3, 1 << 20));
    let volume = scratch.path("volume");
    keyway("build --label root").args(CHEAP).arg("-d").arg(&key).arg(&plain).arg(&volume).ok();
    (volume, key)
}

/// Every verb that outputs a volume's content, or confirms its key. `{}` stands for a file that it
/// may create.
fn openers(scratch: &Scratch, volume: &Path, key: &Path) -> Vec<Run> {
    let on = |line: &str| keyway(line).arg("-d").arg(key).arg(volume);
    let new = |name: &str| scratch.path(name);
    let directory = new("directory");
    std::fs::create_dir_all(&directory).unwrap();
    vec![
        on("read --length 512"),
        on("write").arg(scratch.file("patch", "x")),
        on("copy --to raw").arg(new("copied")),
        keyway("serve --socket").arg(new("socket")).arg("-d").arg(key).arg(volume),
        on("mount --foreground").arg(directory),
        on("open --backend nbd").arg("policy-test"),
        on("open --test-passphrase"),
        on("-q luksDump --dump-volume-key"),
        on("luksAddKey").arg(scratch.file("new", "new")),
        on("luksChangeKey").arg(scratch.file("new", "new")),
    ]
}

#[test]
fn no_verb_opens_what_does_not_meet_its_policy() {
    let scratch = Scratch::new();
    let (volume, key) = volume(&scratch);
    let policy = scratch.file("policy.toml", "# Ours.\nciphers = [\"aes\"]\nmin-key-bits = 513\n");
    for opener in openers(&scratch, &volume, &key) {
        let refused = opener.arg("--require").arg(&policy).fails(6);
        let line = format!(
            "Device {}: policy {}:3 demands min-key-bits = 513: 512.\n",
            volume.display(),
            policy.display()
        );
        assert_eq!(refused.errors(), line);
    }
    // No key is tried before the policy is checked.
    let wrong = scratch.file("wrong", "wrong");
    for opener in openers(&scratch, &volume, &wrong) {
        opener.arg("--require").arg(&policy).fails(6);
    }
    assert!(!scratch.path("copied").exists() && !scratch.path("socket").exists());
    // A seal is demanded without a file, and a satisfied policy does not interfere.
    for opener in openers(&scratch, &volume, &key) {
        opener.args("--require sealed").fails(6).says(UNSEALED);
    }
    let good = scratch.file("good.toml", "label = \"root\"\nsize = \"1MiB\"\nlinear-segments = false\n");
    for line in ["read --length 512", "open --test-passphrase"] {
        keyway(line).arg("-d").arg(&key).arg(&volume).arg("--require").arg(&good).ok();
    }
    // All of several policies must be satisfied; there is no passphrase prompt before that.
    keyway("read").arg(&volume).arg("--require").arg(&good).arg("--require").arg(&policy).stdin("").fails(6);
    // A file of that name.
    scratch.file("sealed", "label = \"root\"\n");
    let read = || keyway("read --length 1").arg("-d").arg(&key).arg(&volume).directory(scratch.root());
    read().args("--require ./sealed").ok();
    read().args("--require sealed").fails(6);
}

#[test]
fn a_policy_that_cannot_be_read_opens_nothing() {
    let scratch = Scratch::new();
    let (volume, key) = volume(&scratch);
    let read = || keyway("read --length 1 --require").directory(scratch.root());
    let on = |run: Run| run.arg("-d").arg(&key).arg(&volume);
    on(read().arg("none.toml")).fails(4).says("The policy none.toml cannot be read: No such file");
    scratch.file("typo.toml", "ciphers = [\"aes\"]\n\nsealde = true\n");
    let typo = on(read().arg("typo.toml")).fails(1);
    assert!(
        typo.errors().starts_with("keyway: Policy typo.toml:3: sealde: no such demand; known are formats,"),
        "{typo}"
    );
    scratch.file("empty.toml", "# sealed = true\n");
    on(read().arg("empty.toml")).fails(1).says("Policy empty.toml:1: it demands nothing; nothing is opened.");
}

/// A plain volume has no header to judge.
#[test]
fn a_plain_volume_meets_no_policy() {
    let scratch = Scratch::new();
    let (plain, key) = (scratch.random_file("plain", 5, 4096), scratch.file("key", [7; 32]));
    let read = || keyway("read --type plain -c aes-xts-plain64 -s 256 -d").arg(&key).arg(&plain);
    read().ok();
    read().args("--require sealed").fails(6).says("--require: it is a plain volume, which has no header");
}

/// A demand on Argon2 says nothing of a keyslot with PBKDF2, and the finding says so.
#[test]
fn what_a_demand_does_not_cover_is_named() {
    let scratch = Scratch::new();
    let (volume, key) = volume(&scratch);
    scratch.file("p.toml", "min-argon2-memory = \"64KiB\"\nmin-argon2-passes = 4\n");
    let audit = || keyway("inspect --require p.toml").arg(&volume).directory(scratch.root());
    let none = "no keyslot uses Argon2";
    assert_eq!(
        audit().ok().text(),
        format!(
            "ok         p.toml:1  min-argon2-memory = 65536  {none}\n\
             ok         p.toml:2  min-argon2-passes = 4  {none}\n"
        )
    );
    let costs = "--pbkdf argon2id --pbkdf-force-iterations 4 --pbkdf-memory 64 --pbkdf-parallel 1";
    keyway("luksAddKey -q").args(costs).arg("-d").arg(&key).arg(&volume).arg(&key).ok();
    let found = "keyslot 1: argon2id (64 KiB, 4 passes)";
    let rest = "this rule does not cover keyslot 0: pbkdf2 (1000 iterations)";
    assert_eq!(
        audit().ok().text(),
        format!(
            "ok         p.toml:1  min-argon2-memory = 65536  {found}; {rest}\n\
             ok         p.toml:2  min-argon2-passes = 4  {found}; {rest}\n"
        )
    );
    scratch.file("p.toml", "min-argon2-memory = \"1MiB\"\n");
    assert_eq!(
        audit().fails(6).text(),
        format!("violated   p.toml:1  min-argon2-memory = 1048576  {found}\n")
    );
}

#[test]
fn inspect_audits_every_demand() {
    let scratch = Scratch::new();
    let (volume, _) = volume(&scratch);
    let policy = scratch
        .file("p.toml", "ciphers = [\"aes\"]\nmin-key-bits = 1024\nkdfs = [\"argon2id\"]\nsealed = true\n");
    let audit = || keyway("inspect --require p.toml").arg(&volume).directory(scratch.root());
    let text = audit().fails(6);
    assert_eq!(
        text.text(),
        "ok         p.toml:1  ciphers = [aes]  aes-xts-plain64\n\
         violated   p.toml:2  min-key-bits = 1024  512\n\
         violated   p.toml:3  kdfs = [argon2id]  keyslot 0: pbkdf2 (1000 iterations)\n\
         violated   p.toml:4  sealed = true  it is not sealed\n"
    );
    assert_eq!(text.errors(), format!("Device {}: 3 demands not met.\n", volume.display()));
    let json = audit().arg("--json").fails(6);
    for part in [
        "\"met\":false",
        "\"rule\":\"min-key-bits\"",
        "\"wanted\":\"1024\"",
        "\"found\":\"512\"",
        "\"verdict\":\"violated\"",
        "\"verdict\":\"ok\"",
        "\"line\":2",
        "\"policy\":\"p.toml\"",
    ] {
        assert!(json.text().contains(part), "{part} in {}", json.text());
    }
    std::fs::write(&policy, "ciphers = [\"aes\"]\n").unwrap();
    audit().ok().quiet();
    assert!(audit().arg("--json").ok().text().contains("\"met\":true"));
}

const UNSEALED: &str =
    "--require sealed: it is not sealed; if it is the volume that you mean, \"keyway seal\" seals it.";
