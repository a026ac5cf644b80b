//! Headers of TrueCrypt and VeraCrypt volumes under another key, in backups and back, beside cryptsetup and tcplay.

use super::tcplay::{Loop, create};
use keyway_format::tcrypt::Program;
use keyway_tests::{Run, Scratch, Terminal, cryptsetup, keyway, need, need_that, tcrypt};
use std::fs;
use std::path::{Path, PathBuf};

pub(super) const OLD: &str = "correct horse battery staple";
pub(super) const NEW: &str = "another one, of 20 bytes";
pub(super) const HIDDEN: &str = "what opens the volume in it";
pub(super) const LEN: usize = 1 << 20;
pub(super) const RESERVED: usize = 131_072;

/// A VeraCrypt volume with a hidden one.
pub(super) fn made(scratch: &Scratch) -> PathBuf {
    let file = scratch.path("disk.hc");
    let make = |line: &str| keyway(&format!("tcryptFormat --veracrypt-pim 1 {line}")).arg(&file);
    make("--quick --size 1M").stdin(OLD).ok().quiet();
    make("--tcrypt-hidden --size 256K --outer-pim 1").stdin(format!("{OLD}\n{HIDDEN}\n")).ok().quiet();
    file
}

pub(super) fn change(line: &str, file: &Path, typed: &[&str]) -> Run {
    keyway(&format!("tcryptChangeKey --veracrypt-pim 1 {line}")).arg(file).stdin(typed.join("\n") + "\n")
}

pub(super) fn backup(line: &str, file: &Path, to: &Path, typed: &[&str]) -> Run {
    let run = keyway(&format!("tcryptHeaderBackup --veracrypt-pim 1 {line}")).arg(file);
    run.arg("--header-backup-file").arg(to).stdin(typed.join("\n") + "\n")
}

pub(super) fn restore(line: &str, file: &Path, from: Option<&Path>, typed: &str) -> Run {
    let run = keyway(&format!("tcryptHeaderRestore --veracrypt-pim 1 {line}")).arg(file).stdin(typed);
    from.into_iter().fold(run, |run, from| run.arg("--header-backup-file").arg(from))
}

pub(super) fn read(line: &str, file: &Path, passphrase: &str) -> Run {
    keyway(&format!("read --type tcrypt {line}")).arg(file).stdin(passphrase)
}

/// Both headers open by cryptsetup, which shows this hash; the volume key that it shows.
#[track_caller]
pub(super) fn by_cryptsetup(line: &str, hash: &str, file: &Path, passphrase: &str) -> String {
    let mut keys = ["", "--tcrypt-backup"].map(|place| {
        let line = format!("tcryptDump -q --veracrypt -h {hash} {line} {place}");
        let shown = cryptsetup(&line).arg(file).stdin(passphrase).ok().text();
        assert!(shown.contains(&format!("PBKDF2 hash:\t{hash}\n")), "{shown}");
        assert_eq!(keyway(&line).arg(file).stdin(passphrase).ok().text(), shown);
        cryptsetup(&line).arg("--dump-volume-key").arg(file).stdin(passphrase).ok().text()
    });
    assert_eq!(keys[0], keys[1]);
    std::mem::take(&mut keys[0])
}

/// Hash and PIM, too; the volume key and the data stay.
#[test]
fn cryptsetup_opens_what_was_changed() {
    need!("cryptsetup");
    let scratch = Scratch::new();
    let file = made(&scratch);
    for (hidden, old) in [("", OLD), ("--tcrypt-hidden", HIDDEN)] {
        let pim = |pim: u32| format!("{hidden} --veracrypt-pim {pim}");
        let key = by_cryptsetup(&pim(1), "sha512", &file, old);
        let data = read(&pim(1), &file, old).ok().stdout;
        let line = format!("{hidden} --new-hash sha256 --new-veracrypt-pim 3");
        change(&line, &file, &[old, &format!("{NEW}{hidden}")]).ok().quiet();
        let new = format!("{NEW}{hidden}");
        assert_eq!(by_cryptsetup(&pim(3), "sha256", &file, &new), key);
        assert!(read(&pim(3), &file, &new).ok().stdout == data);
        read(&pim(1), &file, old).fails(2);
        read(&format!("{} --tcrypt-backup", pim(1)), &file, old).fails(2);
    }
}

