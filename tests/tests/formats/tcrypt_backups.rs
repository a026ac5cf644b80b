//! Backups of the headers of VeraCrypt volumes, restored: what cryptsetup opens then, and what is asked and refused.

use super::tcrypt_headers::{HIDDEN, LEN, NEW, OLD, RESERVED, backup, change, made, read, restore};
use keyway_tests::{Scratch, Terminal, keyway, need};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// VeraCrypt's file: both halves open as volumes' headers do, and nothing in it is the same as on the volume.
#[test]
fn a_backup_has_both_headers_and_restores_them() {
    let scratch = Scratch::new();
    let (file, kept) = (made(&scratch), scratch.path("hc.header"));
    let before = fs::read(&file).unwrap();
    backup("--tcrypt-hidden --hidden-pim 1", &file, &kept, &[OLD, HIDDEN]).ok().quiet();
    let metadata = fs::metadata(&kept).unwrap();
    assert_eq!((metadata.len(), metadata.mode() & 0o7777), (131_072, 0o400));
    let content = fs::read(&kept).unwrap();
    assert!(content.chunks(64).all(|chunk| !before.windows(64).step_by(64).any(|on_disk| on_disk == chunk)));
    for (hidden, key) in [("", OLD), ("--tcrypt-hidden", HIDDEN)] {
        let line = format!("tcryptDump --veracrypt-pim 1 {hidden}");
        let dump = |path: &Path| {
            let shown = keyway(&line).arg(path).stdin(key).ok().text();
            shown.split_once('\n').unwrap().1.to_owned()
        };
        assert_eq!(dump(&kept), dump(&file));
    }
    let again = backup("", &file, &kept, &[OLD]).fails(1).errors();
    assert_eq!(again, format!("Requested header backup file {} already exists.\n", kept.display()));
    assert!(fs::read(&kept).unwrap() == content);

    let data = read("--veracrypt-pim 1", &file, OLD).ok().stdout;
    let mut damaged = before.clone();
    damaged[..RESERVED].fill(0);
    damaged[LEN - RESERVED..].fill(0);
    fs::write(&file, damaged).unwrap();
    restore("", &file, Some(&kept), HIDDEN).fails(2);
    restore("-q", &file, Some(&kept), OLD).ok().quiet();
    assert!(read("--veracrypt-pim 1", &file, OLD).ok().stdout == data);
    restore("-q --tcrypt-hidden", &file, Some(&kept), HIDDEN).ok().quiet();
    for place in ["", "--tcrypt-backup"] {
        read(&format!("--veracrypt-pim 1 {place}"), &file, OLD).ok();
        read(&format!("--veracrypt-pim 1 --tcrypt-hidden {place}"), &file, HIDDEN).ok();
    }
    assert!(fs::read(&file).unwrap()[RESERVED..LEN - RESERVED] == before[RESERVED..LEN - RESERVED]);
}

/// Without the hidden volume's passphrase its half is noise.
#[test]
fn a_backup_of_the_outer_volume_hides_that_there_is_another() {
    let scratch = Scratch::new();
    let (file, kept) = (made(&scratch), scratch.path("hc.header"));
    backup("", &file, &kept, &[OLD]).ok().quiet();
    let shown = keyway("tcryptDump --veracrypt-pim 1 --tcrypt-hidden").arg(&kept).stdin(HIDDEN).fails(2);
    assert_eq!(shown.errors(), "No device header detected with this passphrase.\n");
    let content = fs::read(&kept).unwrap();
    let ones = |half: &[u8]| half.iter().map(|byte| byte.count_ones()).sum::<u32>();
    for half in content.chunks(65536) {
        assert!((255_000..270_000).contains(&ones(half)), "{}", ones(half));
    }
    let options = backup("--hidden-pim 1", &file, &scratch.path("other"), &[OLD]).fails(1).errors();
    assert!(options.contains("need --tcrypt-hidden."), "{options}");
    let none = keyway("tcryptHeaderBackup").arg(&file).stdin(OLD).fails(1).errors();
    assert!(none.contains("Option --header-backup-file is required."), "{none}");
}

/// The first header is gone, and its copy is left.
#[test]
fn the_copy_at_the_end_restores_the_first_header() {
    let scratch = Scratch::new();
    let file = made(&scratch);
    let mut damaged = fs::read(&file).unwrap();
    damaged[..4096].fill(0);
    damaged[65536..65536 + 4096].fill(0);
    fs::write(&file, &damaged).unwrap();
    read("--veracrypt-pim 1", &file, OLD).fails(2);
    restore("", &file, None, OLD).ok().quiet();
    restore("--tcrypt-hidden", &file, None, HIDDEN).ok().quiet();
    read("--veracrypt-pim 1", &file, OLD).ok();
    read("--veracrypt-pim 1 --tcrypt-hidden", &file, HIDDEN).ok();
    assert!(
        fs::read(&file).unwrap()[RESERVED..] == damaged[RESERVED..],
        "only the first headers are written"
    );
    // By it, the first header is made anew with another key, too.
    fs::write(&file, &damaged).unwrap();
    change("--tcrypt-backup", &file, &[OLD, NEW]).ok().quiet();
    read("--veracrypt-pim 1", &file, NEW).ok();
    read("--veracrypt-pim 1 --tcrypt-backup", &file, NEW).ok();
}

