//! `--time-limit` and `--memory-budget` bind headers without keyslots, too; what was not tried is named.

use keyway_format::tcrypt::Program;
use keyway_tests::fvault2::Fvault2;
use keyway_tests::peers::program;
use keyway_tests::{
    Run, Scratch, Terminal, fvault2, keyway, need, need_that, peer, programs, random, tcrypt,
};
use std::fs;
use std::path::PathBuf;

/// The seconds, and the way on with twice as many.
#[track_caller]
fn assert_over_time(run: Run, kdf: &str) {
    let said = run.fails(1).errors();
    let start = format!("{kdf} was not tried, and nothing else opens the volume: it needs about ");
    let rest = said.strip_prefix(&start).unwrap_or_else(|| panic!("{said}"));
    let (seconds, rest) = rest.split_once(" s, the limit is 2 s; --time-limit ").expect(&said);
    let seconds: u64 = seconds.parse().unwrap();
    assert!(seconds >= 60, "{said}");
    assert_eq!(rest, format!("{} allows it.\n", 2 * seconds));
}

#[test]
fn a_forged_count_of_filevaults_is_not_waited_for() {
    let scratch = Scratch::new();
    let plain = random(77, fvault2::LEN);
    let of = |name: &str, passphrases: &[&'static str]| {
        let made =
            Fvault2 { claims: Some(u32::MAX), passphrases: passphrases.to_vec(), ..Fvault2::default() };
        scratch.file(name, made.make(&plain))
    };
    let (alone, with_another) = (of("alone", &["one"]), of("with-another", &["one", "two"]));
    let read = "read --type fvault2 --time-limit 2";
    assert_over_time(keyway(read).arg(&alone).stdin("one"), "PBKDF2 of user 0");
    assert_over_time(keyway(read).arg(&with_another).stdin("one"), "PBKDF2 of user 0");
    assert!(keyway(read).arg(&with_another).stdin("two").ok().quiet().stdout == plain);
}

#[test]
fn a_large_pim_is_not_waited_for() {
    let scratch = Scratch::new();
    let volume = scratch.file("volume", tcrypt::made(Program::VeraCrypt, "sha512", Some(1)));
    let line = "--type tcrypt --veracrypt-pim 2147468 --time-limit 2 --hash";
    for verb in ["read", "open --test-passphrase"] {
        assert_over_time(
            keyway(&format!("{verb} {line} sha512")).arg(&volume).stdin("secret"),
            "PBKDF2 with sha512",
        );
    }
    let dump = "tcryptDump --veracrypt-pim 2147468 --time-limit 2 --hash sha512";
    assert_over_time(keyway(dump).arg(&volume).stdin("secret"), "PBKDF2 with sha512");
    let read = keyway(&format!("read --memory-budget 2G {line} argon2id"));
    assert_over_time(read.arg(&volume).stdin("secret"), "Argon2id");
    for number in ["2147469", "4294967295", "4294967296", "18446744073709551615"] {
        let said = keyway("read --type tcrypt --veracrypt-pim").arg(number).arg(&volume).stdin("x").fails(1);
        assert_eq!(said.errors(), format!("keyway: --veracrypt-pim {number}: at most 2147468 is allowed.\n"));
    }
}

/// What else the passphrase may be for is tried all the same.
#[test]
fn argon2id_without_the_memory_is_named() {
    let scratch = Scratch::new();
    let volume = scratch.file("volume", tcrypt::made(Program::VeraCrypt, "sha512", Some(1)));
    let line = "read --type tcrypt --veracrypt-pim 1 --memory-budget 10M";
    keyway(line).arg(&volume).stdin("secret").ok().quiet();
    let message = "Argon2id was not tried, and nothing else opens the volume: it needs 65536 KiB of memory, the budget is \
                   10240 KiB; --memory-budget 65536K allows it.\n";
    for hash in ["", " --hash argon2id"] {
        let said = keyway(&format!("{line}{hash}")).arg(&volume).stdin("wrong").fails(3).errors();
        assert_eq!(said, message);
    }
    let enough = "read --type tcrypt --veracrypt-pim 1 --memory-budget 65536K --hash argon2id";
    let said = keyway(enough).arg(&volume).stdin("wrong").fails(2).errors();
    assert_eq!(said, "No device header detected with this passphrase.\n");
}

