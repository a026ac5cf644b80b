//! Re-encryption metadata that somebody forged who can write the storage and has no key: each field in
//! turn, alone and with all that belongs to it. It is refused by name, whatever the volume is opened
//! for, and nothing is written (CVE-2021-4122).

use super::open::{in_the_zone, open, simple};
use super::*;
use keyway_format::luks2::Copy;
use keyway_volume::Header;
use keyway_volume::reencrypt::Purpose;

/// What is replaced in the header's document, and what is said of it.
pub(crate) type Row = (&'static [(&'static str, &'static str)], &'static str);

pub(crate) const VOUCH: &str = "the volume keys do not authenticate it. Somebody else may have written it.";

#[test]
fn every_field_of_a_key_that_is_replaced() {
    check(&simple(Kind::Key { detached: false }, "checksum"), REENCRYPT);
}

#[test]
fn every_field_of_an_encryption_that_moves_data() {
    check(&simple(Kind::Encrypt { moves: true }, "checksum"), ENCRYPT);
}

#[test]
fn every_field_of_a_decryption_that_moves_data() {
    check(&simple(Kind::Decrypt { moves: true }, "checksum"), DECRYPT);
}

#[test]
fn every_field_of_data_that_moves_as_a_whole() {
    check(&simple(Kind::Shift, "checksum"), SHIFTED);
}

pub(crate) fn check(case: &Case, rows: &[Row]) {
    let (images, _) = in_the_zone(case);
    for (number, (changes, expected)) in rows.iter().enumerate() {
        let forged = forge(&images, changes, &format!("row {number}"));
        for purpose in [Purpose::Read, Purpose::Write] {
            let disks = Disks::new(forged.clone());
            let said = match open(case, &disks, purpose) {
                Ok(_) => panic!("row {number} {changes:?}: opened"),
                Err(error) => error.to_string(),
            };
            assert!(said.contains(expected), "row {number} {changes:?}: {said}");
            assert!(disks.images() == forged && disks.events() == 0, "row {number}: something was written");
        }
        // Whoever goes on with it asks the same keys.
        let disks = Disks::new(forged.clone());
        let Err(error) = case.job(&disks, None, &mut seeded(3)) else {
            panic!("row {number} {changes:?}: it goes on")
        };
        let said = error.to_string();
        assert!(*expected != VOUCH || said.contains(VOUCH), "row {number} {changes:?}: {said}");
        assert!(disks.images() == forged && disks.events() == 0, "row {number}: something was written");
    }
}

/// Puts another document into both copies of the header, with the right checksums.
pub(crate) fn forge(images: &[Vec<u8>; 2], changes: &[(&str, &str)], context: &str) -> [Vec<u8>; 2] {
    let mut forged = images.clone();
    let luks = Luks::open(Arc::new(Memory::from(images[0].clone())), Access::Probe).unwrap();
    let Header::Luks2 { binary, metadata } = luks.header() else { panic!("not LUKS2") };
    let mut json = String::from_utf8(metadata.to_json()).unwrap();
    for (from, to) in changes {
        assert!(json.contains(from), "{context}: no {from} in {json}");
        json = json.replace(from, to);
    }
    for (copy, offset) in [(Copy::Primary, 0), (Copy::Secondary, binary.size.bytes().0 as usize)] {
        let bytes = binary.as_copy(copy, [7; 64]).copy_to_bytes(json.as_bytes()).unwrap();
        forged[0][offset..offset + bytes.len()].copy_from_slice(&bytes);
    }
    forged
}

