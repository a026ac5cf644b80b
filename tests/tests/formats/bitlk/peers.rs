//! The same plaintext by other programs, and the same text.

use super::{assert_shows, by_text, judge, open, plaintext, refusal, secret, storage};
use keyway_crypto::{Cpu, Stop};
use keyway_tests::bitlk::{Bitlk, LEN, METADATA, MOVED, PASSPHRASE, Protector, RECOVERY, sealed_again};
use keyway_tests::{Scratch, cryptsetup, fusermount, need, need_that, peer};
use keyway_volume::kind::bitlk::{Header, dump};
use keyway_volume::kind::{Judged, Key};
use keyway_volume::{Storage, UnlockOptions, Volume};
use std::fs::{self, File};
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

/// The methods of encryption.
const METHODS: [u16; 6] = [0x8000, 0x8001, 0x8002, 0x8003, 0x8004, 0x8005];
/// A passphrase that all programs convert alike.
pub(super) const ASCII: &str = "anaconda";

pub(super) fn ascii() -> Bitlk {
    Bitlk {
        protectors: vec![Protector::Passphrase(ASCII), Protector::Recovery(RECOVERY)],
        ..Bitlk::default()
    }
}

/// What dislocker reads with the key that `option` gives.
#[track_caller]
pub(super) fn dislocked(scratch: &Scratch, volume: &Path, option: &str) -> Vec<u8> {
    let out = scratch.path("dislocked");
    peer("dislocker-file", option).arg("-V").arg(volume).arg("--").arg(&out).ok();
    let read = fs::read(&out).unwrap();
    fs::remove_file(out).unwrap();
    read
}

#[test]
fn dislocker_reads_every_method_as_we_do() {
    need!("dislocker-file");
    let (scratch, plain) = (Scratch::new(), plaintext());
    for method in METHODS {
        for (sector_size, to_go) in [(512, false), (512, true), (4096, false)] {
            let volume = Bitlk { method, sector_size, to_go, ..ascii() }.make(&plain);
            let data = storage(&volume);
            assert_shows(&data, &by_text(&data, ASCII).unwrap(), &plain);
            let file = scratch.file("volume", &volume);
            let read = dislocked(&scratch, &file, &format!("-u{ASCII}"));
            assert!(
                read == Bitlk::visible(&plain),
                "{method:#x} in sectors of {sector_size}, to go: {to_go}"
            );
        }
    }
}

#[test]
fn every_protector_opens_there_and_here() {
    need!("dislocker-file");
    let (scratch, plain) = (Scratch::new(), plaintext());
    let protectors =
        vec![Protector::StartupKey, Protector::Clear, Protector::Recovery(RECOVERY), Protector::Other(0x100)];
    let volume = Bitlk { protectors, ..Bitlk::default() }.make(&plain);
    let (data, file) = (storage(&volume), scratch.file("volume", &volume));
    let startup_key = Bitlk::startup_key();
    let key_file = scratch.file("key.BEK", &startup_key);

    assert_shows(&data, &open(&data, Key::File(&secret(&startup_key))).unwrap(), &plain);
    assert_shows(&data, &open(&data, Key::File(&secret(format!("{RECOVERY}\n")))).unwrap(), &plain);
    assert_shows(&data, &judge(&data).unwrap().open_unprotected().unwrap().unwrap(), &plain);
    for option in [format!("-p{RECOVERY}"), format!("-f{}", key_file.display()), "-c".into()] {
        assert!(dislocked(&scratch, &file, &option) == Bitlk::visible(&plain), "{option}");
    }
}

#[test]
fn what_is_not_encrypted_yet_is_read_as_it_is() {
    need!("dislocker-file");
    let (scratch, plain) = (Scratch::new(), plaintext());
    // Before the moved sectors, in their middle, and behind all of the metadata.
    for encrypted in [512, MOVED + 4096, LEN - 8192] {
        for state in [[5, 4], [5, 1]] {
            let volume = Bitlk { encrypted, state, ..ascii() }.make(&plain);
            let data = storage(&volume);
            assert_shows(&data, &by_text(&data, ASCII).unwrap(), &plain);
            // Of what is not encrypted it shows no more than the end of its last buffer.
            let read = dislocked(&scratch, &scratch.file("volume", &volume), &format!("-u{ASCII}"));
            assert!(
                read.len() >= encrypted && Bitlk::visible(&plain).starts_with(&read),
                "encrypted up to {encrypted}"
            );
        }
    }
}