/// tcplay's own `--modify`, ours over it, and its again.
#[test]
fn tcplay_and_keyway_change_keys_of_each_other() {
    need!("tcplay", "losetup", "setsid");
    need_that!(Loop::is_there(), "loop devices cannot be had here");
    let scratch = Scratch::new();
    let volume = create(&scratch, "-a SHA512", &["the first"]);
    let data = read("", &volume, "the first").ok().stdout;
    let by_tcplay = |old: &str, new: &str| {
        let device = Loop::over(&volume);
        let terminal = Terminal::start(&device.tcplay("--modify -w --new-pbkdf-prf=RIPEMD160"));
        let terminal = terminal.expect("Passphrase").type_secretly(old);
        let terminal = terminal.expect("New passphrase").type_secretly(new);
        let ending = terminal.expect("Repeat").type_secretly(new).finish();
        assert_eq!(ending.code, Some(0), "{}", ending.screen);
    };
    let by_keyway = |old: &str, new: &str| {
        let line = "tcryptChangeKey --new-hash whirlpool";
        keyway(line).arg(&volume).stdin(format!("{old}\n{new}\n")).ok().quiet();
        for place in ["", "--use-backup"] {
            let device = Loop::over(&volume);
            let terminal = Terminal::start(&device.tcplay("-i").args(place));
            let ending = terminal.expect("Passphrase").type_secretly(new).finish();
            assert_eq!(ending.code, Some(0), "{}", ending.screen);
            assert!(ending.screen.contains("PBKDF2 PRF:\t\twhirlpool"), "{}", ending.screen);
        }
    };
    by_keyway("the first", "the second");
    by_tcplay("the second", "the third");
    for place in ["", "--tcrypt-backup"] {
        let shown = keyway(&format!("tcryptDump {place}")).arg(&volume).stdin("the third").ok().text();
        assert!(shown.contains("PBKDF2 hash:\tripemd160\n"), "{shown}");
    }
    by_keyway("the third", "the fourth");
    assert!(read("", &volume, "the fourth").ok().stdout == data);
}

/// What is not named stays: key files do, until others come or none.
#[test]
fn key_files_stay_come_and_go() {
    let scratch = Scratch::new();
    let (file, one, two) =
        (made(&scratch), scratch.file("one", "a key file"), scratch.file("two", "another"));
    let (with_one, with_two) = (format!("-d {}", one.display()), format!("-d {}", two.display()));
    change(&format!("--new-keyfile {}", one.display()), &file, &[OLD, NEW]).ok().quiet();
    let opens = |line: &str, key: &str| read(&format!("--veracrypt-pim 1 --hash sha512 {line}"), &file, key);
    opens("", NEW).fails(2);
    opens(&with_one, NEW).ok();
    change(&with_one, &file, &[NEW, OLD]).ok();
    opens(&with_one, OLD).ok();
    let line = format!("{with_one} --new-keyfile {} --new-veracrypt-pim 0", two.display());
    change(&line, &file, &[OLD, ""]).ok();
    let of = format!("read --type tcrypt --hash sha512 {with_two}");
    keyway(&of).arg(&file).stdin("\n").ok();
    let line = format!("tcryptChangeKey --hash sha512 {with_two} --no-key-files --new-veracrypt-pim 1");
    keyway(&line).arg(&file).stdin(format!("\n{NEW}\n")).ok().quiet();
    opens("", NEW).ok();
}

