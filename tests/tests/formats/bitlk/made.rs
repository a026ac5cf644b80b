//! Volumes that `bitlkFormat` makes, and their protectors: by dislocker, libbde and cryptsetup, too; what is refused.

use super::{plaintext, secret, storage};
use keyway_tests::bitlk::{Bitlk, PASSPHRASE, Protector, RECOVERY};
use keyway_tests::{Scratch, Terminal, cryptsetup, fusermount, keyway, need, need_that, peer};
use keyway_volume::kind::bitlk::Header;
use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

/// Passphrases that all programs convert alike.
const KEY: &str = "anaconda";
const OTHER: &str = "battery-staple";
const LEN: usize = 4 << 20;
/// What a file system may take.
const ROOM: usize = 3 << 20;
const SAID: &str = "A file system in it can have 3145728 bytes, 6144 sectors of 512.\n";

/// Makes a volume of [`LEN`] bytes; its recovery password.
#[track_caller]
fn made(line: &str, file: &Path) -> String {
    let run = keyway(&format!("bitlkFormat --size 4M --recovery-password {line}")).arg(file).stdin(KEY).ok();
    assert_eq!(run.errors(), SAID);
    let text = run.text();
    let password = text.strip_suffix('\n').unwrap();
    assert!(password.len() == 55 && password.split('-').all(|group| group.len() == 6), "{password}");
    password.to_owned()
}

/// Puts [`ROOM`] bytes into it, which begin as NTFS does.
#[track_caller]
fn filled(file: &Path, scratch: &Scratch) -> Vec<u8> {
    let mut plain = plaintext();
    plain.truncate(ROOM);
    plain[40..48].copy_from_slice(&(ROOM as u64 / 512).to_le_bytes());
    let content = scratch.file("content", &plain);
    keyway("write --type bitlk").arg(file).arg(content).stdin(KEY).ok();
    plain
}

/// What dislocker reads of the file system with the key that `option` gives.
#[track_caller]
fn dislocked(scratch: &Scratch, volume: &Path, option: &str) -> Vec<u8> {
    let out = scratch.path("dislocked");
    peer("dislocker-file", option).arg("-V").arg(volume).arg("--").arg(&out).ok();
    let read = fs::read(&out).unwrap();
    fs::remove_file(out).unwrap();
    read
}

#[track_caller]
fn read(file: &Path, key: &str) -> Vec<u8> {
    keyway("read --type bitlk").arg(file).stdin(key).ok().quiet().stdout
}

/// In every encryption and sector: the plaintext by dislocker, and the header by cryptsetup, as by Keyway.
#[test]
fn dislocker_and_cryptsetup_read_what_is_made() {
    need!("dislocker-file", "cryptsetup");
    let scratch = Scratch::new();
    for (line, bits, sector) in [
        ("", 256, 512),
        ("--quick --key-size 256 --label Bücher", 256, 512),
        ("--key-size 512 --sector-size 512", 512, 512),
        ("--sector-size 4096", 256, 4096),
        ("--quick --key-size 512 --sector-size 4096", 512, 4096),
    ] {
        let file = scratch.path("made");
        let recovery = made(line, &file);
        let plain = filled(&file, &scratch);
        for key in [KEY, &recovery] {
            assert!(read(&file, key)[..ROOM] == plain, "{line}");
        }
        for option in [format!("-u{KEY}"), format!("-p{recovery}")] {
            let theirs = dislocked(&scratch, &file, &option);
            assert!(theirs.len() >= ROOM && theirs[..ROOM] == plain, "{line} {option}");
        }
        let theirs = cryptsetup("bitlkDump").arg(&file).env("TZ", "UTC").ok().text();
        assert_eq!(keyway("bitlkDump").arg(&file).ok().text(), theirs);
        let description = if line.contains("Bücher") { "Bücher" } else { "Keyway" };
        for expected in [
            format!("Sector size:  \t{sector} [bytes]\nVolume size:  \t{LEN} [bytes]"),
            format!("Description:  \t{description}\nCipher name:  \taes\nCipher mode:  \txts-plain64\n"),
            format!("Cipher key:   \t{bits} bits\n"),
            "Protection: \tVMK protected with passphrase\n".into(),
            "Protection: \tVMK protected with recovery passphrase\n".into(),
        ] {
            assert!(theirs.contains(&expected), "{expected} is not in\n{theirs}");
        }
        for key in [KEY, &recovery] {
            let key = |run: keyway_tests::Run| {
                run.args("bitlkDump -q --dump-volume-key --key-file -").arg(&file).stdin(key).ok().text()
            };
            assert_eq!(key(cryptsetup("")), key(keyway("")));
        }
        fs::remove_file(&file).unwrap();
    }
}