#[test]
fn dislocker_reads_what_we_write() {
    need!("dislocker-file");
    let (scratch, mut plain) = (Scratch::new(), plaintext());
    for method in METHODS {
        let volume = Bitlk { method, ..ascii() }.make(&plain);
        let data = storage(&volume);
        let found = by_text(&data, ASCII).unwrap();
        let ours = Volume::new(data.clone(), &found.layout, &found.volume_key, Cpu::detect()).unwrap();
        for at in [100, 8000, 700_000, LEN - 1000] {
            let new = vec![at as u8 ^ method as u8; 999];
            ours.write_at(&new, at as u64).unwrap();
            plain[at..at + new.len()].copy_from_slice(&new);
        }
        assert!(
            ours.write_at(&[1; 512], MOVED as u64).is_err(),
            "what hides the moved sectors is not written"
        );
        let mut changed = vec![0; LEN];
        data.read_at(&mut changed, 0).unwrap();
        let read = dislocked(&scratch, &scratch.file("volume", &changed), &format!("-u{ASCII}"));
        assert!(read == Bitlk::visible(&plain), "{method:#x}");
    }
}

#[test]
fn libbde_reads_the_same() {
    need!("bdemount", "bdeinfo", "fusermount3");
    need_that!(Path::new("/dev/fuse").exists(), "there is no /dev/fuse");
    let (scratch, plain) = (Scratch::new(), plaintext());
    let mount = scratch.path("mount");
    fs::create_dir(&mount).unwrap();
    // It opens no AES-CBC of 256 bits without the diffuser, and no AES-XTS of 256: it misses their second key.
    for (method, name) in [
        (0x8000, "AES-CBC 128-bit with Diffuser"),
        (0x8001, "AES-CBC 256-bit with Diffuser"),
        (0x8002, "AES-CBC 128-bit"),
        (0x8004, "AES-XTS 128-bit"),
    ] {
        let volume = Bitlk { method, ..ascii() }.make(&plain);
        let file = scratch.file("volume", &volume);
        peer("bdeinfo", "-p").arg(ASCII).arg(&file).ok().says(name);
        peer("bdemount", "-r").arg(RECOVERY).arg(&file).arg(&mount).ok();
        // The file says more than there is: libbde rounds up.
        let mut read = vec![0; LEN];
        let outcome = File::open(mount.join("bde1")).and_then(|mut file| file.read_exact(&mut read));
        fusermount(&mount);
        outcome.unwrap();
        assert!(read == Bitlk::visible(&plain), "{name}");
    }
}

#[test]
fn the_dump_is_cryptsetups() {
    need!("cryptsetup");
    let (scratch, plain) = (Scratch::new(), vec![0; LEN]);
    let all = vec![
        Protector::Passphrase(ASCII),
        Protector::Recovery(RECOVERY),
        Protector::StartupKey,
        Protector::Clear,
        Protector::Other(0x0100),
        Protector::Other(0x0500),
        Protector::Other(0x1000),
        Protector::Other(0x0300),
    ];
    for method in METHODS {
        for (sector_size, to_go) in [(512, false), (4096, true)] {
            let made = Bitlk { method, sector_size, to_go, protectors: all.clone(), ..Bitlk::default() };
            let volume = made.make(&plain);
            let file = scratch.file("volume", &volume);
            let name = file.to_str().unwrap();
            let header = Header::read(&*storage(&volume)).unwrap();
            let theirs = cryptsetup("bitlkDump").arg(&file).env("TZ", "UTC").ok();
            assert_eq!(dump::header(&header, name), theirs.text());
            for secret in [ASCII, RECOVERY] {
                let theirs =
                    cryptsetup("bitlkDump -q --dump-volume-key --key-file -").arg(&file).stdin(secret).ok();
                let ours = dump::with_volume_key(&header, name, &made.volume_key());
                assert_eq!(String::from_utf8_lossy(ours.expose()), theirs.text());
                let found = by_text(&storage(&volume), secret).unwrap();
                assert!(found.volume_key.ct_eq(made.volume_key().expose()));
            }
        }
    }
}

