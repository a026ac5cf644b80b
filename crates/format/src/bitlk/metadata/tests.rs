//! Every rule of a copy of the metadata, each with bytes that break it and the resulting message.

use super::*;
use alloc::string::ToString;
use alloc::vec;

/// An entry.
fn entry(purpose: u16, value: u16, data: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for field in [data.len() as u16 + 8, purpose, value, 1] {
        bytes.extend(field.to_le_bytes());
    }
    bytes.extend_from_slice(data);
    bytes
}

/// A protector of a passphrase: head, salt, wrapped key.
fn protector(protection: u16, properties: &[Vec<u8>]) -> Vec<u8> {
    let mut data = vec![7; 26];
    data.extend(protection.to_le_bytes());
    data.extend(properties.concat());
    entry(purpose::PROTECTOR, value::PROTECTOR, &data)
}

fn usual() -> Vec<Vec<u8>> {
    let salted = [&[0, 0x10, 0, 0][..], &[9; 16], &entry(0, value::WRAPPED, &[1; 40])].concat();
    let name: Vec<u8> = "Name\0x".encode_utf16().flat_map(u16::to_le_bytes).collect();
    vec![
        entry(
            purpose::DESCRIPTION,
            value::TEXT,
            &"PC E: 1/2/2020\0".encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>(),
        ),
        protector(
            0x2000,
            &[
                entry(0, value::TEXT, &name),
                entry(0, value::STRETCHED, &salted),
                entry(0, value::WRAPPED, &[2; 72]),
            ],
        ),
        entry(purpose::VOLUME_KEY, value::WRAPPED, &[3; 72]),
        entry(
            purpose::BOOT_SECTORS,
            value::PLACE,
            &[[0, 0, 1, 0, 0, 0, 0, 0], [0, 0x20, 0, 0, 0, 0, 0, 0]].concat(),
        ),
    ]
}

/// A copy with these entries, changed by `change` before its checksum is put.
fn block(entries: &[Vec<u8>], change: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let entries = entries.concat();
    let len = (HEADERS + entries.len()).next_multiple_of(16);
    let mut bytes = vec![0; len];
    bytes[..8].copy_from_slice(SIGNATURE);
    bytes[8..16].copy_from_slice(&[(len / 16) as u8, (len >> 12) as u8, 2, 0, 4, 0, 4, 0]);
    bytes[16..24].copy_from_slice(&(100_u64 << 20).to_le_bytes());
    let dataset = (DATASET_HEADER + entries.len()) as u32;
    for (at, number) in [(64, dataset), (68, 1), (72, 48), (76, dataset), (100, 0x8004)] {
        bytes[at..at + 4].copy_from_slice(&u32::to_le_bytes(number));
    }
    bytes[HEADERS..HEADERS + entries.len()].copy_from_slice(&entries);
    change(&mut bytes);
    let sum = crc32(&bytes);
    bytes.extend([88, 0, 2, 0]);
    bytes.extend(sum.to_le_bytes());
    bytes.extend(entry(0, value::WRAPPED, &[4; 72]));
    bytes.resize(METADATA_LEN, 0);
    bytes
}

fn refusal(bytes: &[u8]) -> String {
    Metadata::parse(bytes).map_or_else(|error| error.to_string(), |_| "accepted".into())
}

fn changed(at: usize, field: &[u8]) -> String {
    refusal(&block(&usual(), |bytes| bytes[at..at + field.len()].copy_from_slice(field)))
}

fn with(entries: &[Vec<u8>]) -> String {
    refusal(&block(entries, |_| ()))
}

#[test]
fn says_what_the_entries_say() {
    let bytes = block(&usual(), |_| ());
    let found = Metadata::parse(&bytes).unwrap();
    assert_eq!(found.description.as_deref(), Some("PC E: 1/2/2020"));
    assert_eq!(found.state.now, Conversion::Encrypted);
    assert_eq!(found.boot_sectors, Some(BootSectors { offset: Bytes(0x1_0000), len: Bytes(8192) }));
    assert_eq!((found.encryption.mode(), found.encryption.key_bits()), ("xts-plain64", 256));
    let [protector] = &found.protectors[..] else { panic!("one protector") };
    assert_eq!((protector.protection, protector.salt), (super::super::Protection::Passphrase, [9; 16]));
    assert_eq!((protector.name.as_deref(), protector.wrapped.len()), (Some("Name"), 1));
    assert_eq!((protector.wrapped[0].len(), found.volume_key.len()), (44, 44));
    assert!(found.has_digest());
    assert_eq!(found.as_bytes(), &bytes[..found.as_bytes().len()]);
    assert_eq!(found.entries().count(), 4);
    assert!(!found.is_vouched_for(&Secret::zeroed(32), Cpu::detect()).unwrap());
}

