//! Header backups and a re-encryption: what is refused while one is under way, what is said after it,
//! and the backup that is made before one begins.

use crate::{Fixture, Tool};
use keyway_tests::{Run, cryptsetup, keyway, need};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

/// Keyway under cryptsetup's name.
fn named(f: &Fixture, line: &str) -> Run {
    let name = f.scratch.path("cryptsetup");
    let _ = symlink(keyway_tests::peers::program(), &name);
    Run::new(name, line).directory(f.scratch.root())
}

fn backup(tool: Tool, f: &Fixture, name: &str) -> PathBuf {
    let file = f.scratch.path(name);
    tool("luksHeaderBackup --header-backup-file").arg(&file).arg(&f.device).ok();
    file
}

fn restore(f: &Fixture, file: &Path) -> Run {
    keyway("luksHeaderRestore -q --header-backup-file").arg(file).arg(&f.device)
}

#[test]
fn no_backup_is_made_in_the_middle() {
    need!("cryptsetup");
    let f = Fixture::volume();
    f.reencrypt(cryptsetup, "--init-only").ok();
    let file = f.scratch.path("file");
    let refused = keyway("luksHeaderBackup --header-backup-file").arg(&file).arg(&f.device).fails(1);
    let refused = refused.says("\"keyway reencrypt --resume-only\" finishes it");
    assert_eq!(refused.errors().lines().count(), 1, "{refused}");
    assert!(!file.exists());
    // cryptsetup makes one, and so does Keyway under its name: the same file.
    let theirs = backup(cryptsetup, &f, "theirs");
    let ours = f.scratch.path("ours");
    named(&f, "luksHeaderBackup -q --header-backup-file ours").arg(&f.device).ok();
    assert!(std::fs::read(theirs).unwrap() == std::fs::read(ours).unwrap());
}

#[test]
fn nothing_is_restored_over_a_volume_in_the_middle() {
    need!("cryptsetup", "prlimit");
    let f = Fixture::volume();
    let before = backup(keyway, &f, "before");
    f.cut_off("--hotzone-size 64K");
    let middle = backup(cryptsetup, &f, "middle");
    let device = std::fs::read(&f.device).unwrap();
    for (file, says) in [
        (&before, "in the middle of a reencryption: only its own header has the new volume key"),
        (&middle, "The backup was made in the middle of a reencryption"),
    ] {
        let refused = restore(&f, file).fails(1);
        let refused = refused.says(says).says("Nothing was changed.");
        assert_eq!(refused.errors().lines().count(), 1, "{refused}");
        assert!(std::fs::read(&f.device).unwrap() == device, "something was changed");
    }
    f.reencrypt(keyway, "--resume-only").ok();
    f.is_whole(false);
    // Afterwards, the one from the middle is refused, and of the other it is said what it does.
    restore(&f, &middle).fails(1).says("would then encrypt a part of the data twice");
    f.is_whole(false);
    restore(&f, &before).ok().says("had another volume key: it was reencrypted or formatted since");
    let read = keyway("read --key-file").arg(&f.key).arg(&f.device).ok().stdout;
    assert!(read[..4096] != f.plain[..4096], "the old key opened what the new one wrote");
}

/// cryptsetup's exit code, whatever that does.
#[test]
fn called_as_cryptsetup_it_restores_what_cryptsetup_restores() {
    need!("cryptsetup", "prlimit");
    let f = Fixture::volume();
    let before = backup(keyway, &f, "before");
    f.cut_off("--hotzone-size 64K");
    let middle = backup(cryptsetup, &f, "middle");
    let device = std::fs::read(&f.device).unwrap();
    for file in [&before, &middle] {
        let mut after = Vec::new();
        for theirs in [true, false] {
            std::fs::write(&f.device, &device).unwrap();
            let line = "luksHeaderRestore -q --header-backup-file";
            let run = if theirs { cryptsetup(line) } else { named(&f, line) };
            run.arg(file).arg(&f.device).ok();
            after.push(std::fs::read(&f.device).unwrap());
        }
        assert!(after[0] == after[1], "{}", file.display());
    }
}

#[test]
fn a_backup_from_before_cancels_what_has_changed_nothing() {
    need!("cryptsetup");
    for begins in [keyway as Tool, cryptsetup] {
        let f = Fixture::volume();
        let before = backup(keyway, &f, "before");
        let device = std::fs::read(&f.device).unwrap();
        f.reencrypt(begins, "--init-only").ok();
        restore(&f, &before).ok();
        assert!(std::fs::read(&f.device).unwrap() == device);
        f.is_whole(false);
    }
    // What is encrypted is plaintext still: a header would not make it a volume.
    let f = Fixture::plaintext(0);
    f.reencrypt(keyway, "--encrypt --init-only --header").ok();
    let other = Fixture::volume();
    let foreign = backup(keyway, &other, "foreign");
    let restore = keyway("luksHeaderRestore -q --header-backup-file").arg(foreign).arg(f.header());
    restore.fails(1).says("in the middle of a reencryption");
}

