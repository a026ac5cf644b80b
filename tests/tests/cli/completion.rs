//! Completions, run in the shells themselves: commands, options, and the values of both.

use crate::help::VERBS;
use keyway_tests::{Scratch, keyway, need, peer};
use std::fs;

/// What is typed, the last word incomplete, and what is offered.
const TYPED: &[(&str, &str)] = &[
    ("luksF", "luksFormat"),
    ("luksFormat --ciph", "--cipher"),
    ("luksFormat --cipher aes-x", "aes-xts-plain64"),
    ("luksFormat --pbkdf argon2", "argon2id argon2i"),
    ("luksFormat --hash sha5", "sha512"),
    ("luksFormat --type luks", "luks luks1 luks2"),
    ("luksAddKey disk -S 3", "3 30 31"),
    ("luksKillSlot --key-file key disk 3", "3 30 31"),
    ("luksFormat --key-file ke", "key"),
    ("open --backend n", "nbd"),
    ("open dis", "disk"),
    ("open disk h", ""),
    ("close h", "home"),
    ("status h", "home"),
    ("luksSuspend h", "home"),
    ("token un", "unassign"),
    ("token add --token-id 1 dis", "disk"),
    ("boot uk", "uki"),
    ("mount disk di", "directory"),
    ("luksFormat --uuid di", ""),
    ("reencrypt --resilience ch", "checksum"),
];

/// Stands in for the program, which would list what is open on this machine.
const LIST: &str = "printf 'NAME  DOOR  MODE\\nhome  nbd   read/write\\nwork  fuse  read/write\\n'";

fn prepared(shell: &str) -> (Scratch, String) {
    let scratch = Scratch::new();
    scratch.file("disk", "");
    scratch.file("key", "");
    fs::create_dir(scratch.path("directory")).unwrap();
    let script = scratch.file("script", keyway("completions").arg(shell).ok().stdout);
    (scratch, script.display().to_string())
}

fn words(text: &str) -> Vec<&str> {
    let mut words: Vec<_> = text.split_whitespace().collect();
    words.sort_unstable();
    words
}

#[test]
fn completions_know_every_verb() {
    for shell in ["bash", "zsh", "fish"] {
        let script = keyway("completions").arg(shell).ok().text();
        for verb in VERBS {
            assert!(script.contains(verb), "{shell} lacks {verb}");
        }
        assert!(script.contains("pbkdf-force-iterations"), "{shell} lacks options");
    }
}

#[test]
fn bash_offers_commands_options_and_values() {
    need!("bash");
    let (scratch, script) = prepared("bash");
    let run = |line: &str| peer("bash", "-c").arg(line).directory(scratch.root()).ok().text();
    for (typed, offered) in TYPED {
        let line = format!(
            "source {script}; keyway() {{ {LIST}; }}; COMP_WORDS=(keyway {typed}); \
             COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); _keyway; echo \"${{COMPREPLY[@]}}\""
        );
        let said = run(&line);
        let said = words(&said);
        let expected = words(offered);
        // Files are offered where directories are: bash tells them apart itself.
        assert_eq!(said, expected, "{typed}");
    }
    // bash takes --name=value apart.
    let line = format!(
        "source {script}; COMP_WORDS=(keyway open --backend = f); COMP_CWORD=4; _keyway; echo ${{COMPREPLY[@]}}"
    );
    assert_eq!(run(&line), "fuse\n");
}

#[test]
fn fish_offers_commands_options_and_values() {
    need!("fish");
    let (scratch, script) = prepared("fish");
    for (typed, offered) in TYPED {
        let line =
            format!("source {script}; function keyway; {LIST}; end; complete -C 'keyway {typed}' | cut -f 1");
        let said = peer("fish", "--no-config -c").arg(line).directory(scratch.root()).ok().text();
        for word in words(offered) {
            let found = said.lines().any(|line| line.trim_end_matches('/') == word);
            assert!(found, "{typed}: {said}");
        }
    }
}

#[test]
fn zsh_reads_its_script() {
    need!("zsh");
    let (_scratch, script) = prepared("zsh");
    peer("zsh", "-f -n").arg(&script).ok().quiet();
    let line = format!("autoload -U compinit; compinit -D; source {script}; print $_comps[keyway]");
    assert_eq!(peer("zsh", "-f -c").arg(line).ok().text(), "_keyway\n");
}
