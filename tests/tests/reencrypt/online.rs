//! Re-encryption of a volume that a session has open, under clients that go on reading and writing.

use crate::session::{Client, Open, meanwhile};
use crate::{Fixture, PLAIN, Tool};
use keyway_tests::nbd::{Nbd, listens};
use keyway_tests::peers::CHEAP_LUKS2_PBKDF2;
use keyway_tests::{
    Background, Run, cryptsetup, keyway, need, need_cryptsetup_to_reencrypt, need_that, random, until,
};
use rustix::process::{Pid, Signal, kill_process};
use std::fs::File;
use std::thread;
use std::time::Duration;

fn under_load(backend: &str, options: &str) {
    let mut f = Fixture::volume();
    let expected = {
        let open = Open::new(&f, backend);
        let expected = meanwhile(&open, backend, options);
        assert!(
            open.client(backend).read(0, PLAIN) == expected,
            "{backend}, {options}: through the front end"
        );
        let status = open.keyway("status home").ok().says("done, 100 %");
        status.says("cipher:  serpent-xts-plain64").says("sector size:  4096 [bytes]");
        open.keyway("close home").ok();
        expected
    };
    f.plain = expected;
    f.is_whole(false);
    let dump = cryptsetup("luksDump").arg(&f.device).ok().text();
    assert!(dump.contains("serpent-xts-plain64") && !dump.contains("Requirements"), "{dump}");
}

const SERPENT: &str = "--cipher serpent-xts-plain64 --sector-size 4096";

#[test]
fn nbd_clients_go_on_reading_and_writing() {
    need!("cryptsetup");
    for options in ["", "--hotzone-size 256K", "--resilience journal --hotzone-size 1M"] {
        under_load("nbd", &format!("{SERPENT} {options}"));
    }
}

#[test]
fn a_mounts_users_go_on_reading_and_writing() {
    need!("cryptsetup", "fusermount3");
    need_that!(
        File::options().read(true).write(true).open("/dev/fuse").is_ok(),
        "/dev/fuse cannot be opened"
    );
    under_load("fuse", SERPENT);
}

/// A volume whose header is elsewhere becomes plaintext under its users; the session ends with the last
/// of them.
#[test]
fn a_volume_in_use_becomes_plaintext() {
    for options in ["--decrypt", "--decrypt --resilience journal --hotzone-size 256K"] {
        let mut f = Fixture::plaintext(0);
        f.reencrypt(keyway, "--encrypt --header").ok();
        let open = Open::detached(&f, "nbd");
        let mut stays = open.client("nbd");
        let expected = meanwhile(&open, "nbd", options);
        let status = open.keyway("status home").ok().says("done, 100 %").text();
        assert!(!status.contains("aes-xts"), "{status}");
        open.keyway("luksSuspend home").fails(1).says("It was decrypted, and has no key to wipe");
        assert!(stays.read(0, PLAIN) == expected, "{options}: through the front end");
        stays.write(5000, b"still in use");
        stays.flush();
        drop(stays);
        until("the session has ended", || open.keyway("status home").outcome().code == Some(4));
        drop(open);
        f.plain = expected;
        f.plain[5000..5012].copy_from_slice(b"still in use");
        f.is_plaintext();
    }
}

/// What moves data begins while nobody uses the volume; the rest goes on under its users.
#[test]
fn what_moves_data_goes_on_in_use() {
    for (make, begin) in [
        ((|| Fixture::plaintext(32 << 20)) as fn() -> Fixture, "--encrypt --reduce-device-size 32M"),
        (Fixture::volume, "--decrypt --header"),
    ] {
        let mut f = make();
        f.reencrypt(keyway, &format!("--init-only {begin}")).ok();
        let is_detached = begin.contains("--header");
        let open = if is_detached { Open::detached(&f, "nbd") } else { Open::new(&f, "nbd") };
        let expected = meanwhile(&open, "nbd", "--resume-only --hotzone-size 512K");
        if !is_detached {
            open.keyway("close home").ok();
        }
        until("the session has ended", || open.keyway("status home").outcome().code == Some(4));
        drop(open);
        f.plain = expected;
        if is_detached { f.is_plaintext() } else { f.is_whole(false) }
    }
}