/// An unpaired surrogate in it; an entry of another purpose in its place.
#[test]
fn the_dump_of_an_odd_description_is_cryptsetups() {
    need!("cryptsetup");
    let scratch = Scratch::new();
    let len = ascii().headers_len();
    for (at, field, description) in [(120, [0, 0xd8], "ESTS E: 1/2/2026"), (114, [8, 0], "(null)")] {
        let mut volume = ascii().make(&vec![0; LEN]);
        for copy in METADATA {
            volume[copy + at..copy + at + 2].copy_from_slice(&field);
            let sealed = sealed_again(&volume[copy..copy + len]);
            volume[copy..copy + sealed.len()].copy_from_slice(&sealed);
        }
        let file = scratch.file("volume", &volume);
        let header = Header::read(&*storage(&volume)).unwrap();
        let ours = dump::header(&header, file.to_str().unwrap());
        assert!(ours.contains(&format!("Description:  \t{description}\n")), "{ours}");
        assert_eq!(ours, cryptsetup("bitlkDump").arg(&file).env("TZ", "UTC").ok().text());
    }
}

#[test]
fn a_chosen_protector_is_tried_alone_and_a_stop_is_heeded() {
    let data = storage(&Bitlk::default().make(&vec![0; LEN]));
    let attempt = |text: &str, options: &UnlockOptions| {
        let found = judge(&data).unwrap().open(Key::Passphrase(&secret(text)), options);
        found.map_or_else(|error| error.to_string(), |_| "opened".into())
    };
    let only = |keyslot| UnlockOptions { keyslot: Some(keyslot), ..UnlockOptions::default() };
    let wrong = "No key available with this passphrase.";
    assert_eq!([attempt(PASSPHRASE, &only(0)), attempt(PASSPHRASE, &only(1))], ["opened", wrong]);
    assert_eq!([attempt(RECOVERY, &only(0)), attempt(RECOVERY, &only(1))], [wrong, "opened"]);
    let stop = Arc::new(Stop::new());
    stop.stop();
    let stopped = UnlockOptions { stop: Some(stop), threads: 1, ..UnlockOptions::default() };
    assert_eq!(attempt(RECOVERY, &stopped), "stopped");
}

#[test]
fn a_wrong_secret_is_told_from_a_mistyped_one() {
    let data = storage(&Bitlk::default().make(&vec![0; LEN]));
    assert_eq!(refusal(&data, "incorrect"), "No key available with this passphrase.");
    let another = format!("{}{}", "000011-", &RECOVERY[7..]);
    assert_eq!(refusal(&data, &another), "No key available with this passphrase.");
    let mistyped = format!("{}{}", "471208-", &RECOVERY[7..]);
    let why = "recovery password: group 1: it is not a multiple of 11, as each is: a digit is wrong";
    assert_eq!(refusal(&data, &mistyped), why);

    let file = secret(Bitlk::startup_key());
    let error = open(&data, Key::File(&file)).err().unwrap().to_string();
    assert_eq!(error, "protector 0 needs more than a start-up key (passphrase)");
    let others = vec![Protector::Other(0x0100), Protector::Other(0x0700)];
    let data = storage(&Bitlk { protectors: others, ..Bitlk::default() }.make(&vec![0; LEN]));
    let why = "the volume has no passphrase; it is protected by: TPM, TPM, PIN and start-up key";
    assert_eq!(refusal(&data, PASSPHRASE), why);
    assert_eq!(judge(&data).unwrap().open_unprotected().unwrap().unwrap_err().to_string(), why);
    assert!(open(&data, Key::Volume(&Bitlk::default().volume_key())).is_ok());
}

#[test]
fn a_key_file_may_hold_a_text() {
    let data = storage(&Bitlk::default().make(&vec![0; LEN]));
    let by_file = |text: &str| {
        let found = open(&data, Key::File(&secret(text)));
        found.map_or_else(|error| error.to_string(), |_| "opened".into())
    };
    assert_eq!([by_file(PASSPHRASE), by_file(&format!("{RECOVERY}\n"))], ["opened"; 2]);
    assert_eq!(by_file("incorrect"), "No key available with this passphrase.");
}

/// A clear key that opens nothing: whoever knows the passphrase is asked.
#[test]
fn a_clear_key_that_cannot_be_used_is_passed_over() {
    let protectors = vec![Protector::Other(0), Protector::Passphrase(PASSPHRASE)];
    let data = storage(&Bitlk { protectors, ..Bitlk::default() }.make(&vec![0; LEN]));
    assert!(judge(&data).unwrap().open_unprotected().is_none());
    assert!(by_text(&data, PASSPHRASE).is_ok());
}
