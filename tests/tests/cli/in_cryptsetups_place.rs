//! What cryptsetup's own scripts rest upon beyond options: what Keyway does under its name, and not
//! under its own.

use keyway_tests::{Run, Scratch, cryptsetup, keyway, need};
use std::os::unix::fs::symlink;

pub(crate) const CHEAP: &str = "--pbkdf pbkdf2 --pbkdf-force-iterations 1000";

pub(crate) struct Beside {
    pub(crate) scratch: Scratch,
}

impl Beside {
    pub(crate) fn new() -> Self {
        let scratch = Scratch::new();
        symlink(keyway_tests::peers::program(), scratch.path("cryptsetup")).unwrap();
        Self { scratch }
    }

    /// Keyway under cryptsetup's name.
    pub(crate) fn named(&self, line: &str) -> Run {
        Run::new(self.scratch.path("cryptsetup"), line).directory(self.scratch.root())
    }
}

/// cryptsetup overwrites the keyslot; Keyway under its own name does not risk that.
#[test]
fn a_key_changes_in_a_header_without_room() {
    need!("cryptsetup");
    for (kind, keyslots) in [("luks1", 8), ("luks2 -s 256 --luks2-keyslots-size 256k", 2)] {
        let beside = Beside::new();
        beside.scratch.sized("volume", 4 << 20);
        for (name, content) in [("old", "one"), ("new", "two"), ("other", "three")] {
            beside.scratch.file(name, content);
        }
        beside.named(&format!("luksFormat -q --type {kind} {CHEAP} volume old")).ok();
        for _ in 1..keyslots {
            beside.named(&format!("luksAddKey -q {CHEAP} volume -d old other")).ok();
        }
        let change = |line: &str| format!("luksChangeKey -q {CHEAP} volume {line}");
        let before = std::fs::read(beside.scratch.path("volume")).unwrap();
        let refused = keyway(&change("-d old new")).directory(beside.scratch.root()).fails(1);
        assert!(refused.errors().contains("no longer needed first"), "{refused}");
        let way = "\nOr back up the header (keyway luksHeaderBackup volume --header-backup-file FILE): --force then \
                   overwrites the old key.\n";
        assert!(refused.errors().ends_with(way), "{refused}");
        assert!(std::fs::read(beside.scratch.path("volume")).unwrap() == before, "{kind}");
        let warning = "WARNING: volume has no room for a key beside the old one, which is overwritten: if that is \
                       interrupted, neither passphrase opens it, only a header backup does.\n";
        for (line, slot) in
            [("-d old new", "0"), ("-d new old --key-slot 0", "0"), ("-d old new --force", "0")]
        {
            let changed = match line.contains("--force") {
                true => keyway(&change(line)).directory(beside.scratch.root()).ok(),
                false => beside.named(&change(line)).ok(),
            };
            assert_eq!(changed.errors(), warning, "{kind} {line}");
            let key = line.split(' ').nth(2).unwrap();
            let open = format!("open --test-passphrase -v -d {key} volume");
            cryptsetup(&open)
                .directory(beside.scratch.root())
                .ok()
                .says(&format!("Key slot {slot} unlocked."));
        }
        let gone = cryptsetup("open --test-passphrase -d old volume").directory(beside.scratch.root());
        assert_eq!(gone.outcome().code, Some(2), "{kind}");
        cryptsetup("open --test-passphrase -d other volume").directory(beside.scratch.root()).ok();
    }
}

#[test]
fn what_a_device_holds_is_in_debug_output_where_nobody_is_asked() {
    let beside = Beside::new();
    let mut disk = vec![0; 20 << 20];
    disk[512..521].copy_from_slice(b"LABELONE\x01");
    disk[536..544].copy_from_slice(b"LVM2 001");
    disk[4086..4096].copy_from_slice(b"SWAPSPACE2");
    disk[1024..1028].copy_from_slice(&[1, 0, 0, 0]);
    beside.scratch.file("key", "secret");
    let format = |options: &str| {
        beside.scratch.file("disk", &disk);
        beside.named(&format!("luksFormat -q {CHEAP} {options} disk key")).ok().text()
    };
    let said = "# WARNING: Device disk already contains a 'LVM2_member' superblock signature.";
    let swap = "# WARNING: Device disk already contains a 'swap' superblock signature.";
    for each in [said, swap] {
        assert!(format("--debug").lines().any(|line| line == each), "{}", format("--debug"));
    }
    assert!(!format("--debug --disable-blkid").contains("LVM2_member"));
    assert!(!format("").contains("LVM2_member"));
    let asked = |options: &str| {
        beside.scratch.file("disk", &disk);
        beside.named(&format!("luksFormat {CHEAP} {options} disk key")).ok().text()
    };
    assert!(asked("").contains(&said[2..]), "{}", asked(""));
    assert!(!asked("--disable-blkid").contains("LVM2_member"));
}