/// The checksum is not of what is behind the entries: anybody can say that there is nothing more.
#[test]
fn without_a_digest_nothing_is_vouched_for() {
    let mut bytes = block(&usual(), |_| ());
    let len = Metadata::parse(&bytes).unwrap().as_bytes().len();
    for (at, field) in [(len, 8), (len + 12, value::TEXT as u8)] {
        let before = core::mem::replace(&mut bytes[at], field);
        let found = Metadata::parse(&bytes).unwrap();
        assert!(!found.has_digest() && !found.is_vouched_for(&Secret::zeroed(32), Cpu::detect()).unwrap());
        bytes[at] = before;
    }
}

#[test]
fn every_rule_of_the_header_names_its_field() {
    assert_eq!(refusal(&[0; 111]), "truncated: needs 112 bytes, has 111");
    assert_eq!(changed(0, b"-FVE-FT-"), "metadata: they do not begin with -FVE-FS-");
    assert_eq!(changed(10, &[3]), "metadata version: 3 is not 1 or 2");
    assert_eq!(changed(8, &[6, 0]), "metadata length: 96 bytes, the headers alone are 112");
    assert_eq!(changed(8, &[0, 16]), "metadata length: 65536 bytes, at most 65536 fit");
    assert_eq!(changed(64, &[47, 0, 0, 0]), "length of the entries: 47 bytes, between 48 and 416 fit");
    assert_eq!(
        changed(64, &[0, 0, 0, 0x80]),
        "length of the entries: 2147483648 bytes, between 48 and 416 fit"
    );
    assert_eq!(changed(72, &[64]), "metadata header: version 1 and 64 bytes, not 1 and 48");
    assert_eq!(changed(68, &[2]), "metadata header: version 2 and 48 bytes, not 1 and 48");
    assert_eq!(changed(100, &[6, 0x80]), "encryption method: 0x8006 is not known");
    let mut bytes = block(&usual(), |_| ());
    assert_eq!(refusal(&bytes[..485]), "truncated: needs 488 bytes, has 485");
    bytes[20] ^= 1;
    assert_eq!(refusal(&bytes), "header checksum does not match");
}

#[test]
fn every_rule_of_an_entry_names_its_place() {
    let (key, cut) = (&usual()[2], |len: usize| vec![len as u8, 0, 2, 0, 8, 0, 1, 0]);
    assert_eq!(with(&usual()[..2]), "metadata: they hold no volume key");
    assert_eq!(with(&[key.clone(), key.clone()]), "volume key at byte 192: there is one already");
    assert_eq!(with(&[cut(7)]), "metadata entry at byte 112: its length is 7 bytes, and 8 are left");
    assert_eq!(with(&[cut(9)]), "metadata entry at byte 112: its length is 9 bytes, and 8 are left");
    assert_eq!(with(&[cut(8)]), "protector at byte 112: 0 bytes of data, it needs 28");
    assert_eq!(with(&[entry(2, 9, &[0; 40])]), "protector at byte 112: its data are of type 9");
    let inner = |value, len| with(&[protector(0x2000, &[entry(0, value, &vec![0; len])])]);
    assert_eq!(inner(value::STRETCHED, 19), "stretched key at byte 148: 19 bytes of data, it needs 20");
    assert_eq!(inner(value::WRAPPED, 27), "wrapped key at byte 148: 27 bytes of data, it needs 28");
    assert_eq!(inner(value::KEY, 3), "key at byte 148: 3 bytes of data, it needs 4");
    assert_eq!(inner(value::TEXT, 0), "metadata: they hold no volume key", "an empty name is one");
    let beyond = protector(0x2000, &[vec![200, 0, 0, 0, 5, 0, 1, 0]]);
    assert_eq!(with(&[beyond]), "metadata entry at byte 148: its length is 200 bytes, and 8 are left");
    let many = vec![protector(0, &[]); 33];
    assert_eq!(with(&many), "protector at byte 1264: there are more than 32");
    assert_eq!(
        with(&[entry(15, 15, &[0; 15])]),
        "place of the boot sectors at byte 112: 15 bytes of data, it needs 16"
    );
}
