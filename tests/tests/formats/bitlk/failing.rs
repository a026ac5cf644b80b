//! BitLocker volumes made and changed where that fails: cut off, without standard output, without room, in use elsewhere.

use super::storage;
use keyway_tests::{Outcome, Scratch, keyway, need, need_that, peer};
use keyway_volume::kind::bitlk::Header;
use std::fs;
use std::path::{Path, PathBuf};

const KEY: &str = "anaconda";
const LEN: usize = 4 << 20;
/// Where the first copy of the metadata is.
const COPY: usize = 3 << 20;
const BETWEEN: usize = 384 << 10;

/// A volume that its passphrase and a recovery password open, which is returned.
#[track_caller]
fn made(scratch: &Scratch) -> (PathBuf, String) {
    let file = scratch.path("made");
    let run = keyway("bitlkFormat -q --size 4M --quick --recovery-password").arg(&file).stdin(KEY).ok();
    (file, run.text().trim().to_owned())
}

fn is_whole(image: &[u8]) -> bool {
    Header::read(&*storage(image)).unwrap().is_whole()
}

/// What was removed opens the volume no longer, and a number may be another protector's: nobody is locked out by the same
/// command once more.
#[test]
fn a_change_that_was_cut_off() {
    let scratch = Scratch::new();
    let (file, first) = made(&scratch);
    let second = keyway("bitlkAddKey --recovery-password").arg(&file).stdin(KEY).ok().text();
    let before = fs::read(&file).unwrap();
    keyway("bitlkRemoveKey -S 1").arg(&file).stdin(KEY).ok().quiet();
    let after = fs::read(&file).unwrap();

    // The signature of the last copy was taken away, but what it held is there.
    let mut cut = after.clone();
    cut[COPY..COPY + (64 << 10)].copy_from_slice(&before[COPY..COPY + (64 << 10)]);
    cut[COPY..COPY + 8].fill(0);
    for (line, typed) in [
        ("bitlkRemoveKey -S 1", KEY),
        ("bitlkRemoveKey", KEY),
        ("bitlkAddKey --recovery-password", second.trim()),
        ("bitlkAddKey --replace", KEY),
    ] {
        fs::write(&file, &cut).unwrap();
        let run = keyway(line).arg(&file).stdin(typed).fails(1);
        let why = run.errors();
        assert!(why.contains("he copies of its metadata differed"), "{line}: {why}");
        assert!(why.contains("check with \"keyway bitlkDump\""), "{line}: {why}");
        assert_eq!(run.text(), "", "{line}: no digits are shown that open nothing");
        assert!(fs::read(&file).unwrap() == after, "{line}");
    }
    let replaced = format!("{}\n{KEY}\n", second.trim());
    keyway("bitlkAddKey --replace").arg(&file).stdin(replaced).ok().quiet();

    fs::write(&file, &cut).unwrap();
    let why = keyway("bitlkRemoveKey").arg(&file).stdin(&*first).fails(2).errors();
    let hint = "Run this again with a key that still opens the volume.\n";
    assert!(why.starts_with("No key available with this passphrase.\n") && why.ends_with(hint), "{why}");
    assert!(fs::read(&file).unwrap() == cut);

    // The change had only begun: it is undone.
    let mut begun = before.clone();
    begun[COPY + BETWEEN..COPY + 2 * BETWEEN].copy_from_slice(&after[COPY + BETWEEN..COPY + 2 * BETWEEN]);
    fs::write(&file, &begun).unwrap();
    keyway("bitlkRemoveKey -S 1").arg(&file).stdin(KEY).fails(1).says("differed");
    assert!(fs::read(&file).unwrap() == before);
    keyway("bitlkRemoveKey -S 1").arg(&file).stdin(KEY).ok().quiet();
    assert!(is_whole(&fs::read(&file).unwrap()));
}

/// The same line with its output in `/dev/full`.
#[track_caller]
fn unprinted(line: &str, file: &Path) -> Outcome {
    let program = keyway_tests::peers::program();
    let script = format!("exec '{}' {line} '{}' >/dev/full", program.display(), file.display());
    peer("sh", "-c").arg(script).stdin(KEY).fails(1).says("Cannot write to standard output: ")
}

#[test]
fn digits_that_cannot_be_shown_open_nothing() {
    need!("sh");
    need_that!(Path::new("/dev/full").exists(), "there is no /dev/full");
    let scratch = Scratch::new();
    let (file, _) = made(&scratch);
    let before = fs::read(&file).unwrap();
    unprinted("bitlkAddKey --recovery-password", &file);
    unprinted("bitlkFormat -q --recovery-password", &file);
    unprinted("bitlkFormat -q --recovery-password --no-passphrase", &file);
    unprinted("bitlkFormat -q --force --size 2M --recovery-password", &file);
    assert!(fs::read(&file).unwrap() == before);
    let new = scratch.path("new");
    unprinted("bitlkFormat --size 2M --recovery-password", &new);
    assert!(!new.exists());
}

#[test]
fn digits_that_were_shown_before_a_write_failed() {
    need!("prlimit");
    let scratch = Scratch::new();
    let (file, _) = made(&scratch);
    let limit = (COPY + BETWEEN) as u64;
    let add = keyway("bitlkAddKey --recovery-password").arg(&file).stdin(KEY).files_up_to(limit);
    add.fails(1).says("The recovery password that was shown may or may not open the volume.");
    let format = keyway("bitlkFormat -q --quick --recovery-password").arg(&file).stdin(KEY);
    let shown =
        format.files_up_to(limit).fails(1).says("The recovery password that was shown opens nothing.");
    assert_eq!(shown.text().trim().len(), 55);
}

#[test]
fn a_volume_that_another_program_has_open() {
    let scratch = Scratch::new();
    let (file, _) = made(&scratch);
    let before = fs::read(&file).unwrap();
    let opened = fs::File::open(&file).unwrap();
    for line in
        ["bitlkFormat -q --quick", "bitlkAddKey --recovery-password", "bitlkRemoveKey -S 1", "bitlkRemoveKey"]
    {
        keyway(line).arg(&file).stdin(KEY).fails(5).says("which is in use (open in ");
    }
    drop(opened);
    assert!(before.len() == LEN && fs::read(&file).unwrap() == before);
    keyway("bitlkRemoveKey -S 1").arg(&file).stdin(KEY).ok().quiet();
}

#[test]
fn a_key_file_without_a_passphrase() {
    let scratch = Scratch::new();
    let (file, key) = (scratch.path("new"), scratch.file("key", KEY));
    let line = "bitlkFormat --size 2M --recovery-password --no-passphrase";
    let why = "Option --no-passphrase makes a volume without a passphrase: omit the key file.";
    keyway(line).arg(&file).arg(&key).fails(1).says(why);
    assert!(!file.exists());
}
