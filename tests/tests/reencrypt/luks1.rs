//! LUKS1: what cryptsetup's own script asks of its reencrypt, and that a kill costs nothing.

use keyway_tests::{Run, Scratch, cryptsetup, keyway, killed, need, random};
use std::path::PathBuf;
use std::time::Duration;

const CHEAP: &str = "--pbkdf pbkdf2 --pbkdf-force-iterations 1000";

/// A device with random plaintext, its passphrase, and the directory in which the state is kept.
struct Device {
    scratch: Scratch,
    plain: Vec<u8>,
    path: PathBuf,
    key: PathBuf,
    header: PathBuf,
}

impl Device {
    /// Plaintext, with so many bytes free behind it.
    fn plaintext(len: usize, free: usize) -> Self {
        let scratch = Scratch::new();
        let plain = random(21, len);
        let path = scratch.file("device", &plain);
        std::fs::File::options().write(true).open(&path).unwrap().set_len((len + free) as u64).unwrap();
        let (key, header) = (scratch.file("key", "correct horse"), scratch.path("header"));
        Self { scratch, plain, path, key, header }
    }

    /// A LUKS1 volume of as much plaintext.
    fn volume(len: usize, options: &str) -> Self {
        let made = Self::plaintext(len, 0);
        let image = made.scratch.file("image", &made.plain);
        std::fs::remove_file(&made.path).unwrap();
        let build = keyway("build -q --fill --type luks1").args(CHEAP).args(options);
        build.arg("--key-file").arg(&made.key).arg(image).arg(&made.path).ok();
        made
    }

    fn run(&self, options: &str) -> Run {
        let run = keyway("reencrypt -q").args(options).directory(self.scratch.root());
        let run = if options.contains("--header") { run.arg(&self.header) } else { run };
        run.arg("--key-file").arg(&self.key).arg(&self.path)
    }

    /// The volume has the plaintext, in both programs' eyes, and no state is left.
    #[track_caller]
    fn is_whole(&self, detached: bool) {
        let read = keyway("read --key-file").arg(&self.key).arg(&self.path);
        let read = if detached { read.arg("--header").arg(&self.header) } else { read };
        assert!(read.ok().stdout.starts_with(&self.plain), "the plaintext differs");
        let test = cryptsetup("open --test-passphrase --type luks1 --key-file").arg(&self.key);
        test.arg(if detached { &self.header } else { &self.path }).ok();
        self.no_state();
    }

    #[track_caller]
    fn is_plaintext(&self) {
        let found = std::fs::read(&self.path).unwrap();
        assert!(found.starts_with(&self.plain), "the plaintext differs");
        assert!(found[self.plain.len()..].iter().all(|byte| *byte == 0), "the rest is not zeroed");
        self.no_state();
    }

    #[track_caller]
    fn no_state(&self) {
        let left: Vec<_> = self.state().collect();
        assert!(left.is_empty(), "{left:?}");
    }

    fn state(&self) -> impl Iterator<Item = String> {
        let files = std::fs::read_dir(self.scratch.root()).unwrap();
        files.map(|f| f.unwrap().file_name().into_string().unwrap()).filter(|name| name.starts_with("LUKS-"))
    }

    fn dump(&self) -> String {
        cryptsetup("luksDump").arg(&self.path).ok().text()
    }
}

#[test]
fn key_cipher_hash_and_size_change() {
    need!("cryptsetup");
    let d = Device::volume(4 << 20, "-s 128 -c aes-cbc-plain --align-payload 4096");
    for options in ["", "-s 256", "-s 256 -c aes-xts-plain64 -h sha512", "--use-directio --write-log"] {
        d.run(&format!("{CHEAP} {options}")).ok();
        d.is_whole(false);
    }
    let dump = d.dump();
    assert!(dump.contains("Cipher mode:   \txts-plain64") && dump.contains("MK bits:       \t256"), "{dump}");
    // As in cryptsetup, the hash is the default's where none is given.
    assert!(dump.contains("Hash spec:     \tsha256"), "{dump}");
    let old = d.scratch.path("old");
    let dump = keyway("luksDump -q --dump-volume-key --volume-key-file").arg(&old).arg("--key-file");
    dump.arg(&d.key).arg(&d.path).ok();
    d.run(&format!("{CHEAP} --volume-key-file /dev/urandom")).ok();
    d.is_whole(false);
    let wrong = keyway("open --test-passphrase --volume-key-file").arg(&old).arg(&d.path);
    wrong.fails(2).says("Volume key does not match the volume.");
}

