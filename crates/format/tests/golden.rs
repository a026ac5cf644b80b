//! Headers that cryptsetup 2.6.1 and qemu-img made (golden/make.sh): what is read out
//! of them, and that writing gives the same bytes.

use keyway_format::luks1::{self, SlotState};
use keyway_format::luks2::{
    self, BinaryHeader, Copy, DigestKind, HeaderCopy, HeaderSize, Kdf, KeyslotKind, Metadata, Priority,
    SegmentKind, SegmentSize,
};
use keyway_format::{Bytes, Sectors};

const FRESH: &[u8] = include_bytes!("golden/fresh.luks2");
const KEYSLOTS: &[u8] = include_bytes!("golden/keyslots.json");
const REENCRYPT: &[u8] = include_bytes!("golden/reencrypt.json");

fn size(bytes: u64) -> HeaderSize {
    HeaderSize::new(bytes).unwrap()
}

/// The bytes of a copy; parsing them gives the same copy.
fn bytes_of(copy: &HeaderCopy) -> Vec<u8> {
    copy.binary.copy_to_bytes(&copy.metadata.to_json()).unwrap()
}

#[test]
fn luks1_of_cryptsetup() {
    let bytes = include_bytes!("golden/aes-xts.luks1");
    let header = luks1::Header::parse(bytes).unwrap();
    assert_eq!(header.to_bytes(), *bytes);
    assert_eq!(header.cipher(), "aes-xts-plain64");
    assert_eq!((header.cipher_name.as_str(), header.cipher_mode.as_str()), ("aes", "xts-plain64"));
    assert_eq!(header.hash_spec, "sha512");
    assert_eq!((header.payload_offset, header.key_bytes), (Sectors(4096), 64));
    assert_eq!(header.uuid, "0be2b1c4-6a47-4f0e-8d3f-0f1d1b1a1c01");
    assert_eq!(header.digest_iterations, 1000);
    assert_eq!(header.digest, bytes[112..132]);
    assert_eq!(header.digest_salt, bytes[132..164]);
    let enabled: Vec<_> = (0..8).filter(|&slot| header.slots[slot].state == SlotState::Enabled).collect();
    assert_eq!(enabled, [0, 3]);
    let third = &header.slots[3];
    assert_eq!((third.iterations, third.offset, third.stripes), (1500, Sectors(1520), 4000));
    assert_eq!(third.salt, bytes[208 + 3 * 48 + 8..][..32]);
    assert_eq!(header.slots[1].state, SlotState::Disabled);
    assert_eq!((header.slots[7].offset, header.area_sectors()), (Sectors(3536), Sectors(500)));
    assert_eq!(header.end_of_areas(), Sectors(4036));
}

#[test]
fn luks1_detached_and_qemu_payloads() {
    let detached = luks1::Header::parse(include_bytes!("golden/detached.luks1")).unwrap();
    assert_eq!((detached.payload_offset, detached.key_bytes), (Sectors(0), 16));
    assert_eq!(
        (detached.cipher().as_str(), detached.hash_spec.as_str()),
        ("aes-cbc-essiv:sha256", "ripemd160")
    );
    let bytes = include_bytes!("golden/qemu.luks1");
    let qemu = luks1::Header::parse(bytes).unwrap();
    assert_eq!(qemu.payload_offset, Sectors(4040));
    assert_eq!(qemu.to_bytes(), *bytes);
}

#[test]
fn luks2_both_copies_round_trip() {
    let (first, second) = FRESH.split_at(16384);
    let primary = HeaderCopy::parse(first, Copy::Primary).unwrap();
    let secondary = HeaderCopy::parse(second, Copy::Secondary).unwrap();
    assert_eq!(bytes_of(&primary), first);
    assert_eq!(bytes_of(&secondary), second);
    assert_eq!(primary.metadata, secondary.metadata);
    assert_eq!(primary.binary.size.bytes(), Bytes(16384));
    // The fields' offsets are the table's in header.rs.
    assert_eq!(primary.binary.sequence_id, u64::from_be_bytes(first[16..24].try_into().unwrap()));
    assert!((1..256).contains(&primary.binary.sequence_id));
    assert_eq!(primary.binary.salt, first[104..168]);
    assert_eq!(secondary.binary.salt, second[104..168]);
    assert_ne!(primary.binary.salt, secondary.binary.salt);
    assert_eq!(primary.binary.checksum_algorithm, "sha256");
    assert_eq!(primary.binary.label, "golden");
    assert_eq!(primary.binary.subsystem, "keyway");
    assert_eq!(primary.binary.uuid, "0be2b1c4-6a47-4f0e-8d3f-0f1d1b1a1c03");
    // Each copy is the other one with its own salt.
    let made = secondary.binary.as_copy(Copy::Primary, primary.binary.salt);
    assert_eq!(made.copy_to_bytes(&secondary.metadata.to_json()).unwrap(), first);
}

