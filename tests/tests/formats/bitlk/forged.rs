//! Metadata that break a rule of the layout or of the state, each with the resulting message; damaged copies.

use super::{assert_shows, by_text, judge, plaintext, refusal, storage};
use keyway_crypto::Cpu;
use keyway_tests::bitlk::{Bitlk, LEN, METADATA, PASSPHRASE, sealed_again};
use keyway_volume::kind::Judged;
use keyway_volume::kind::bitlk::{CopyState, Header};
use keyway_volume::{Storage, Volume};

/// A volume with `field` at `at` of each copy of its metadata, all of them sealed again.
pub(super) fn with(at: usize, field: &[u8]) -> Vec<u8> {
    let mut volume = Bitlk::default().make(&vec![0; LEN]);
    let len = Bitlk::default().headers_len();
    for copy in METADATA {
        volume[copy + at..copy + at + field.len()].copy_from_slice(field);
        let sealed = sealed_again(&volume[copy..copy + len]);
        volume[copy..copy + sealed.len()].copy_from_slice(&sealed);
    }
    volume
}

/// With `field` at `at` of the boot sector.
pub(super) fn boot(at: usize, field: &[u8]) -> Vec<u8> {
    let mut volume = Bitlk::default().make(&vec![0; LEN]);
    volume[at..at + field.len()].copy_from_slice(field);
    volume
}

#[test]
fn states_that_cannot_be_opened_are_named() {
    let state = |now: u8, then: u8| refusal(&storage(&with(12, &[now, 0, then, 0])), PASSPHRASE);
    let being = |what: &str| {
        format!(
            "the volume was in the middle of being {what} when it was last used: let Windows finish or pause \
             it (manage-bde -pause)"
        )
    };
    assert_eq!(state(2, 4), being("encrypted"));
    assert_eq!(state(2, 1), being("decrypted"));
    assert_eq!(state(3, 4), "the volume is partly encrypted, and its metadata do not say how far (state 3)");
    assert_eq!(state(9, 4), "the volume is in an unknown state, 9");
    assert_eq!([state(4, 4), state(4, 1), state(5, 1)], ["opened"; 3]);
}

#[test]
fn schemes_that_cannot_be_opened_are_named() {
    let on_write = boot(160, b"\x3b\x4d\xa8\x92\x80\xdd\x0e\x4d\x9e\x4e\xb1\xe3\x28\x4e\xae\xd8");
    let why = refusal(&storage(&on_write), PASSPHRASE);
    assert!(
        why.starts_with("the volume is encrypted on write, and the maps of its encrypted parts"),
        "{why}"
    );
    let why = refusal(&storage(&boot(160, &[0x11; 16])), PASSPHRASE);
    assert_eq!(why, "the volume is encrypted by an unknown scheme, 11111111-1111-1111-1111-111111111111");
}

#[test]
fn what_is_not_within_the_volume_is_refused_with_its_figure() {
    let end = Bitlk::default().headers_len() - 32;
    // The entry of the moved sectors is the last: its place and length.
    let place =
        (end..end + 32).find(|at| with(0, b"-")[METADATA[0] + at..].starts_with(&[0, 0, 0x18, 0])).unwrap();
    let moved = |at: u64, len: u64| {
        let field = [at.to_le_bytes(), len.to_le_bytes()].concat();
        refusal(&storage(&with(place, &field)), PASSPHRASE)
    };
    let refused = |why: &str| format!("the BitLocker volume cannot be mapped: {why}");
    // Up to the end, and right behind a copy of the metadata, too.
    let places = [3 << 19, (4 << 20) - 8192, (1 << 20) + (64 << 10)];
    assert_eq!(places.map(|at| moved(at, 8192)), ["opened"; 3]);
    assert_eq!(
        moved(0x7000, u64::MAX),
        refused(
            "the first sectors: 18446744073709551615 bytes at byte 28672 are not within its 4194304 bytes"
        )
    );
    assert_eq!(
        moved(4 << 20, 512),
        refused("the first sectors: 512 bytes at byte 4194304 are not within its 4194304 bytes")
    );
    assert_eq!(
        moved(3 << 19, 0),
        refused("the first sectors: 0 bytes at byte 1572864 are not within its 4194304 bytes")
    );
    assert_eq!(
        moved(1000, 512),
        refused("the first sectors: 512 bytes at byte 1000 are not whole sectors of 512")
    );
    assert_eq!(
        moved(1 << 20, 512),
        refused("the area at byte 1048576 overlaps the one that ends at byte 1114112")
    );
    assert_eq!(
        moved(3 << 19, 2 << 20),
        refused("the area at byte 1048576 overlaps the one that ends at byte 2097152")
    );

    let mut far = with(32, &u64::MAX.to_le_bytes());
    far[176..184].fill(0xff);
    let why = refused(
        "a copy of the metadata: 65536 bytes at byte 18446744073709551615 are not within its 4194304 bytes",
    );
    assert_eq!(refusal(&storage(&far), PASSPHRASE), why);
    let cut = &with(0, b"-")[..METADATA[2] + 4096];
    let why = refused("a copy of the metadata: 65536 bytes at byte 3145728 are not within its 3149824 bytes");
    assert_eq!(refusal(&storage(cut), PASSPHRASE), why);
    let mut paused = with(12, &[5, 0, 4, 0, 1]);
    let why = refused("it is encrypted up to byte 4194305, in the middle of a sector");
    assert_eq!(refusal(&storage(&paused), PASSPHRASE), why);
    paused.truncate(511);
    assert_eq!(refusal(&storage(&paused), PASSPHRASE), "truncated: needs 512 bytes, has 511");
}

