//! The binary header's fields and checksum, and which of two copies counts.

use keyway_format::luks2::{BinaryHeader, Copy, HeaderCopy, HeaderSize, secondary_candidates, select};
use keyway_format::{Bytes, Error};

/// Both copies as cryptsetup wrote them.
const FRESH: &[u8] = include_bytes!("golden/fresh.luks2");
const SIZE: usize = 16384;

fn primary() -> HeaderCopy {
    HeaderCopy::parse(&FRESH[..SIZE], Copy::Primary).unwrap()
}

fn secondary() -> HeaderCopy {
    HeaderCopy::parse(&FRESH[SIZE..], Copy::Secondary).unwrap()
}

/// The bytes of a copy; parsing them gives the same copy.
fn bytes_of(copy: &HeaderCopy) -> Vec<u8> {
    copy.binary.copy_to_bytes(&copy.metadata.to_json()).unwrap()
}

fn with_sequence(mut copy: HeaderCopy, id: u64) -> HeaderCopy {
    copy.binary.set_sequence_id(id);
    let (bytes, which) = (bytes_of(&copy), copy.binary.copy);
    HeaderCopy::parse(&bytes, which).unwrap()
}

fn refusal(offset: usize, bytes: &[u8], copy: Copy) -> String {
    let start = if copy == Copy::Primary { 0 } else { SIZE };
    let mut header = FRESH[start..start + SIZE].to_vec();
    header[offset..offset + bytes.len()].copy_from_slice(bytes);
    HeaderCopy::parse(&header, copy).map_or_else(|error| error.to_string(), |_| "accepted".into())
}

#[test]
fn every_rule_names_its_field() {
    let cases: &[(usize, &[u8], &str)] = &[
        (0, b"SKUL", "not a LUKS header"),
        (6, &[0, 0], "not a LUKS header"),
        (6, &[0, 1], "not a LUKS header"),
        (6, &[0, 3], "unsupported LUKS version 3"),
        (6, &[1, 2], "unsupported LUKS version 258"),
        (8, &[0, 0, 0, 0, 0, 0, 0x50, 0], "header size: 20480 bytes is not one of the nine legal sizes"),
        (8, &[0, 0, 0, 0, 0, 0, 0x20, 0], "header size: 8192 bytes is not one of the nine legal sizes"),
        (8, &[0xff; 8], "header size: 18446744073709551615 bytes is not one of the nine legal sizes"),
        (8, &[0, 0, 0, 0, 0, 0, 0x80, 0], "truncated: needs 32768 bytes, has 16384"),
        (72, &[0], "checksum algorithm: is empty"),
        (72, b"md9\0\0\0", "checksum algorithm: unknown hash \"md9\""),
        (72, b"sha512", "header checksum does not match"),
        (24, b"G", "header checksum does not match"),
        (300, b"x", "header checksum does not match"),
        (448, b"x", "header checksum does not match"),
        (4096, b"[", "header checksum does not match"),
        (SIZE - 1, b"x", "header checksum does not match"),
        (256, &[0, 0, 0, 0, 0, 0, 0x40, 0], "header offset: says 16384, but the header is at 0"),
    ];
    for (offset, bytes, message) in cases {
        assert_eq!(refusal(*offset, bytes, Copy::Primary), *message, "{bytes:?} at {offset}");
    }
    assert_eq!(refusal(0, b"LUKS", Copy::Secondary), "not a LUKS header");
    assert_eq!(
        refusal(8, &[0, 0, 0, 0, 0, 0, 0x80, 0], Copy::Secondary),
        "header offset: says 16384, but the header is at 32768"
    );
    assert_eq!(refusal(0, &[], Copy::Secondary), "accepted");
    let short = HeaderCopy::parse(&FRESH[..4095], Copy::Primary).unwrap_err();
    assert_eq!(short.to_string(), "truncated: needs 4096 bytes, has 4095");
}

/// A copy with a right checksum around any JSON area.
fn around(area: &[u8]) -> Vec<u8> {
    let mut copy = FRESH[..SIZE].to_vec();
    copy[4096..4096 + area.len()].copy_from_slice(area);
    copy[4096 + area.len()..].fill(0);
    copy[448..512].fill(0);
    let digest = keyway_crypto::Hash::Sha256.digest(&[&copy]);
    copy[448..480].copy_from_slice(&digest);
    copy
}

#[test]
fn the_json_area_holds_the_text_and_zeros() {
    let message =
        |area: &[u8]| BinaryHeader::parse_copy(&around(area), Copy::Primary).map(|(_, json)| json.to_vec());
    assert_eq!(message(b"{}").unwrap(), b"{}");
    let refused = |area: &[u8]| message(area).unwrap_err().to_string();
    assert_eq!(refused(b""), "JSON area: does not start with '{'");
    assert_eq!(refused(b" {}"), "JSON area: does not start with '{'");
    assert_eq!(refused(b"{}\0\0x"), "JSON area: stray byte 4 after the text");
    assert_eq!(refused(&[b'{'; 12288]), "JSON area: no zero byte after the text");
    let trailing = HeaderCopy::parse(&around(b"{} "), Copy::Primary).unwrap_err();
    assert_eq!(trailing.to_string(), "keyslots: is missing");
}

