//! Costs, files and devices that are refused: the exit code, the figure, and the remedy; nothing is
//! changed.

use keyway_tests::peers::{CHEAP_LUKS2_PBKDF2, CHEAP_PBKDF2};
use keyway_tests::{Scratch, cryptsetup, keyway, need};
use std::fs;

#[test]
fn memory_over_the_budget_is_exit_code_3_and_named() {
    let scratch = Scratch::new();
    let volume = scratch.sized("volume", 20 << 20);
    let kdf = "--pbkdf argon2id --pbkdf-memory 65536 --pbkdf-force-iterations 4 --pbkdf-parallel 1";
    keyway("luksFormat -q").args(kdf).arg(&volume).stdin("secret").ok();
    let open = |budget: &str| {
        keyway("open --test-passphrase --memory-budget").arg(budget).arg(&volume).stdin("secret")
    };
    let refused = open("65535K").fails(3);
    assert_eq!(
        refused.errors(),
        "Keyslot 0 needs 65536 KiB of memory and the budget is 65535 KiB; --memory-budget 65536K allows it.\n"
    );
    open("65536K").ok();
}

#[test]
fn a_cost_of_hours_is_refused_at_once_and_named() {
    let scratch = Scratch::new();
    let volume = scratch.sized("volume", 3 << 20);
    keyway("luksFormat -q --type luks1").args(CHEAP_PBKDF2).arg(&volume).stdin("secret").ok();
    // LUKS1 on-disk format 1.2.3: the first keyslot's iterations, big-endian, at 212. They have no
    // checksum.
    let mut header = fs::read(&volume).unwrap();
    header[212..216].copy_from_slice(&u32::MAX.to_be_bytes());
    fs::write(&volume, &header).unwrap();
    let refused = keyway("open --test-passphrase --time-limit 5").arg(&volume).stdin("secret").fails(1);
    assert!(refused.elapsed.as_secs() < 20, "{refused}");
    assert!(refused.errors().contains("the limit is 5 s; --time-limit "), "{refused}");
    assert_eq!(refused.errors().lines().count(), 1);
}

/// A file grows to take the header, and cryptsetup's line says that there is no room for data.
#[test]
fn a_small_file_grows_to_the_header_s_length() {
    need!("cryptsetup");
    let scratch = Scratch::new();
    for (options, len, grown) in [
        ("", 0, 16 << 20),
        ("", 100 << 10, 16 << 20),
        ("", 16 << 20, 16 << 20),
        ("--offset 80000", 20 << 20, 80000 * 512),
        ("--offset 400000", 20 << 20, 400000 * 512),
        ("--type luks1", 0, 2 << 20),
        ("--type luks1", 2 << 20, 2 << 20),
    ] {
        let volume = scratch.sized("volume", len);
        let format = keyway("luksFormat -q --pbkdf pbkdf2").args(CHEAP_PBKDF2).args(options);
        let outcome = format.arg(&volume).stdin("secret").fails(1);
        let path = volume.display();
        let said = format!(
            "Device {path} is too small for activation, there is no remaining space for data.\n\
             Its header is written and takes {grown} bytes: \"truncate -s +1G {path}\" gives it room for data.\n"
        );
        assert_eq!((outcome.text(), outcome.errors()), (String::new(), said), "{options} on {len} bytes");
        assert_eq!(fs::metadata(&volume).unwrap().len(), grown, "{options} on {len} bytes");
        cryptsetup("open --test-passphrase").arg(&volume).stdin("secret").ok();
    }
    let room = scratch.sized("room", (16 << 20) + 4096);
    let format = keyway("luksFormat -q --pbkdf pbkdf2").args(CHEAP_PBKDF2).arg(&room).stdin("secret").ok();
    assert_eq!(format.text(), "");
}

/// The backup decides, whatever the device contains: a file too short for it, or a header of the
/// other version.
#[test]
fn a_restore_replaces_what_is_there() {
    need!("cryptsetup");
    let scratch = Scratch::new();
    let format = |version: &str| {
        let volume = scratch.sized(version, 20 << 20);
        keyway("luksFormat -q --pbkdf pbkdf2 --type")
            .arg(version)
            .args(CHEAP_PBKDF2)
            .arg(&volume)
            .stdin(version)
            .ok();
        let backup = scratch.path(&format!("{version}.backup"));
        keyway("luksHeaderBackup").arg(&volume).arg("--header-backup-file").arg(&backup).ok();
        (volume, backup)
    };
    let ((one, one_backup), (two, two_backup)) = (format("luks1"), format("luks2"));
    let short = scratch.sized("short", 1 << 20);
    for (target, backup, version) in
        [(&one, &two_backup, "luks2"), (&two, &one_backup, "luks1"), (&short, &two_backup, "luks2")]
    {
        keyway("luksHeaderRestore -q").arg(target).arg("--header-backup-file").arg(backup).ok();
        cryptsetup("open --test-passphrase --type").arg(version).arg(target).stdin(version).ok();
    }
    assert_eq!(fs::metadata(&short).unwrap().len(), 16 << 20);
}