#[test]
fn the_header_alone_changes_where_the_key_is_kept() {
    need!("cryptsetup");
    let d = Device::volume(4 << 20, "-h sha512");
    let data = std::fs::read(&d.path).unwrap()[2 << 20..].to_vec();
    d.run("--keep-key").ok();
    d.run("--keep-key --pbkdf-force-iterations 999").fails(1);
    d.run("--keep-key --hash sha256 --pbkdf-force-iterations 1001").ok();
    d.is_whole(false);
    let dump = d.dump();
    assert!(
        dump.contains("Iterations:         \t1001") && dump.contains("Hash spec:     \tsha256"),
        "{dump}"
    );
    assert!(std::fs::read(&d.path).unwrap()[2 << 20..] == data, "the data was written");
}

#[test]
fn keyslots_keep_their_numbers() {
    need!("cryptsetup");
    let d = Device::volume(4 << 20, "");
    let second = d.scratch.file("second", "battery staple");
    let add = keyway("luksAddKey -q --key-slot 6").args(CHEAP).arg("--key-file").arg(&d.key);
    add.arg(&d.path).arg(&second).ok();
    d.run(CHEAP).fails(1).says("Key file can be used only with --key-slot or with exactly one key slot");
    let all = keyway("reencrypt -q").args(CHEAP).arg(&d.path).directory(d.scratch.root());
    all.stdin("correct horse\nbattery staple\n").ok();
    d.is_whole(false);
    let enabled = |n: u32| d.dump().contains(&format!("Key Slot {n}: ENABLED"));
    assert_eq!((0..8).filter(|n| enabled(*n)).collect::<Vec<_>>(), [0, 6]);
    let one = keyway("reencrypt -q --key-slot 6").args(CHEAP).arg("--key-file").arg(&second);
    one.arg(&d.path).directory(d.scratch.root()).ok();
    assert_eq!((0..8).filter(|n| enabled(*n)).collect::<Vec<_>>(), [6]);
    d.run(&format!("{CHEAP} --key-slot 8")).fails(1);
}

#[test]
fn data_moves_back() {
    need!("cryptsetup");
    let mut d = Device::volume(4 << 20, "-c aes-cbc-essiv:sha256 -s 128");
    d.run(&format!("{CHEAP} -s 256 --reduce-device-size 1024S")).ok();
    d.plain.truncate((4 << 20) - (512 << 10));
    d.is_whole(false);
    assert!(d.dump().contains("Payload offset:\t3072"), "{}", d.dump());
}

#[test]
fn plaintext_becomes_a_volume_and_back() {
    need!("cryptsetup");
    let d = Device::plaintext(4 << 20, 2 << 20);
    let options = format!("{CHEAP} --type luks1 --encrypt -c aes-xts-plain64 -s 512");
    d.run(&format!("{options} --reduce-device-size 2M")).ok();
    d.is_whole(false);
    d.run(&format!("{options} --reduce-device-size 2M")).fails(1).says("is already LUKS device.");
    d.run("--decrypt").ok();
    d.is_plaintext();

    let d = Device::plaintext(4 << 20, 0);
    d.run(&format!("{CHEAP} --type luks1 --encrypt --header")).ok();
    d.is_whole(true);
    d.run(&format!("{CHEAP} --header")).ok();
    d.is_whole(true);
    d.run("--decrypt --header").ok();
    d.is_plaintext();
    // Nothing is encrypted twice, and no header is made for it.
    let d = Device::volume(4 << 20, "");
    for version in [1, 2] {
        let twice = d.run(&format!("{CHEAP} --type luks{version} --encrypt --header"));
        twice.fails(1).says("is already LUKS device. Aborting operation.");
        assert!(!d.header.exists());
    }
}