#[test]
fn libbde_reads_what_is_made() {
    need!("bdemount", "bdeinfo", "fusermount3");
    need_that!(Path::new("/dev/fuse").exists(), "there is no /dev/fuse");
    let scratch = Scratch::new();
    let (file, mount) = (scratch.path("made"), scratch.path("mount"));
    let recovery = made("", &file);
    let plain = filled(&file, &scratch);
    let shown = peer("bdeinfo", "-p").arg(KEY).arg(&file).ok().says("AES-XTS 128-bit").text();
    let protectors = shown.lines().filter(|line| line.trim_start().starts_with("Type")).count();
    assert_eq!((protectors, shown.contains("Keyway")), (2, true), "{shown}");
    fs::create_dir(&mount).unwrap();
    peer("bdemount", "-r").arg(&recovery).arg(&file).arg(&mount).ok();
    let mut theirs = vec![0; ROOM];
    let outcome = File::open(mount.join("bde1")).and_then(|mut file| file.read_exact(&mut theirs));
    fusermount(&mount);
    outcome.unwrap();
    assert!(theirs == plain);
}

/// The volume of the specification, which has its metadata where Windows may have them.
#[test]
fn protectors_of_other_volumes_are_changed() {
    need!("dislocker-file");
    let (scratch, plain) = (Scratch::new(), plaintext());
    for (method, to_go) in [(0x8000, true), (0x8003, false), (0x8004, false)] {
        let protectors = vec![Protector::StartupKey, Protector::Passphrase(KEY), Protector::Other(0x100)];
        let volume = Bitlk { method, to_go, protectors, ..Bitlk::default() }.make(&plain);
        let file = scratch.file("volume", &volume);
        let startup = scratch.file("key.BEK", Bitlk::startup_key());
        let add = |line: &str| keyway(&format!("bitlkAddKey {line}")).arg(&file);
        let recovery = add("--recovery-password").arg("-d").arg(&startup).ok();
        let recovery = recovery.quiet().text().trim().to_owned();
        let second = add("").stdin(format!("{KEY}\n{OTHER}\n")).fails(1).errors();
        assert!(
            second.contains(" passphrase opens it already (protector 1), and Windows takes only one"),
            "{second}"
        );
        add("--replace").stdin(format!("{recovery}\n{OTHER}\n")).ok().quiet();
        for option in [format!("-u{OTHER}"), format!("-p{recovery}"), format!("-f{}", startup.display())] {
            assert!(dislocked(&scratch, &file, &option) == Bitlk::visible(&plain), "{option}");
        }
        keyway("read --type bitlk").arg(&file).stdin(KEY).fails(2);

        let remove = |line: &str| keyway(&format!("bitlkRemoveKey {line}")).arg(&file);
        remove("-v").arg("-d").arg(&startup).ok().says("Protector 0 removed.");
        let tpm = remove("-S 0").stdin(OTHER).fails(1).errors();
        assert!(tpm.contains("nly Windows can remove protector 0 (TPM)"), "{tpm}");
        remove("").stdin(&*recovery).ok().quiet();
        let last = remove("").stdin(OTHER).fails(1).errors();
        let why = "rotector 1 (passphrase) is the last that opens the volume: add another one first";
        assert!(last.contains(why), "{last}");
        assert!(dislocked(&scratch, &file, &format!("-u{OTHER}")) == Bitlk::visible(&plain));
        assert_eq!(Header::read(&*storage(&fs::read(&file).unwrap())).unwrap().troubles().count(), 0);
    }
}