/// A decryption whose session is killed goes on with cryptsetup.
#[test]
fn cryptsetup_ends_a_decryption_that_was_killed_in_use() {
    need!("cryptsetup");
    let mut f = Fixture::plaintext(0);
    f.reencrypt(keyway, "--encrypt --header").ok();
    let open = Open::detached(&f, "nbd");
    let mut child = open.reencrypt("--decrypt --hotzone-size 64K --limit-rate 512K").spawn().unwrap();
    until("it is at it", || open.keyway("status home").ok().text().contains("running,"));
    let mut client = open.client("nbd");
    let fresh = random(9, 2 << 20);
    for at in [0, PLAIN - fresh.len()] {
        client.write(at, &fresh);
        client.flush();
    }
    open.kill();
    child.wait_with_output_of();
    drop(open);
    f.plain[..fresh.len()].copy_from_slice(&fresh);
    f.plain[PLAIN - fresh.len()..].copy_from_slice(&fresh);
    let _ = cryptsetup("repair -q --key-file")
        .arg(&f.key)
        .arg("--header")
        .arg(f.header())
        .arg(&f.device)
        .outcome();
    f.reencrypt(cryptsetup, "--resume-only --header").ok();
    f.is_plaintext();
}

/// The session is killed in the middle: what was flushed is there, and either program goes on, the
/// session of a later open too.
#[test]
fn a_killed_session_loses_nothing_that_was_flushed() {
    need_cryptsetup_to_reencrypt!();
    for (number, ends) in [Some(keyway as Tool), Some(cryptsetup), None].into_iter().enumerate() {
        let mut f = Fixture::volume();
        let open = Open::new(&f, "nbd");
        let mut client = open.client("nbd");
        let mut child = open.reencrypt("--hotzone-size 64K --limit-rate 512K").spawn().unwrap();
        until("the header says what is under way", || f.says("\"in-reencryption\""));
        let mut plain = f.plain.clone();
        for round in 0..20 * (number + 1) {
            let at = (round * 1_000_003) % (PLAIN - 5000);
            let fresh = random(round as u64, 5000);
            client.write(at, &fresh);
            client.flush();
            plain[at..at + 5000].copy_from_slice(&fresh);
        }
        open.kill();
        assert!(f.says("\"online-reencrypt"), "it was killed in the middle");
        let output = child.wait_with_output_of();
        assert!(
            output.contains(
                "Once home is open again, resume with \"keyway reencrypt --resume-only --active-name home\"."
            ),
            "{output}"
        );
        drop(open);
        match ends {
            Some(cryptsetup_or_keyway) => {
                let repair = cryptsetup("repair -q --key-file").arg(&f.key);
                let _ = repair.arg(&f.device).outcome();
                f.reencrypt(cryptsetup_or_keyway, "--resume-only").ok();
            }
            None => {
                let open = Open::new(&f, "nbd");
                open.keyway("luksSuspend home").fails(1).says("in the middle of a reencryption");
                open.keyway("resize home --size 2048").fails(1).says("in the middle of a reencryption");
                open.reencrypt("--resume-only").ok();
                open.keyway("luksSuspend home").ok();
                open.keyway("luksResume home --key-file").arg(&f.key).ok();
                assert!(open.client("nbd").read(0, PLAIN) == plain);
                open.keyway("close home").ok();
            }
        }
        f.plain = plain;
        f.is_whole(false);
    }
}

trait Said {
    fn wait_with_output_of(&mut self) -> String;
}

impl Said for std::process::Child {
    /// What it says on standard error until it ends.
    fn wait_with_output_of(&mut self) -> String {
        let mut said = String::new();
        std::io::Read::read_to_string(self.stderr.as_mut().unwrap(), &mut said).unwrap();
        assert!(!self.wait().unwrap().success());
        said
    }
}

/// Ctrl-C stops it, and the volume stays open as it is; closing it stops it, too.
#[test]
fn it_is_stopped_by_a_signal_and_by_closing() {
    let f = Fixture::volume();
    let open = Open::new(&f, "nbd");
    let mut child = open.reencrypt("--hotzone-size 4K").spawn().unwrap();
    until("it is at it", || open.keyway("status home").ok().text().contains("running,"));
    open.reencrypt("").fails(1).says("home is being reencrypted already.");
    kill_process(Pid::from_raw(child.id() as i32).unwrap(), Signal::INT).unwrap();
    let said = child.wait_with_output_of();
    assert!(said.contains("Reencryption interrupted."), "{said}");
    assert!(said.contains("home stays open as it is."), "{said}");
    let list = open.keyway("list --json").ok().text();
    let list: String = list.split_whitespace().collect();
    assert!(list.contains("\"reencryption\":{\"stage\":\"stopped\",\"failure\":null,\"done\":"), "{list}");
    assert!(open.client("nbd").read(0, PLAIN) == f.plain, "as it is");
    let wrong = f.scratch.file("wrong", "battery staple");
    let other = open.keyway("reencrypt -q --resume-only --active-name home --key-file").arg(wrong);
    other.fails(2).says("No key available with this passphrase.");

    // It goes on, found by its device, and is closed in the middle.
    let again = open.keyway("reencrypt -q --resume-only --hotzone-size 4K --key-file").arg(&f.key);
    let mut child = again.arg(&f.device).spawn().unwrap();
    until("it is at it again", || open.keyway("status home").ok().text().contains("running,"));
    open.keyway("close home").ok();
    child.wait_with_output_of();
    assert!(f.says("\"online-reencrypt"), "it is not done");
    drop(open);
    f.reads(false);
    f.reencrypt(keyway, "--resume-only").ok();
    f.is_whole(false);
}

