//! `--device-size` of what goes on: as much of it as is asked for, and no size that it cannot have.

use crate::session::Open;
use crate::{Fixture, PLAIN, Tool};
use keyway_tests::peers::CHEAP_LUKS2_PBKDF2;
use keyway_tests::{Run, Terminal, cryptsetup, keyway, need, need_cryptsetup_to_reencrypt};

/// What Keyway adds.
const RANGE: &str = "It can have 4096 to 16777216 bytes, in multiples of 4096. Nothing was changed.";

/// Both programs do the same, byte for byte but for the keys.
#[test]
fn what_goes_on_takes_no_more_of_the_device_than_is_asked_for() {
    need_cryptsetup_to_reencrypt!();
    for (tool, range) in [(keyway as Tool, RANGE), (cryptsetup, "")] {
        let f = Fixture::volume();
        f.reencrypt(keyway, "--init-only").ok();
        let before = std::fs::read(&f.device).unwrap();
        for size in [PLAIN + 4096, (8 << 20) + 512] {
            let refused = f.reencrypt(tool, &format!("--device-size {}s", size / 512)).fails(1);
            refused.says("Illegal device size requested in reencryption parameters.").says(range);
            assert!(std::fs::read(&f.device).unwrap() == before, "{size}");
        }
        f.reencrypt(tool, "--device-size 8M").ok();
        assert!(!f.says("online-reencrypt"));
        let found = keyway("read --key-file").arg(&f.key).arg(&f.device).ok().stdout;
        assert!(found[..8 << 20] == f.plain[..8 << 20]);
        let after = std::fs::read(&f.device).unwrap();
        assert!(after[(16 << 20) + (8 << 20)..] == before[(16 << 20) + (8 << 20)..], "behind it");
        assert!(after[16 << 20..(16 << 20) + 4096] != before[16 << 20..(16 << 20) + 4096]);
    }
}

/// What is done already stays done: no size before its end, and no other one where the header says one.
#[test]
fn a_size_that_is_too_late_is_refused() {
    need!("prlimit");
    let f = Fixture::volume();
    f.cut_off("--hotzone-size 256K");
    let before = std::fs::read(&f.device).unwrap();
    f.reencrypt(keyway, "--resume-only --device-size 4M").fails(1).says("Illegal device size requested");
    assert!(std::fs::read(&f.device).unwrap() == before);
    f.reencrypt(keyway, "--resume-only --device-size 6M").ok();
    let found = keyway("read --key-file").arg(&f.key).arg(&f.device).ok().stdout;
    assert!(found[..6 << 20] == f.plain[..6 << 20] && found[6 << 20..] != f.plain[6 << 20..]);

    let f = Fixture::volume();
    f.reencrypt(keyway, "--init-only --device-size 8M").ok();
    f.reencrypt(keyway, "--resume-only --device-size 4M").fails(1).says("Illegal device size requested");
    f.reencrypt(keyway, "--resume-only --device-size 8M").ok();
    let found = keyway("read --key-file").arg(&f.key).arg(&f.device).ok().stdout;
    assert!(found[..8 << 20] == f.plain[..8 << 20]);
}

/// What is open goes on with its own size, and so does LUKS1: another one is refused before a key is asked for.
#[test]
fn what_cannot_be_limited_on_the_way_says_so() {
    let f = Fixture::volume();
    let open = Open::new(&f, "nbd");
    open.keyway("resize --device-size 8M home").ok();
    open.reencrypt("--init-only --device-size 8M").ok();
    let before = std::fs::read(&f.device).unwrap();
    let refused =
        open.keyway("reencrypt -q --active-name home --resume-only --device-size 4M").stdin("").fails(1);
    refused.says(
        "home is open: it resumes with the size that it was begun with, not with --device-size 4194304. Nothing was \
         changed.",
    );
    assert!(std::fs::read(&f.device).unwrap() == before);
    // Opened anew it has that size, and the line that began goes on.
    open.keyway("close home").ok();
    let open = Open::new(&f, "nbd");
    open.reencrypt("--device-size 8M").ok();
    assert!(!f.says("online-reencrypt"));

    let f = Fixture::plaintext(0);
    let format = keyway("luksFormat -q --type luks1 --pbkdf-force-iterations 1000");
    format.arg(&f.device).arg(&f.key).ok();
    let line = |options: &str| {
        let run =
            keyway("reencrypt -q --pbkdf-force-iterations 1000").args(options).directory(f.scratch.root());
        run.arg(&f.device)
    };
    line("--init-only --device-size 8M --key-file key").ok();
    let before = std::fs::read(&f.device).unwrap();
    line("--device-size 4M").stdin("").fails(1).says(
        "is a LUKS1 volume: it resumes with the size that it was begun with, not with --device-size 4194304. \
         Nothing was changed.",
    );
    assert!(std::fs::read(&f.device).unwrap() == before);
    line("--device-size 8M --key-file key").ok();
}

