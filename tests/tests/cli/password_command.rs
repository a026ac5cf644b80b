//! `--password-command`: a passphrase that a command prints.

use keyway_tests::peers::CHEAP_PBKDF2;
use keyway_tests::timeouts;
use keyway_tests::{Outcome, Run, Scratch, Terminal, keyway, need, peer};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

/// A LUKS1 volume made by Keyway with exactly this passphrase, and the passphrase in `exact-key`.
fn scratch_with(passphrase: &[u8]) -> Scratch {
    let scratch = Scratch::new();
    scratch.sized("volume", 3 << 20);
    std::fs::write(scratch.path("exact-key"), passphrase).unwrap();
    keyway("luksFormat -q --type luks1")
        .args(CHEAP_PBKDF2)
        .args("volume exact-key")
        .directory(scratch.root())
        .ok();
    scratch
}

fn with_command(scratch: &Scratch, line: &str, command: &str) -> Run {
    keyway(line).arg("--password-command").arg(command).directory(scratch.root())
}

fn opened_by(scratch: &Scratch, command: &str) -> Outcome {
    with_command(scratch, "open --test-passphrase volume", command).outcome()
}

#[track_caller]
fn refused(outcome: &Outcome, message: &str) {
    assert_eq!((outcome.code, outcome.errors()), (Some(1), format!("{message}\n")), "{outcome}");
}

#[test]
fn one_newline_at_the_end_is_not_part_of_it() {
    let scratch = scratch_with(b"secret");
    for command in ["printf secret", "echo secret", "cat exact-key", "echo noise >&2; echo secret"] {
        assert_eq!(opened_by(&scratch, command).code, Some(0), "{command}");
    }
    for command in ["printf 'secret\n\n'", "printf 'secret\r\n'", "printf '\nsecret'", "echo secre"] {
        assert_eq!(opened_by(&scratch, command).code, Some(2), "{command}");
    }
    let scratch = scratch_with(b"two\nli\0nes");
    assert_eq!(opened_by(&scratch, r"printf 'two\nli\0nes\n'").code, Some(0));
    assert_eq!(opened_by(&scratch, r"printf 'two\nli'").code, Some(2));
}

/// What the command leaves running has the pipe, and is not waited for.
#[test]
fn a_child_in_the_background_is_not_waited_for() {
    let scratch = scratch_with(b"secret");
    for command in [
        "sleep 1000 2>/dev/null & echo $! >>children; echo secret",
        "echo secret; sleep 1000 2>/dev/null & echo $! >>children",
        "(sleep 1000; echo later) 2>/dev/null & echo $! >>children; printf sec; sleep 0.2; printf ret",
    ] {
        let began = Instant::now();
        let opened = with_command(&scratch, "open --test-passphrase volume", command);
        assert_eq!(opened.limit(Duration::from_secs(60)).outcome().code, Some(0), "{command}");
        assert!(began.elapsed() < Duration::from_secs(60));
    }
    // What the command itself takes is waited for, whoever closes the pipe meanwhile.
    assert_eq!(opened_by(&scratch, "printf secret; exec >&-; sleep 0.2").code, Some(0));
    refused(
        &opened_by(&scratch, "printf secret; exec >&-; exit 3"),
        "The password command failed with exit code 3.",
    );
    for child in std::fs::read_to_string(scratch.path("children")).unwrap().lines() {
        peer("kill", "").arg(child).ok();
    }
}

/// A command that fails may have printed half of a passphrase.
#[test]
fn what_fails_gives_no_passphrase() {
    let scratch = scratch_with(b"secret");
    for (command, why) in [
        ("printf secret; exit 3", "failed with exit code 3"),
        ("false", "failed with exit code 1"),
        ("printf secret; kill -KILL $$", "was ended by a signal: 9 (SIGKILL)"),
        ("true", "printed nothing"),
        ("echo", "printed nothing"),
        ("", "printed nothing"),
        ("head -c 8388609 /dev/zero", "printed more than 8 MiB, the longest passphrase"),
        ("cat /dev/zero", "printed more than 8 MiB, the longest passphrase"),
    ] {
        refused(&opened_by(&scratch, command), &format!("The password command {why}."));
    }
    let unknown = opened_by(&scratch, "/nonexistent/program 2>/dev/null");
    refused(&unknown, "The password command failed with exit code 127.");
    // Nothing is written, either.
    let new = with_command(&scratch, "build exact-key new.luks", "echo secret; exit 4");
    refused(&new.outcome(), "The password command failed with exit code 4.");
    assert!(!scratch.path("new.luks").exists());
    // The longest that a key file may hold.
    with_command(&scratch, "luksFormat -q --type luks1 volume", "head -c 8388608 /dev/zero")
        .args(CHEAP_PBKDF2)
        .ok();
    assert_eq!(opened_by(&scratch, "head -c 8388608 /dev/zero").code, Some(0));
}

#[test]
fn other_sources_of_the_passphrase_are_refused() {
    let scratch = scratch_with(b"secret");
    for other in ["key-file=exact-key", "keyfile-offset=1", "keyfile-size=6", "key-description=x"] {
        let line = format!("open --test-passphrase volume --{other}");
        let name = other.split('=').next().unwrap();
        let message = format!("keyway: Options --password-command and --{name} cannot be combined.");
        refused(&with_command(&scratch, &line, "echo secret").outcome(), &message);
    }
    let twice = with_command(&scratch, "luksFormat -q volume exact-key", "echo secret");
    refused(&twice.outcome(), "--password-command cannot be combined with a key file; omit one of them.");
    assert_eq!(opened_by(&scratch, "echo secret").code, Some(0), "it was not formatted");
}

