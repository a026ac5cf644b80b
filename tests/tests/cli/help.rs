//! Help, man pages and completions: generated from the tables, and fast.

use keyway_tests::{Scratch, Terminal, keyway, need, peer};
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
    assert!(text.lines().count() <= 37, "{text}");
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
    keyway("man --output").arg(&pages).ok();
    assert!(pages.join("keyway.8").exists());
    for verb in VERBS {
        let help = keyway(verb).args("--help").ok().quiet().text();
        assert!(help.contains(&format!("Usage: keyway {verb} [OPTION...]")), "{help}");
        assert_eq!(keyway("help").arg(verb).ok().text(), help);
        assert!(help.lines().count() <= 40, "{help}");
        let all = keyway(verb).args("--help-all").ok().quiet().text();
        assert!(all.contains("--test-args") && !help.contains("--test-args"), "{help}");
        let shown = keyway("man").arg(verb).ok().quiet().text();
        assert!(shown.starts_with(&format!("KEYWAY-{}\n\nNAME\n", verb.to_uppercase())), "{shown}");
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
    keyway("man --output").arg(scratch.root()).ok();
    for entry in std::fs::read_dir(scratch.root()).unwrap() {
        let path = entry.unwrap().path();
        peer("groff", "-man -Tascii -ww -z").arg(&path).ok().quiet();
    }
}

/// What is refused in cryptsetup's words is behind `--help-all` and in the man page, and called as
/// cryptsetup help is as long as ever.
#[test]
fn refused_options_are_not_what_help_shows_first() {
    for option in
        ["--integrity SPEC", "--hw-opal", "--hw-opal-only", "--integrity-inline", "--integrity-no-wipe"]
    {
        let all = keyway("luksFormat --help-all").ok().text();
        let line = all.lines().find(|line| line.contains(&format!("{option} "))).expect(option);
        assert!(line.contains("Refused"), "{line}");
        assert!(!keyway("luksFormat --help").ok().text().contains(option), "{option}");
        let name = option.split(' ').next().unwrap();
        assert!(keyway("man luksFormat").ok().text().contains(name), "{name}");
    }
    let scratch = Scratch::new();
    let link = scratch.path("cryptsetup");
    symlink(keyway_tests::peers::program(), &link).unwrap();
    let help = peer(link.to_str().unwrap(), "open --help").ok().text();
    for option in ["--keyfile-offset", "--perf-no_read_workqueue", "--test-args", "--debug-json"] {
        assert!(help.contains(option), "{option}: {help}");
    }
    assert!(!help.contains("--help-all") && !help.contains("--password-command"), "{help}");
    peer(link.to_str().unwrap(), "open --help-all").fails(1).says("--help-all: unknown option");
}

#[test]
fn a_verb_of_a_verb_has_help_of_its_own() {
    let check = keyway("boot check --help").ok().text();
    assert!(check.contains("Usage: keyway boot check [OPTION...] VOLUME\n"), "{check}");
    assert!(check.contains("--grub-version") && !check.contains("--extract"), "{check}");
    assert_eq!(keyway("help boot check").ok().text(), check);
    assert!(keyway("boot check --help-all").ok().text().contains("--memory-budget"));
    let boot = keyway("boot --help").ok().text();
    assert!(boot.contains("  check VOLUME ") && boot.contains("keyway boot initramfs --help"), "{boot}");
    assert!(keyway("bench diff --help").ok().text().contains("--threshold PERCENT"));
    assert!(!keyway("bench disk --help").ok().text().contains("--threshold"));
}

#[test]
fn man_shows_a_page_in_a_pager_on_a_terminal_and_as_text_elsewhere() {
    let text = keyway("man").ok().quiet().text();
    assert!(
        text.starts_with("KEYWAY\n\nNAME\n       keyway - Linux disk encryption without root\n"),
        "{text}"
    );
    assert!(text.lines().all(|line| line.chars().count() <= 80 || !line.contains("  ")), "{text}");
    assert_eq!(keyway("man keyway").ok().text(), text);
    let page = keyway("man luksFormat").ok().text();
    assert_eq!(keyway("man keyway-luksFormat").ok().text(), page);
    assert_eq!(keyway("man luksOpen").ok().text(), keyway("man open").ok().text());
    assert!(page.contains("\n       -c, --cipher SPEC\n              Cipher, mode and IV"), "{page}");
    // Nothing appears in the directory where it is typed.
    let scratch = Scratch::new();
    keyway("man luksFormat").directory(scratch.root()).ok();
    assert_eq!(std::fs::read_dir(scratch.root()).unwrap().count(), 0);
    // Without man(1) a terminal gets the pager.
    let bin = scratch.path("bin");
    std::fs::create_dir(&bin).unwrap();
    for program in ["sh", "sed", "env", "setsid"] {
        symlink(format!("/usr/bin/{program}"), bin.join(program)).unwrap();
    }
    let run = keyway("man close").env("PATH", &bin).env("PAGER", "/bin/sed 's/^/PAGED /'");
    let ending = Terminal::start(&run).expect("PAGED KEYWAY-CLOSE").finish();
    assert_eq!(ending.code, Some(0));
    // With it, man gets the page.
    let man = bin.join("man");
    std::fs::write(&man, "#!/bin/sh\necho \"ASKED $*\"\nexec /bin/sed -n 1p\n").unwrap();
    std::fs::set_permissions(&man, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let run = keyway("man close").env("PATH", &bin);
    let ending = Terminal::start(&run).expect("ASKED -l -").expect(".TH \"KEYWAY").finish();
    assert_eq!(ending.code, Some(0));
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