#[test]
fn a_cipher_that_names_a_driver_has_no_known_pattern() {
    let beside = Beside::new();
    beside.scratch.sized("disk", 20 << 20);
    beside.scratch.file("key", "secret");
    let cipher = "-c capi:xts(ecb(aes-generic))-plain64";
    let said = "No known cipher specification pattern detected.";
    let line = format!("luksFormat -q {CHEAP} {cipher} disk key");
    beside.named(&line).fails(1).says(said);
    assert!(std::fs::read(beside.scratch.path("disk")).unwrap().iter().all(|byte| *byte == 0));
    keyway(&line).directory(beside.scratch.root()).ok();
}

/// The second one is for volumes whose re-encryption has begun; both are judged before anybody is
/// asked for a passphrase.
#[test]
fn two_keyrings_for_a_volume_key_agree() {
    let beside = Beside::new();
    beside.scratch.sized("disk", 20 << 20);
    beside.scratch.file("key", "secret");
    beside.named(&format!("luksFormat -q {CHEAP} disk key")).ok();
    for (links, said) in [
        ("@u::%logon:k:a @u::%user:k:b", "Key types have to be the same for both volume keys."),
        ("@s::%user:a @u::%user:b", "Both volume keys have to be linked to the same keyring."),
        ("@u::%user:a nothing", "KEYRING::KEY is needed"),
    ] {
        let mut run = beside.named("open --test-passphrase disk -d no-such-file");
        for link in links.split(' ') {
            run = run.args("--link-vk-to-keyring").arg(link);
        }
        run.fails(1).says(said);
    }
}

/// Lines that scripts and habits of years type: the words that the answer begins with are
/// cryptsetup's, what follows says what to type instead.
#[test]
fn what_is_missing_or_meant_is_said() {
    let beside = Beside::new();
    for (line, said) in [
        ("", "cryptsetup: Argument <action> missing.\n"),
        (
            "luksDelKey disk",
            "cryptsetup: Unknown action. (luksDelKey; \"luksKillSlot\" removes a keyslot by its number, \
             \"luksRemoveKey\" by its passphrase.)\n",
        ),
        (
            "reload disk",
            "cryptsetup: Unknown action. (reload; \"refresh\" reloads an open volume with other flags.)\n",
        ),
        (
            "luksAddKey --key-slot -1 disk",
            "cryptsetup: Key slot is invalid. (--key-slot -1: a whole number, 0 or more, is needed.)\n",
        ),
        (
            "luksAddKey --iter-time -5 disk",
            "cryptsetup: invalid numeric value (--iter-time -5: a whole number, 0 or more, is needed.)\n",
        ),
        (
            "luksKillSlot -S 1 disk",
            "cryptsetup: Option --key-slot is not allowed with luksKillSlot action; it takes the number as its second \
             argument: \"luksKillSlot DEVICE NUMBER\".\n",
        ),
        (
            "luksRemoveKey -S 1 disk",
            "cryptsetup: Option --key-slot is not allowed with luksRemoveKey action; \"luksKillSlot DEVICE NUMBER\" \
             removes a keyslot by its number.\n",
        ),
        (
            "luksDump --iter-time 5 disk",
            "cryptsetup: Option --iter-time is not allowed with luksDump action; luksFormat, luksAddKey, luksChangeKey, \
             luksConvertKey and 6 others take it.\n",
        ),
    ] {
        let errors = beside.named(line).fails(1).errors();
        let (_, after_usage) = errors.split_once("<action> <action-specific>\n").unwrap();
        assert_eq!(after_usage, said, "{line}");
    }
}