#[test]
fn whose_protectors_are_not_changed() {
    let scratch = Scratch::new();
    let refused = |volume: Bitlk, line: &str, typed: &str| {
        let before = volume.make(&plaintext());
        let file = scratch.file("volume", &before);
        let why = keyway(line).arg(&file).stdin(typed).fails(1).errors();
        assert!(fs::read(&file).unwrap() == before, "nothing is written");
        why
    };
    let add = "bitlkAddKey --recovery-password";
    let suspended = vec![Protector::Clear, Protector::Passphrase(PASSPHRASE)];
    let why = refused(Bitlk { protectors: suspended, ..Bitlk::default() }, add, PASSPHRASE);
    assert!(why.contains(" protection is suspended: an unprotected key opens it."), "{why}");
    let paused = Bitlk { state: [5, 4], encrypted: 3 << 20, ..Bitlk::default() };
    let why = refused(paused, add, PASSPHRASE);
    assert!(why.contains(" volume is only partly encrypted"), "{why}");
    let both = Bitlk::default();
    let why = refused(both.clone(), "bitlkAddKey --replace", &format!("{RECOVERY}\nshort\n"));
    assert!(why.contains(" passphrase has 5 characters, and Windows takes 8 to 256"), "{why}");
    let why = refused(both, "bitlkRemoveKey -S 7", PASSPHRASE);
    assert!(why.contains("here is no protector 7"), "{why}");

    let file = scratch.file("volume", Bitlk::default().make(&plaintext()));
    let wrong = keyway(add).arg(&file).stdin("incorrect").fails(2).errors();
    assert_eq!(wrong, "No key available with this passphrase.\n");
    let missing = keyway(add).arg(scratch.path("none")).stdin(KEY).fails(4).errors();
    assert!(missing.contains("does not exist or access denied."), "{missing}");
    let luks = scratch.file("other", vec![0; LEN]);
    let why = keyway(add).arg(&luks).stdin(KEY).fails(1).errors();
    assert!(why.contains("is not a valid BITLK device: boot sector: it is not BitLocker's."), "{why}");
    let both = keyway(add).arg(&file).arg(&luks).fails(1).errors();
    assert!(both.contains("Option --recovery-password generates the key: omit the key file."), "{both}");
}

#[test]
fn by_a_recovery_password_alone() {
    let scratch = Scratch::new();
    let file = scratch.path("made");
    let line = "bitlkFormat -q --size 2M --quick --no-passphrase";
    let why = keyway(line).arg(&file).fails(1).errors();
    let needs = "Option --no-passphrase needs --recovery-password: something has to open the volume.";
    assert!(why.contains(needs) && !file.exists(), "{why}");
    let shown = keyway(&format!("{line} --recovery-password")).arg(&file).ok().quiet().text();
    assert_eq!(read(&file, &shown).len(), 2 << 20);
    keyway("read --type bitlk").arg(&file).stdin(KEY).fails(2);
    let metadata = Header::read(&*storage(&fs::read(&file).unwrap())).unwrap().metadata;
    assert_eq!(metadata.protectors.len(), 1);
}

/// What is there is asked about, and kept where nobody can be asked; what is refused changes nothing.
#[test]
fn what_is_there_is_not_lost_unasked() {
    let scratch = Scratch::new();
    let file = scratch.path("made");
    made("--quick", &file);
    let before = fs::read(&file).unwrap();
    let key_file = scratch.file("key", OTHER);
    let again = keyway("bitlkFormat --quick").arg(&file).arg(&key_file);
    let why = again.fails(5).errors();
    assert!(why.contains("--force replaces it."), "{why}");
    let size = keyway("bitlkFormat --quick --size 4M").arg(&file).arg(&key_file).fails(5).errors();
    assert!(size.contains("already exists; --force replaces it."), "{size}");
    let asked =
        Terminal::start(&keyway("bitlkFormat --quick").arg(&file)).expect("Are you sure").type_line("no");
    assert_eq!(asked.finish().code, Some(1));
    for (typed, why) in [
        ("short", " passphrase has 5 characters, and Windows takes 8 to 256"),
        (RECOVERY, " passphrase looks like a recovery password, and would be taken for one"),
    ] {
        let refused = keyway("bitlkFormat -q --quick").arg(&file).stdin(typed).fails(1).errors();
        assert!(refused.contains(why), "{refused}");
    }
    let bits = keyway("bitlkFormat -q -s 128").arg(&file).stdin(KEY).fails(1).errors();
    assert!(bits.contains("BitLocker's volume keys have 256 or 512 bits, not 128."), "{bits}");
    let small = scratch.file("small", vec![7; (2 << 20) - 1]);
    let refused = keyway("bitlkFormat -q").arg(&small).stdin(KEY).fails(1).errors();
    assert!(refused.contains("has 2097151 bytes, and a BitLocker volume needs 2097152"), "{refused}");
    assert!(fs::read(&file).unwrap() == before);
    keyway("bitlkFormat --quick --force").arg(&file).arg(&key_file).ok();
    assert_eq!(read(&file, OTHER).len(), LEN);
    assert!(super::by_text(&storage(&fs::read(&file).unwrap()), KEY).is_err());
    assert!(super::open(&storage(&before), keyway_volume::kind::Key::Passphrase(&secret(KEY))).is_ok());
}
