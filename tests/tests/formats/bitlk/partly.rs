//! Partly encrypted volumes, and copies of the metadata that disagree on it: for reading only.

use super::forged::with;
use super::{assert_shows, by_text, judge, judge_for, plaintext, storage};
use keyway::{Device, Unlock};
use keyway_tests::bitlk::{Bitlk, LEN, METADATA, MOVED, PASSPHRASE};
use keyway_tests::{Scratch, keyway};
use std::fs;

const READ_ONLY: &str =
    "the volume is only partly encrypted, and such a volume is not written to (read-only works)";

/// What judging it is refused with, to be read and to be written.
fn refusals(volume: &[u8]) -> [String; 2] {
    let outcome =
        |writes| judge_for(&storage(volume), writes).err().map_or("judged".into(), |e| e.to_string());
    [false, true].map(outcome)
}

#[test]
fn it_is_not_written_to() {
    for state in [[5, 4], [5, 1], [4, 1], [1, 1]] {
        let volume = Bitlk { state, encrypted: 1 << 20, ..Bitlk::default() }.make(&vec![0; LEN]);
        assert_eq!(refusals(&volume), ["judged", READ_ONLY]);
    }
    assert_eq!(refusals(&Bitlk::default().make(&vec![0; LEN])), ["judged"; 2]);
}

/// Before the moved sectors, in their middle, and behind all of the metadata.
#[test]
fn what_is_not_encrypted_yet_is_read_as_it_is() {
    let plain = plaintext();
    for encrypted in [512, MOVED + 4096, LEN - 8192] {
        let data = storage(&Bitlk { encrypted, state: [5, 4], ..Bitlk::default() }.make(&plain));
        assert_shows(&data, &by_text(&data, PASSPHRASE).unwrap(), &plain);
    }
}

/// The length in work is behind what is encrypted.
#[test]
fn what_was_being_converted_is_neither_read_nor_written() {
    let mut fields = vec![5, 0, 4, 0];
    fields.extend((1_u64 << 20).to_le_bytes());
    fields.extend([0, 2, 0, 0]);
    let why = "512 bytes from byte 1048576 on were being converted when the volume was last used: let Windows finish";
    assert_eq!(refusals(&with(12, &fields)), [why; 2]);
}

#[test]
fn copies_that_disagree_on_the_state_are_not_written_to() {
    let (old, len) = (Bitlk::default().make(&vec![0; LEN]), 64 << 10);
    let replaced = |other: Vec<u8>| {
        let mut volume = old.clone();
        volume[METADATA[1]..][..len].copy_from_slice(&other[METADATA[1]..][..len]);
        volume
    };
    assert_eq!(refusals(&replaced(with(104, &[1]))), ["judged"; 2], "they disagree on the time");
    let why = "copy 2 of the metadata disagrees on how far the volume is encrypted, and such a volume is not \
               written to (read-only works)";
    let paused = replaced(with(12, &[5, 0, 4, 0]));
    assert_eq!(refusals(&paused), ["judged", why]);
    assert_eq!(judge(&storage(&paused)).unwrap().header().troubles().count(), 1);
}

/// Every front end: the program, and the library where the kernel is to claim the device itself.
#[test]
fn no_front_end_writes_to_it() {
    let (scratch, plain) = (Scratch::new(), plaintext());
    let made = Bitlk { state: [5, 4], encrypted: 1 << 20, ..Bitlk::default() }.make(&plain);
    let volume = scratch.file("volume", &made);
    let new = scratch.file("new", "new");
    let read = keyway("read --type bitlk").arg(&volume).stdin(PASSPHRASE).ok().quiet().stdout;
    assert!(read == Bitlk::visible(&plain));
    let errors =
        keyway("write --type bitlk --offset 0").arg(&volume).arg(&new).stdin(PASSPHRASE).fails(1).errors();
    assert_eq!(errors, format!("T{}.\n", &READ_ONLY[1..]));

    let device = Device::options().write(true).open(&volume).unwrap();
    for terms in [Unlock::new(), Unlock::new().unclaimed()] {
        let error = device.admit_as(&keyway::Bitlk::new(), &terms).err().unwrap().to_string();
        assert!(error.contains(READ_ONLY), "{error}");
        device.admit_as(&keyway::Bitlk::new(), &terms.read_only()).unwrap();
    }
    assert!(fs::read(&volume).unwrap() == made);
}
