//! From start to exit: how long a passphrase takes.

use crate::options::Options;
use crate::peers::volumes::{Place, milliseconds, program, timed};
use crate::rounds::{Case, Goal, Sample, Unit};
use keyway_format::tcrypt::Program;
use keyway_tests::bitlk::{Bitlk, LEN, Protector};
use keyway_tests::tcrypt;
use std::fs::{self, File};
use std::path::Path;
use std::process::Stdio;
use std::rc::Rc;

pub(crate) fn cases(options: &Options) -> Vec<Case> {
    [WRONG, NAMED, BITLOCKER].into_iter().filter(|title| options.wants(title)).map(case).collect()
}

fn case(title: &str) -> Case {
    match title {
        // Which combination comes last differs from program to program.
        WRONG => dumped(title, "tcryptDump -q {}", (b"wrong", 2), 0.25),
        NAMED => dumped(title, "tcryptDump -q --hash sha256 {}", (b"secret", 0), 0.5),
        _ => bitlocker(title),
    }
}

const WRONG: &str = "VeraCrypt, a wrong passphrase: all combinations";
const NAMED: &str = "VeraCrypt, SHA-256 named";
const BITLOCKER: &str = "BitLocker, a passphrase";

/// By Keyway and by cryptsetup, the passphrase on standard input; `code` is what both exit with.
fn dumped(title: &str, line: &str, (passphrase, code): (&[u8], i32), wanted: f64) -> Case {
    let place = Rc::new(Place::new(&format!("veracrypt-{code}")));
    let volume = place.file("volume", &tcrypt::made(Program::VeraCrypt, "sha256", None));
    let typed = place.file("passphrase", passphrase);
    let opening = |name: &str| {
        let (line, place) = (format!("{name} {line}"), Rc::clone(&place));
        let (volume, typed) = (volume.clone(), typed.clone());
        move || {
            // The volume's directory lives as long as whoever opens it.
            let _ = &place;
            let input = File::open(&typed).expect("the passphrase was written");
            timed(program(&line, &[&volume]).stdin(input).stderr(Stdio::null()))
        }
    };
    let sample = |name: &str| {
        let open = opening(name);
        match open().0.code() {
            Some(found) if found == code => Ok(Box::new(move || open().1) as Sample),
            found => Err(format!("it exits with {found:?} (cryptsetup needs AF_ALG for all but AES)")),
        }
    };
    Case::new(title, Unit::Milliseconds, 3)
        .entering("keyway", sample("keyway"))
        .entering("cryptsetup", sample("cryptsetup"))
        .wanting(Goal::RatioAtMost(wanted))
}

/// 1,048,576 rounds of SHA-256. dislocker has no verb that ends then: it decrypts these 4 MiB too.
fn bitlocker(title: &str) -> Case {
    let place = Rc::new(Place::new("bitlocker"));
    let made = Bitlk { protectors: vec![Protector::Passphrase(PASSPHRASE)], ..Bitlk::default() };
    let volume = place.file("volume", &made.make(&vec![0; LEN]));
    let key = place.file("passphrase", PASSPHRASE.as_bytes());
    let out = place.path("out");
    let opening = |line: String, paths: &[&Path]| {
        let written = out.clone();
        let (place, paths) =
            (Rc::clone(&place), paths.iter().map(|path| path.to_path_buf()).collect::<Vec<_>>());
        move || {
            let _ = &place;
            let paths: Vec<_> = paths.iter().map(|path| path.as_path()).collect();
            // dislocker writes to no file that is there.
            let _ = fs::remove_file(&written);
            milliseconds(&mut program(&line, &paths))
        }
    };
    let dump = |name: &str| format!("{name} bitlkDump -q --dump-volume-key --key-file {{}} {{}}");
    Case::new(title, Unit::Milliseconds, 5)
        .with("keyway", opening(dump("keyway"), &[&key, &volume]))
        .with(
            "dislocker-file",
            opening(format!("dislocker-file -q -u{PASSPHRASE} -V {{}} -- {{}}"), &[&volume, &out]),
        )
        .wanting(Goal::RatioAtMost(0.5))
        .with("cryptsetup", opening(dump("cryptsetup"), &[&key, &volume]))
}

const PASSPHRASE: &str = "correct-horse-battery";
