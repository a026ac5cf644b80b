//! VeraCrypt volumes that `tcryptFormat` makes, beside cryptsetup, and what it refuses.

use keyway_tests::{Run, Scratch, Terminal, cryptsetup, keyway, need, random};
use std::fs;
use std::path::Path;

const KEY: &str = "correct horse battery staple";
const HIDDEN: &str = "what opens the volume in it";
const LEN: usize = 1 << 20;
const RESERVED: usize = 131_072;

fn format(line: &str, file: &Path, typed: &str) -> Run {
    keyway(&format!("tcryptFormat --veracrypt-pim 1 {line}")).arg(file).stdin(typed)
}

#[track_caller]
fn read(line: &str, file: &Path, passphrase: &str) -> Vec<u8> {
    keyway(&format!("read --type tcrypt --veracrypt-pim 1 {line}"))
        .arg(file)
        .stdin(passphrase)
        .ok()
        .quiet()
        .stdout
}

/// Both headers, as cryptsetup and Keyway show them; the volume key, too.
#[test]
fn cryptsetup_opens_what_was_made() {
    need!("cryptsetup");
    for hash in ["sha512", "sha256"] {
        let scratch = Scratch::new();
        let file = scratch.path("new.hc");
        format(&format!("--hash {hash} --size 1M"), &file, KEY).ok().quiet();
        let name = file.display();
        for place in ["", "--tcrypt-backup"] {
            let line = format!("tcryptDump -q --veracrypt -h {hash} --veracrypt-pim 1 {place}");
            let shown = cryptsetup(&line).arg(&file).stdin(KEY).ok();
            let expected = format!(
                "VERACRYPT header information for {name}\nVersion:       \t5\nDriver req.:\t1.b\nSector size:\t512\n\
                 MK offset:\t131072\nPBKDF2 hash:\t{hash}\nCipher chain:\taes\nCipher mode:\txts-plain64\nMK bits:       \t512\n"
            );
            assert_eq!(shown.text(), expected);
            assert_eq!(keyway(&line).arg(&file).stdin(KEY).ok().text(), expected);
            let with_key = |run: Run| run.arg("--dump-volume-key").arg(&file).stdin(KEY).ok().text();
            assert_eq!(with_key(cryptsetup(&line)), with_key(keyway(&line)));
        }
    }
}

#[test]
fn a_hidden_volume_and_its_outer_one() {
    need!("cryptsetup");
    let scratch = Scratch::new();
    let file = scratch.path("new.hc");
    format("--hash sha512 --size 1M", &file, KEY).ok();
    let outer = read("", &file, KEY);
    let both = format!("{KEY}\n{HIDDEN}\n");
    format("--tcrypt-hidden --size 256K --outer-pim 1", &file, &both).ok().quiet();
    let hidden = read("--tcrypt-hidden", &file, HIDDEN);
    assert_eq!(hidden.len(), 256 << 10);
    assert_eq!(read("--tcrypt-hidden --tcrypt-backup", &file, HIDDEN), hidden);
    assert!(read("", &file, KEY) == outer);
    for place in ["", "--tcrypt-backup"] {
        let line = format!("tcryptDump -q --veracrypt -h sha512 --veracrypt-pim 1 --tcrypt-hidden {place}");
        let shown = cryptsetup(&line).arg(&file).stdin(HIDDEN).ok().text();
        assert!(shown.contains("MK offset:\t651264\n"), "{shown}");
        assert_eq!(keyway(&line).arg(&file).stdin(HIDDEN).ok().text(), shown);
    }
    let before = fs::read(&file).unwrap();
    let again = |size: &str, typed: &str, code: i32| {
        let line = format!("--tcrypt-hidden --outer-pim 1 --size {size}");
        format(&line, &file, typed).fails(code).errors()
    };
    assert!(again("64K", &both, 1).contains("A hidden volume opens with this passphrase already"));
    assert_eq!(again("64K", "wrong\n", 2), "No device header detected with this passphrase.\n");
    let same = again("64K", &format!("{KEY}\n{KEY}\n"), 1);
    assert!(
        same.contains("The hidden volume needs another passphrase, PIM or key files than the outer one"),
        "{same}"
    );
    let large = again("1M", &both, 1);
    assert!(
        large.contains("Size of the hidden volume: 1048576 bytes, but the outer volume has room for 745472"),
        "{large}"
    );
    assert!(fs::read(&file).unwrap() == before);
}

