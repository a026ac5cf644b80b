//! What holds for any bytes: no parser panics, and what a parser
//! accepts it writes back to the byte.

use keyway_crypto::Hash;
use keyway_format::json::{self, Object, Value};
use keyway_format::luks2::{
    BinaryHeader, Copy, HeaderCopy, HeaderSize, Metadata, secondary_candidates, select,
};
use keyway_format::{base64, luks1};
use proptest::collection::vec;
use proptest::prelude::*;

const LUKS1: &[u8; 592] = include_bytes!("golden/aes-xts.luks1");
const LUKS2: &[u8; 32768] = include_bytes!("golden/fresh.luks2");
const DOCUMENTS: [&[u8]; 3] = [
    include_bytes!("golden/keyslots.json"),
    include_bytes!("golden/reencrypt.json"),
    include_bytes!("golden/detached.json"),
];

/// A run of bytes written over others.
type Patch = (prop::sample::Index, Vec<u8>);

fn patches() -> impl Strategy<Value = Vec<Patch>> {
    vec((any::<prop::sample::Index>(), vec(any::<u8>(), 1..8)), 1..4)
}

fn patched(golden: &[u8], patches: &[Patch]) -> Vec<u8> {
    let mut bytes = golden.to_vec();
    for (at, patch) in patches {
        let at = at.index(bytes.len());
        let len = patch.len().min(bytes.len() - at);
        bytes[at..at + len].copy_from_slice(&patch[..len]);
    }
    bytes
}

/// Patches made of what JSON is made of, so that some of the results still parse.
fn json_patches() -> impl Strategy<Value = Vec<Patch>> {
    let byte = prop::sample::select(&br#"0123456789{}[]",:-.e \utrnAZaz"#[..]);
    vec((any::<prop::sample::Index>(), vec(byte, 1..3)), 1..4)
}

fn json_values() -> impl Strategy<Value = Value> {
    let number = "-?(0|[1-9][0-9]{0,25})(\\.[0-9]{1,5})?([eE][+-]?[0-9]{1,3})?";
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        number.prop_map(Value::Number),
        any::<String>().prop_map(Value::String),
    ];
    leaf.prop_recursive(4, 64, 6, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..6).prop_map(Value::Array),
            vec((any::<String>(), inner), 0..6).prop_map(|members| {
                let fold = |object: Object, (name, value): (String, Value)| object.with(&name, value);
                members.into_iter().fold(Object::new(), fold).into()
            }),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn luks1_headers(patches in patches()) {
        let bytes = patched(LUKS1, &patches);
        if let Ok(header) = luks1::Header::parse(&bytes) {
            prop_assert_eq!(&header.to_bytes()[..], &bytes[..]);
            prop_assert!(header.payload_offset.0 == 0 || header.end_of_areas() <= header.payload_offset);
        }
        if let Ok((header, _)) = luks1::Header::repair(&bytes) {
            prop_assert!(luks1::Header::parse(&header.to_bytes()).is_ok());
        }
    }

    #[test]
    fn luks2_binary_headers_with_a_right_checksum(patches in patches()) {
        let mut copy = LUKS2[..16384].to_vec();
        copy[..4096].copy_from_slice(&patched(&LUKS2[..4096], &patches));
        let tail = copy[480..512].to_vec();
        copy[448..512].fill(0);
        let digest = Hash::Sha256.digest(&[&copy]);
        copy[448..480].copy_from_slice(&digest);
        copy[480..512].copy_from_slice(&tail);
        if let Ok((header, json)) = BinaryHeader::parse_copy(&copy, Copy::Primary) {
            prop_assert_eq!(header.copy_to_bytes(json).unwrap(), copy);
        }
    }

    #[test]
    fn any_bytes_behind_a_magic(bytes in vec(any::<u8>(), 0..6000), version in 0u8..3) {
        for magic in [b"LUKS\xba\xbe\0", b"SKUL\xba\xbe\0"] {
            let bytes = [&magic[..], &[version], &bytes].concat();
            let _ = luks1::Header::parse(&bytes);
            let _ = secondary_candidates(&bytes);
            let primary = HeaderCopy::parse(&bytes, Copy::Primary);
            let secondary = HeaderCopy::parse(&bytes, Copy::Secondary);
            let _ = select(primary, secondary);
        }
    }

    #[test]
    fn luks2_metadata(document in prop::sample::select(&DOCUMENTS[..]), patches in json_patches()) {
        let json = patched(document, &patches);
        if let Ok(metadata) = Metadata::parse(&json, HeaderSize::ALL[0]) {
            prop_assert_eq!(metadata.to_json(), &json[..]);
            // Through an edit that changes nothing, everything but white space and escapes stays.
            let mut edited = metadata.clone();
            let flags: Vec<&str> = metadata.config.flags.iter().map(String::as_str).collect();
            edited.set_flags(&flags).unwrap();
            prop_assert_eq!(&edited.segments, &metadata.segments);
            prop_assert_eq!(&edited.keyslots, &metadata.keyslots);
            prop_assert_eq!(&edited.tokens, &metadata.tokens);
        }
    }

    #[test]
    fn any_json_text(text in vec(any::<u8>(), 0..200)) {
        if let Ok(value) = json::parse(&text) {
            prop_assert_eq!(json::parse(value.to_compact().as_bytes()), Ok(value));
        }
    }

    #[test]
    fn printed_json_parses_to_the_same(value in json_values()) {
        let compact = value.to_compact();
        prop_assert_eq!(json::parse(compact.as_bytes()).unwrap(), value.clone());
        prop_assert_eq!(json::parse(value.to_pretty().as_bytes()).unwrap().to_compact(), compact);
    }

    #[test]
    fn base64_is_canonical(bytes in vec(any::<u8>(), 0..100), text in "[A-Za-z0-9+/= ]{0,20}") {
        prop_assert_eq!(base64::decode(&base64::encode(&bytes)), Some(bytes));
        if let Some(decoded) = base64::decode(&text) {
            prop_assert_eq!(base64::encode(&decoded), text.replace(' ', ""));
        }
    }
}
