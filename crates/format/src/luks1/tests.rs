//! Every rule of a LUKS1 header, each with bytes that break it and the resulting message.

use super::*;
use alloc::string::ToString;
use alloc::vec::Vec;

/// Made by cryptsetup 2.6.1: aes-xts-plain64, 64-byte key, sha512, slots 0 and 3 enabled.
const GOLDEN: &[u8; HEADER_LEN] = include_bytes!("../../tests/golden/aes-xts.luks1");

fn with(offset: usize, bytes: &[u8]) -> [u8; HEADER_LEN] {
    let mut header = *GOLDEN;
    header[offset..offset + bytes.len()].copy_from_slice(bytes);
    header
}

fn refusal(header: &[u8]) -> String {
    Header::parse(header).map_or_else(|error| error.to_string(), |_| "accepted".into())
}

const fn slot(number: usize) -> usize {
    208 + 48 * number
}

#[test]
fn every_rule_names_its_field() {
    let cases: &[(usize, &[u8], &str)] = &[
        (0, b"LUKT", "not a LUKS header"),
        (6, &[0, 2], "not a LUKS header"),
        (6, &[1, 1], "not a LUKS header"),
        (8, b"\0", "cipher name: is empty"),
        (8, b"a s", "cipher name: is not printable text"),
        (40, b"\xff", "cipher mode: is not printable text"),
        (72, b"\n", "hash: is not printable text"),
        (104, &[0, 0, 0x0f, 0xc3], "keyslot 7: area at sector 3536 ends at 4036, after the payload at 4035"),
        (108, &[0, 0, 0, 0], "key length: 0 bytes is not between 1 and 512"),
        (108, &[0, 0, 2, 1], "key length: 513 bytes is not between 1 and 512"),
        (108, &[0, 0, 0, 65], "keyslot 0: area at sector 8 overlaps keyslot 1"),
        (164, &[0, 0, 0, 0], "digest iterations: is zero"),
        (slot(3) + 4, &[0, 0, 0, 0], "keyslot 3: zero iterations"),
        (slot(1) + 44, &[0, 0, 0x0f, 0x9f], "keyslot 1: 3999 stripes, not 4000"),
        (slot(2) + 40, &[0, 0, 0, 1], "keyslot 2: area at sector 1 lies in the header"),
        (slot(2) + 40, &[0, 0, 0, 9], "keyslot 0: area at sector 8 overlaps keyslot 2"),
        (slot(2) + 40, &[0, 0, 2, 1], "keyslot 1: area at sector 512 overlaps keyslot 2"),
        (slot(5) + 40, &[0xff, 0xff, 0xff, 0xff], "keyslot 5: area at sector 4294967295 ends beyond 32 bits"),
    ];
    for (offset, bytes, message) in cases {
        assert_eq!(refusal(&with(*offset, bytes)), *message, "{bytes:?} at {offset}");
    }
    assert_eq!(refusal(&GOLDEN[..591]), "truncated: needs 592 bytes, has 591");
    assert_eq!(refusal(b""), "not a LUKS header");
}

#[test]
fn what_is_legal_is_accepted() {
    // 64-byte keys need 500 sectors per slot, and the aligned layout has 504: a payload may
    // directly follow the last slot's material.
    let payload = Header::parse(&with(104, &[0, 0, 0x0f, 0xc4])).unwrap().payload_offset;
    assert_eq!(payload, Sectors(4036));
    // Full 32-byte fields, without a NUL.
    let name = [b'x'; 32];
    assert_eq!(Header::parse(&with(8, &name)).unwrap().cipher_name.len(), 32);
    // A disabled slot may have zero iterations.
    assert_eq!(Header::parse(GOLDEN).unwrap().slots[1].iterations, 0);
}

#[test]
fn a_torn_slot_leaves_the_others_usable() {
    let bytes = with(slot(0), &[0x00, 0xac, 0xde, 0xad]);
    let header = Header::parse(&bytes).unwrap();
    assert_eq!(header.slots[0].state, SlotState::Damaged(0x00ac_dead));
    assert_eq!(header.slots[3].state, SlotState::Enabled);
    assert_eq!(header.to_bytes(), bytes);
}