const REENCRYPT: &[Row] = &[
    // The keyslot.
    (&[("\"mode\":\"reencrypt\"", "\"mode\":\"encrypt\"")], "does not fit the backup segments"),
    (&[("\"mode\":\"reencrypt\"", "\"mode\":\"decrypt\"")], "does not fit the backup segments"),
    (&[("\"mode\":\"reencrypt\"", "\"mode\":\"destroy\"")], "\"destroy\" is unknown"),
    (&[("\"forward\"", "\"backward\"")], "segments.1: is not what backward re-encryption leaves there"),
    (
        &[
            ("\"forward\"", "\"backward\""),
            // As if the whole volume were hot.
            ("\"size\":\"32768\"", "\"size\":\"163840\""),
            (SECOND, ""),
            ("\"2\":{\"type\":\"crypt\",\"offset\"", "\"1\":{\"type\":\"crypt\",\"offset\""),
            ("\"3\":{\"type\":\"crypt\",\"offset\"", "\"2\":{\"type\":\"crypt\",\"offset\""),
            ("\"segments\":[\"0\",\"1\",\"2\"]", "\"segments\":[\"0\",\"1\"]"),
            ("\"segments\":[\"0\",\"3\"]", "\"segments\":[\"0\",\"2\"]"),
        ],
        VOUCH,
    ),
    (&[("\"type\":\"checksum\"", "\"type\":\"journal\"")], VOUCH),
    (&[("\"type\":\"checksum\"", "\"type\":\"none\"")], VOUCH),
    (&[("\"type\":\"checksum\"", "\"type\":\"hope\"")], "\"hope\" is unknown"),
    (&[(AREA_HASH, "\"hash\":\"sha1\",\"sector_size\":512},\"type\"")], VOUCH),
    (&[(AREA_HASH, "\"hash\":\"sha256\",\"sector_size\":1024},\"type\"")], VOUCH),
    (&[(AREA_HASH, "\"hash\":\"sha256\",\"sector_size\":100},\"type\"")], "is not a power of two"),
    (&[("\"offset\":\"294912\",\"size\":\"98304\"", "\"offset\":\"299008\",\"size\":\"94208\"")], VOUCH),
    (&[("\"size\":\"98304\"", "\"size\":\"94208\"")], VOUCH),
    (&[("\"size\":\"98304\"", "\"size\":\"0\"")], "keyslots.2"),
    // The backup segments, alone and with the segments that are in use.
    (&[(PREVIOUS, "\"sector_size\":4096,\"flags\":[\"backup-previous\"]")], "segments.1"),
    (
        &[
            (PREVIOUS, "\"sector_size\":4096,\"flags\":[\"backup-previous\"]"),
            ("\"iv_tweak\":\"64\",\"encryption\":\"aes-xts-plain64\",\"sector_size\":512", LARGE_SECOND),
        ],
        VOUCH,
    ),
    (&[(FINAL, "\"sector_size\":1024,\"flags\":[\"backup-final\"]")], "segments.0"),
    (
        &[
            (FINAL, "\"sector_size\":1024,\"flags\":[\"backup-final\"]"),
            (HOT, "\"sector_size\":1024,\"flags\":[\"in-reencryption\"]"),
        ],
        VOUCH,
    ),
    (
        &[
            (
                "\"encryption\":\"aes-xts-plain64\",\"sector_size\":512,\"flags\":[\"backup-final\"]",
                SERPENT_FINAL,
            ),
            (
                "\"encryption\":\"aes-xts-plain64\",\"sector_size\":512,\"flags\":[\"in-reencryption\"]",
                SERPENT_HOT,
            ),
        ],
        VOUCH,
    ),
    (
        &[
            (
                "\"encryption\":\"aes-xts-plain64\",\"sector_size\":512,\"flags\":[\"backup-final\"]",
                NULL_FINAL,
            ),
            (
                "\"encryption\":\"aes-xts-plain64\",\"sector_size\":512,\"flags\":[\"in-reencryption\"]",
                NULL_HOT,
            ),
        ],
        "segment 3 uses cipher_null-ecb",
    ),
    (&[("\"offset\":\"393216\"", "\"offset\":\"397312\""), ("425984", "430080")], VOUCH),
    (
        &[(
            PREVIOUS_WHOLE,
            "\"size\":\"163840\",\"iv_tweak\":\"0\",\"encryption\":\"aes-xts-plain64\",\"sector_size\":512,\"flags\":[\"backup-previous\"]",
        )],
        VOUCH,
    ),
    (
        &[("\"iv_tweak\":\"0\"", "\"iv_tweak\":\"8\""), ("\"iv_tweak\":\"64\"", "\"iv_tweak\":\"72\"")],
        "8 is not 0",
    ),
    (&[("\"flags\":[\"backup-previous\"]", "\"flags\":[]")], "only the last segment may be dynamic"),
    (
        &[("\"flags\":[\"backup-final\"]", "\"flags\":[\"backup-previous\"]")],
        "without a backup-final segment",
    ),
    // The segments in use.
    (&[("\"flags\":[\"in-reencryption\"]", "\"flags\":[]")], "segments.0: is not what forward"),
    (&[("\"offset\":\"425984\"", "\"offset\":\"426496\"")], "segments.1: is not what forward"),
    (&[("\"iv_tweak\":\"64\"", "\"iv_tweak\":\"0\"")], "segments.1: is not what forward"),
    (&[("\"size\":\"32768\"", "\"size\":\"16384\"")], "segments.1: is not what forward"),
    (
        &[("\"segments\":[\"0\",\"1\",\"2\"]", "\"segments\":[\"1\",\"2\"]")],
        "segments.0: is not what forward",
    ),
    (
        &[("\"segments\":[\"0\",\"3\"]", "\"segments\":[\"0\",\"1\",\"3\"]")],
        "segments.1: is not what forward",
    ),
    (
        &[(
            "{\"type\":\"crypt\",\"offset\":\"425984\",\"size\":\"dynamic\",\"iv_tweak\":\"64\",\"encryption\":\"aes-xts-plain64\",\"sector_size\":512}",
            "{\"type\":\"linear\",\"offset\":\"425984\",\"size\":\"dynamic\"}",
        )],
        "segments.1",
    ),
    // The requirement, and what vouches.
    (&[("online-reencrypt-v2", "online-reencrypt-v3")], VOUCH),
    (&[("online-reencrypt-v2", "online-reencrypt")], "run \"keyway repair\" once"),
    (&[("online-reencrypt-v2", "online-reencrypt-v4")], "requirement \"online-reencrypt-v4\" is unknown"),
    (&[("\"keyslots\":[\"2\"]", "\"keyslots\":[]")], "no digest authenticates it."),
];