#[test]
fn padding_is_kept_and_counts_in_the_checksum() {
    let mut copy = around(&primary().metadata.to_json());
    copy[24 + 20] = b'L'; // behind the label's NUL
    copy[300] = 7;
    copy[500] = 8; // in the checksum's field, behind the digest
    copy[4000] = 9;
    let mut zeroed = copy.clone();
    zeroed[448..512].fill(0);
    copy[448..480].copy_from_slice(&keyway_crypto::Hash::Sha256.digest(&[&zeroed]));
    let parsed = HeaderCopy::parse(&copy, Copy::Primary).unwrap();
    assert_eq!(bytes_of(&parsed), copy);
    assert_eq!(parsed.binary.label, "golden");
}

#[test]
fn a_label_ends_at_its_field() {
    let mut binary = primary().binary;
    binary.set_label(&"l".repeat(47)).unwrap();
    assert_eq!(binary.label.len(), 47);
    let error = binary.set_label(&"l".repeat(48)).unwrap_err();
    assert_eq!(error.to_string(), "label: 48 bytes, at most 47 fit");
    let error = binary.set_subsystem("a\0b").unwrap_err();
    assert_eq!(error.to_string(), "subsystem: contains a NUL byte");
    binary.set_label("").unwrap();
    binary.set_uuid("other").unwrap();
    assert_eq!((binary.label.as_str(), binary.uuid.as_str()), ("", "other"));
    let bytes = binary.copy_to_bytes(&primary().metadata.to_json()).unwrap();
    assert_eq!(BinaryHeader::parse_copy(&bytes, Copy::Primary).unwrap().0.uuid, "other");
    let full = binary.copy_to_bytes(&[b'{'; 12288]).unwrap_err();
    assert_eq!(full, Error::Full { area: "JSON area", needs: 12289, has: 12288 });
}

#[test]
fn the_nine_sizes() {
    let sizes: Vec<u64> = HeaderSize::ALL.iter().map(|size| size.bytes().0).collect();
    assert_eq!(sizes, [16384, 32768, 65536, 131072, 262144, 524288, 1048576, 2097152, 4194304]);
    for size in HeaderSize::ALL {
        assert_eq!(HeaderSize::new(size.bytes().0), Some(size));
        let binary = BinaryHeader::new(size, "u", [3; 64]).unwrap().as_copy(Copy::Secondary, [4; 64]);
        let bytes = binary.copy_to_bytes(b"{}").unwrap();
        assert_eq!(bytes.len() as u64, size.bytes().0);
        assert_eq!(BinaryHeader::parse_copy(&bytes, Copy::Secondary).unwrap(), (binary, &b"{}"[..]));
    }
    assert_eq!(HeaderSize::new(16385), None);
    assert_eq!(HeaderSize::ALL[1].json_area(), Bytes(28672));
    assert_eq!(HeaderSize::ALL[1].keyslots_start(), Bytes(65536));
}

#[test]
fn the_higher_sequence_id_wins() {
    let chosen = |first, second| {
        let selection =
            select::<()>(Ok(with_sequence(primary(), first)), Ok(with_sequence(secondary(), second)))
                .unwrap();
        (selection.header.binary.copy, selection.recover)
    };
    assert_eq!(chosen(5, 5), (Copy::Primary, None));
    assert_eq!(chosen(6, 5), (Copy::Primary, Some(Copy::Secondary)));
    assert_eq!(chosen(5, 6), (Copy::Secondary, Some(Copy::Primary)));
    assert_eq!(chosen(u64::MAX, 0), (Copy::Primary, Some(Copy::Secondary)));
    assert_eq!(chosen(0x0100, 0x00ff), (Copy::Primary, Some(Copy::Secondary)));
}

#[test]
fn a_good_copy_recovers_a_bad_one() {
    let one = select(Ok(primary()), Err(())).unwrap();
    assert_eq!((one.header.binary.copy, one.recover), (Copy::Primary, Some(Copy::Secondary)));
    let other = select(Err(()), Ok(secondary())).unwrap();
    assert_eq!((other.header.binary.copy, other.recover), (Copy::Secondary, Some(Copy::Primary)));
    // Recovery writes the same sequence id with a new salt; from
    // these two bytes-identical copies come back.
    let restored = other.header.binary.as_copy(Copy::Primary, primary().binary.salt);
    assert_eq!(restored.copy_to_bytes(&other.header.metadata.to_json()).unwrap(), FRESH[..SIZE]);
}

#[test]
fn with_no_good_copy_both_errors_are_given() {
    let errors = select(Err(Error::NotLuks), Err(Error::Checksum)).unwrap_err();
    assert_eq!(errors, (Error::NotLuks, Error::Checksum));
}

#[test]
fn a_lost_primary_sends_to_all_nine_offsets() {
    assert_eq!(secondary_candidates(&FRESH[..SIZE]), [HeaderSize::ALL[0]]);
    // The checksum is right, so the size can be trusted though the metadata cannot.
    assert_eq!(secondary_candidates(&around(b"{}")), [HeaderSize::ALL[0]]);
    let mut torn = FRESH[..SIZE].to_vec();
    torn[30] ^= 1;
    assert_eq!(secondary_candidates(&torn), HeaderSize::ALL);
    assert_eq!(secondary_candidates(b""), HeaderSize::ALL);
}