/// The data area is filled, unless it is to be quick; what is there is not overwritten unasked.
#[test]
fn what_is_there_is_overwritten_when_that_is_said() {
    let scratch = Scratch::new();
    let file = scratch.file("disk.img", vec![7; LEN]);
    let unasked = format("--quick", &file, KEY).fails(5).errors();
    let lost = "disk.img would be lost, and there is no terminal to confirm it; --force replaces it.\n";
    assert!(unasked.ends_with(lost), "{unasked}");
    assert!(fs::read(&file).unwrap().iter().all(|byte| *byte == 7));
    format("-q --quick", &file, KEY).ok();
    let made = fs::read(&file).unwrap();
    assert!(made[RESERVED..LEN - RESERVED].iter().all(|byte| *byte == 7));
    format("--force", &file, KEY).ok();
    let made = fs::read(&file).unwrap();
    assert!(made.chunks(4096).all(|chunk| chunk.iter().any(|byte| *byte != chunk[0])));
    let exists = format("--size 1M", &file, KEY).fails(5).errors();
    assert!(exists.contains("--force"), "{exists}");
    assert!(fs::read(&file).unwrap() == made);
    format("--size 2M --force", &file, KEY).ok();
    assert_eq!(fs::metadata(&file).unwrap().len(), 2 << 20);

    let luks = scratch.sized("luks.img", 32 << 20);
    keyway("luksFormat -q --type luks1 --pbkdf-force-iterations 1000").arg(&luks).stdin("secret").ok();
    let before = fs::read(&luks).unwrap();
    let holds = format("--quick", &luks, KEY).fails(5).errors();
    assert!(holds.contains("LUKS") && holds.contains("--force replaces it."), "{holds}");
    assert!(fs::read(&luks).unwrap() == before);
    let screen =
        Terminal::start(&format("--quick", &luks, "")).expect("irrevocably").type_line("no").finish();
    assert!(screen.screen.contains("Operation aborted."), "{}", screen.screen);
    assert!(fs::read(&luks).unwrap() == before);
    let terminal = Terminal::start(&format("--quick", &luks, "")).expect("irrevocably").type_line("YES");
    let terminal = terminal.expect("Enter passphrase").type_secretly(KEY);
    let ending = terminal.expect("Verify passphrase").type_secretly(KEY).finish();
    assert_eq!(ending.code, Some(0), "{}", ending.screen);
    assert_eq!(read("", &luks, KEY).len(), (32 << 20) - 2 * RESERVED);
}

/// The copy at the end opens it when the first header is gone, and key files stand for a passphrase.
#[test]
fn key_files_pims_and_damage() {
    let scratch = Scratch::new();
    let (one, two) = (scratch.file("one", random(1, 3000)), scratch.file("two", "a short one"));
    let keys = format!("-d {} -d {}", one.display(), two.display());
    let file = scratch.path("new.hc");
    let line = format!("tcryptFormat --hash sha256 --quick --size 512K {keys}");
    keyway(&line).arg(&file).stdin("\n").ok().quiet();
    let narrow = "--type tcrypt --hash sha256 --cipher aes";
    let plain = keyway(&format!("read {narrow} {keys}")).arg(&file).stdin("\n").ok().stdout;
    assert_eq!(plain.len(), (512 << 10) - 2 * RESERVED);
    let mut bytes = fs::read(&file).unwrap();
    bytes[..RESERVED].fill(0);
    fs::write(&file, bytes).unwrap();
    keyway(&format!("read {narrow} {keys}")).arg(&file).stdin("\n").fails(2);
    assert!(
        keyway(&format!("read --tcrypt-backup {narrow} {keys}")).arg(&file).stdin("\n").ok().stdout == plain
    );

    let asked = scratch.path("asked.hc");
    let line = "tcryptFormat --veracrypt-query-pim --quick --size 512K";
    keyway(line).arg(&asked).stdin(format!("{KEY}\n1\n")).ok().quiet();
    assert_eq!(read("--hash sha512", &asked, KEY).len(), plain.len());
    let terminal = Terminal::start(&keyway(line).arg(scratch.path("other.hc")));
    let terminal = terminal.expect("Enter passphrase").type_secretly(KEY).expect("Verify").type_secretly(KEY);
    let terminal = terminal.expect("Enter new VeraCrypt PIM:").type_secretly("1");
    let ending = terminal.expect("Verify VeraCrypt PIM:").type_secretly("2").finish();
    assert!(ending.screen.contains("PIMs do not match."), "{}", ending.screen);
    assert!(!scratch.path("other.hc").exists());
}

