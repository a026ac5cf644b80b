//! Help, man pages and completions: generated from the tables, and fast.

use keyway_tests::{Scratch, keyway, need, peer};
use std::os::unix::fs::symlink;
use std::process::Command;

pub(crate) const VERBS: &[&str] = &[
    "inspect",
    "read",
    "write",
    "build",
    "compare",
    "copy",
    "serve",
    "mount",
    "umount",
    "seal",
    "list",
    "ciphers",
    "boot",
    "luksFormat",
    "open",
    "close",
    "status",
    "resize",
    "refresh",
    "luksSuspend",
    "luksResume",
    "luksDump",
    "luksAddKey",
    "luksChangeKey",
    "luksRemoveKey",
    "luksKillSlot",
    "luksConvertKey",
    "erase",
    "luksUUID",
    "isLuks",
    "luksHeaderBackup",
    "luksHeaderRestore",
    "config",
    "token",
    "convert",
    "repair",
    "benchmark",
    "reencrypt",
    "tcryptDump",
    "bitlkDump",
    "fvault2Dump",
];

#[test]
fn the_overview_names_every_verb_and_fits_a_screen() {
    let text = keyway("--help").ok().quiet().text();
    for verb in VERBS {
        assert!(text.contains(verb), "{verb} is missing in\n{text}");
    }
    assert!(text.lines().count() <= 34, "{text}");
    assert_eq!(keyway("-h").ok().text(), text);
    assert_eq!(keyway("-?").ok().text(), text);
    assert_eq!(keyway("help").ok().text(), text);
    let bare = keyway("").fails(1);
    assert_eq!(bare.errors(), text);
    assert_eq!(bare.text(), "");
}

#[test]
fn every_verb_has_help_and_a_man_page() {
    let scratch = Scratch::new();
    let pages = scratch.path("made/on/the/way");
    keyway("man").arg(&pages).ok();
    assert!(pages.join("keyway.8").exists());
    for verb in VERBS {
        let help = keyway(verb).args("--help").ok().quiet().text();
        assert!(help.contains(&format!("Usage: keyway {verb} [OPTION...]")), "{help}");
        assert_eq!(keyway("help").arg(verb).ok().text(), help);
        assert!(keyway(verb).args("--usage").ok().text().starts_with(&format!("Usage: keyway {verb}")));
        let page = std::fs::read_to_string(pages.join(format!("keyway-{verb}.8"))).unwrap();
        assert!(page.starts_with(".TH \"KEYWAY"), "{page}");
        for section in
            [".SH NAME", ".SH SYNOPSIS", ".SH DESCRIPTION", ".SH \"COMMON OPTIONS\"", ".SH EXIT STATUS"]
        {
            assert!(page.contains(section), "keyway-{verb}.8 lacks {section}");
        }
    }
}

#[test]
fn man_pages_render_without_a_warning() {
    need!("groff");
    let scratch = Scratch::new();
    keyway("man").arg(scratch.root()).ok();
    for entry in std::fs::read_dir(scratch.root()).unwrap() {
        let path = entry.unwrap().path();
        peer("groff", "-man -Tascii -ww -z").arg(&path).ok().quiet();
    }
}

/// Scripts read the second word of cryptsetup's version.
#[test]
fn called_as_cryptsetup_it_says_so() {
    let scratch = Scratch::new();
    let link = scratch.path("cryptsetup");
    symlink(keyway_tests::peers::program(), &link).unwrap();
    let run = |line: &str| Command::new(&link).args(line.split_whitespace()).output().unwrap();
    let version = String::from_utf8(run("--version").stdout).unwrap();
    assert!(version.starts_with("cryptsetup 2.8.8 flags: UDEV BLKID KEYRING (keyway "), "{version}");
    let refused = run("luksUUID --sector-size 512 x");
    assert!(
        refused.stderr.starts_with(b"cryptsetup: Option --sector-size is not allowed with luksUUID action")
    );
    assert!(String::from_utf8(run("luksDump --help").stdout).unwrap().contains("Usage: cryptsetup luksDump"));
}

#[test]
fn a_reader_that_goes_away_is_no_panic() {
    need!("sh");
    let line = format!(
        "{} completions bash | head -c 1 >/dev/null; echo ${{PIPESTATUS[0]}}",
        keyway_tests::peers::program().display()
    );
    let outcome = peer("bash", "-c").arg(line).ok().quiet();
    assert!(["0\n", "1\n"].contains(&outcome.text().as_str()), "{outcome}");
    peer("sh", "-c")
        .arg(format!("{} --help >/dev/full", keyway_tests::peers::program().display()))
        .fails(1)
        .says("Cannot write to standard output");
}