#[test]
fn nothing_opens_it_meanwhile() {
    need!("cryptsetup");
    let d = Device::volume(4 << 20, "");
    d.run(&format!("{CHEAP} --init-only")).ok();
    assert_eq!(d.state().count(), 3);
    cryptsetup("isLuks").arg(&d.path).fails(1);
    let open = keyway("open --test-passphrase --key-file").arg(&d.key).arg(&d.path).fails(1);
    open.says("is not a valid LUKS device.")
        .says("It is LUKS1 in reencryption: resume with \"keyway reencrypt");
    let before = std::fs::read(&d.path).unwrap();
    let elsewhere =
        keyway("reencrypt -q --key-file").arg(&d.key).arg(&d.path).directory(&std::env::temp_dir());
    elsewhere
        .fails(1)
        .says("is LUKS1 in reencryption.")
        .says("Resume it in the directory where it was begun");
    let wrong = d.scratch.file("wrong", "wrong");
    let wrong = keyway("reencrypt -q --key-file").arg(&wrong).arg(&d.path).directory(d.scratch.root());
    wrong.fails(2).says("No key available with this passphrase.");
    d.run("--init-only").fails(1).says("already initialized");
    assert!(std::fs::read(&d.path).unwrap() == before, "something was changed");
    d.run("--resume-only").ok();
    d.is_whole(false);
    d.run("--resume-only").fails(1).says("Device reencryption not in progress.");
}

#[test]
fn what_cannot_be_done_changes_nothing() {
    need!("cryptsetup");
    let d = Device::volume(4 << 20, "-s 128 -c aes-cbc-plain64");
    let before = std::fs::read(&d.path).unwrap();
    // 512-bit keys need larger keyslots than lie before the data.
    for (options, says) in [
        ("-s 512 -c aes-xts-plain64", "--reduce-device-size moves it back"),
        ("-c aes-cbc-plain64 -s 200", "200"),
        ("-c nonsense", "nonsense"),
        ("-h nonsense", "nonsense"),
        ("--pbkdf argon2id", "LUKS1"),
        ("--reduce-device-size 64M", "but the device ends at"),
    ] {
        d.run(&format!("--pbkdf-force-iterations 1000 {options}")).fails(1).says(says);
        assert!(std::fs::read(&d.path).unwrap() == before, "{options} changed something");
        d.no_state();
    }
    std::fs::write(d.scratch.path(&format!("LUKS-{}.log", uuid(&d))), "nonsense").unwrap();
    d.run(CHEAP).fails(1).says("says that cryptsetup is reencrypting this volume");
    assert!(std::fs::read(&d.path).unwrap() == before);
}

/// An encryption that was cut off before its state was there has left its header: the same line goes on with it, and
/// any other keeps it, for it may hold the only key.
#[test]
fn a_header_that_was_left_goes_on_or_is_kept() {
    need!("cryptsetup");
    for detached in [false, true] {
        let d = Device::plaintext(4 << 20, 2 << 20);
        let place = if detached { "--header" } else { "--reduce-device-size 2M" };
        let line = |options: &str| d.run(&format!("{CHEAP} --encrypt --type luks1 {options} {place}"));
        line("--init-only").ok();
        let named = |what: &str| d.scratch.path(&format!("LUKS-cafecafe-cafe-cafe-cafe-cafecafeeeee.{what}"));
        std::fs::remove_file(named("state")).unwrap();
        std::fs::write(named("new.part"), "what was cut off").unwrap();
        let (device, left) = (std::fs::read(&d.path).unwrap(), std::fs::read(named("new")).unwrap());
        let kept = |run: Run, says: &str| {
            let refused = run.fails(1).says(says).lacks("remove");
            refused
                .says("may hold the only key of a volume: move it elsewhere, or begin in another directory.");
            assert!(
                std::fs::read(&d.path).unwrap() == device && std::fs::read(named("new")).unwrap() == left
            );
        };
        kept(line("-c aes-cbc-plain64 -s 256"), "It was begun with other options: resume with those.");
        let wrong = d.scratch.file("wrong", "battery staple");
        let other = keyway("reencrypt -q").args(CHEAP).args("--encrypt --type luks1").args(place);
        let other = if detached { other.arg(&d.header) } else { other };
        let other = other.directory(d.scratch.root()).arg("--key-file").arg(&wrong).arg(&d.path);
        kept(other, "It resumes only with its own passphrase: ");
        let given = d.scratch.file("given", [7; 64]);
        let given = given.display();
        kept(line(&format!("--volume-key-file {given}")), "Its volume key is not the one that was given.");
        line("").ok().says("exists, from an interrupted attempt: resuming it.");
        d.is_whole(detached);
    }
    // What lies beside a volume that is in use belongs to something else.
    let d = Device::volume(4 << 20, "");
    let other = d.scratch.file(&format!("LUKS-{}.new", uuid(&d)), "something");
    d.run(CHEAP).fails(1).says("may hold the only key of a volume: move it elsewhere").lacks("remove");
    assert!(std::fs::read(other).unwrap() == b"something");
}

