//! `seal`: a header that was changed is refused, with the field's name, by every verb; permitted
//! changes still work.

use super::CHEAP;
use keyway_tests::{Run, Scratch, keyway, random};
use std::fs;
use std::path::{Path, PathBuf};

/// A sealed volume of 1 MiB, and its key file.
fn sealed(scratch: &Scratch, options: &str) -> (PathBuf, PathBuf) {
    let key = scratch.file("key", "seal");
    let plain = scratch.file("plain", random(3, 1 << 20));
    let volume = scratch.path("volume");
    keyway("build").args(CHEAP).args(options).arg("-d").arg(&key).arg(&plain).arg(&volume).ok();
    (volume, key)
}

fn on(line: &str, volume: &Path, key: &Path) -> Run {
    keyway(line).arg("-d").arg(key).arg(volume)
}

#[test]
fn seal_says_inspect_and_every_opening_verifies() {
    let scratch = Scratch::new();
    let (volume, key) = sealed(&scratch, "");
    keyway("inspect").arg(&volume).ok().lacks("Seal");
    on("read --length 1 --require sealed", &volume, &key).fails(6).says("it is not sealed");
    on("-v seal", &volume, &key).ok().says("is sealed.").lacks("WARNING");
    keyway("inspect")
        .arg(&volume)
        .ok()
        .says("Seal       sealed, not verified: that needs the key (--verify)");
    on("inspect", &volume, &key).ok().says("Seal       holds, verified with the volume key");
    keyway("inspect --require sealed").arg(&volume).fails(6).says("needs key").says("--verify asks for it");
    on("inspect --require sealed", &volume, &key).ok().says("ok");
    assert!(on("inspect --json", &volume, &key).ok().text().contains("\"state\":\"verified\""));
    assert!(keyway("inspect --json").arg(&volume).ok().text().contains("\"state\":\"unverified\""));
    let content = on("read --require sealed", &volume, &key).ok().stdout;
    assert!(content == random(3, 1 << 20));

    // The seal does not cover keyslots and tokens.
    let second = scratch.file("second", "another");
    keyway("luksAddKey").args(CHEAP).arg("-d").arg(&key).arg(&volume).arg(&second).ok();
    keyway("luksKillSlot -q").arg(&volume).arg("0").ok();
    on("read --length 1 --require sealed", &volume, &second).ok();

    // A label is sealed: a user who changes it is told, and seals again.
    keyway("config --label other").arg(&volume).ok().says("header.label is \"other\", sealed as \"\"");
    for line in ["read --length 1", "open --test-passphrase", "copy --to raw"] {
        let run = on(line, &volume, &second);
        let run = if line.starts_with("copy") { run.arg(scratch.path("raw")) } else { run };
        run.fails(6).says("it does not match its seal: header.label is \"other\", sealed as \"\"");
    }
    on("read --length 1 --ignore-seal", &volume, &second).ok();
    on("read --length 1 --ignore-seal --require sealed", &volume, &second).fails(6).says("header.label");
    on("seal -q", &volume, &second).ok().says("WARNING").says("It is now sealed as it is.");
    on("read --length 1 --require sealed", &volume, &second).ok();

    // The volume is extended.
    let file = fs::OpenOptions::new().write(true).open(&volume).unwrap();
    file.set_len(fs::metadata(&volume).unwrap().len() + 4096).unwrap();
    on("read --length 1", &volume, &second).fails(6).says("data.end is");

    // A test of a passphrase does not check the data, unless requested: the header may be a backup.
    on("open --test-passphrase", &volume, &second).ok();
    on("open --test-passphrase --require sealed", &volume, &second).fails(6).says("data.end is");
    keyway("luksDump --require sealed").arg(&volume).ok();
    keyway("-v seal --remove").arg(&volume).ok().says("is no longer sealed.");
    keyway("seal --remove").arg(&volume).fails(1).says("is not sealed.");
    assert!(
        keyway("luksDump --require sealed").arg(&volume).fails(6).says("it is not sealed").stdout.is_empty()
    );
    on("read --length 1", &volume, &second).ok();
}