#[test]
fn a_device_that_is_not_there_is_exit_code_4() {
    let scratch = Scratch::new();
    let missing = scratch.path("missing");
    let words = format!("Device {} does not exist or access denied", missing.display());
    for line in [
        "luksDump",
        "luksUUID",
        "isLuks",
        "luksAddKey",
        "luksFormat -q",
        "read",
        "repair",
        "erase -q",
        "inspect",
    ] {
        let outcome = keyway(line).arg(&missing).stdin("secret").fails(4).says(&words);
        assert_eq!(outcome.errors().lines().count(), 1, "{outcome}");
        assert!(!missing.exists(), "{line} made the file");
    }
    keyway("luksFormat -q").arg(&missing).stdin("x").fails(4).says("\"truncate -s 1G ");
    keyway("luksDump").arg(scratch.root()).fails(4).says("is not compatible");
    keyway("luksDump /dev/null").fails(4).says("a regular file or a block device is needed");
}

#[test]
fn what_is_no_volume_is_exit_code_1() {
    let scratch = Scratch::new();
    for (name, len) in [("empty", 0), ("short", 5), ("noise", 1 << 20)] {
        let file = scratch.random_file(name, 9, len);
        for line in [
            "luksDump",
            "luksUUID",
            "open --test-passphrase",
            "luksAddKey",
            "luksKillSlot -q",
            "erase -q",
            "read",
        ] {
            let slot = if line.contains("KillSlot") { "0" } else { "" };
            let outcome = keyway(line).arg(&file).args(slot).stdin("secret").fails(1);
            assert!(outcome.errors().contains("is not a valid LUKS device"), "{outcome}");
            assert_eq!(outcome.errors().lines().count(), 1, "{outcome}");
        }
        keyway("isLuks").arg(&file).fails(1).quiet();
        assert_eq!(fs::read(&file).unwrap().len(), len, "{name} was changed");
    }
}

/// A pipe would make an open wait for its other end.
#[test]
fn a_pipe_is_refused_and_not_waited_for() {
    keyway_tests::need!("mkfifo");
    let scratch = Scratch::new();
    let pipe = scratch.path("pipe");
    keyway_tests::peer("mkfifo", "").arg(&pipe).ok();
    for line in ["luksDump", "isLuks", "luksFormat -q", "luksAddKey"] {
        keyway(line).arg(&pipe).fails(4).says("is not compatible");
    }
    let volume = scratch.sized("volume", 1 << 20);
    let restore = keyway("luksHeaderRestore -q").arg(&volume).arg("--header-backup-file").arg(&pipe);
    restore.fails(4).says("is not compatible");
    let build = keyway("build -d").arg(&volume).arg(&volume).arg(scratch.path("new")).arg("--reproducible");
    let build = build.arg(&pipe);
    build.fails(1).says("a regular file is needed.");
}

/// LUKS2 cannot say that a keyslot is damaged: after conversion it would be lost.
#[test]
fn a_damaged_keyslot_is_not_lost_by_converting() {
    let scratch = Scratch::new();
    let volume = scratch.sized("volume", 20 << 20);
    keyway("luksFormat -q --type luks1").args(CHEAP_PBKDF2).arg(&volume).stdin("secret").ok();
    let mut header = fs::read(&volume).unwrap();
    // LUKS1 on-disk format 1.2.3: the third keyslot's active word, neither enabled nor disabled.
    header[208 + 2 * 48] ^= 0x40;
    fs::write(&volume, &header).unwrap();
    let convert = keyway("convert -q --type luks2").arg(&volume).fails(1);
    convert.says("Keyslot 2 is damaged").says("Back up the header, then kill that keyslot, then convert.");
    assert!(fs::read(&volume).unwrap() == header);
}

#[test]
fn a_key_without_room_is_refused_before_it_is_drawn() {
    let scratch = Scratch::new();
    let volume = scratch.sized("volume", 20 << 20);
    keyway("luksFormat -q --pbkdf pbkdf2").args(CHEAP_PBKDF2).arg(&volume).stdin("secret").ok();
    // There is no passphrase to read: none is asked for.
    let add = keyway("luksAddKey --unbound --key-size 4294967288").arg(&volume);
    add.fails(1).says("No space for new keyslot: keyslots area is full: needs 2147483648000 bytes");
}

/// cryptsetup locks a file's header by flock(2), and so may anything else.
#[test]
fn who_holds_the_headers_lock_is_named() {
    let scratch = Scratch::new();
    let volume = scratch.sized("volume", 20 << 20);
    keyway("luksFormat -q").args(CHEAP_LUKS2_PBKDF2).arg(&volume).stdin("secret").ok();
    let file = fs::File::open(&volume).unwrap();
    file.lock().unwrap();
    let refused = keyway("config --label x volume").directory(scratch.root()).fails(5);
    // This process; or one that it is starting for another test, which has all its files for a moment.
    let program = std::env::current_exe().unwrap();
    let program = program.file_name().unwrap().to_str().unwrap();
    let said = refused.errors();
    let start =
        "Device volume is busy: the LUKS header is in use; try again later.\nThe lock is held by process ";
    let pid = said.strip_prefix(start).and_then(|rest| rest.strip_suffix(&format!(" ({program}).\n")));
    assert!(pid.is_some_and(|pid| pid.parse::<u32>().is_ok()), "{said}");
    file.unlock().unwrap();
    keyway("config --label x volume").directory(scratch.root()).ok().quiet();
}
