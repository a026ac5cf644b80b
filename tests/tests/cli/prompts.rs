//! The interactive side: prompts without echo, questions that require YES, retries, and restoring
//! the terminal.

use keyway_tests::peers::{CHEAP_LUKS2_PBKDF2, CHEAP_PBKDF2};
use keyway_tests::{Run, Scratch, Terminal, cryptsetup, keyway, need};
use std::sync::OnceLock;

/// A LUKS1 volume in a scratch directory, with the passphrase "secret".
fn scratch_with_volume() -> Scratch {
    static VOLUME: OnceLock<Vec<u8>> = OnceLock::new();
    let scratch = Scratch::new();
    let bytes = VOLUME.get_or_init(|| {
        let volume = scratch.sized("first", 3 << 20);
        keyway("luksFormat -q --type luks1").args(CHEAP_PBKDF2).arg(&volume).stdin("secret").ok();
        std::fs::read(volume).unwrap()
    });
    std::fs::write(scratch.path("volume"), bytes).unwrap();
    scratch
}

fn on_terminal(scratch: &Scratch, line: &str) -> Terminal {
    Terminal::start(&keyway(line).directory(scratch.root()))
}

#[test]
fn the_right_passphrase_at_the_second_try() {
    need!("setsid");
    let scratch = scratch_with_volume();
    let ending = on_terminal(&scratch, "open --test-passphrase volume")
        .expect("Enter passphrase for volume: ")
        .type_secretly("wrong")
        .expect("No key available with this passphrase.")
        .expect("Enter passphrase for volume: ")
        .type_secretly("secret")
        .finish();
    assert_eq!(ending.code, Some(0), "{}", ending.screen);
    assert_eq!(
        ending.screen,
        "Enter passphrase for volume: \nNo key available with this passphrase.\nEnter passphrase for volume: \n"
    );
}