/// cryptsetup asks the mapping for its type, and finds none: 1. Under its own name it is 4.
#[test]
fn a_refresh_of_what_is_not_open_ends_with_1() {
    let beside = Beside::new();
    for line in ["refresh nobody-opened-this", "open --refresh nobody-opened-this"] {
        let refused = beside.named(line).fails(1);
        assert_eq!(refused.errors(), "Device nobody-opened-this is not active.\n");
        keyway(line).fails(4);
    }
}

/// Both answer by their exit codes alone; luksUUID, too.
#[test]
fn a_device_without_a_header_is_answered_in_cryptsetups_way() {
    need!("cryptsetup");
    let beside = Beside::new();
    beside.scratch.sized("empty", 4 << 20);
    beside.scratch.file("text", "no volume");
    beside.scratch.file("key", "secret");
    for kind in ["luks1", "luks2"] {
        beside.scratch.sized(kind, 20 << 20);
        beside.named(&format!("luksFormat -q --type {kind} {CHEAP} {kind} key")).ok();
    }
    let uuid = "luksUUID --uuid 6b55e3df-8f04-4fce-abe8-f4a2eaaef085";
    for action in ["isLuks", "luksUUID", uuid] {
        for manner in ["", "-v", "-q"] {
            for device in ["empty", "text", "--type luks1 luks2", "--type luks2 luks1", "missing"] {
                let line = format!("{action} {manner} {device}");
                let theirs = cryptsetup(&line).directory(beside.scratch.root()).outcome();
                let ours = beside.named(&line).outcome();
                assert_eq!(
                    (ours.code, ours.text(), ours.errors()),
                    (theirs.code, theirs.text(), theirs.errors()),
                    "{line}"
                );
            }
        }
    }
    // Under its own name it says why.
    let ours = keyway("luksUUID text").directory(beside.scratch.root()).fails(1);
    assert_eq!(ours.errors(), "Device text is not a valid LUKS device.\n");
}

#[test]
fn names_that_luks1_cannot_store_are_dropped_and_that_is_said() {
    need!("cryptsetup");
    let beside = Beside::new();
    beside.scratch.file("key", "secret");
    let said = [("--label", "label"), ("--subsystem", "subsystem")]
        .map(|(option, name)| (option, format!("WARNING: LUKS1 has no {name}: {option} is ignored.\n")));
    for (option, said) in said {
        let line = format!("luksFormat -q --type luks1 {CHEAP} {option} foo volume key");
        for (run, errors) in [
            (cryptsetup(&line).directory(beside.scratch.root()), ""),
            (beside.named(&line), &said[..]),
            (keyway(&line).directory(beside.scratch.root()), &said[..]),
        ] {
            beside.scratch.sized("volume", 4 << 20);
            assert_eq!(run.ok().errors(), errors, "{line}");
            cryptsetup("isLuks --type luks1 volume").directory(beside.scratch.root()).ok();
        }
    }
}

/// cryptsetup takes 0 for what is not given. More threads than there are CPUs are not used where
/// the cost is measured.
#[test]
fn costs_of_argon2_that_are_not_used_as_typed_are_said() {
    need!("cryptsetup");
    let beside = Beside::new();
    beside.scratch.file("key", "secret");
    let cpus = std::thread::available_parallelism().map_or(1, std::num::NonZero::get).min(4);
    let threads = match cpus {
        1 => "1 thread is used".to_owned(),
        more => format!("{more} threads are used"),
    };
    let forced = "--pbkdf-force-iterations 4 --pbkdf-memory 64";
    for (options, said) in [
        (
            "--iter-time 20 --pbkdf-memory 0",
            "--pbkdf-memory 0: the default is used, at most 1048576 kilobytes.\n".to_owned(),
        ),
        ("--iter-time 20 --pbkdf-parallel 0", format!("--pbkdf-parallel 0: {threads}, the default.\n")),
        (
            &format!("{forced} --pbkdf-parallel 0"),
            "--pbkdf-parallel 0: 4 threads are used, the default.\n".to_owned(),
        ),
        (&format!("{forced} --pbkdf-parallel 4"), String::new()),
    ] {
        let format = |manner: &str| format!("luksFormat {manner} --pbkdf argon2id {options} volume key");
        for (manner, said) in [("", &said[..]), ("-q", "")] {
            beside.scratch.sized("volume", 20 << 20);
            let ours = beside.named(&format(manner)).ok();
            assert_eq!(ours.errors(), said, "{options} {manner}");
        }
        beside.scratch.sized("volume", 20 << 20);
        cryptsetup(&format("-q")).directory(beside.scratch.root()).ok();
    }
    // Since 2.8.1 cryptsetup refuses more than four, as its release notes say.
    beside.scratch.sized("volume", 20 << 20);
    let refused = beside.named("luksFormat -q --pbkdf-parallel 9 volume key").fails(1);
    assert_eq!(refused.errors(), "Requested maximum PBKDF parallel cost is too high (maximum is 4).\n");
}

