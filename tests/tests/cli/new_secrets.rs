//! Secrets that are set: an empty one only if it is meant, and the newline at a file's end is said.

use keyway_tests::peers::CHEAP_PBKDF2;
use keyway_tests::{Run, Scratch, cryptsetup, keyway, need, peer, random};
use std::fs;
use std::os::unix::fs::symlink;

/// A volume, a device, an image, and key files of several kinds.
fn files() -> Scratch {
    let scratch = Scratch::new();
    for (name, content) in [("key", "secret"), ("empty", ""), ("typed", "secret\n"), ("lines", "a\nb\n")] {
        scratch.file(name, content);
    }
    scratch.file("image", random(66, 65536));
    scratch.sized("device", 3 << 20);
    run(&scratch, "build -q --type luks1 -d key image volume").ok();
    scratch
}

fn run(scratch: &Scratch, line: &str) -> Run {
    keyway(line).args(CHEAP_PBKDF2).directory(scratch.root())
}

fn open(scratch: &Scratch, line: &str) -> Run {
    keyway("open --test-passphrase").args(line).directory(scratch.root())
}

/// Each way to set the passphrase in the file `key`, with what it changes.
fn ways(key: &str) -> [(String, &'static str); 6] {
    [
        (format!("build -q --type luks1 -d {key} image made"), "made"),
        (format!("luksFormat -q --type luks1 device {key}"), "device"),
        (format!("luksFormat -q --type luks1 -d {key} device"), "device"),
        (format!("copy -q --to luks1 -d key --new-keyfile {key} volume made"), "made"),
        (format!("luksAddKey -q -d key volume {key}"), "volume"),
        (format!("luksChangeKey -q -d key volume {key}"), "volume"),
    ]
}

#[test]
fn an_empty_passphrase_is_set_only_if_it_is_meant() {
    need!("cryptsetup", "bash");
    let scratch = files();
    let refused = "The new passphrase is empty: anyone who has the volume could open it by pressing Enter.\n\
                   --allow-empty-passphrase allows it.\n";
    let content = |name: &str| fs::read(scratch.path(name)).ok();
    for (line, changes) in ways("empty") {
        let before = content(changes);
        assert_eq!(run(&scratch, &line).fails(1).errors(), refused, "{line}");
        assert!(content(changes) == before, "{line}");
    }
    for line in ["build -q image made", "luksFormat -q device", "luksAddKey -q -d key volume"] {
        assert_eq!(run(&scratch, line).stdin("\n").fails(1).errors(), refused, "{line}");
    }
    assert!(content("made").is_none());
    // As a script with an unset variable has it.
    let line = format!(
        "{} build -q {CHEAP_PBKDF2} -d <(printf %s \"$UNSET\") image made",
        keyway_tests::peers::program().display()
    );
    let unset = peer("bash", "-c").arg(line).directory(scratch.root()).fails(1);
    assert_eq!(unset.errors(), refused);
    // Opening asks for nothing of the kind.
    open(&scratch, "-d empty volume").fails(2);
    for (line, changes) in ways("empty") {
        let _ = fs::remove_file(scratch.path("made"));
        run(&scratch, "build -q --force --type luks1 -d key image volume").ok();
        run(&scratch, &format!("{line} --allow-empty-passphrase")).ok().quiet();
        let open = format!("open --test-passphrase -d empty {changes}");
        cryptsetup(&open).directory(scratch.root()).ok();
    }
}

/// Scripts written for cryptsetup go on: with a line on standard error.
#[test]
fn called_as_cryptsetup_an_empty_passphrase_is_a_warning() {
    need!("cryptsetup");
    let scratch = files();
    symlink(keyway_tests::peers::program(), scratch.path("cryptsetup")).unwrap();
    let named =
        |line: &str| Run::new(scratch.path("cryptsetup"), line).args(CHEAP_PBKDF2).directory(scratch.root());
    let warning =
        "WARNING: The new passphrase is empty: anyone who has the volume can open it by pressing Enter.\n";
    for (line, changes) in ways("empty").into_iter().filter(|(line, _)| line.starts_with("luks")) {
        run(&scratch, "build -q --force --type luks1 -d key image volume").ok();
        let done = named(&line).ok();
        assert_eq!((done.text(), done.errors()), (String::new(), warning.to_owned()), "{line}");
        let open = format!("open --test-passphrase -d empty {changes}");
        cryptsetup(&open).directory(scratch.root()).ok();
        Run::new(scratch.path("cryptsetup"), &open).directory(scratch.root()).ok().quiet();
    }
    named("luksFormat -q --type luks1 device").stdin("\n").ok().says(warning);
    named("luksFormat -q --allow-empty-passphrase device empty").fails(1);
    // A newline is nothing that cryptsetup says.
    named("luksFormat -q --type luks1 device typed").ok().quiet();
    named("luksFormat --type luks1 device typed").stdin("YES\n").ok().lacks("newline");
}

#[test]
fn a_newline_at_the_end_of_a_key_file_is_said() {
    let scratch = files();
    let note = |file: &str| {
        format!("{file} ends in a newline, which is part of the key: it cannot be typed at a prompt.\n")
    };
    run(&scratch, "build --type luks1 -d typed image one").ok().says(&note("typed"));
    run(&scratch, "build --type luks1 -d - image two").stdin("secret\n").ok().says(&note("Standard input"));
    run(&scratch, "luksAddKey -d key volume typed").ok().says(&note("typed"));
    open(&scratch, "-d typed one").ok().lacks("newline");
    run(&scratch, "luksAddKey -d typed one key").ok().lacks("newline");
    // Not a line that was typed; a line without its newline; and nobody is to be told.
    run(&scratch, "build --type luks1 -d lines image three").ok().lacks("newline");
    run(&scratch, "build --type luks1 image four").stdin("secret\n").ok().lacks("newline");
    run(&scratch, "build --type luks1 -d typed --keyfile-size 6 image five").ok().lacks("newline");
    run(&scratch, "build --type luks1 -q -d typed image six").ok().quiet();
    // It is what it says: only the file opens it.
    open(&scratch, "two").stdin("secret\n").fails(2);
}