#[test]
fn a_luks1_volume_that_was_taken_out_of_use_keeps_its_header() {
    need!("cryptsetup");
    let f = Fixture::plaintext(0);
    let cheap = "--pbkdf pbkdf2 --pbkdf-force-iterations 1000";
    keyway("luksFormat -q --type luks1").args(cheap).arg(&f.device).arg(&f.key).ok();
    let before = backup(keyway, &f, "before");
    let line = "reencrypt -q --init-only --pbkdf-force-iterations 1000 --key-file";
    keyway(line).arg(&f.key).arg(&f.device).directory(f.scratch.root()).ok();
    let device = std::fs::read(&f.device).unwrap();
    let refused = restore(&f, &before).fails(1);
    refused.says("The LUKS1 volume on the device is in the middle of a reencryption");
    let file = f.scratch.path("file");
    let refused = keyway("luksHeaderBackup --header-backup-file").arg(&file).arg(&f.device).fails(1);
    refused.says("It is LUKS1 in reencryption");
    assert!(!file.exists() && std::fs::read(&f.device).unwrap() == device);
}

/// The files in the directory where it runs.
fn files(f: &Fixture) -> Vec<String> {
    let found = std::fs::read_dir(f.scratch.root()).unwrap();
    let mut names: Vec<String> = found.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    names.retain(|name| name.contains("before") || name.contains("header"));
    names.sort();
    names
}

/// The name of the backup that is made by itself.
fn default_name(f: &Fixture) -> String {
    let uuid = keyway("luksUUID").arg(&f.device).ok().text();
    format!("LUKS-{}-before-reencrypt.header", uuid.trim())
}

#[test]
fn the_header_is_backed_up_before_and_the_backup_goes_with_the_old_key() {
    for begins in ["", "--decrypt --header"] {
        let f = Fixture::volume();
        let (name, before) = (default_name(&f), std::fs::read(&f.device).unwrap());
        let begun = f.reencrypt(keyway, &format!("--init-only {begins}")).ok();
        begun.says(&format!("The current header is saved in {name}, until the reencryption is complete"));
        let file = f.scratch.path(&name);
        let backup = std::fs::read(&file).unwrap();
        assert!(backup == before[..backup.len()] && backup.len() == 16 << 20, "{begins}");
        // Its owner, who may not be root, is to write to the header, too.
        let exported = (!begins.is_empty()).then(|| f.header());
        for file in exported.iter().chain([&file]) {
            assert_eq!(std::fs::metadata(file).unwrap().permissions().mode() & 0o7777, 0o600);
        }
        // Whoever goes on finds it.
        let resumed = f.reencrypt(keyway, &format!("--resume-only {begins}").replace("--decrypt", "")).ok();
        resumed.says(&format!("The header backup {name} is removed: it had the old volume key."));
        assert!(!file.exists());
    }
    // In one go, and where the header is elsewhere.
    let f = Fixture::plaintext(0);
    f.reencrypt(keyway, "--encrypt --header").ok().lacks("The current header");
    let name =
        format!("LUKS-{}-before-reencrypt.header", keyway("luksUUID").arg(f.header()).ok().text().trim());
    f.reencrypt(keyway, "--header").ok().says(&format!("is saved in {name}")).says("is removed");
    assert_eq!(files(&f), ["header"]);
    f.reads(true);
}

#[test]
fn a_backup_may_be_named_kept_or_not_made() {
    let f = Fixture::volume();
    let before = std::fs::read(&f.device).unwrap();
    f.reencrypt(keyway, "--no-header-backup").ok().lacks("header");
    assert!(files(&f).is_empty());
    std::fs::write(&f.device, &before).unwrap();
    let run = f.reencrypt(keyway, "--header-backup-file before.one --keep-header-backup").ok();
    run.says("is saved in before.one, and stays there.")
        .says("WARNING: the header backup before.one has the old volume key: restored now,");
    assert_eq!(files(&f), ["before.one"]);
    f.reads(false);
    // Never overwritten.
    let device = std::fs::read(&f.device).unwrap();
    let refused = f.reencrypt(keyway, "--header-backup-file before.one").fails(1);
    refused.says("Header backup file before.one already exists").says("Nothing was changed.");
    assert!(std::fs::read(&f.device).unwrap() == device);
    assert!(std::fs::read(f.scratch.path("before.one")).unwrap()[..4096] == before[..4096]);
    for other in ["--keep-header-backup", "--header-backup-file x"] {
        let refused = f.reencrypt(keyway, &format!("--no-header-backup {other}")).fails(1);
        refused.says("cannot be combined.");
    }
    // The line that goes on has its name.
    let mut stopped =
        f.reencrypt(keyway, "--header-backup-file before.two --limit-rate 32K --hotzone-size 1M");
    stopped = stopped.limit(std::time::Duration::from_secs(60));
    let child = stopped.spawn().unwrap();
    keyway_tests::until("data has changed", || f.scratch.path("before.two").exists());
    std::thread::sleep(std::time::Duration::from_millis(500));
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    // It would rest for half a minute after each part.
    let at = std::time::Instant::now();
    let output = child.wait_with_output().unwrap();
    assert!(keyway_tests::timeouts::is_within(std::time::Duration::from_secs(15), at), "{:?}", at.elapsed());
    let said = String::from_utf8(output.stderr).unwrap();
    let line = "keyway reencrypt --resume-only --header-backup-file before.two ";
    assert!(said.contains(line), "{said}");
    f.reencrypt(keyway, "--resume-only --header-backup-file before.two").ok().says("before.two is removed");
    assert_eq!(files(&f), ["before.one"]);
    f.reads(false);
}

