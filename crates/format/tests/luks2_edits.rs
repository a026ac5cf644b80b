//! Edits of LUKS2 metadata: what they change to the byte, what they keep, and what they refuse.

use keyway_format::Bytes;
use keyway_format::luks2::{
    Digest, DigestKind, HeaderSize, Kdf, Keyslot, KeyslotKind, Metadata, NewMetadata, Priority, Segment,
    SegmentKind, SegmentSize,
};

const KEYSLOTS: &str = include_str!("golden/keyslots.json");
const REENCRYPT: &str = include_str!("golden/reencrypt.json");
const TOKEN: &str = include_str!("golden/token.json");

fn golden() -> Metadata {
    Metadata::parse(KEYSLOTS.as_bytes(), HeaderSize::ALL[0]).unwrap()
}

fn text(metadata: &Metadata) -> String {
    String::from_utf8(metadata.to_json()).unwrap()
}

/// Replaces exactly one occurrence.
fn replaced(text: &str, old: &str, new: &str) -> String {
    assert_eq!(text.matches(old).count(), 1, "{old}");
    text.replace(old, new)
}

fn keyslot_of(metadata: &Metadata) -> Keyslot {
    let kdf = Kdf::Argon2id { time: 7, memory_kib: 8, lanes: 1, salt: vec![0; 32] };
    let kind = KeyslotKind::Luks2 {
        kdf,
        af_hash: "sha512".into(),
        af_stripes: 4000,
        area_cipher: "aes-xts-plain64".into(),
        area_key_size: 32,
    };
    Keyslot { key_size: 64, priority: Priority::Normal, area: metadata.free_area(64).unwrap(), kind }
}