#[test]
fn luks2_keyslots_digests_tokens() {
    let metadata = Metadata::parse(KEYSLOTS, size(16384)).unwrap();
    assert_eq!(metadata.to_json(), KEYSLOTS);
    let pretty = include_str!("golden/keyslots.pretty.json");
    assert_eq!(metadata.to_pretty_json(), pretty.trim_end_matches('\n'));
    assert_eq!(metadata.keyslots.keys().copied().collect::<Vec<_>>(), [0, 1, 2, 3]);
    let priorities: Vec<_> = metadata.keyslots.values().map(|keyslot| keyslot.priority).collect();
    assert_eq!(priorities, [Priority::Prefer, Priority::Normal, Priority::Normal, Priority::Ignore]);
    let keyslot = &metadata.keyslots[&1];
    assert_eq!(
        (keyslot.key_size, keyslot.area.offset, keyslot.area.size),
        (64, Bytes(290816), Bytes(258048))
    );
    let KeyslotKind::Luks2 { kdf, af_hash, af_stripes, area_cipher, area_key_size } = &keyslot.kind else {
        panic!("{keyslot:?}");
    };
    assert_eq!((af_hash.as_str(), *af_stripes), ("sha256", 4000));
    assert_eq!((area_cipher.as_str(), *area_key_size), ("aes-xts-plain64", 64));
    assert!(
        matches!(kdf, Kdf::Argon2id { time: 4, memory_kib: 64, lanes: 2, salt } if salt.len() == 32),
        "{kdf:?}"
    );
    assert!(matches!(&metadata.keyslots[&3].kind, KeyslotKind::Luks2 { kdf: Kdf::Argon2i { .. }, .. }));
    assert!(matches!(
        &metadata.keyslots[&0].kind,
        KeyslotKind::Luks2 { kdf: Kdf::Pbkdf2 { iterations: 1000, .. }, .. }
    ));
    let unbound: Vec<_> = (0..4).filter(|&id| metadata.is_unbound(id)).collect();
    assert_eq!(unbound, [2]);
    assert_eq!(metadata.digest_of_keyslot(2), Some(1));
    assert_eq!(metadata.digests[&0].keyslots, [0, 3, 1]);
    let DigestKind::Pbkdf2 { hash, iterations, salt, value } = &metadata.digests[&0].kind else {
        panic!("{:?}", metadata.digests);
    };
    assert_eq!((hash.as_str(), *iterations, salt.len(), value.len()), ("sha256", 1000, 32, 32));
    assert_eq!(metadata.tokens[&1].text("key_description"), Some("some key"));
    assert_eq!(
        (metadata.tokens[&0].kind.as_str(), metadata.tokens[&0].keyslots.as_slice()),
        ("foreign", &[0, 1][..])
    );
    assert_eq!(metadata.token_json(0).unwrap(), include_str!("golden/token.json"));
    assert_eq!(metadata.free_area(64).unwrap().offset, Bytes(937984));
    assert_eq!(metadata.header_and_keyslots_size(), Bytes(16 << 20));
    assert!(metadata.unmet_requirements().is_empty());
}

#[test]
fn luks2_reencryption_is_read_but_not_met() {
    let metadata = Metadata::parse(REENCRYPT, size(16384)).unwrap();
    assert_eq!(metadata.to_json(), REENCRYPT);
    assert_eq!(
        metadata.to_pretty_json(),
        include_str!("golden/reencrypt.pretty.json").trim_end_matches('\n')
    );
    assert_eq!(metadata.unmet_requirements(), ["online-reencrypt-v2"]);
    assert_eq!(metadata.keyslots[&5].kind, KeyslotKind::Other("reencrypt".into()));
    let backups: Vec<_> = metadata.segments.values().map(luks2::Segment::is_backup).collect();
    assert_eq!(backups, [false, true, true]);
    assert_eq!(metadata.data_offset(), Bytes(16 << 20));
    // As cryptsetup's dump has it: the new key's segment is only a backup so far.
    let unbound: Vec<_> = (0..6).filter(|&id| metadata.is_unbound(id)).collect();
    assert_eq!(unbound, [2, 4, 5]);
}