#[test]
fn a_header_on_its_own_device_is_refused_and_a_detached_one_is_named() {
    let beside = Beside::new();
    beside.scratch.file("key", "secret");
    for kind in ["luks1", "luks2"] {
        beside.scratch.sized("disk", 20 << 20);
        let format = format!("luksFormat -q --type {kind} {CHEAP} --header");
        let refused = beside.named(&format!("{format} disk disk key")).fails(1);
        assert_eq!(
            refused.errors(),
            "--header disk is the device itself: omit --header, or name another file for the header.\n"
        );
        assert!(std::fs::read(beside.scratch.path("disk")).unwrap().iter().all(|byte| *byte == 0));
        beside.named(&format!("{format} {kind}.header disk key")).ok();
        let named = format!(
            "{kind}.header is a detached header: give the device with the data, and --header {kind}.header.\n"
        );
        let read = keyway(&format!("read -d key {kind}.header")).directory(beside.scratch.root()).fails(1);
        assert_eq!(read.errors(), named);
        let open = format!("open -d key {kind}.header name --backend nbd");
        assert!(keyway(&open).directory(beside.scratch.root()).fails(1).errors().ends_with(&named));
        beside.named(&format!("open --test-passphrase -d key {kind}.header")).ok();
        // On a larger device it might be; the header might be forged.
        let header =
            std::fs::File::options().write(true).open(beside.scratch.path(&format!("{kind}.header")));
        header.unwrap().set_len(24 << 20).unwrap();
        keyway(&format!("read -d key {kind}.header"))
            .directory(beside.scratch.root())
            .fails(1)
            .says(&format!(
                "Device {kind}.header: Segment 0 starts at byte 0, inside the header, which ends at byte "
            ))
            .says(&format!(
                "\nIf it is a detached header: give the device with the data, and --header {kind}.header.\n"
            ));
    }
}

/// New volumes and detached headers take the blocks of their file system that cryptsetup's take.
#[test]
fn new_headers_take_no_more_blocks_than_cryptsetups() {
    need!("cryptsetup");
    use std::os::unix::fs::MetadataExt;
    let beside = Beside::new();
    beside.scratch.file("key", "secret");
    let blocks = |run: &dyn Fn(&str) -> Run, kind: &str| {
        ["header", "volume"].map(|place| {
            beside.scratch.sized("volume", 64 << 20);
            let _ = std::fs::remove_file(beside.scratch.path("header"));
            let header = if place == "header" { "--header header" } else { "" };
            run(&format!("luksFormat -q --type {kind} {CHEAP} {header} volume key")).ok();
            let found = std::fs::metadata(beside.scratch.path(place)).unwrap();
            (found.len(), found.blocks())
        })
    };
    for kind in ["luks1", "luks2", "luks2 --luks2-keyslots-size 1M"] {
        let theirs = blocks(&|line| cryptsetup(line).directory(beside.scratch.root()), kind);
        let ours = blocks(&|line| beside.named(line), kind);
        for ((len, ours), (their_len, theirs)) in ours.into_iter().zip(theirs) {
            assert_eq!(len, their_len, "{kind}");
            assert!(ours <= theirs, "{kind}: {ours} blocks, not {theirs}");
        }
    }
}