/// What is behind the last whole sector is not the volume's.
#[test]
fn a_part_of_a_sector_is_left_out() {
    let plain = plaintext();
    for (sector_size, more) in [(512, 1), (512, 511), (4096, 512), (4096, 4095)] {
        let mut volume = Bitlk { sector_size, ..Bitlk::default() }.make(&plain);
        volume.resize(LEN + more, 0x55);
        let data = storage(&volume);
        assert_shows(&data, &by_text(&data, PASSPHRASE).unwrap(), &plain);
    }
}

/// A partition that was made smaller or larger: cryptsetup maps what is there, and says the same.
#[test]
fn a_device_of_another_size_is_mapped_and_noted() {
    let plain = plaintext();
    let volume = Bitlk::default().make(&plain);
    assert_eq!(judge(&storage(&volume)).unwrap().notes(), [""; 0]);
    for len in [LEN - 8192, LEN + 8192] {
        let mut resized = volume.clone();
        resized.resize(len, 0);
        let data = storage(&resized);
        let note =
            format!("WARNING: BitLocker volume size {LEN} does not match the underlying device size {len}");
        assert_eq!(judge(&data).unwrap().notes(), [note]);
        let found = by_text(&data, PASSPHRASE).unwrap();
        let opened = Volume::new(data, &found.layout, &found.volume_key, Cpu::detect()).unwrap();
        assert_eq!(opened.len() as usize, len);
        let mut read = vec![0; len.min(LEN)];
        opened.read_at(&mut read, 0).unwrap();
        assert!(read == Bitlk::visible(&plain)[..read.len()], "of {len} bytes");
    }
}

#[test]
fn the_first_valid_copy_is_used_and_the_others_are_named() {
    let plain = plaintext();
    let mut volume = Bitlk::default().make(&plain);
    volume[METADATA[0] + 200] ^= 1;
    let data = storage(&volume);
    assert_shows(&data, &by_text(&data, PASSPHRASE).unwrap(), &plain);
    let header = Header::read(&*data).unwrap();
    assert_eq!(header.copies[1].1, CopyState::Used);
    assert_eq!(header.copies[2].1, CopyState::Same);
    let troubles = ["copy 1 of the metadata, at byte 1048576: damaged (header checksum does not match)"];
    assert_eq!(header.troubles().collect::<Vec<_>>(), troubles);

    volume[METADATA[1]] = 0;
    volume[METADATA[2] + 10] = 9;
    assert_eq!(
        refusal(&storage(&volume), PASSPHRASE),
        "none of the BitLocker metadata is valid (byte 1048576: header checksum does not match; byte 2097152: metadata: \
         they do not begin with -FVE-FS-; byte 3145728: metadata version: 9 is not 1 or 2)"
    );
    let mut cut = Bitlk::default().make(&plain);
    cut.truncate(METADATA[2]);
    let beyond = "copy 3 of the metadata, at byte 3145728: damaged (it lies beyond the end of the device, \
        byte 3145728)";
    let header = Header::read(&*storage(&cut)).unwrap();
    assert_eq!(header.troubles().collect::<Vec<_>>(), [beyond]);
    let mut one = with(104, &[1]);
    let old = Bitlk::default().make(&vec![0; LEN]);
    one[METADATA[2]..].copy_from_slice(&old[METADATA[2]..]);
    let header = Header::read(&*storage(&one)).unwrap();
    let differs = ["copy 3 of the metadata, at byte 3145728: valid, but differs from the others"];
    assert_eq!(header.troubles().collect::<Vec<_>>(), differs);
}