#[test]
fn what_cannot_be_made_is_refused_in_one_line() {
    let scratch = Scratch::new();
    let file = scratch.file("disk.img", vec![7; LEN]);
    let refused = |line: &str, typed: &str, code: i32| {
        let said = keyway(&format!("tcryptFormat -q {line}")).arg(&file).stdin(typed).fails(code).errors();
        assert_eq!(said.lines().count(), 1, "{said}");
        said
    };
    for (line, message) in [
        ("--hash ripemd160", "Hash: VeraCrypt makes no volumes with \"ripemd160\", only with sha512, "),
        ("--cipher cast5", "Cipher: VeraCrypt makes no volumes with \"cast5\", only with aes, "),
        ("--veracrypt-pim 10", "VeraCrypt takes one below 485 only with a passphrase of 20 bytes or more"),
        ("--veracrypt-pim 5 --veracrypt-query-pim", "--veracrypt-pim"),
        ("--tcrypt-hidden", "Option --tcrypt-hidden needs --size, the size of the hidden volume."),
        ("--tcrypt-hidden --size 64K --quick", "Option --quick cannot be combined with --tcrypt-hidden"),
        ("--outer-pim 5", "need --tcrypt-hidden."),
        ("--tcrypt-backup", "tcrypt-backup"),
        ("--key-slot 1", "key-slot"),
        // Part of a passphrase would be the key.
        ("--keyfile-size 1", "keyfile-size"),
        ("--keyfile-offset 1", "keyfile-offset"),
    ] {
        let said = refused(line, "x", 1);
        assert!(said.contains(message), "{line}: {said}");
    }
    // What opens it is to stay within the limits, too.
    let memory = refused("--hash argon2id --memory-budget 1M", KEY, 1);
    assert!(memory.contains("Argon2id would need about 425984 KiB"), "{memory}");
    let time = refused("--veracrypt-pim 2147468 --time-limit 1", KEY, 1);
    assert!(
        time.contains("PBKDF2 with sha512 would need about ") && time.contains("the limit is 1 s"),
        "{time}"
    );
    let long = refused("", &"x".repeat(129), 1);
    assert!(long.contains("Passphrase: 129 bytes, but VeraCrypt takes at most 128"), "{long}");
    let empty = refused("", "\n", 1);
    assert!(
        empty.contains("The new passphrase is empty: VeraCrypt takes that only with key files (--key-file)."),
        "{empty}"
    );
    assert!(fs::read(&file).unwrap().iter().all(|byte| *byte == 7));
    let short = scratch.sized("short", 299_007);
    let said = keyway("tcryptFormat").arg(&short).stdin(KEY).fails(1).errors();
    assert!(said.contains("299007 bytes, but VeraCrypt's smallest has 299008"), "{said}");
    let missing = scratch.path("missing");
    let said = keyway("tcryptFormat").arg(&missing).stdin(KEY).fails(4).errors();
    assert!(said.ends_with("does not exist or access denied; --size 1G makes a new file.\n"), "{said}");
    let said = keyway("tcryptFormat --size 100K").arg(&missing).stdin(KEY).fails(1).errors();
    assert!(said.contains("VeraCrypt's smallest has 299008"), "{said}");
    // The new file would be a key file of its own from then on. Nobody is asked before.
    scratch.file("a key", "1");
    for folder in [".", &scratch.path("").display().to_string()] {
        let line = keyway("tcryptFormat --size 1M --key-file").arg(folder).arg(&missing);
        let said = line.directory(&scratch.path("")).fails(1).errors();
        assert!(said.contains(" would become one of the key files in "), "{said}");
    }
    assert!(!missing.exists());
    let said = keyway("tcryptFormat --size 1M").arg(scratch.path("none/new.hc")).fails(4).errors();
    assert!(said.starts_with("The directory of ") && said.ends_with("does not exist.\n"), "{said}");
}