const ENCRYPT: &[Row] = &[
    (&[("\"mode\":\"encrypt\"", "\"mode\":\"decrypt\"")], "does not fit the backup segments"),
    (&[("\"backward\"", "\"forward\"")], "does not say how data can move that way"),
    (
        &[("\"shift_size\":\"393216\"", "\"shift_size\":\"389120\"")],
        "does not say how data can move that way",
    ),
    (&[("\"type\":\"datashift\"", "\"type\":\"journal\"")], "has a backup-moved-segment, but moves no data"),
    (&[("\"offset\":\"163840\",\"size\":\"4096\"", "\"offset\":\"167936\",\"size\":\"4096\"")], VOUCH),
    (&[("\"offset\":\"163840\",\"size\":\"4096\"", "\"offset\":\"163840\",\"size\":\"8192\"")], VOUCH),
    (&[("\"offset\":\"557056\"", "\"offset\":\"561152\"")], VOUCH),
    (&[("\"offset\":\"557056\"", "\"offset\":\"0\"")], "does not say how data can move that way"),
    // Plaintext of somebody else's choice, in place of what is encrypted.
    (&[("\"backup-moved-segment\"", "\"backup-moved\"")], VOUCH),
    (&[("online-reencrypt-v2", "online-reencrypt-v3")], VOUCH),
];

const SHIFTED: &[Row] = &[
    (&[("\"mode\":\"reencrypt\"", "\"mode\":\"encrypt\"")], "does not fit the backup segments"),
    (&[("\"backward\"", "\"forward\"")], "does not say how"),
    (&[("\"shift_size\":\"49152\"", "\"shift_size\":\"32768\"")], "does not say how"),
    (&[("\"shift_size\":\"49152\"", "\"shift_size\":\"0\"")], "is not a positive multiple of 512"),
    (&[("\"type\":\"datashift\"", "\"type\":\"datashift-journal\"")], "does not say how"),
    (&[("\"type\":\"datashift\"", "\"type\":\"none\"")], "backup segments have different offsets"),
    (&[("online-reencrypt-v2", "online-reencrypt-v3")], VOUCH),
];

const DECRYPT: &[Row] = &[
    (&[("\"mode\":\"decrypt\"", "\"mode\":\"encrypt\"")], "does not fit the backup segments"),
    (&[("\"forward\"", "\"backward\"")], "does not say how data can move that way"),
    (&[("\"datashift-checksum\"", "\"datashift-journal\"")], VOUCH),
    (&[("\"datashift-checksum\"", "\"datashift\"")], "does not say how data can move that way"),
    (
        &[(
            "\"hash\":\"sha256\",\"sector_size\":512,\"shift_size\"",
            "\"hash\":\"sha512\",\"sector_size\":512,\"shift_size\"",
        )],
        VOUCH,
    ),
    (&[("\"sector_size\":512,\"shift_size\"", "\"sector_size\":4096,\"shift_size\"")], VOUCH),
    (
        &[("\"shift_size\":\"393216\"", "\"shift_size\":\"397312\"")],
        "does not say how data can move that way",
    ),
    (&[("\"shift_size\":\"393216\"", "\"shift_size\":\"0\"")], "is not a positive multiple of 512"),
    (&[("\"size\":\"229376\"", "\"size\":\"225280\"")], VOUCH),
    (&[("online-reencrypt-v3", "online-reencrypt-v2")], VOUCH),
];

const SECOND: &str = "\"1\":{\"type\":\"crypt\",\"offset\":\"425984\",\"size\":\"dynamic\",\"iv_tweak\":\"64\",\
                      \"encryption\":\"aes-xts-plain64\",\"sector_size\":512},";
const AREA_HASH: &str = "\"hash\":\"sha256\",\"sector_size\":512},\"type\"";
const PREVIOUS: &str = "\"sector_size\":512,\"flags\":[\"backup-previous\"]";
const PREVIOUS_WHOLE: &str = "\"size\":\"dynamic\",\"iv_tweak\":\"0\",\"encryption\":\"aes-xts-plain64\",\
                              \"sector_size\":512,\"flags\":[\"backup-previous\"]";
const FINAL: &str = "\"sector_size\":512,\"flags\":[\"backup-final\"]";
const HOT: &str = "\"sector_size\":512,\"flags\":[\"in-reencryption\"]";
const LARGE_SECOND: &str = "\"iv_tweak\":\"64\",\"encryption\":\"aes-xts-plain64\",\"sector_size\":4096";
const SERPENT_FINAL: &str =
    "\"encryption\":\"serpent-xts-plain64\",\"sector_size\":512,\"flags\":[\"backup-final\"]";
const SERPENT_HOT: &str =
    "\"encryption\":\"serpent-xts-plain64\",\"sector_size\":512,\"flags\":[\"in-reencryption\"]";
const NULL_FINAL: &str =
    "\"encryption\":\"cipher_null-ecb\",\"sector_size\":512,\"flags\":[\"backup-final\"]";
const NULL_HOT: &str =
    "\"encryption\":\"cipher_null-ecb\",\"sector_size\":512,\"flags\":[\"in-reencryption\"]";