#[test]
fn a_seal_can_be_made_with_the_volume_and_with_a_context() {
    let scratch = Scratch::new();
    let (volume, key) = sealed(&scratch, "--seal --seal-context rack-7");
    on("read --length 1 --require sealed", &volume, &key).ok();
    on("read --length 1 --seal-context rack-7", &volume, &key).ok();
    for line in ["read --length 1", "open --test-passphrase", "-q luksDump --dump-volume-key"] {
        let line = format!("{line} --seal-context rack-8");
        on(&line, &volume, &key).fails(6).says("another context");
    }
    let policy = scratch.file("p.toml", "seal-context = \"rack-8\"\n");
    let refused = on("read --length 1", &volume, &key).arg("--require").arg(&policy).fails(6);
    refused.says("seal-context = (not shown)").lacks("rack-8");
    assert!(!fs::read(&volume).unwrap().windows(6).any(|bytes| bytes == b"rack-7"));

    // Sealed again with another string, which the old seal does not prevent, and with none.
    on("seal --seal-context rack-8", &volume, &key).ok().lacks("WARNING");
    on("read --length 1 --seal-context rack-7", &volume, &key).fails(6).says("another context");
    on("read --length 1 --seal-context rack-8", &volume, &key).ok();
    on("seal", &volume, &key).ok().says("the old seal had a --seal-context, and the new one has none.");
    on("read --length 1 --require sealed", &volume, &key).ok();

    let formatted = scratch.sized("formatted", 4 << 20);
    keyway("luksFormat -q --seal")
        .args(CHEAP)
        .args("--luks2-keyslots-size 1M")
        .arg(&formatted)
        .arg(&key)
        .ok();
    on("open --test-passphrase --require sealed", &formatted, &key).ok();
    on("read --length 1 --require sealed", &formatted, &key).ok();

    // The same seed, the same seal.
    let seed = scratch.file("seed", random(9, 32));
    let plain = scratch.path("plain");
    let build = |out: &str| {
        let run = keyway("build -q --seal --reproducible").arg(&seed).args(CHEAP).arg("-d").arg(&key);
        run.arg(&plain).arg(scratch.path(out)).ok();
        fs::read(scratch.path(out)).unwrap()
    };
    assert!(build("one") == build("two"));

    for (line, why) in [
        ("luksFormat -q --type luks1 --seal", "a LUKS1 header has no room for a seal"),
        ("luksFormat -q --seal-context x", "--seal-context needs --seal"),
    ] {
        keyway(line).args(CHEAP).arg(&formatted).arg(&key).fails(1).says(why);
    }
    keyway("luksFormat -q --type luks1").args(CHEAP).arg(&formatted).arg(&key).ok();
    on("seal", &formatted, &key).fails(1).says("A LUKS1 header has no room for a seal");
    on("read --length 1 --require sealed", &formatted, &key).fails(6).says("it is not sealed");
}

/// Nobody else reads the string in a list of processes.
#[test]
fn a_context_comes_from_a_file_or_the_environment_too() {
    let scratch = Scratch::new();
    let (volume, key) = sealed(&scratch, "");
    let (file, other) = (scratch.file("context", "rack 7\n"), scratch.file("other", "rack 8"));
    let with_file = |line: &str, file: &Path| keyway(line).arg("--seal-context-file").arg(file);
    with_file("seal", &file).arg("-d").arg(&key).arg(&volume).ok().quiet();
    let read = || keyway("read --length 1 -d").arg(&key).arg(&volume);
    read().arg("--seal-context").arg("rack 7").ok();
    read().arg("--seal-context-file").arg(&file).ok();
    read().arg("--seal-context-file").arg(&other).fails(6).says("another context");
    let by_name = |value: &str| read().env("KEYWAY_SEAL_CONTEXT", value);
    by_name("rack 7").ok();
    by_name("").ok();
    by_name("rack 8").fails(6).says("another context");
    // An option goes before the variable.
    by_name("rack 8").arg("--seal-context").arg("rack 7").ok();
    by_name("rack 8").arg("--ignore-seal").ok();
    by_name("rack 7").arg("--seal-context-file").arg(&other).fails(6);
    read().args("--seal-context x --seal-context-file").arg(&file).fails(1).says("cannot be combined");
    read().args("--ignore-seal --seal-context-file").arg(&file).fails(1).says("contradict each other");
    let missing = scratch.path("missing");
    read().arg("--seal-context-file").arg(&missing).fails(4).says("cannot be read: No such file");
    let long = scratch.file("long", vec![b'x'; (64 << 10) + 1]);
    read().arg("--seal-context-file").arg(&long).fails(1).says("longer than 64 KiB");
    let bytes = scratch.file("bytes", [0xff, 0xfe]);
    read().arg("--seal-context-file").arg(&bytes).fails(1).says("it is not UTF-8");
    // Made with the volume, from the environment.
    let made = scratch.path("made");
    let build = keyway("build --seal").args(CHEAP).arg("-d").arg(&key).arg(scratch.path("plain")).arg(&made);
    build.env("KEYWAY_SEAL_CONTEXT", "rack 9").ok();
    keyway("read --length 1 --seal-context rack-9 -d").arg(&key).arg(&made).fails(6);
    keyway("read --length 1 -d").arg(&key).arg(&made).arg("--seal-context").arg("rack 9").ok();
    keyway("build --seal-context-file")
        .arg(&file)
        .args(CHEAP)
        .arg("-d")
        .arg(&key)
        .arg(scratch.path("plain"))
        .arg(scratch.path("none"))
        .fails(1)
        .says("--seal-context-file needs --seal.");
}

/// A forger could remove the seal by restoring an older backup.
#[test]
fn a_backup_without_a_seal_is_not_restored_in_silence() {
    let scratch = Scratch::new();
    let (volume, key) = sealed(&scratch, "");
    let backup = scratch.path("backup");
    keyway("luksHeaderBackup").arg(&volume).arg("--header-backup-file").arg(&backup).ok();
    on("seal", &volume, &key).ok();
    let restore =
        || keyway("luksHeaderRestore -q").arg(&volume).arg("--header-backup-file").arg(&backup).ok();
    restore().says("its seal is gone, the backup had none: \"keyway seal");
    on("read --length 1 --require sealed", &volume, &key).fails(6).says("it is not sealed");
    restore().quiet();
}