#[test]
fn bytes_behind_a_nul_are_kept() {
    let mut bytes = with(8 + 4, b"junk");
    bytes[200..208].copy_from_slice(b"\0tail\xff\x01\x02");
    let mut header = Header::parse(&bytes).unwrap();
    assert_eq!((header.cipher_name.as_str(), header.to_bytes()), ("aes", bytes));
    header.disable_slot(3).unwrap();
    assert_eq!(header.to_bytes()[..208], bytes[..208]);
}

#[test]
fn slots_in_the_order_of_their_areas() {
    let mut bytes = *GOLDEN;
    let (first, last) = (be32(&bytes, slot(0) + 40), be32(&bytes, slot(7) + 40));
    bytes[slot(0) + 40..][..4].copy_from_slice(&last.to_be_bytes());
    bytes[slot(7) + 40..][..4].copy_from_slice(&first.to_be_bytes());
    let header = Header::parse(&bytes).unwrap();
    assert_eq!(header.fields.slots_by_offset(), [7, 1, 2, 3, 4, 5, 6, 0]);
    assert_eq!(header.end_of_areas(), Sectors(4036));
}

#[test]
fn slots_are_enabled_and_disabled_in_place() {
    let mut header = Header::parse(GOLDEN).unwrap();
    header.enable_slot(6, 0x0102_0304, [0x5a; 32]).unwrap();
    let bytes = header.to_bytes();
    assert_eq!(bytes[slot(6)..][..8], [0x00, 0xac, 0x71, 0xf3, 1, 2, 3, 4]);
    assert_eq!(bytes[slot(6) + 8..][..32], [0x5a; 32]);
    assert_eq!(bytes[slot(6) + 40..][..8], GOLDEN[slot(6) + 40..][..8]);
    assert_eq!(bytes[..slot(6)], GOLDEN[..slot(6)]);
    assert_eq!(bytes[slot(7)..], GOLDEN[slot(7)..]);
    header.disable_slot(6).unwrap();
    assert_eq!(header.to_bytes(), *GOLDEN);
    let error = header.enable_slot(1, 0, [0; 32]).unwrap_err();
    assert_eq!(error.to_string(), "keyslot 1: zero iterations");
    assert_eq!(header.disable_slot(8).unwrap_err().to_string(), "keyslot 8: LUKS1 has keyslots 0 to 7");
    assert_eq!(header.to_bytes(), *GOLDEN, "refused edits change nothing");
}

#[test]
fn the_uuid_is_replaced_whole() {
    let mut header = Header::parse(GOLDEN).unwrap();
    header.set_uuid("short").unwrap();
    assert_eq!(
        header.to_bytes()[168..208],
        *b"short\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
    );
    let error = header.set_uuid(&"u".repeat(40)).unwrap_err();
    assert_eq!(error.to_string(), "UUID: 40 bytes, at most 39 fit");
    assert_eq!(header.uuid, "short");
}

#[test]
fn repair_puts_unused_slots_right() {
    let mut bytes = with(slot(2) + 40, &[0, 0, 0, 9]);
    bytes[slot(4) + 44..][..4].copy_from_slice(&[0, 0, 0, 1]);
    bytes[510..512].copy_from_slice(&[0x55, 0xaa]);
    bytes[40..44].copy_from_slice(b"ecb-");
    let (header, repairs) = Header::repair(&bytes).unwrap();
    let expected: Vec<Repair> = [
        Repair::CipherMode,
        Repair::Offset { slot: 2, from: Sectors(9), to: Sectors(1016) },
        Repair::Wiped { slot: 2 },
        Repair::Stripes { slot: 4, from: 1 },
        Repair::Wiped { slot: 4 },
        Repair::Wiped { slot: 6 },
    ]
    .into();
    assert_eq!(repairs, expected);
    assert_eq!(header.cipher_mode, "ecb");
    assert_eq!(header.to_bytes()[slot(0)..], GOLDEN[slot(0)..], "all unused slots were as fresh before");
    assert_eq!(Header::repair(GOLDEN).unwrap().1, []);
}

#[test]
fn repair_leaves_enabled_slots_alone() {
    let bytes = with(slot(3) + 44, &[0, 0, 0, 1]);
    let error = Header::repair(&bytes).unwrap_err();
    assert_eq!(error.to_string(), "keyslot 3: 1 stripes, not 4000");
    let error = Header::repair(&with(108, &[0, 0, 0, 48])).unwrap_err();
    assert_eq!(error.to_string(), "key length: 48 bytes is not a usual size");
}