/// Begun beforehand: the session goes on with what the header describes.
#[test]
fn a_session_opened_in_the_middle_goes_on() {
    need!("cryptsetup");
    // Only keyway makes a header backup.
    for (begins, begins_here) in [(keyway as Tool, true), (cryptsetup, false)] {
        let f = Fixture::volume();
        f.reencrypt(begins, "--init-only").ok();
        let open = Open::new(&f, "nbd");
        open.reencrypt("--init-only").fails(1).says("already initialized");
        let said = open.reencrypt("--resume-only").ok().errors();
        assert_eq!(said.contains("-before-reencrypt.header is removed"), begins_here, "{said}");
        open.reencrypt("--resume-only").fails(1).says("Device reencryption not in progress.");
        assert!(open.client("nbd").read(0, PLAIN) == f.plain);
        // And once more, with the lock that it has held since.
        open.reencrypt("--init-only").ok().says("The current header is saved in LUKS-");
        open.reencrypt("--resume-only").ok().says("-before-reencrypt.header is removed");
        assert!(open.client("nbd").read(0, PLAIN) == f.plain);
        open.keyway("close home").ok();
        f.is_whole(false);
    }
}

/// What is complete keeps nobody from the next one, in the same session or elsewhere.
#[test]
fn one_session_reencrypts_again() {
    let f = Fixture::volume();
    let open = Open::new(&f, "nbd");
    for cipher in ["serpent-xts-plain64", "aes-xts-plain64"] {
        open.reencrypt(&format!("--cipher {cipher}")).ok();
        let status = open.keyway("status home").ok().says("done, 100 %");
        status.says(&format!("cipher:  {cipher}"));
        assert!(open.client("nbd").read(0, PLAIN) == f.plain, "{cipher}");
    }
    open.keyway("close home").ok();
    f.is_whole(false);
}

/// A server goes on by itself, if it is told to.
#[test]
fn a_server_goes_on_while_it_serves() {
    let f = Fixture::volume();
    f.reencrypt(keyway, "--init-only").ok();
    for options in ["", "--readonly --resume-reencryption", "--resume-reencryption"] {
        let socket = f.scratch.path("socket");
        let run = keyway("serve").args(options).arg("--key-file").arg(&f.key).arg("--socket").arg(&socket);
        if options.starts_with("--readonly") {
            run.arg(&f.device).fails(1).says("reading only");
            continue;
        }
        let server = Background::start(&run.arg(&f.device), || listens(&socket));
        let mut client = Client::Nbd(Box::new(Nbd::connect(&socket, "").unwrap()));
        if options.is_empty() {
            thread::sleep(Duration::from_millis(200));
            assert!(f.says("\"online-reencrypt"), "it stays as it is");
        } else {
            until("all is done", || !f.says("\"online-reencrypt"));
        }
        assert!(client.read(0, PLAIN) == f.plain);
        drop(client);
        drop(server);
    }
    f.is_whole(false);
}

