//! Completions, run in the shells themselves: commands, options, and the values of both.

use crate::help::verbs;
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
    ("boot ch", "check"),
    ("boot check dis", "disk"),
    ("bench di", "diff disk"),
    ("passport --target grub-2", "grub-2.06 grub-2.12 grub-2.14 grub-2.14-accel"),
    ("passport --target grub-u", "grub-ubuntu-22.04 grub-ubuntu-24.04 grub-ubuntu-26.04"),
    ("passport --hardware rtx4090x", "rtx4090x1000"),
    ("boot check --keyboard de", "de"),
    ("boot check --grub-version 2.1", "2.12 2.14"),
    ("boot check --grub-version ub", "ubuntu-22.04 ubuntu-24.04 ubuntu-26.04"),
    ("luksFormat --iter-time-for grub-d", "grub-debian-12 grub-debian-13 grub-debian-14"),
    ("boot fit --hash sha5", "sha512"),
    ("ciphers --cipher aes-x", "aes-xts-plain64"),
    ("list --pl", "--place"),
    ("list --place h", "home"),
    ("bench --suite qu", "quick"),
    ("xray --cipher aes-hc", "aes-hctr2-plain64"),
    ("ma", "man"),
    ("man luksF", "luksFormat"),
    ("open disk home --key-sl", "--key-slot"),
    ("mount disk di", "directory"),
    ("luksFormat --uuid di", ""),
    ("reencrypt --resilience ch", "checksum"),
];

/// Names of devices as bash takes them apart, the index of the last word, and what is offered.
const DEVICES: &[(&str, usize, &str)] = &[
    ("open PARTLABEL =", 3, "home-disk home-key other"),
    ("open PARTLABEL = ho", 4, "home-disk home-key"),
    ("open -d key LABEL = ", 6, ""),
    ("luksAddKey PARTLABEL = other ke", 5, "key"),
    ("luksKillSlot PARTLABEL = other 3", 5, "3 30 31"),
];

/// Stands in for the program, which would list what is open on this machine.
const LIST: &str = "printf 'NAME  BACKEND  MODE\\nhome  nbd   read/write\\nwork  fuse  read/write\\n'";

fn prepared(shell: &str) -> (Scratch, String) {
    let scratch = Scratch::new();
    scratch.file("disk", "");
    scratch.file("key", "");
    fs::create_dir(scratch.path("directory")).unwrap();
    for link in ["home-disk", "home-key", "other"] {
        fs::create_dir_all(scratch.path("udev/by-partlabel")).unwrap();
        scratch.file(&format!("udev/by-partlabel/{link}"), "");
    }
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
        for verb in verbs() {
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
    // It takes names of devices apart, too.
    for (typed, at, offered) in DEVICES {
        let script = format!("sed s,/dev/disk,{},g {script}", scratch.path("udev").display());
        let line = format!(
            "source <({script}); COMP_WORDS=(keyway {typed}); COMP_CWORD={at}; _keyway; echo \"${{COMPREPLY[@]}}\""
        );
        let line = line.replace("=PARTLABEL", "PARTLABEL");
        assert_eq!(words(&run(&line)), words(offered), "{typed}");
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
fn fish_offers_devices_by_udevs_names() {
    need!("fish");
    let (scratch, script) = prepared("fish");
    let script = format!("sed s,/dev/disk,{},g {script}", scratch.path("udev").display());
    let line = format!("{script} | source; complete -C 'keyway open PARTLABEL=ho' | cut -f 1");
    let said = peer("fish", "--no-config -c").arg(line).directory(scratch.root()).ok().text();
    assert_eq!(words(&said), ["PARTLABEL=home-disk", "PARTLABEL=home-key"]);
}

/// In a terminal of its own: a list of matches, or the line with the one that fits.
#[test]
fn zsh_offers_commands_verbs_and_values() {
    need!("zsh", "python3");
    let (scratch, script) = prepared("zsh");
    let script = format!("sed s,/dev/disk,{},g {script}", scratch.path("udev").display());
    let start = format!("autoload -U compinit; compinit -D; source <({script}); keyway() {{ {LIST}; }}");
    scratch.file("typing.py", TYPING);
    for (typed, offered) in [
        ("keyway boot ch", "check"),
        ("keyway bench d", "diff disk"),
        ("keyway passport --target grub-2", "grub-2.06 grub-2.12 grub-2.14 grub-2.14-accel"),
        ("keyway close h", "home"),
        ("keyway luksFormat --hash sha5", "sha512"),
        ("keyway luksFormat --cipher aes-x", "aes-xts-plain64"),
        ("keyway boot check --grub-version 2.1", "2.12 2.14"),
        ("keyway luksKillSlot disk 3", "30 31"),
        ("keyway open PARTLABEL=ho", "home-disk home-key"),
        ("keyway man luksF", "luksFormat"),
    ] {
        let run = peer("python3", "typing.py").arg(&start).arg(typed).directory(scratch.root());
        let said = run.ok().text();
        for word in words(offered) {
            assert!(said.contains(word), "{typed}: {word}: {said}");
        }
    }
}

/// Types a line and a tab or two in zsh, and prints what the terminal then shows.
const TYPING: &str = r#"
import os, pty, select, sys, time
start, typed = sys.argv[1:]
pid, terminal = pty.fork()
if pid == 0:
    os.environ.update(TERM="xterm", HOME=os.getcwd(), EDITOR="emacs")
    os.execvp("zsh", ["zsh", "-f", "-i"])
def shown(until, seconds):
    text, end = "", time.time() + seconds
    while time.time() < end and not (until and until in text):
        if select.select([terminal], [], [], 0.2)[0]:
            text += os.read(terminal, 65536).decode(errors="replace")
        elif until is None and text:
            break
    return text
os.write(terminal, (start + "; print IN''IT\n").encode())
assert "INIT" in shown("INIT", 30)
shown(None, 3)
os.write(terminal, typed.encode() + b"\t\t")
listed = shown(None, 6)
# Where one word fits, it is in the line now.
os.write(terminal, b"\x01print -r -- \n")
print(listed, shown(None, 3))
os.kill(pid, 9)
"#;

#[test]
fn zsh_reads_its_script() {
    need!("zsh");
    let (_scratch, script) = prepared("zsh");
    peer("zsh", "-f -n").arg(&script).ok().quiet();
    let line = format!("autoload -U compinit; compinit -D; source {script}; print $_comps[keyway]");
    assert_eq!(peer("zsh", "-f -c").arg(line).ok().text(), "_keyway\n");
}
