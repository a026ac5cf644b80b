//! What is known of a volume without its key: what may open it, its names and lengths, how it becomes LUKS2.

use super::{assert_shows, bitlk, judge, judge_as, judge_for, open, plaintext, storage};
use keyway_crypto::kdf::STRETCH_ROUNDS;
use keyway_tests::bitlk::{Bitlk, LEN, Protector, RECOVERY};
use keyway_volume::device::storage::Memory;
use keyway_volume::kind::bitlk::Header;
use keyway_volume::kind::{Judged, Key, Kind, Takes, WayCost};

/// The methods, what dm-crypt calls them, and the bytes of their volume keys.
const METHODS: [(u16, &str, usize); 6] = [
    (0x8000, "aes-cbc-elephant", 32),
    (0x8001, "aes-cbc-elephant", 64),
    (0x8002, "aes-cbc-eboiv", 16),
    (0x8003, "aes-cbc-eboiv", 32),
    (0x8004, "aes-xts-plain64", 32),
    (0x8005, "aes-xts-plain64", 64),
];

#[test]
fn each_method_has_its_name_and_the_length_of_its_key() {
    for (method, cipher, key_len) in METHODS {
        let data = storage(&Bitlk { method, ..Bitlk::default() }.make(&vec![0; LEN]));
        assert_eq!(bitlk::Bitlk::default().known(&*data).unwrap().ciphers, [cipher]);
        let judged = judge_for(&data, true).unwrap();
        assert_eq!(judged.volume_key_len(), Some(key_len), "{method:#x}");
        assert_eq!(judged.uuid(), Some("74786973-6565-206e-6f66-20677569642e"));
        let converts = bitlk::Bitlk::default().convertible(&data).unwrap();
        assert_eq!((converts.key_len, &converts.layouts[..]), (key_len, &[judged.layout().clone()][..]));
    }
}

/// Whatever its method and sectors.
#[test]
fn every_volume_shows_what_was_put_into_it() {
    let plain = plaintext();
    for (method, _, _) in METHODS {
        for sector_size in [512, 4096] {
            let made = Bitlk { method, sector_size, ..Bitlk::default() };
            let data = storage(&made.make(&plain));
            assert_shows(&data, &open(&data, Key::Volume(&made.volume_key())).unwrap(), &plain);
        }
    }
}

#[test]
fn every_protector_is_a_way() {
    let stretched = || WayCost::Stretching { rounds: STRETCH_ROUNDS };
    let expected = [
        (Protector::Passphrase("anaconda"), Takes::Passphrase, stretched(), None),
        (Protector::Recovery(RECOVERY), Takes::RecoveryPassword, stretched(), None),
        (Protector::StartupKey, Takes::KeyFile, WayCost::Nothing, Some("ExternalKey")),
        (Protector::Clear, Takes::Nothing, WayCost::Nothing, None),
        (Protector::Other(0x100), Takes::Hardware("TPM"), WayCost::Nothing, None),
        (Protector::Other(0x999), Takes::Unknown, WayCost::Nothing, None),
    ];
    let protectors = expected.iter().map(|it| it.0.clone()).collect();
    let volume = Bitlk { protectors, ..Bitlk::default() }.make(&vec![0; LEN]);
    let ways = bitlk::Bitlk::default().known(&Memory::from(volume)).unwrap().ways;
    assert_eq!(ways.len(), expected.len());
    for (number, (way, (_, takes, cost, label))) in ways.iter().zip(expected).enumerate() {
        assert_eq!((way.name.clone(), way.takes, &way.cost), (format!("protector {number}"), takes, &cost));
        assert_eq!(way.label.as_deref(), label, "protector {number}");
    }
}

/// Sectors of 4096 bytes by the metadata, of 512 by a boot sector that anybody can have written.
#[test]
fn a_boot_sector_with_other_sectors_converts_nothing() {
    let mut volume = Bitlk { sector_size: 4096, ..Bitlk::default() }.make(&plaintext());
    let judged = judge(&storage(&volume)).unwrap();
    assert!(judged.check_convertible().is_ok());
    assert_eq!(judged.header().boot.sector_size.0, 4096);
    volume[11..13].copy_from_slice(&512_u16.to_le_bytes());
    let data = storage(&volume);
    let why = "Its metadata say that 2 sectors, 8192 bytes, were moved, but its sectors have 512 bytes by its boot sector.";
    assert_eq!(judge(&data).unwrap().check_convertible().unwrap_err().to_string(), why);
    assert_eq!(bitlk::Bitlk::default().convertible(&data).unwrap_err().to_string(), why);
}

/// The size in the metadata is how far it is encrypted, where that is not all.
#[test]
fn only_a_whole_volume_says_its_size() {
    let paused = Bitlk { state: [5, 4], encrypted: 1 << 20, ..Bitlk::default() }.make(&vec![0; LEN]);
    assert_eq!(judge(&storage(&paused)).unwrap().notes(), [""; 0]);
    let vista = Bitlk { vista: true, method: 0x8000, ..Bitlk::default() }.make(&plaintext());
    let kind = bitlk::Bitlk { allows_vista: true };
    let notes = |len: usize| judge_as(&kind, &storage(&vista[..len]), false).unwrap().notes().len();
    assert_eq!([notes(LEN), notes(LEN - 8192)], [1, 2]);
}

#[test]
fn a_volume_is_whole_while_its_copies_say_the_same() {
    let mut volume = Bitlk::default().make(&vec![0; LEN]);
    let header = |volume: &[u8]| Header::read(&*storage(volume)).unwrap();
    assert!(header(&volume).is_whole());
    volume[3 << 20] ^= 1;
    assert!(!header(&volume).is_whole());
}