/// Whoever gives data up on the way is asked; called as cryptsetup it goes on, as cryptsetup does.
#[test]
fn a_smaller_size_on_the_way_is_asked_for() {
    need!("setsid");
    let f = Fixture::volume();
    f.reencrypt(keyway, "--init-only").ok();
    let before = std::fs::read(&f.device).unwrap();
    let line =
        keyway("reencrypt --resume-only --force-offline-reencrypt --device-size 8M --key-file").arg(&f.key);
    let line = line.arg(&f.device).directory(f.scratch.root());
    let asked = Terminal::start(&line)
        .expect("This gives up all data behind byte 8388608 of the volume on")
        .expect("capital letters")
        .type_line("no");
    let ending = asked.finish();
    assert_eq!(ending.code, Some(1), "{}", ending.screen);
    assert!(ending.screen.contains("Operation aborted."), "{}", ending.screen);
    assert!(std::fs::read(&f.device).unwrap() == before);
    // All of it is nothing that is given up.
    let all =
        keyway("reencrypt --resume-only --force-offline-reencrypt --device-size 16M --key-file").arg(&f.key);
    let ending = Terminal::start(&all.arg(&f.device).directory(f.scratch.root())).finish();
    assert_eq!(ending.code, Some(0), "{}", ending.screen);
    f.reads(false);
}

/// Whoever gives data up at the beginning is asked, too, and an estimate says so; `-q` and cryptsetup's name go on.
#[test]
fn a_smaller_size_at_the_beginning_is_asked_for() {
    need!("setsid");
    let asked = |f: &Fixture, line: &str, says: &[&str]| {
        let before = std::fs::read(&f.device).unwrap();
        let device = f.device.display();
        let run = keyway("reencrypt --force-offline-reencrypt --device-size 8M").args(line);
        let run = run.arg("--key-file").arg(&f.key).arg(&f.device).directory(f.scratch.root());
        let mut terminal = Terminal::start(&run);
        for words in says {
            terminal = terminal.expect(&words.replace("DEVICE", &device.to_string()));
        }
        let ending = terminal.expect("capital letters").type_line("no").finish();
        assert_eq!(ending.code, Some(1), "{line}: {}", ending.screen);
        assert!(ending.screen.contains("Operation aborted."), "{line}: {}", ending.screen);
        assert!(std::fs::read(&f.device).unwrap() == before && !f.header().exists(), "{line}");
    };
    let gives_up = "This gives up all data behind byte 8388608 of the volume on";
    let encrypts = "This will encrypt the first 8388608 bytes of the data on";
    let decrypts = "This will decrypt the first 8388608 bytes of the data on";
    let stays_plain = "The data behind them is not encrypted, and the volume";
    let stays_noise = "The data behind them stays encrypted, and nothing";
    let header = |f: &Fixture| f.header().display().to_string();

    let f = Fixture::volume();
    asked(&f, "", &[gives_up]);
    asked(&f, &format!("--decrypt --header {}", header(&f)), &[decrypts, stays_noise]);
    let f = Fixture::plaintext(32 << 20);
    asked(&f, &format!("--encrypt --header {}", header(&f)), &[encrypts, stays_plain]);
    asked(&f, "--encrypt --reduce-device-size 32M", &[encrypts, stays_plain]);
    asked(&f, "--encrypt --type luks1 --reduce-device-size 4M", &[encrypts, stays_plain]);
    let format = keyway("luksFormat -q --type luks1 --pbkdf-force-iterations 1000");
    format.arg(&f.device).arg(&f.key).ok();
    asked(&f, "", &[gives_up]);
    asked(&f, "--decrypt", &[decrypts, stays_noise]);
}