/// Its input is empty: what stands on this program's is data, or the next passphrase.
#[test]
fn it_reads_nothing_that_is_not_its_own() {
    let scratch = scratch_with(b"secret");
    with_command(&scratch, "build - new.luks --headroom 1M --pbkdf pbkdf2", "cat; echo secret")
        .args(CHEAP_PBKDF2)
        .stdin("plaintext")
        .ok();
    let read = with_command(&scratch, "read new.luks --length 9", "echo secret").ok();
    assert_eq!(read.text(), "plaintext");
    with_command(&scratch, "luksAddKey -q volume", "cat; echo secret")
        .args(CHEAP_PBKDF2)
        .stdin("next\n")
        .ok();
    assert_eq!(opened_by(&scratch, "echo next").code, Some(0));
    with_command(&scratch, "luksKillSlot -q volume 0", "echo next").ok();
    assert_eq!(opened_by(&scratch, "echo secret").code, Some(2));
    with_command(&scratch, "luksChangeKey -q volume", "echo next").args(CHEAP_PBKDF2).stdin("last").ok();
    with_command(&scratch, "inspect volume", "echo last").ok();
    with_command(&scratch, "inspect volume", "echo next").fails(2);
}

/// As a passphrase, it is hashed; the content of a key file would be the key itself.
#[test]
fn a_plain_volume_takes_it_as_a_typed_passphrase() {
    let scratch = Scratch::new();
    scratch.random_file("plain", 3, 1 << 20);
    let read = |line: &str| keyway("read --type plain -c aes-xts-plain64 -s 256 -h sha256 plain").args(line);
    let typed = read("").stdin("secret\n").directory(scratch.root()).ok();
    let printed = read("--password-command").arg("echo secret").directory(scratch.root()).ok();
    assert!(typed.stdout == printed.stdout && !typed.stdout.is_empty());
}

/// Neither it nor what it prints is on the command line of another process than its shell.
#[test]
fn the_passphrase_is_on_no_command_line() {
    let scratch = scratch_with(b"unmistakable");
    let listing = "cat /proc/[0-9]*/cmdline > lines 2>/dev/null; cat exact-key";
    assert_eq!(opened_by(&scratch, listing).code, Some(0));
    let lines = std::fs::read(scratch.path("lines")).unwrap();
    assert!(!lines.windows(12).any(|bytes| bytes == b"unmistakable"));
    with_command(&scratch, "open --test-passphrase --debug volume", "cat exact-key")
        .ok()
        .lacks("unmistakable");
}

#[test]
fn control_c_ends_a_command_that_hangs() {
    need!("setsid");
    let scratch = scratch_with(b"secret");
    let line = with_command(&scratch, "open --test-passphrase volume", "echo $$ > pid; exec sleep 600");
    let terminal = Terminal::start(&line);
    let pid = written(&scratch.path("pid"));
    let ending = terminal.interrupt().finish();
    // The terminal signals both; the program may hear of the command's end before its own signal.
    let by_the_command = ending.screen.contains("The password command was ended by a signal: 2 (SIGINT).");
    assert!(ending.signal == Some(2) || by_the_command && ending.code != Some(0), "{}", ending.screen);
    ended(&pid);
}

/// A service manager signals the one process that it knows.
#[test]
fn a_signal_to_the_program_alone_ends_the_command_too() {
    let scratch = scratch_with(b"secret");
    let line = with_command(&scratch, "open --test-passphrase volume", "echo $$ > pid; exec sleep 600");
    let mut child = line.spawn().unwrap();
    let pid = written(&scratch.path("pid"));
    peer("kill", &format!("-TERM {}", child.id())).ok();
    assert!(!child.wait().unwrap().success());
    ended(&pid);
}

/// The command sends the signal itself, as soon as it runs.
#[test]
fn a_signal_while_the_command_starts_ends_it_too() {
    for _ in 0..8 {
        let scratch = scratch_with(b"secret");
        let command = "echo $$ > pid; kill -TERM $PPID; exec sleep 600";
        let line = with_command(&scratch, "open --test-passphrase volume", command);
        assert!(!line.spawn().unwrap().wait().unwrap().success());
        ended(&written(&scratch.path("pid")));
    }
}

/// The process number that the command wrote.
fn written(file: &Path) -> String {
    let started = Instant::now();
    loop {
        match std::fs::read_to_string(file) {
            Ok(pid) if pid.ends_with('\n') => return pid.trim().to_owned(),
            _ => assert!(timeouts::is_within(timeouts::EVENT, started), "the command did not start"),
        }
        thread::sleep(Duration::from_millis(10));
    }
}

#[track_caller]
fn ended(pid: &str) {
    let started = Instant::now();
    let runs = || std::fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line.starts_with(b"sleep"));
    while runs() {
        assert!(timeouts::is_within(timeouts::EVENT, started), "{pid} goes on");
        thread::sleep(Duration::from_millis(10));
    }
}

/// cryptsetup has no such option.
#[test]
fn called_as_cryptsetup_it_is_unknown() {
    let scratch = scratch_with(b"secret");
    let link = scratch.path("cryptsetup");
    symlink(keyway_tests::peers::program(), &link).unwrap();
    for line in ["open --test-passphrase volume", "luksFormat -q volume", "luksDump volume"] {
        let outcome =
            Run::new(&link, line).args("--password-command=true").directory(scratch.root()).outcome();
        assert_eq!(outcome.code, Some(1), "{outcome}");
        assert!(outcome.errors().contains("\n--password-command: unknown option"), "{outcome}");
    }
    Run::new(&link, "luksFormat --help").ok().lacks("password-command");
    keyway("luksFormat --help").ok().says("--password-command COMMAND");
}
