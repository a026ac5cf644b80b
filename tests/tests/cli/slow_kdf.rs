//! Key derivations of more than a minute: said beforehand, asked for, and refused where nobody can
//! be asked.

use keyway_tests::peers::CHEAP_PBKDF2;
use keyway_tests::{Run, Scratch, Terminal, keyway, need};

/// The GRUB article's recipe on the default format, where the number means passes of Argon2.
const RECIPE: &str = "luksAddKey volume new -d key -S 1 --pbkdf-force-iterations 200000";
const WARNING: &str = "200,000 passes of Argon2id over ";

fn volume(kind: &str) -> (Scratch, Vec<u8>) {
    let scratch = Scratch::new();
    let volume = scratch.sized("volume", 20 << 20);
    scratch.file("key", "secret");
    scratch.file("new", "another");
    let pbkdf = if kind == "luks2" { "--pbkdf pbkdf2" } else { "" };
    let made = keyway("luksFormat -q --type").arg(kind).args(CHEAP_PBKDF2).args(pbkdf);
    made.arg(&volume).stdin("secret").ok();
    let before = std::fs::read(&volume).unwrap();
    (scratch, before)
}

fn there(scratch: &Scratch, line: &str) -> Run {
    keyway(line).directory(scratch.root())
}

#[test]
fn hours_of_argon2_are_refused_where_nobody_can_be_asked() {
    let (scratch, before) = volume("luks2");
    let refused = there(&scratch, RECIPE).fails(1);
    let refused =
        refused.says(WARNING).says(" h on this machine, now and each time that the volume is opened.");
    refused.says("For iterations of PBKDF2, give --pbkdf pbkdf2.").says("-q confirms it");
    let named = there(&scratch, RECIPE).args("--pbkdf argon2id").fails(1);
    named.says(WARNING).lacks("--pbkdf pbkdf2").says("--iter-time 2000");
    there(&scratch, "luksAddKey volume new -d key --iter-time 61000").fails(1).says("milliseconds");
    assert!(before == std::fs::read(scratch.path("volume")).unwrap(), "the header was changed");
}

#[test]
fn a_terminal_is_asked_and_no_is_no() {
    need!("setsid");
    let (scratch, before) = volume("luks2");
    let ending = Terminal::start(&there(&scratch, RECIPE))
        .expect(WARNING)
        .expect("Are you sure? (Type 'yes' in capital letters): ")
        .type_line("no")
        .finish();
    assert_eq!(ending.code, Some(1), "{}", ending.screen);
    assert!(ending.screen.contains("Operation aborted."), "{}", ending.screen);
    assert!(before == std::fs::read(scratch.path("volume")).unwrap(), "the header was changed");
}

/// What the article means: on LUKS1, and on LUKS2 with the format named.
#[test]
fn the_recipe_with_its_format_asks_nothing() {
    for (kind, format) in [("luks1", ""), ("luks2", "--pbkdf pbkdf2")] {
        let (scratch, _) = volume(kind);
        there(&scratch, RECIPE).args(format).ok();
        there(&scratch, "luksDump volume").ok().says("200000");
        there(&scratch, "open --test-passphrase -S 1 -d new volume").ok();
    }
}