/// All of it is nothing that is given up: nobody is asked.
#[test]
fn the_whole_size_at_the_beginning_is_not_asked_for() {
    need!("setsid");
    let f = Fixture::volume();
    let all = keyway("reencrypt --force-offline-reencrypt --init-only --device-size 16M --key-file");
    let all = all.arg(&f.key).arg(&f.device).args(CHEAP_LUKS2_PBKDF2).directory(f.scratch.root());
    let ending = Terminal::start(&all).finish();
    assert_eq!(ending.code, Some(0), "{}", ending.screen);
    f.reencrypt(keyway, "--resume-only").ok();
    f.reads(false);
}

#[test]
fn an_estimate_says_what_a_size_gives_up() {
    let row = "Given up   8.0 MiB behind byte 8388608: the volume cannot read them afterwards";
    let estimate =
        |f: &Fixture, options: &str| keyway("reencrypt --estimate").args(options).arg(&f.device).ok();
    let f = Fixture::volume();
    estimate(&f, "--device-size 8M").says(row);
    estimate(&f, "--device-size 8M --json").says("\"given_up\":8388608");
    for whole in ["", "--device-size 16M"] {
        estimate(&f, whole).lacks("Given up");
        estimate(&f, &format!("{whole} --json")).says("\"given_up\":0");
    }
    estimate(&f, &format!("--decrypt --header {} --device-size 8M", f.header().display())).says(row);
    let f = Fixture::plaintext(32 << 20);
    estimate(&f, "--encrypt --reduce-device-size 32M --device-size 8M").says(row);
}

/// What is open keeps its size: another one is refused before anything is begun, and so is a volume that was resized.
#[test]
fn what_is_open_begins_with_the_size_that_it_has() {
    let f = Fixture::volume();
    let open = Open::new(&f, "nbd");
    let before = std::fs::read(&f.device).unwrap();
    let refused = |options: &str, says: &str, hint: &str| {
        let run = open.keyway("reencrypt -q --active-name home").args(options).stdin("");
        run.fails(1).says(says).says(hint);
        assert!(std::fs::read(&f.device).unwrap() == before, "{options}");
        let found = std::fs::read_dir(f.scratch.root()).unwrap();
        let names = found.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        assert!(names.collect::<Vec<_>>().iter().all(|name| !name.ends_with("-before-reencrypt.header")));
    };
    refused(
        "--device-size 8M",
        "home is open with 16777216 bytes, and keeps them: --device-size 8388608 is another size. Nothing was changed.",
        "\"keyway resize --device-size 8388608 home\" gives it that size first.",
    );
    refused(
        "--init-only --device-size 17M",
        "--device-size 17825792 is another size. Nothing was changed.",
        "",
    );
    open.keyway("resize --device-size 8M home").ok();
    refused(
        "",
        "home was resized: it is open with 8388608 bytes, and has 16777216. Nothing was changed.",
        "\"keyway resize home\" gives it all of them; --device-size 8388608 gives up the rest.",
    );
    open.reencrypt("--device-size 8M").ok();
    assert!(!f.says("online-reencrypt"));
    open.keyway("close home").ok();
    let found = keyway("read --key-file").arg(&f.key).arg(&f.device).ok().stdout;
    assert!(found[..8 << 20] == f.plain[..8 << 20] && found[8 << 20..] != f.plain[8 << 20..]);
}

/// Called as cryptsetup, the size of what is open is the one that is meant.
#[test]
fn cryptsetup_takes_the_size_of_what_is_open() {
    let f = Fixture::volume();
    let open = Open::new(&f, "nbd");
    open.keyway("resize --device-size 8M home").ok();
    let link = f.scratch.path("cryptsetup");
    std::os::unix::fs::symlink(keyway_tests::peers::program(), &link).unwrap();
    let line = Run::new(&link, "reencrypt -q --active-name home").args(CHEAP_LUKS2_PBKDF2);
    line.env("XDG_RUNTIME_DIR", f.scratch.root()).arg("--key-file").arg(&f.key).ok();
    open.keyway("status home").ok().says("8388608 of 8388608 bytes");
    open.keyway("close home").ok();
    let found = keyway("read --key-file").arg(&f.key).arg(&f.device).ok().stdout;
    assert!(found[..8 << 20] == f.plain[..8 << 20]);
}