/// What would be lost is said first.
#[test]
fn a_restore_asks_and_refuses() {
    need!("setsid");
    let scratch = Scratch::new();
    let (file, kept) = (made(&scratch), scratch.path("hc.header"));
    backup("", &file, &kept, &[OLD]).ok();
    let before = fs::read(&file).unwrap();
    let run = || restore("", &file, Some(&kept), "");
    let terminal = Terminal::start(&run()).expect("Enter passphrase").type_secretly(OLD);
    let ending = terminal.expect("Are you sure?").type_line("yes").finish();
    let shown = ending.screen.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        shown.contains("This will replace the header on ") && shown.contains("Operation aborted."),
        "{shown}"
    );
    assert!(fs::read(&file).unwrap() == before);
    let terminal = Terminal::start(&run()).expect("Enter passphrase").type_secretly(OLD);
    let ending = terminal.expect("Are you sure?").type_line("YES").finish();
    assert_eq!(ending.code, Some(0), "{}", ending.screen);
    assert!(fs::read(&file).unwrap() != before, "salts are fresh");

    // Made again with the same passphrase.
    let line = "tcryptFormat -q --quick --veracrypt-pim 1";
    keyway(line).arg(&file).stdin(OLD).ok();
    let other = fs::read(&file).unwrap();
    let said = restore("", &file, Some(&kept), OLD).fails(5).errors();
    assert!(said.contains("belongs to a different volume or was created after this backup."), "{said}");
    assert!(fs::read(&file).unwrap() == other);
    restore("-q", &file, Some(&kept), OLD).ok().quiet();

    let refused = |from: &Path, to: &Path, code: i32| restore("", to, Some(from), OLD).fails(code).errors();
    let short = scratch.sized("short", 512 << 10);
    let said = refused(&kept, &short, 1);
    assert!(said.contains("the header belongs to another device"), "{said}");
    assert!(fs::read(&short).unwrap().iter().all(|byte| *byte == 0));
    let said = refused(&scratch.sized("no backup", 4096), &file, 1);
    assert!(
        said.contains("It has 4096 bytes, but header backups of TrueCrypt and VeraCrypt have 131072"),
        "{said}"
    );
    let said = refused(&scratch.path("none"), &file, 4);
    assert!(said.ends_with("none does not exist or access denied.\n"), "{said}");
}

/// A file, and another device than its own: without a word only where a header opens.
#[test]
fn a_restore_on_the_wrong_device_needs_a_word() {
    need!("setsid");
    let scratch = Scratch::new();
    let (file, kept) = (made(&scratch), scratch.path("hc.header"));
    backup("", &file, &kept, &[OLD]).ok();
    let (noise, table, larger) = (vec![7; LEN], scratch.path("table"), scratch.path("larger"));
    let mut with_table = noise.clone();
    with_table[512..520].copy_from_slice(b"EFI PART");
    let mut grown = fs::read(&file).unwrap();
    grown.resize(LEN + 4096, 7);
    fs::write(&table, &with_table).unwrap();
    fs::write(&larger, &grown).unwrap();
    let none = scratch.file("none", &noise);
    for (wrong, why) in [
        (&none, "No header there opens with this passphrase"),
        (&table, "already contains a 'gpt' partition signature."),
        (&larger, "from a smaller volume: 786432 bytes of data, and there is room for 790528."),
    ] {
        let before = fs::read(wrong).unwrap();
        let said = restore("", wrong, Some(&kept), OLD).fails(5).errors();
        assert!(said.contains(why) && said.contains("-q replaces it anyway."), "{said}");
        let terminal = Terminal::start(&restore("", wrong, Some(&kept), ""));
        let terminal = terminal.expect("Enter passphrase").type_secretly(OLD);
        let shown = terminal.expect("Are you sure?").type_line("no").finish().screen;
        let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(shown.contains(why), "{shown}");
        assert!(fs::read(wrong).unwrap() == before);
        restore("-q", wrong, Some(&kept), OLD).ok().quiet();
    }
}

/// Whoever has it open reads with what the header says.
#[test]
fn a_volume_that_is_open_keeps_its_header() {
    let scratch = Scratch::new();
    let (file, kept) = (made(&scratch), scratch.path("hc.header"));
    let runtime = scratch.path("run");
    fs::create_dir(&runtime).unwrap();
    let program = |line: &str| keyway(line).env("XDG_RUNTIME_DIR", &runtime);
    let open = "open --type tcrypt --veracrypt-pim 1 --hash sha512 --backend nbd";
    program(open).arg(&file).arg("hc").stdin(OLD).ok();
    let before = fs::read(&file).unwrap();
    for run in [change("", &file, &[OLD, NEW]), restore("-q", &file, None, OLD)] {
        let said = run.fails(5).errors();
        assert!(said.contains("in use"), "{said}");
    }
    assert!(fs::read(&file).unwrap() == before);
    // It is only read.
    backup("", &file, &kept, &[OLD]).ok().quiet();
    program("close hc").ok();
    change("", &file, &[OLD, NEW]).ok();
}