fn uuid(d: &Device) -> String {
    cryptsetup("luksUUID").arg(&d.path).ok().text().trim().to_owned()
}

/// Killed while zones are written, in every mode; the state goes on, and nothing is lost.
#[test]
fn a_kill_costs_nothing() {
    need!("cryptsetup");
    let small = "--hotzone-size 16K";
    for (make, begin, resume) in [
        (
            (|| Device::volume(8 << 20, "")) as fn() -> Device,
            format!("{CHEAP} {small}"),
            "--resume-only".to_owned(),
        ),
        (
            || Device::plaintext(8 << 20, 2 << 20),
            format!("{CHEAP} {small} --encrypt --type luks1 --reduce-device-size 2M"),
            "--encrypt --type luks1".to_owned(),
        ),
        (|| Device::volume(8 << 20, ""), format!("{small} --decrypt"), "--decrypt --uuid".to_owned()),
    ] {
        let is_decrypted = begin.contains("--decrypt");
        let (mut hits, mut tries) = (0, 0);
        while hits < 6 && tries < 24 {
            let d = make();
            let resume = if is_decrypted { format!("{resume} {}", uuid(&d)) } else { resume.clone() };
            let has_state = || d.state().any(|name| name.ends_with(".state"));
            killed(&d.run(&begin), has_state, Duration::from_millis(12 * (tries % 6)));
            tries += 1;
            if has_state() {
                hits += 1;
                d.run(&resume).ok();
            }
            if is_decrypted { d.is_plaintext() } else { d.is_whole(false) }
        }
        assert!(hits > 3, "{begin}: {hits} of {tries} kills came in time");
    }
}

/// What cryptsetup has left of a re-encryption that was stopped: its log, both headers, and data that is
/// new as far as the log says.
#[test]
fn cryptsetups_log_is_gone_on_with() {
    need!("cryptsetup");
    let id = "21a8e8fa-0b01-4d12-b8f4-bfc562aa82a4";
    let log = |d: &Device, direction: u32, mode: u32, offset: usize| {
        let lines = format!(
            "# LUKS reencryption log, DO NOT EDIT OR DELETE.\nversion = 2\nUUID = {id}\ndirection = {direction}\n\
             mode = {mode}\noffset = {offset}\nshift = 0\n# EOF\n"
        );
        let mut bytes = lines.into_bytes();
        bytes.resize(512, 0);
        std::fs::write(d.scratch.path(&format!("LUKS-{id}.log")), bytes).unwrap();
    };
    let backup = |of: &std::path::Path, d: &Device, name: &str| {
        let file = d.scratch.path(&format!("LUKS-{id}.{name}"));
        cryptsetup("luksHeaderBackup -q --header-backup-file").arg(file).arg(of).ok();
    };
    let (payload, done) = (2 << 20, 1 << 20);

    // Another key, from the start.
    let d = Device::volume(4 << 20, &format!("--uuid {id}"));
    let image = d.scratch.file("again", &d.plain);
    let other = d.scratch.path("other");
    let build = keyway("build -q --fill --type luks1 --uuid").arg(id).args(CHEAP).arg("--key-file");
    build.arg(&d.key).arg(image).arg(&other).ok();
    backup(&d.path, &d, "org");
    backup(&other, &d, "new");
    log(&d, 0, 0, done);
    let (mut device, new) = (std::fs::read(&d.path).unwrap(), std::fs::read(&other).unwrap());
    device[payload..payload + done].copy_from_slice(&new[payload..payload + done]);
    device[..6].copy_from_slice(b"LUKS\xde\xad");
    std::fs::write(&d.path, &device).unwrap();
    d.run("").ok();
    d.is_whole(false);
    assert!(std::fs::read(&d.path).unwrap()[payload..] == new[payload..], "the new key");

    // Decryption: the header is overwritten by the first data.
    let d = Device::volume(4 << 20, &format!("--uuid {id}"));
    backup(&d.path, &d, "org");
    d.scratch.file(&format!("LUKS-{id}.new"), "a header of the null cipher");
    log(&d, 0, 2, done);
    let mut device = std::fs::read(&d.path).unwrap();
    device[..done].copy_from_slice(&d.plain[..done]);
    std::fs::write(&d.path, &device).unwrap();
    d.run("--decrypt").fails(1).says("is not a valid LUKS device.");
    d.run(&format!("--decrypt --uuid {id}")).ok();
    d.is_plaintext();
}
