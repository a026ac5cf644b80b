//! What somebody without the key can write: checksums and the boot sector, but not the digest.

use super::forged::boot;
use super::{judge, open, refusal, secret, storage};
use keyway_format::crc32::crc32;
use keyway_tests::bitlk::{Bitlk, LEN, METADATA, PASSPHRASE};
use keyway_volume::kind::Key;

/// Changes each copy, and puts the right checksum.
fn with_checksum(volume: &mut [u8], change: impl Fn(&mut [u8])) {
    let len = Bitlk::default().headers_len();
    for copy in METADATA {
        change(&mut volume[copy..]);
        let sum = crc32(&volume[copy..copy + len]);
        volume[copy + len + 4..copy + len + 8].copy_from_slice(&sum.to_le_bytes());
    }
}

/// Whoever has no key can write a checksum, but not the digest.
#[test]
fn metadata_that_the_master_key_does_not_vouch_for_are_refused() {
    let mut volume = Bitlk::default().make(&vec![0; LEN]);
    with_checksum(&mut volume, |copy| copy[104] ^= 1);
    let data = storage(&volume);
    assert!(judge(&data).is_ok(), "nothing that needs no key tells");
    let why = "somebody without the key has changed the BitLocker metadata: the volume master key does not \
        authenticate them";
    assert_eq!(refusal(&data, PASSPHRASE), why);
}

/// Else new data would be written in plaintext from byte 4096 on.
#[test]
fn metadata_whose_digest_was_cut_off_are_refused() {
    let len = Bitlk::default().headers_len();
    let why =
        "the digest of the BitLocker metadata is missing: somebody without the key may have changed them";
    for state in [4, 5] {
        let mut volume = Bitlk::default().make(&vec![0; LEN]);
        with_checksum(&mut volume, |copy| {
            copy[12] = state;
            copy[16..24].copy_from_slice(&4096_u64.to_le_bytes());
            copy[len..len + 2].copy_from_slice(&8_u16.to_le_bytes());
        });
        assert_eq!(refusal(&storage(&volume), PASSPHRASE), why);
    }
}

/// It opens without the master key, which alone knows the digest.
#[test]
fn a_volume_key_opens_only_what_is_encrypted_as_a_whole() {
    let key = Bitlk::default().volume_key();
    let outcome = |made: Bitlk| {
        let found = open(&storage(&made.make(&vec![0; LEN])), Key::Volume(&key));
        found.map_or_else(|error| error.to_string(), |_| "opened".into())
    };
    assert_eq!(outcome(Bitlk::default()), "opened");
    let partly = Bitlk { state: [5, 4], encrypted: 1 << 20, ..Bitlk::default() };
    assert_eq!(
        outcome(partly),
        "the volume is partly encrypted, and a volume key does not prove how far: open it with a passphrase, \
         a recovery password or a start-up key"
    );
}

/// A copy where it says, so that it would be hidden there, and the true one's area be data.
#[test]
fn a_boot_sector_that_contradicts_the_metadata_is_refused() {
    let other = 5 << 19;
    let mut volume = boot(184, &(other as u64).to_le_bytes());
    volume.copy_within(METADATA[1]..METADATA[1] + (64 << 10), other);
    assert_eq!(
        refusal(&storage(&volume), PASSPHRASE),
        "the BitLocker volume cannot be mapped: its metadata place their copies at bytes 1048576, 2097152 and \
         3145728, its boot sector at 1048576, 2621440 and 3145728"
    );
}

#[test]
fn a_volume_key_of_another_length_is_refused() {
    let data = storage(&Bitlk::default().make(&vec![0; LEN]));
    let key = Bitlk::default().volume_key();
    assert!(open(&data, Key::Volume(&key)).is_ok());
    let error = open(&data, Key::Volume(&secret([0; 31]))).err().unwrap().to_string();
    assert_eq!(error, "Volume key does not match the volume.");
}