#[test]
fn without_room_for_the_backup_nothing_changes() {
    let f = Fixture::volume();
    let before = std::fs::read(&f.device).unwrap();
    for file in ["/dev/full/x", "/nonexistent/x", "/proc/x"] {
        let refused = f.reencrypt(keyway, &format!("--header-backup-file {file}")).fails(1);
        refused.says("--no-header-backup goes without. Nothing was changed.");
    }
    // A limit on the size of files is a full file system.
    let run = f.reencrypt(keyway, "");
    let line = format!(
        "ulimit -f 8192; cd {} && exec {} {}",
        f.scratch.root().display(),
        run.program().display(),
        run.arguments().iter().map(|word| word.to_str().unwrap()).collect::<Vec<_>>().join(" ")
    );
    let refused = keyway_tests::peer("sh", "-c").arg(line).fails(1);
    refused.says("LUKS-").says("--no-header-backup goes without. Nothing was changed.");
    assert!(std::fs::read(&f.device).unwrap() == before && files(&f).is_empty());
    // Nor is one left of what was refused after it.
    f.reencrypt(keyway, "--hotzone-size 1000").fails(1);
    f.reencrypt(keyway, "--key-slot 7").fails(1);
    assert!(std::fs::read(&f.device).unwrap() == before && files(&f).is_empty());
}

#[test]
fn a_foreign_file_of_that_name_stays() {
    let f = Fixture::volume();
    f.reencrypt(keyway, "--init-only --no-header-backup").ok();
    let name = f.scratch.file(&default_name(&f), "a letter");
    f.reencrypt(keyway, "--resume-only").ok();
    assert_eq!(std::fs::read(name).unwrap(), b"a letter");
}

#[test]
fn cryptsetup_has_neither_the_backup_nor_its_options() {
    let f = Fixture::volume();
    let line = "reencrypt -q --pbkdf-force-iterations 1000 --pbkdf pbkdf2 --key-file";
    for option in ["--no-header-backup", "--keep-header-backup", "--limit-rate=1M", "--estimate"] {
        let refused = named(&f, line).arg(&f.key).arg(&f.device).args(option).fails(1);
        let name = option.split('=').next().unwrap();
        let last = refused.errors().lines().last().unwrap_or_default().to_owned();
        assert!(last.contains(&format!("{name}: unknown option")), "{refused}");
    }
    named(&f, line).arg(&f.key).arg(&f.device).ok().lacks("The current header");
    assert!(files(&f).is_empty());
    f.reads(false);
}

/// LUKS1 keeps the header as it was anyway.
#[test]
fn luks1_makes_one_only_where_it_is_named() {
    let f = Fixture::plaintext(0);
    let cheap = "--pbkdf pbkdf2 --pbkdf-force-iterations 1000";
    keyway("luksFormat -q --type luks1").args(cheap).arg(&f.device).arg(&f.key).ok();
    let run = |options: &str| {
        let run = keyway("reencrypt -q --pbkdf-force-iterations 1000 --key-file").arg(&f.key).arg(&f.device);
        run.args(options).directory(f.scratch.root()).ok()
    };
    run("").lacks("The current header");
    run("--init-only --header-backup-file before").says("is saved in before,");
    assert_eq!(files(&f), ["before"]);
    run("--header-backup-file before").says("The header backup before is removed");
    assert!(files(&f).is_empty());
}

/// The average is kept.
#[test]
fn a_rate_is_a_limit() {
    let f = Fixture::volume();
    f.reencrypt(keyway, "--limit-rate 0").fails(1).says("would never finish");
    let started = std::time::Instant::now();
    f.reencrypt(keyway, "--limit-rate 8M --hotzone-size 1M").ok();
    // 16 MiB at 8 MiB a second, without a wait after the last part.
    let took = started.elapsed();
    assert!(took >= std::time::Duration::from_millis(1800), "{took:?}");
    f.reads(false);
}