/// With -q it waits without a word, as cryptsetup does.
#[test]
fn a_token_is_asked_for_on_a_terminal() {
    need!("setsid");
    let scratch = Scratch::new();
    let volume = scratch.sized("volume", 20 << 20);
    keyway("luksFormat -q").args(CHEAP_LUKS2_PBKDF2).arg(&volume).stdin("secret").ok();
    let ending = on_terminal(&scratch, "token import volume")
        .expect("Provide valid LUKS2 token JSON:")
        .type_line(r#"{"type":"x","keyslots":[]}"#)
        .type_line("\u{4}")
        .finish();
    assert_eq!(ending.code, Some(0), "{}", ending.screen);
    keyway("token export --token-id 0").arg(&volume).ok().says(r#""type":"x""#);
    let ending = on_terminal(&scratch, "token import -q volume").type_line("\u{4}").finish();
    assert!(!ending.screen.contains("Provide"), "{}", ending.screen);
}

/// Programs may answer at once: when the prompt appears, echo is already off.
#[test]
fn an_answer_at_once_is_heard_and_not_seen() {
    need!("setsid");
    let scratch = scratch_with_volume();
    for _ in 0..5 {
        let terminal = on_terminal(&scratch, "open --test-passphrase volume");
        let ending = terminal.expect("Enter passphrase for volume: ").type_line("secret").finish();
        assert_eq!((ending.code, &ending.screen[..]), (Some(0), "Enter passphrase for volume: \n"));
    }
}

#[test]
fn tries_are_three_or_as_said() {
    need!("setsid");
    let scratch = scratch_with_volume();
    for (option, tries) in [("", 3), ("--tries 1", 1), ("-T 2", 2)] {
        let mut terminal = on_terminal(&scratch, &format!("open --test-passphrase volume {option}"));
        for _ in 0..tries {
            terminal = terminal.expect("Enter passphrase for volume: ").type_secretly("wrong");
        }
        let ending = terminal.finish();
        assert_eq!(ending.code, Some(2), "{}", ending.screen);
        assert_eq!(ending.screen.matches("No key available with this passphrase.").count(), tries);
        assert!(!ending.screen.contains("wrong"), "the passphrase was echoed: {}", ending.screen);
    }
}

#[test]
fn control_c_gives_the_echo_back() {
    need!("setsid");
    let scratch = scratch_with_volume();
    let terminal = on_terminal(&scratch, "open --test-passphrase volume").expect("Enter passphrase");
    while terminal.echoes() {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    let terminal = terminal.interrupt();
    let watch = std::time::Instant::now();
    while !terminal.echoes() {
        assert!(
            keyway_tests::timeouts::is_within(keyway_tests::timeouts::EVENT, watch),
            "the echo stays off"
        );
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    let ending = terminal.finish();
    // setsid --wait reports the signal as 128 + 2, or dies of it too.
    assert!(
        ending.signal == Some(2) || ending.code == Some(130) || ending.code == Some(2),
        "{:?}",
        ending.code
    );
}

#[test]
fn a_prompt_gives_up_in_time() {
    need!("setsid");
    let scratch = scratch_with_volume();
    let ending = on_terminal(&scratch, "open --test-passphrase volume --timeout 1").finish();
    assert_eq!(ending.code, Some(1));
    assert!(ending.screen.contains("Error reading passphrase from terminal: nothing was typed in time."));
}

#[test]
fn format_asks_for_yes_and_for_the_passphrase_twice() {
    need!("setsid");
    let scratch = scratch_with_volume();
    let before = std::fs::read(scratch.path("volume")).unwrap();
    let format = format!("luksFormat --type luks1 {CHEAP_PBKDF2} volume");
    let question = "Are you sure? (Type 'yes' in capital letters): ";

    for answer in ["yes", "YES ", "no", ""] {
        let ending = on_terminal(&scratch, &format).expect(question).type_line(answer).finish();
        assert_eq!(ending.code, Some(1));
        assert!(ending.screen.contains("This will overwrite data on volume irrevocably."));
        assert!(
            ending.screen.ends_with("Operation aborted.\n\n")
                || ending.screen.ends_with("Operation aborted.\n")
        );
    }
    let ending = on_terminal(&scratch, &format)
        .expect(question)
        .type_line("YES")
        .expect("Enter passphrase for volume: ")
        .type_secretly("new one")
        .expect("Verify passphrase: ")
        .type_secretly("another")
        .finish();
    assert_eq!(ending.code, Some(2));
    assert!(ending.screen.contains("Passphrases do not match."), "{}", ending.screen);
    assert!(before == std::fs::read(scratch.path("volume")).unwrap(), "a refused format wrote something");

    let ending = on_terminal(&scratch, &format!("-v {format}"))
        .expect(question)
        .type_line("YES")
        .expect("Enter passphrase for volume: ")
        .type_secretly("new one")
        .expect("Verify passphrase: ")
        .type_secretly("new one")
        .finish();
    assert_eq!(ending.code, Some(0), "{}", ending.screen);
    assert!(ending.screen.ends_with("Key slot 0 created.\nCommand successful.\n"), "{}", ending.screen);
    keyway("open --test-passphrase volume").directory(scratch.root()).stdin("new one").ok();
}

#[test]
fn the_last_keyslot_wants_yes() {
    need!("setsid");
    let scratch = scratch_with_volume();
    let ending = on_terminal(&scratch, "luksKillSlot volume 0")
        .expect("This is the last keyslot. Device will become unusable after purging this key.")
        .expect("capital letters): ")
        .type_line("NO")
        .finish();
    assert_eq!(ending.code, Some(2));
    assert!(ending.screen.contains("Operation aborted, the keyslot was NOT wiped."));
    keyway("open --test-passphrase volume").directory(scratch.root()).stdin("secret").ok();
    let ending = on_terminal(&scratch, "luksRemoveKey volume")
        .expect("Enter passphrase to be deleted: ")
        .type_secretly("secret")
        .expect("capital letters): ")
        .type_line("YES")
        .finish();
    assert_eq!(ending.code, Some(0), "{}", ending.screen);
    keyway("open --test-passphrase volume").directory(scratch.root()).stdin("secret").fails(1);
}

/// Data on standard input, the passphrase on the terminal.
#[test]
fn data_from_a_pipe_leaves_the_terminal_for_the_passphrase() {
    need!("setsid", "sh");
    let scratch = scratch_with_volume();
    let data = keyway_tests::random(11, 4096);
    std::fs::write(scratch.path("data"), &data).unwrap();
    let line = format!("cat data | {} write volume --offset 512", keyway_tests::peers::program().display());
    let ending = Terminal::start(&keyway_tests::peer("sh", "-c").arg(line).directory(scratch.root()))
        .expect("Enter passphrase for volume: ")
        .type_secretly("secret")
        .finish();
    assert_eq!(ending.code, Some(0), "{}", ending.screen);
    assert!(!ending.screen.contains("secret"), "{}", ending.screen);
    let read =
        keyway("read volume --offset 512 --length 4096").directory(scratch.root()).stdin("secret").ok();
    assert!(read.stdout == data);
    let no_terminal = keyway("write volume").directory(scratch.root()).stdin(&data);
    let refused = keyway_tests::peer("setsid", "-w").arg(no_terminal.program()).args("write volume");
    refused.directory(scratch.root()).stdin(&data).fails(1).says("--key-file");
}

/// One conversation: the arguments, then the expected text and the typed answer (true: without
/// echo).
type Talk = (&'static str, &'static [(&'static str, &'static str, bool)]);

const YES: &str = "(Type 'yes' in capital letters): ";
const TALKS: &[Talk] = &[
    ("open --test-passphrase volume", &[("volume: ", "secret", true)]),
    ("-v open --test-passphrase volume", &[("volume: ", "bad", true), ("volume: ", "secret", true)]),
    (
        "-v luksAddKey --pbkdf-force-iterations 1000 volume",
        &[
            ("passphrase: ", "secret", true),
            ("slot: ", "second", true),
            ("Verify passphrase: ", "second", true),
        ],
    ),
    ("luksAddKey --pbkdf-force-iterations 1000 volume", &[("passphrase: ", "bad", true)]),
    (
        "-v luksChangeKey --pbkdf-force-iterations 1000 volume",
        &[
            ("changed: ", "secret", true),
            ("new passphrase: ", "other", true),
            ("Verify passphrase: ", "other", true),
        ],
    ),
    (
        "luksChangeKey --pbkdf-force-iterations 1000 volume",
        &[
            ("changed: ", "secret", true),
            ("new passphrase: ", "other", true),
            ("Verify passphrase: ", "typo", true),
        ],
    ),
    ("luksRemoveKey volume", &[("deleted: ", "secret", true), (YES, "no", false)]),
    ("-v luksKillSlot volume 0", &[(YES, "YES", false), ("remaining passphrase: ", "bad", true)]),
    ("-v luksKillSlot volume 0", &[(YES, "YES", false), ("remaining passphrase: ", "secret", true)]),
    ("luksKillSlot volume 3", &[]),
    ("-q luksKillSlot volume 0", &[]),
    ("erase volume", &[(YES, "no", false)]),
    ("-v erase volume", &[(YES, "YES", false)]),
    ("luksDump --dump-volume-key volume", &[(YES, "no", false)]),
    ("-q luksDump --dump-volume-key volume", &[("volume: ", "bad", true)]),
    ("luksUUID --uuid 6b55e3df-8f04-4fce-abe8-f4a2eaaef085 volume", &[(YES, "no", false)]),
    ("-v luksUUID --uuid 6b55e3df-8f04-4fce-abe8-f4a2eaaef085 volume", &[(YES, "YES", false)]),
    ("convert --type luks2 volume", &[(YES, "no", false)]),
    ("-v convert --type luks2 volume", &[(YES, "YES", false)]),
    ("luksHeaderRestore --header-backup-file backup volume", &[(YES, "no", false)]),
    ("luksHeaderRestore --header-backup-file backup other", &[(YES, "YES", false)]),
    ("luksHeaderRestore --header-backup-file backup blank", &[(YES, "YES", false)]),
    ("luksFormat --type luks1 volume", &[(YES, "no", false)]),
    (
        "-v luksFormat --type luks1 --pbkdf-force-iterations 1000 --header header volume",
        &[(YES, "YES", false), ("header: ", "a", true), ("Verify passphrase: ", "a", true)],
    ),
    ("luksFormat --type luks1 --header header volume", &[(YES, "no", false)]),
];

/// The same conversation with both programs: the same screen, byte
/// for byte, and the same exit code.
#[test]
fn conversations_are_cryptsetups() {
    need!("setsid", "cryptsetup");
    for (line, talk) in TALKS {
        let hold = |program: fn(&str) -> Run| {
            let scratch = scratch_with_volume();
            let at = |line: &str| keyway(line).directory(scratch.root());
            at("luksHeaderBackup volume --header-backup-file backup").ok();
            scratch.sized("blank", 3 << 20);
            std::fs::copy(scratch.path("volume"), scratch.path("other")).unwrap();
            at("-q luksUUID --uuid 0d2e4a1c-3b5f-4c7d-8e9f-a0b1c2d3e4f5 other").ok();
            let mut terminal = Terminal::start(&program(line).directory(scratch.root()));
            for (prompt, answer, secretly) in *talk {
                terminal = terminal.expect(prompt);
                terminal =
                    if *secretly { terminal.type_secretly(answer) } else { terminal.type_line(answer) };
            }
            let ending = terminal.finish();
            (ending.code, ending.screen)
        };
        let (theirs, ours) = (hold(cryptsetup), hold(keyway));
        assert_eq!(ours.0, theirs.0, "exit code of {line}\nours:\n{}\ntheirs:\n{}", ours.1, theirs.1);
        // cryptsetup ends some refusals with an empty line.
        let one_newline = |screen: &str| screen.trim_end().to_owned();
        assert_eq!(one_newline(&ours.1), one_newline(&theirs.1), "screen of {line}");
    }
}