#[test]
fn what_cannot_be_reencrypted_in_use_is_refused_and_nothing_changes() {
    let f = Fixture::volume();
    let open = Open::new(&f, "nbd");
    let before = std::fs::read(&f.device).unwrap();
    for (line, code, said) in [
        ("--active-name away", 4, "away"),
        ("--active-name home --encrypt", 1, "home is open: only its volume key and cipher can be changed"),
        ("--active-name home --decrypt", 1, "home is open, and its data would move to the start of "),
        ("--active-name home --decrypt --header new", 1, "begins while nobody uses it. Nothing was changed."),
        ("--active-name home --header key", 1, "home was opened with the header on "),
        ("--active-name home --reduce-device-size 8M", 1, "home is open: only its volume key"),
        (
            "--active-name home --skip-unused",
            1,
            "home is open: --skip-unused needs a file system that nobody uses.",
        ),
        ("--active-name home --resume-only", 1, "Device reencryption not in progress."),
        ("--active-name home --keep-key", 1, "No data segment parameters changed."),
        ("--active-name home --hotzone-size 1000", 1, "Hotzone size must be multiple of"),
    ] {
        let cheap = if line.contains("--decrypt") { "" } else { CHEAP_LUKS2_PBKDF2 };
        let run = open.keyway("reencrypt -q").args(line).args(cheap).arg("--key-file");
        run.arg(&f.key).fails(code).says(said);
    }
    let key = || open.keyway("reencrypt -q --active-name home --key-file").arg(&f.key);
    let other = f.scratch.file("other", vec![0; 4096]);
    key().arg(&other).fails(1).says("home is the volume of ").says(", not of ");
    let offline = open.keyway("reencrypt -q --force-offline-reencrypt --key-file").arg(&f.key);
    offline.arg(&f.device).fails(5).says("in use");
    open.keyway("luksSuspend home").ok();
    key().fails(1).says("home is suspended, and cannot be reencrypted. Nothing was changed.");
    open.keyway("luksResume home --key-file").arg(&f.key).ok();
    assert!(std::fs::read(&f.device).unwrap() == before, "something was written");
    open.keyway("resize home --size 2048").ok();
    key()
        .fails(1)
        .says("home was resized: it is open with 1048576 bytes, and has 16777216. Nothing was changed.");
    assert!(std::fs::read(&f.device).unwrap() == before, "something was written");
    open.keyway("resize home").ok();
    open.reencrypt("--init-only").ok();
    open.keyway("resize home --size 2048").ok();
    let said = open
        .reencrypt("--resume-only")
        .fails(1)
        .says("The volume was resized, and is reencrypted only in the size")
        .errors();
    assert!(said.contains("\"keyway resize NAME\" restores it"), "{said}");
    open.keyway("resize home").ok();
    open.reencrypt("--resume-only").ok();
    open.keyway("close home").ok();
    f.is_whole(false);

    let run = open.keyway("open --backend nbd --readonly --key-file").arg(&f.key);
    run.arg(&f.device).arg("home").ok();
    key().fails(1).says("home is open for reading only, and cannot be reencrypted. Nothing was changed.");
    open.keyway("close home").ok();
    let plain = open.keyway("open -q --type plain --cipher aes-xts-plain64 --key-size 512 --backend nbd");
    plain.arg("--key-file").arg(f.scratch.random_file("raw", 3, 64)).arg(&other).arg("home").ok();
    key().fails(1).says("home is a PLAIN volume: only LUKS2 can be reencrypted while it is open.");
    open.keyway("close home").ok();
}

/// Whoever asks what is open is told that it waits to go on, and for what; called as cryptsetup, in its words.
#[test]
fn what_is_open_and_waits_says_so() {
    need!("prlimit");
    let way = "waits for \"keyway reencrypt --resume-only --active-name home\"";
    let f = Fixture::volume();
    let link = f.scratch.path("cryptsetup");
    std::os::unix::fs::symlink(keyway_tests::peers::program(), &link).unwrap();
    let as_cryptsetup = |open: &Open<'_>| {
        let run = Run::new(&link, "status home").env("XDG_RUNTIME_DIR", open.0.scratch.root());
        let text = run.ok().text();
        let (row, rows) = ("  reencryption:  in-progress\n", text.matches("reencryption:").count());
        assert!(rows == text.matches(&format!("  type:    LUKS2\n{row}")).count(), "{text}");
        rows
    };
    let open = Open::new(&f, "nbd");
    open.keyway("status home").ok().lacks("reencryption:");
    assert_eq!(as_cryptsetup(&open), 0);
    open.reencrypt("--init-only").ok();
    open.keyway("status home").ok().says(&format!("  reencryption:  in-progress, {way}\n"));
    open.keyway("close home").ok();
    // No write reaches beyond the first 5 MiB of the data.
    let open = Open::limited(&f, (16 << 20) + (5 << 20) + 4096);
    open.keyway("status home").ok().says(&format!("  reencryption:  in-progress, {way}\n"));
    assert_eq!(as_cryptsetup(&open), 1);
    open.reencrypt("--resume-only --hotzone-size 1M").fails(4).says("Reencryption of home has failed: ");
    let far = format!("31 % ({} of {PLAIN} bytes)", 5 << 20);
    let status = open.keyway("status home").ok();
    status
        .says(&format!("  reencryption:  in-progress, {far}, {way}: it has failed, "))
        .says("File too large");
    assert_eq!(as_cryptsetup(&open), 1);
    open.keyway("close home").ok();
    let open = Open::new(&f, "nbd");
    open.reencrypt("--resume-only").ok();
    open.keyway("status home").ok().says("  reencryption:  done, 100 % (16777216 of 16777216 bytes)\n");
    assert_eq!(as_cryptsetup(&open), 0);
    // With the header elsewhere.
    let f = Fixture::plaintext(0);
    f.reencrypt(keyway, "--encrypt --init-only --header").ok();
    let open = Open::detached(&f, "nbd");
    open.keyway("status home").ok().says(&format!("  reencryption:  in-progress, {way}\n"));
}