#[test]
fn luks2_encryption_and_decryption_in_place() {
    let read = |json: &[u8], pretty: &str| {
        let metadata = Metadata::parse(json, size(16384)).unwrap();
        assert_eq!(metadata.to_json(), json);
        assert_eq!(metadata.to_pretty_json(), pretty.trim_end_matches('\n'));
        metadata
    };
    let pieces = |metadata: &Metadata| -> Vec<(u64, SegmentSize)> {
        let mapped = metadata.segments.values().filter(|segment| !segment.is_backup());
        mapped.map(|segment| (segment.offset.0 >> 20, segment.size)).collect()
    };
    let fixed = SegmentSize::Fixed(Bytes(16 << 20));
    let encrypt = read(include_bytes!("golden/encrypt.json"), include_str!("golden/encrypt.pretty.json"));
    assert_eq!(encrypt.unmet_requirements(), ["online-reencrypt-v2"]);
    assert_eq!(pieces(&encrypt), [(48, fixed), (16, fixed)]);
    assert_eq!((encrypt.segments.len(), encrypt.data_offset()), (5, Bytes(16 << 20)));
    let decrypt = read(include_bytes!("golden/decrypt.json"), include_str!("golden/decrypt.pretty.json"));
    assert_eq!(decrypt.unmet_requirements(), ["online-reencrypt-v3"]);
    assert_eq!(pieces(&decrypt), [(0, fixed), (32, SegmentSize::Dynamic)]);
    assert_eq!(decrypt.segments[&4].kind, SegmentKind::Linear);
}

#[test]
fn luks2_sizes_and_detached() {
    let sizes = Metadata::parse(include_bytes!("golden/sizes.json"), size(65536)).unwrap();
    assert_eq!((sizes.config.json_size, sizes.config.keyslots_size), (Bytes(61440), Bytes(1 << 20)));
    let segment = &sizes.segments[&0];
    assert_eq!((segment.offset, segment.size), (Bytes(2 << 20), SegmentSize::Dynamic));
    assert!(
        matches!(&segment.kind, SegmentKind::Crypt { iv_tweak: 0, encryption, sector_size: 512, integrity: None }
        if encryption == "aes-cbc-essiv:sha256")
    );
    let detached = Metadata::parse(include_bytes!("golden/detached.json"), size(16384)).unwrap();
    assert_eq!(detached.data_offset(), Bytes(0));
}

#[test]
fn a_made_document_is_cryptsetup_s() {
    let golden = Metadata::parse(include_bytes!("golden/detached.json"), size(16384)).unwrap();
    let mut made = Metadata::new(&luks2::NewMetadata {
        header_size: size(16384),
        keyslots_size: golden.config.keyslots_size,
        segment: &golden.segments[&0],
        digest: &golden.digests[&0],
    })
    .unwrap();
    made.add_keyslot(0, &golden.keyslots[&0], 0).unwrap();
    assert_eq!(made.to_json(), golden.to_json());
}

#[test]
fn a_made_binary_header_is_cryptsetup_s() {
    let (first, _) = FRESH.split_at(16384);
    let (golden, json) = BinaryHeader::parse_copy(first, Copy::Primary).unwrap();
    let mut made = BinaryHeader::new(size(16384), &golden.uuid, golden.salt).unwrap();
    assert_eq!(made.sequence_id, 1);
    made.set_sequence_id(golden.sequence_id);
    made.set_label("golden").unwrap();
    made.set_subsystem("keyway").unwrap();
    assert_eq!(made.copy_to_bytes(json).unwrap(), first);
}

#[test]
fn a_made_luks1_header_is_cryptsetup_s() {
    let golden = luks1::Header::parse(include_bytes!("golden/aes-xts.luks1")).unwrap();
    let mut made = luks1::Header::new(&luks1::NewHeader {
        cipher_name: "aes",
        cipher_mode: "xts-plain64",
        hash_spec: "SHA512",
        key_bytes: 64,
        payload: luks1::Payload::Aligned { unit: Sectors(2048), offset: Sectors(0) },
        uuid: &golden.uuid,
        digest: golden.digest,
        digest_salt: golden.digest_salt,
        digest_iterations: golden.digest_iterations,
    })
    .unwrap();
    for slot in [3, 0] {
        made.enable_slot(slot, golden.slots[slot].iterations, golden.slots[slot].salt).unwrap();
    }
    assert_eq!(made, golden);
    assert_eq!(made.to_bytes(), golden.to_bytes());
}
