//! Commands as they are typed in an article on GRUB and slow unlocking: options before the action,
//! LUKS1 by alignment, passphrases on standard input, keyslots replaced to lower the iterations.
//! Run with Keyway, with cryptsetup, and alternately.

use crate::volume::{BOTH_WAYS, Tool, Volume};
use keyway_tests::{cryptsetup, keyway, need};

#[test]
fn the_slots_of_an_article_are_exchanged() {
    need!("cryptsetup");
    for (way, a, b) in BOTH_WAYS {
        eprintln!("{way}");
        let v = Volume::empty(20 << 20);
        let format =
            "--cipher aes-xts-plain64 --key-size 512 --hash sha512 --iter-time 20 --align-payload=2048";
        v.run(a, &format!("{format} -v -q --type luks1 luksFormat")).stdin("first\n").ok();
        let dump = v.dump();
        assert!(dump.contains("Hash spec:     \tsha512") && dump.contains("Key Slot 0: ENABLED"), "{dump}");

        add_key(&v, b, 1, "first\nsecond\n");
        kill_slot(&v, a, 0, "second\n");
        add_key(&v, b, 0, "second\nthird\n");
        kill_slot(&v, a, 1, "third\n");

        let dump = v.dump();
        assert!(dump.contains("Key Slot 0: ENABLED\n\tIterations:         \t2000\n"), "{dump}");
        assert!(dump.contains("Key Slot 1: DISABLED"), "{dump}");
        for tool in [a, b] {
            v.run(tool, "open --test-passphrase -v").stdin("third\n").ok().says("Key slot 0 unlocked.");
            v.run(tool, "open --test-passphrase -T 1").stdin("second\n").fails(2);
        }
    }
}

fn add_key(v: &Volume, tool: Tool, slot: u32, typed: &str) {
    let slot = format!("-S {slot} --pbkdf-force-iterations 2000");
    v.run(tool, "luksAddKey").args(&slot).stdin(typed).ok();
}

fn kill_slot(v: &Volume, tool: Tool, slot: u32, typed: &str) {
    v.run(tool, "luksKillSlot").arg(slot.to_string()).stdin(typed).ok();
}

#[test]
fn passphrases_end_where_cryptsetup_ends_them() {
    need!("cryptsetup");
    let cases: [(&str, &[u8], &str, &[u8]); 5] = [
        ("", b"secret\nnot read", "", b"secret"),
        ("--key-file -", b"secret\n", "", b"secret\n\n"),
        ("--key-file - --keyfile-size 6", b"secret and more", "", b"secret\n"),
        ("--key-file - --keyfile-offset 2", b"xxsecret", "", b"secret\n"),
        ("--key-file -", b"a\0b\nc", "--key-file -", b"a\0b\nc"),
    ];
    for (number, (format, typed, open, retyped)) in cases.into_iter().enumerate() {
        for (way, a, b) in BOTH_WAYS {
            eprintln!("{way}: luksFormat {format} with {typed:?}, open {open} with {retyped:?}");
            let v = Volume::empty(20 << 20);
            let cheap = "luksFormat -q --type luks1 --pbkdf-force-iterations 1000";
            v.run(a, cheap).args(format).stdin(typed).ok();
            // The second case keeps its newline, which a line of standard input cannot contain.
            let code = if number == 1 { 2 } else { 0 };
            v.run(b, "open --test-passphrase -T 1").args(open).stdin(retyped).fails(code);
        }
    }
}

#[test]
fn refusals_carry_the_same_exit_code() {
    need!("cryptsetup");
    let v =
        Volume::made_by(cryptsetup, "--type luks2 --pbkdf pbkdf2 --pbkdf-force-iterations 1000", 20 << 20);
    let key = v.first_key.display();
    for command in [
        format!("luksKillSlot -q --key-file {key}"),
        format!("luksAddKey -q --key-slot 0 --key-file {key}"),
        format!("luksAddKey -q --key-slot 99 --key-file {key}"),
        format!("open --test-passphrase --key-slot 7 --key-file {key}"),
        format!("open --test-passphrase --keyfile-size 9999 --key-file {key}"),
        "open --test-passphrase --key-file /nonexistent".into(),
        "luksHeaderBackup --header-backup-file /nonexistent/file".into(),
        "luksUUID --uuid not-a-uuid -q".into(),
        "token remove --token-id 3".into(),
        "luksFormat -q --type luks1 -c aes-xts-plain64 -s 128".into(),
        "luksFormat -q --type luks9".into(),
        "luksDump --no-such-option".into(),
        "noSuchCommand".into(),
    ] {
        let before = std::fs::read(&v.path).expect("the volume can be read");
        let ours = v.run(keyway, &command).stdin("x\n").outcome();
        assert!(
            std::fs::read(&v.path).expect("still there") == before,
            "a refusal changed the volume\n{ours}"
        );
        // cryptsetup has written half a header when it finds that aes-xts does not take a 128-bit
        // key.
        let theirs = v.run(cryptsetup, &command).stdin("x\n").outcome();
        assert_eq!(ours.code, theirs.code, "{ours}\n{theirs}");
        assert_ne!(ours.code, Some(0), "{ours}");
        std::fs::write(&v.path, before).expect("the volume can be written");
    }
}