/// Both are asked for in each of cryptsetup's three tries; a PIM that is no number ends them.
#[test]
fn the_pim_is_asked_for_again_with_the_passphrase() {
    need!("setsid");
    let scratch = Scratch::new();
    let volume = scratch.file("volume", tcrypt::made(Program::VeraCrypt, "sha512", Some(1)));
    for line in [
        "open --test-passphrase --type tcrypt --hash sha512 --veracrypt-query-pim",
        "tcryptDump --hash sha512 --veracrypt-query-pim",
    ] {
        let start = || Terminal::start(&keyway(line).arg(&volume));
        let answer = |terminal: Terminal, passphrase: &str, pim: &str| {
            let terminal = terminal.expect("Enter passphrase for").type_secretly(passphrase);
            terminal.expect("Enter VeraCrypt PIM:").type_secretly(pim)
        };
        let wrong = "No device header detected with this passphrase.";
        let terminal = answer(start(), "wrong", "1").expect(wrong);
        let terminal = answer(terminal, "secret", "4294967296");
        let terminal =
            answer(terminal.expect("Invalid PIM value: outside of range (1 to 2147468)."), "secret", "1");
        let ending = terminal.finish();
        assert_eq!(ending.code, Some(0), "{}", ending.screen);

        let terminal = answer(start(), "secret", "2").expect(wrong);
        let terminal = answer(terminal, "secret", "3").expect(wrong);
        let ending = answer(terminal, "secret", "4").finish();
        assert_eq!((ending.code, ending.screen.matches(wrong).count()), (Some(2), 3), "{}", ending.screen);

        let ending = answer(start(), "secret", "two").finish();
        assert_eq!(ending.code, Some(1), "{}", ending.screen);
        assert!(ending.screen.contains("Invalid PIM value: parse error."), "{}", ending.screen);
    }
}

/// Crypttab's option is heeded, as by systemd, and what that does is said; on the command line cryptsetup refuses it for a
/// hidden volume.
#[test]
fn discards_of_volumes_that_hide_others_are_warned_of() {
    let scratch = Scratch::new();
    let volume = scratch.file("volume", tcrypt::made(Program::TrueCrypt, "sha512", None));
    let runtime = directory(&scratch);
    for (options, warning) in
        [("--allow-discards", OUTER), ("--tcrypt-hidden", ""), ("--allow-discards -r", "")]
    {
        for verb in ["open --backend nbd", "serve"] {
            let line = format!("{verb} --type tcrypt --disable-veracrypt {options}");
            let run = keyway(&line).env("XDG_RUNTIME_DIR", &runtime).arg(&volume);
            let run = if verb == "serve" { run } else { run.arg("name") };
            let said = run.stdin("wrong").fails(2).errors();
            assert_eq!(said, format!("{warning}No device header detected with this passphrase.\n"), "{line}");
        }
    }
    let line = "open --backend nbd --type tcrypt --tcrypt-hidden --allow-discards";
    let refused = keyway(line).arg(&volume).arg("name").stdin("wrong").fails(1).errors();
    assert_eq!(refused, "keyway: Option --tcrypt-hidden cannot be combined with --allow-discards.\n");

    need!("unshare", "chroot");
    let root = scratch.path("system");
    for name in ["bin", "etc", "run", "proc", "sys", "dev"] {
        fs::create_dir_all(root.join(name)).unwrap();
    }
    programs::copy(program(), root.join("bin/keyway"));
    fs::copy(&volume, root.join("volume")).unwrap();
    fs::write(root.join("key"), "wrong").unwrap();
    let table = "hidden /volume /key tcrypt,tcrypt-hidden,discard,hash=sha1\nouter /volume /key tcrypt,discard,hash=sha1\n\
                 neither /volume /key tcrypt,tcrypt-hidden,hash=sha1\n";
    fs::write(root.join("etc/crypttab"), table).unwrap();
    let inside = |line: &str| {
        let run = peer("unshare", "--user --map-root-user --mount chroot").arg(&root).args(line);
        run.env("XDG_RUNTIME_DIR", "/run")
    };
    need_that!(inside("/bin/keyway --version").outcome().code == Some(0), "namespaces are not permitted");
    for (name, warning) in [("hidden", HIDDEN), ("outer", OUTER), ("neither", "")] {
        let line = format!("/bin/keyway open --backend nbd {name}");
        // Without /proc nothing opens there; this is said before.
        let said = inside(&line).fails(1).errors();
        assert!(
            said.starts_with(warning) && said.matches("WARNING").count() == warning.lines().count(),
            "{name}: {said}"
        );
    }
}

const HIDDEN: &str = "WARNING: discards in a hidden volume show on the disk which of its sectors are unused, \
                      and so reveal that it exists.\n";
const OUTER: &str =
    "WARNING: discards in an outer volume destroy the hidden volume in its free space, if there is one.\n";

fn directory(scratch: &Scratch) -> PathBuf {
    let runtime = scratch.path("run");
    fs::create_dir(&runtime).unwrap();
    runtime
}