#[test]
fn a_keyslot_is_added_as_cryptsetup_adds_it() {
    let mut metadata = golden();
    metadata.add_keyslot(4, &keyslot_of(&golden()), 0).unwrap();
    let added = r#","4":{"type":"luks2","key_size":64,"af":{"type":"luks1","stripes":4000,"hash":"sha512"},"area":{"type":"raw","offset":"937984","size":"258048","encryption":"aes-xts-plain64","key_size":32},"kdf":{"type":"argon2id","time":7,"memory":8,"cpus":1,"salt":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="}}},"tokens""#;
    let expected = replaced(KEYSLOTS, r#"},"tokens""#, added);
    let expected = replaced(&expected, r#"["0","3","1"]"#, r#"["0","3","1","4"]"#);
    assert_eq!(text(&metadata), expected);
    assert_eq!(metadata.keyslots[&4], keyslot_of(&golden()));
    assert_eq!(metadata.digest_of_keyslot(4), Some(0));
    assert!(!metadata.is_unbound(4));
}

#[test]
fn an_added_keyslot_must_fit() {
    let mut metadata = golden();
    let refused = |metadata: &mut Metadata, id, keyslot: &Keyslot, digest| {
        let error = metadata.add_keyslot(id, keyslot, digest).unwrap_err().to_string();
        assert_eq!(text(metadata), KEYSLOTS, "a refused edit changes nothing");
        error
    };
    let good = keyslot_of(&metadata);
    assert_eq!(refused(&mut metadata, 3, &good, 0), "keyslots.3: is in use");
    assert_eq!(refused(&mut metadata, 32, &good, 0), "keyslots.32: is not numbered 0 to 31");
    assert_eq!(refused(&mut metadata, 4, &good, 5), "digests.5: does not exist");
    let overlapping = Keyslot { area: metadata.keyslots[&1].area, ..good.clone() };
    assert_eq!(refused(&mut metadata, 4, &overlapping, 0), "keyslots.4.area: overlaps keyslots.1.area");
    let foreign = Keyslot { kind: KeyslotKind::Other("reencrypt".into()), ..good };
    assert_eq!(refused(&mut metadata, 4, &foreign, 0), "keyslots.4.type: is a type that cannot be written");
}

#[test]
fn removing_a_keyslot_takes_it_from_digests_and_tokens() {
    let mut metadata = golden();
    metadata.remove_keyslot(1).unwrap();
    assert_eq!(metadata.keyslots.keys().copied().collect::<Vec<_>>(), [0, 2, 3]);
    assert_eq!(metadata.digests[&0].keyslots, [0, 3]);
    assert_eq!(metadata.tokens[&0].keyslots, [0]);
    assert_eq!(metadata.free_keyslot(), Some(1));
    assert_eq!(metadata.remove_keyslot(1).unwrap_err().to_string(), "keyslots.1: does not exist");
    // The digest of an unbound key goes with its last keyslot; that
    // of the volume stays for its segment.
    metadata.remove_keyslot(2).unwrap();
    assert_eq!(metadata.digests.keys().copied().collect::<Vec<_>>(), [0]);
    for id in [0, 3] {
        metadata.remove_keyslot(id).unwrap();
    }
    assert_eq!(metadata.digests[&0].keyslots, []);
    assert_eq!(text(&metadata).split("\"tokens\"").next(), Some(r#"{"keyslots":{},"#));
    assert_eq!(metadata.free_area(64).unwrap().offset, Bytes(32768));
}

#[test]
fn a_replaced_keyslot_keeps_its_place_digest_tokens_and_unknown_members() {
    let json = replaced(KEYSLOTS, r#"},"priority":2}"#, r#"},"priority":2,"of-the-future":[1]}"#);
    let mut metadata = Metadata::parse(json.as_bytes(), HeaderSize::ALL[0]).unwrap();
    let new = Keyslot { priority: Priority::Prefer, ..keyslot_of(&metadata) };
    metadata.replace_keyslot(0, &new).unwrap();
    assert_eq!(metadata.keyslots[&0], new);
    let after = text(&metadata);
    assert!(after.starts_with(r#"{"keyslots":{"0":{"type":"luks2","key_size":64,"#), "{after}");
    assert!(after.contains(r#""priority":2,"of-the-future":[1]}"#), "{after}");
    assert_eq!(after.split("\"tokens\"").nth(1), KEYSLOTS.split("\"tokens\"").nth(1));
    assert_eq!(metadata.replace_keyslot(9, &new).unwrap_err().to_string(), "keyslots.9: does not exist");
}

#[test]
fn a_keyslot_replaced_in_its_area_is_stored_as_described() {
    let mut metadata = golden();
    let described = |salt: usize| {
        let kdf = Kdf::Pbkdf2 { hash: "sha512".into(), iterations: 1234, salt: vec![0xff; salt] };
        let kind = KeyslotKind::Luks2 {
            kdf,
            af_hash: "sha1".into(),
            af_stripes: 4000,
            area_cipher: "aes-cbc-plain64".into(),
            area_key_size: 16,
        };
        Keyslot { kind, ..golden().keyslots[&1].clone() }
    };
    metadata.replace_keyslot(1, &described(32)).unwrap();
    assert_eq!(metadata.keyslots[&1], described(32));
    let before = text(&metadata);
    let error = metadata.replace_keyslot(1, &described(31)).unwrap_err();
    assert_eq!(error.to_string(), "keyslots.1.kdf.salt: 31 bytes, not 32");
    assert_eq!(text(&metadata), before, "a refused edit changes nothing");
}

#[test]
fn priorities_are_members_only_when_not_normal() {
    let mut metadata = golden();
    metadata.set_priority(0, Priority::Normal).unwrap();
    metadata.set_priority(1, Priority::Ignore).unwrap();
    metadata.set_priority(3, Priority::Prefer).unwrap();
    let expected = replaced(KEYSLOTS, r#","priority":2"#, "");
    let expected = replaced(&expected, r#","priority":0"#, r#","priority":2"#);
    let expected = replaced(&expected, r#"}},"tokens""#, r#","priority":0}},"tokens""#);
    assert_eq!(text(&metadata), expected);
    assert_eq!(
        metadata.set_priority(4, Priority::Normal).unwrap_err().to_string(),
        "keyslots.4: does not exist"
    );
}

#[test]
fn an_unbound_key_comes_with_its_digest() {
    let mut metadata = golden();
    let id = metadata.free_digest().unwrap();
    let digest = Digest { keyslots: vec![], segments: vec![], kind: golden().digests[&0].kind.clone() };
    metadata.add_keyslot_with_digest(4, &keyslot_of(&golden()), id, &digest).unwrap();
    assert_eq!((id, metadata.digest_of_keyslot(4)), (2, Some(2)));
    assert!(metadata.is_unbound(4));
    metadata.remove_keyslot(4).unwrap();
    assert!(!metadata.digests.contains_key(&2), "a digest without keyslots and segments is dropped");
    assert_eq!(text(&metadata), KEYSLOTS);
    let slot = keyslot_of(&metadata);
    let error = metadata.add_keyslot_with_digest(4, &slot, 8, &digest).unwrap_err();
    assert_eq!(error.to_string(), "digests.8: cryptsetup sees digests below 8 only");
    let foreign = Digest { kind: DigestKind::Other("x".into()), ..digest };
    let error = metadata.add_keyslot_with_digest(4, &slot, 3, &foreign).unwrap_err();
    assert_eq!(error.to_string(), "digests.3.type: is a type that cannot be written");
}

/// A second segment, a backup of the first, whose key the digest of keyslot 2 verifies.
#[test]
fn the_key_of_a_backup_is_not_that_of_the_data() {
    let crypt = json_of_segment(golden().segments[&0].clone());
    let backup = crypt.replace("}", r#","flags":["backup-final"]}"#);
    let json = replaced(KEYSLOTS, &crypt, &format!(r#"{crypt},"1":{backup}"#));
    let refused = Metadata::parse(json.as_bytes(), HeaderSize::ALL[0]).unwrap_err();
    assert_eq!(refused.to_string(), "segments.1: no digest verifies its key");
    let of_two = r#""1":{"type":"pbkdf2","keyslots":["2"],"segments":["#;
    let json = replaced(&json, of_two, &format!(r#"{of_two}"1""#));
    let metadata = Metadata::parse(json.as_bytes(), HeaderSize::ALL[0]).unwrap();
    assert_eq!((metadata.digest_of_segment(0), metadata.digest_of_segment(1)), (Some(0), Some(1)));
    assert!(metadata.is_unbound(2), "a backup is not mapped");
}

#[test]
fn segments_are_written_as_cryptsetup_writes_them() {
    let crypt = golden().segments[&0].clone();
    let fixed = Segment { size: SegmentSize::Fixed(Bytes(1 << 20)), ..crypt };
    let expected = r#"{"type":"crypt","offset":"16777216","size":"1048576","iv_tweak":"0","encryption":"aes-xts-plain64","sector_size":4096}"#;
    assert_eq!(json_of_segment(fixed), expected);
    let linear = Segment {
        offset: Bytes(17 << 20),
        size: SegmentSize::Dynamic,
        flags: vec![],
        kind: SegmentKind::Linear,
    };
    assert_eq!(json_of_segment(linear), r#"{"type":"linear","offset":"17825792","size":"dynamic"}"#);
}

/// How a new document has it.
fn json_of_segment(segment: Segment) -> String {
    let metadata = Metadata::new(&NewMetadata {
        header_size: HeaderSize::ALL[0],
        keyslots_size: golden().config.keyslots_size,
        segment: &segment,
        digest: &golden().digests[&0],
    });
    let text = text(&metadata.unwrap());
    let (_, rest) = text.split_once(r#""segments":{"0":"#).unwrap();
    rest.split_once(r#"},"digests""#).unwrap().0.to_owned()
}

#[test]
fn tokens_are_kept_as_they_were_given() {
    let mut metadata = golden();
    metadata.remove_token(0).unwrap();
    metadata.add_token(0, TOKEN.as_bytes()).unwrap();
    assert_eq!(metadata.token_json(0).unwrap(), TOKEN);
    assert_eq!(text(&metadata), KEYSLOTS, "token 0 was the last member, and is again");
    assert_eq!(metadata.add_token(0, TOKEN.as_bytes()).unwrap_err().to_string(), "tokens.0: is in use");
    metadata.replace_token(0, br#"{"type":"x","keyslots":[],"n":1E2}"#).unwrap();
    assert_eq!(metadata.token_json(0).unwrap(), r#"{"type":"x","keyslots":[],"n":1E2}"#);
    let keyring = r#"{"type":"luks2-keyring","keyslots":["1","3"],"key_description":"a \"key\""}"#;
    metadata.add_token(2, keyring.as_bytes()).unwrap();
    assert_eq!(metadata.token_json(2).unwrap(), keyring);
    assert_eq!(metadata.free_token(), Some(3));
    metadata.unassign_token(2, 1).unwrap();
    metadata.assign_token(2, 0).unwrap();
    metadata.assign_token(2, 0).unwrap();
    assert_eq!(metadata.tokens[&2].keyslots, [3, 0]);
    let before = text(&metadata);
    for (json, message) in [
        ("[]", "tokens.5: is of type array, not an object"),
        ("{", "tokens.5: text ends too early at byte 1"),
        ("{}", "tokens.5.type: is missing"),
        (r#"{"type":"x","keyslots":["7"]}"#, "tokens.5.keyslots: \"7\" is not in keyslots"),
    ] {
        assert_eq!(metadata.add_token(5, json.as_bytes()).unwrap_err().to_string(), message);
    }
    assert_eq!(
        metadata.assign_token(2, 7).unwrap_err().to_string(),
        "tokens.2.keyslots: \"7\" is not in keyslots"
    );
    assert_eq!(metadata.remove_token(9).unwrap_err().to_string(), "tokens.9: does not exist");
    assert_eq!(metadata.replace_token(9, b"{}").unwrap_err().to_string(), "tokens.9: does not exist");
    assert_eq!(text(&metadata), before);
}

#[test]
fn flags_are_replaced() {
    let mut metadata = golden();
    metadata.set_flags(&["allow-discards", "no-read-workqueue"]).unwrap();
    let config = r#","flags":["allow-discards","no-read-workqueue"]}}"#;
    assert_eq!(text(&metadata), format!("{}{config}", KEYSLOTS.strip_suffix("}}").unwrap()));
    assert_eq!(metadata.config.flags, ["allow-discards", "no-read-workqueue"]);
    metadata.set_flags(&[]).unwrap();
    assert_eq!(text(&metadata), format!("{},\"flags\":[]}}}}", KEYSLOTS.strip_suffix("}}").unwrap()));
    let sized = |bytes: u32| {
        let json = replaced(KEYSLOTS, r#""16744448"}}"#, &format!(r#""{bytes}"}}}}"#));
        Metadata::parse(json.as_bytes(), HeaderSize::ALL[0])
    };
    let error = sized(4096).unwrap_err();
    assert!(error.to_string().ends_with("are not within 32768 to 36864"), "{error}");
    assert_eq!(sized(1 << 20).unwrap().header_and_keyslots_size(), Bytes((1 << 20) + 32768));
}

#[test]
fn what_stands_beside_the_requirements_of_a_reencryption_outlives_it() {
    for (beside, stays) in [
        ("", ""),
        (r#","optional":[1]"#, r#","requirements":{"optional":[1]}"#),
        (r#","x":{}"#, r#","requirements":{"x":{}}"#),
    ] {
        let mandatory = r#""mandatory":["online-reencrypt-v2"]"#;
        let json = replaced(REENCRYPT, mandatory, &format!("{mandatory}{beside}"));
        let mut metadata = Metadata::parse(json.as_bytes(), HeaderSize::ALL[0]).unwrap();
        let under_way = metadata.reencryption().unwrap().unwrap();
        metadata.end_reencryption(&under_way).unwrap();
        let config = text(&metadata).split_once(r#""config":"#).unwrap().1.to_owned();
        assert_eq!(config.split_once(r#"16744448""#).unwrap().1, format!("{stays}}}}}"), "{beside}");
    }
}

#[test]
fn the_json_area_fills_up() {
    let mut metadata = golden();
    let (used, area) = (KEYSLOTS.len(), 12288);
    let token = |pad: usize| format!(r#","9":{{"type":"x","keyslots":[],"p":"{}"}}"#, "p".repeat(pad));
    let pad = area - 1 - used - token(0).len();
    let object = |pad| token(pad).strip_prefix(r#","9":"#).unwrap().to_owned();
    let error = metadata.add_token(9, object(pad + 1).as_bytes()).unwrap_err();
    assert_eq!(error.to_string(), "JSON area is full: needs 12289 bytes, has 12288");
    metadata.add_token(9, object(pad).as_bytes()).unwrap();
    assert_eq!(metadata.to_json().len(), area - 1);
}

#[test]
fn areas_are_found_in_the_first_gap() {
    let golden = golden();
    let mut metadata = Metadata::new(&NewMetadata {
        header_size: HeaderSize::ALL[0],
        keyslots_size: Bytes(3 * 258_048),
        segment: &golden.segments[&0],
        digest: &golden.digests[&0],
    })
    .unwrap();
    for (id, offset) in [(0, 32768), (1, 290816), (2, 548864)] {
        let keyslot = keyslot_of(&metadata);
        assert_eq!((keyslot.area.offset, keyslot.area.size), (Bytes(offset), Bytes(258_048)));
        metadata.add_keyslot(id, &keyslot, 0).unwrap();
    }
    let error = metadata.free_area(64).unwrap_err();
    assert_eq!(error.to_string(), "keyslots area is full: needs 258048 bytes, has 774144");
    metadata.remove_keyslot(1).unwrap();
    assert_eq!(metadata.free_area(64).unwrap().offset, Bytes(290816));
    assert_eq!(metadata.free_area(32).unwrap().size, Bytes(131_072));
    assert!(metadata.free_area(65).is_err(), "the gap is too small for it");
    assert!(metadata.free_area(u32::MAX).is_err());
}