/// On a terminal the new one is asked for twice, its PIM too.
#[test]
fn what_is_typed() {
    need!("setsid");
    let scratch = Scratch::new();
    let file = made(&scratch);
    let line = "tcryptChangeKey --hash sha512 --veracrypt-query-pim --new-veracrypt-query-pim";
    let typed = |again: &str| {
        let terminal = Terminal::start(&keyway(line).arg(&file));
        let terminal = terminal.expect("Enter passphrase for ").type_secretly(OLD);
        let terminal = terminal.expect("Enter VeraCrypt PIM:").type_secretly("1");
        let terminal = terminal.expect("Enter new passphrase:").type_secretly(NEW);
        let terminal = terminal.expect("Verify passphrase:").type_secretly(NEW);
        let terminal = terminal.expect("Enter new VeraCrypt PIM:").type_secretly("2");
        terminal.expect("Verify VeraCrypt PIM:").type_secretly(again).finish()
    };
    let before = fs::read(&file).unwrap();
    let ending = typed("3");
    assert!(ending.code == Some(2) && ending.screen.contains("PIMs do not match."), "{}", ending.screen);
    assert!(fs::read(&file).unwrap() == before);
    let ending = typed("2");
    assert_eq!(ending.code, Some(0), "{}", ending.screen);
    read("--veracrypt-pim 2 --hash sha512", &file, NEW).ok();
}

#[test]
fn what_is_refused_says_so_in_one_line_and_changes_nothing() {
    let scratch = Scratch::new();
    let file = made(&scratch);
    let before = fs::read(&file).unwrap();
    for (line, typed, code, message) in [
        ("", &[NEW, OLD][..], 2, "No device header detected with this passphrase.\n"),
        ("", &[OLD, HIDDEN], 1, "A hidden volume opens with this passphrase already"),
        ("--tcrypt-hidden", &[HIDDEN, OLD], 1, "The outer volume opens with this passphrase already"),
        ("", &[OLD, "short"], 1, "VeraCrypt takes one below 485 only with a passphrase of 20 bytes or more"),
        (
            "",
            &[OLD, ""],
            1,
            "The new passphrase is empty: VeraCrypt takes that only with key files (--new-keyfile).",
        ),
        (
            "--new-hash ripemd160",
            &[OLD, NEW],
            1,
            "VeraCrypt makes no volumes with \"ripemd160\", only with sha512, ",
        ),
        (
            "--new-hash argon2id",
            &[OLD, NEW],
            1,
            "A PIM means something else with argon2id than with other hashes",
        ),
        (
            "--new-hash argon2id --new-veracrypt-pim 1 --memory-budget 1M",
            &[OLD, NEW],
            1,
            "Argon2id would need",
        ),
        (
            "--new-keyfile one --no-key-files",
            &[OLD, NEW],
            1,
            "Options --new-keyfile and --no-key-files cannot",
        ),
        (
            "--new-veracrypt-pim 1 --new-veracrypt-query-pim",
            &[OLD, NEW],
            1,
            "Options --new-veracrypt-pim and --new-veracrypt-query-pim cannot be combined.",
        ),
        ("--tcrypt-system", &[OLD, NEW], 1, "tcrypt-system"),
    ] {
        let said = change(line, &file, typed).fails(code).errors();
        assert!(said.contains(message) && said.lines().count() == 1, "{line}: {said}");
    }
    let alone = change("", &file, &[OLD]).fails(1).errors();
    let way = "Give the new passphrase on standard input, on the line after the old one.";
    assert_eq!(alone, format!("Nothing to read on input.\n{way}\n"));
    assert!(fs::read(&file).unwrap() == before);
    let truecrypt = scratch.file("true.tc", tcrypt::made(Program::TrueCrypt, "sha512", None));
    let run = |line: &str| keyway(line).arg(&truecrypt).stdin(format!("secret\n{NEW}\n")).fails(1).errors();
    let pim = run("tcryptChangeKey --new-veracrypt-pim 1");
    assert!(pim.contains("It is a TrueCrypt volume, but a PIM is for VeraCrypt"), "{pim}");
    let missing = keyway("tcryptChangeKey").arg(scratch.path("none")).stdin(OLD).fails(4).errors();
    assert!(missing.ends_with("none does not exist or access denied.\n"), "{missing}");
}
