//! A seal over a header in memory, and all ways to invalidate either.

use super::*;
use crate::Luks;
use crate::change::create::{Luks1Params, Luks2Params, create_luks1, create_luks2};
use crate::change::edit::{self, AddKey};
use crate::change::seal::{check_sealable, remove, seal};
use crate::device::storage::Memory;
use crate::{Access, Cost, KdfChoice, OsRandom, Storage};
use keyway_format::luks2::Copy;
use std::sync::Arc;

mod edits;

const LEN: usize = 4 << 20;

fn pbkdf2() -> KdfChoice {
    KdfChoice::Pbkdf2 { hash: "sha256".into(), cost: Cost::Forced(1000) }
}

fn secret(text: &str) -> Secret {
    Secret::copy_from(text.as_bytes())
}

fn volume() -> (Luks, Secret) {
    let storage = Arc::new(Memory::zeroed(LEN));
    let params = Luks2Params {
        kdf: pbkdf2(),
        keyslots_size: Some(1 << 20),
        key_bits: 512,
        sector_size: Some(512),
        ..Luks2Params::default()
    };
    let key = Secret::copy_from(&[7; 64]);
    let luks = create_luks2(storage, &params, &key, &secret("pass"), &mut OsRandom).unwrap();
    (luks, key)
}

fn sealed(context: Option<&str>) -> (Luks, Secret) {
    let (mut luks, key) = volume();
    seal(&mut luks, &key, LEN as u64, context, &mut OsRandom).unwrap();
    (luks, key)
}

fn verify(luks: &Luks, key: &Secret, context: Option<&str>) -> Result<(), Broken> {
    let seal = Seal::of(luks.header())?.ok_or(Broken::Missing)?;
    seal.verify(luks.header(), Some(luks.storage().len()), key, context)
}

/// The header as an attacker without the key would write it: the text of its metadata changed, both
/// checksums correct.
fn forge(luks: &Luks, change: impl FnOnce(&str) -> String) -> Luks {
    let Header::Luks2 { binary, metadata } = luks.header() else { panic!("not LUKS2") };
    let json = change(&String::from_utf8(metadata.to_json()).unwrap());
    rewrite(luks, binary, json.as_bytes())
}

fn rewrite(luks: &Luks, binary: &BinaryHeader, json: &[u8]) -> Luks {
    let storage = Arc::new(Memory::zeroed(LEN));
    let mut all = vec![0; LEN];
    luks.storage().read_at(&mut all, 0).unwrap();
    storage.write_at(&all, 0).unwrap();
    for (copy, offset) in [(Copy::Primary, 0), (Copy::Secondary, binary.size.bytes().0)] {
        let bytes = binary.as_copy(copy, [9; 64]).copy_to_bytes(json).unwrap();
        storage.write_at(&bytes, offset).unwrap();
    }
    Luks::open(storage, Access::Write).unwrap()
}

fn replaced(from: &str, to: &str) -> impl FnOnce(&str) -> String {
    let (from, to) = (from.to_owned(), to.to_owned());
    // The seal's own list comes first, so the last match is in the header, which is the part to
    // forge.
    move |json| {
        let at = json.rfind(&from).unwrap_or_else(|| panic!("no {from} in {json}"));
        format!("{}{to}{}", &json[..at], &json[at + from.len()..])
    }
}

#[test]
fn a_seal_holds_for_its_key_and_context_only() {
    let (luks, key) = sealed(Some("rack 7"));
    assert_eq!(verify(&luks, &key, None), Ok(()));
    assert_eq!(verify(&luks, &key, Some("rack 7")), Ok(()));
    assert_eq!(verify(&luks, &key, Some("rack 8")), Err(Broken::Context));
    assert_eq!(verify(&luks, &Secret::copy_from(&[8; 64]), None), Err(Broken::Forged));
    assert!(Seal::of(luks.header()).unwrap().unwrap().has_context());
    let (luks, key) = sealed(None);
    assert!(!Seal::of(luks.header()).unwrap().unwrap().has_context());
    assert_eq!(verify(&luks, &key, Some("")), Err(Broken::Context));
    assert_eq!(Broken::Context.to_string(), "its seal has another context (seal-context)");
    let (luks, key) = volume();
    assert_eq!(verify(&luks, &key, None), Err(Broken::Missing));
}

#[test]
fn luks1_has_no_room_for_a_seal() {
    let storage = Arc::new(Memory::zeroed(LEN));
    let params = Luks1Params { kdf: pbkdf2(), key_bits: 256, ..Luks1Params::default() };
    let key = Secret::copy_from(&[7; 32]);
    let mut luks = create_luks1(storage, &params, &key, &secret("pass"), &mut OsRandom).unwrap();
    let refusals = [
        check_sealable(&luks).unwrap_err(),
        seal(&mut luks, &key, LEN as u64, None, &mut OsRandom).unwrap_err(),
        remove(&mut luks, &mut OsRandom).unwrap_err(),
    ];
    for refused in refusals {
        assert!(refused.to_string().starts_with("A LUKS1 header has no room for a seal"), "{refused}");
    }
}

/// Each with the field's name, and before any key is known.
#[test]
fn every_forged_field_is_named() {
    let (luks, key) = sealed(Some("context"));
    for (from, to, field) in [
        ("aes-xts-plain64", "aes-xts-plain", "segments.0.encryption"),
        (r#""size":"dynamic""#, r#""size":"4096""#, "segments.0.size"),
        (r#""iv_tweak":"0""#, r#""iv_tweak":"1""#, "segments.0.iv_tweak"),
        (r#""sector_size":512"#, r#""sector_size":1024"#, "segments.0.sector_size"),
        (r#""type":"crypt""#, r#""type":"linear""#, "segments.0.type"),
        (r#""iterations":1000,"salt""#, r#""iterations":1001,"salt""#, "digests.0.iterations"),
        (r#""hash":"sha256""#, r#""hash":"sm3""#, "digests.0.hash"),
        (r#""config":{"#, r#""config":{"flags":["allow-discards"],"#, "config.flags[0]"),
        (
            r#""config":{"#,
            r#""config":{"requirements":{"mandatory":["x"]},"#,
            "config.requirements.mandatory[0]",
        ),
        (r#""config":{"#, r#""config":{"other":{"deep":[1]},"#, "config.other.deep[0]"),
        (r#""keyslots_size":"1048576""#, r#""keyslots_size":"1044480""#, "config.keyslots_size"),
        (
            r#""encryption":"aes-xts-plain64""#,
            r#""flags":["x"],"encryption":"aes-xts-plain64""#,
            "segments.0.flags[0]",
        ),
    ] {
        let forged = forge(&luks, replaced(from, to));
        let seal = Seal::of(forged.header()).unwrap().unwrap();
        let Err(Broken::Differs(without_key)) = seal.compare(forged.header(), Some(LEN as u64)) else {
            panic!("{to}: nothing seen")
        };
        assert_eq!(without_key[0].field, field, "{to}");
        assert_eq!(verify(&forged, &key, None), Err(Broken::Differs(without_key)));
    }
}

#[test]
fn every_forged_field_of_the_binary_header_is_named() {
    let (luks, key) = sealed(None);
    let Header::Luks2 { binary, metadata } = luks.header() else { panic!() };
    let mut forged = [binary.clone(), binary.clone(), binary.clone()];
    forged[0].set_label("other").unwrap();
    forged[1].set_subsystem("other").unwrap();
    forged[2].set_uuid("11111111-2222-3333-4444-555555555555").unwrap();
    for (binary, field) in forged.iter().zip(["header.label", "header.subsystem", "header.uuid"]) {
        let forged = rewrite(&luks, binary, &metadata.to_json());
        let Err(Broken::Differs(difference)) = verify(&forged, &key, None) else { panic!("{field}") };
        assert_eq!(difference.iter().map(|one| &*one.field).collect::<Vec<_>>(), [field]);
    }
}

/// A device that lost or gained a sector; a change of less than a sector affects no data.
#[test]
fn another_length_is_named() {
    let (luks, key) = sealed(None);
    let seal = Seal::of(luks.header()).unwrap().unwrap();
    for len in [LEN as u64 - 512, LEN as u64 + 512] {
        let Err(Broken::Differs(difference)) = seal.verify(luks.header(), Some(len), &key, None) else {
            panic!()
        };
        let text = format!("data.end is \"{len}\", sealed as \"{LEN}\"");
        assert_eq!(difference.iter().map(ToString::to_string).collect::<Vec<_>>(), [text]);
    }
    assert_eq!(seal.verify(luks.header(), Some(LEN as u64 + 511), &key, None), Ok(()));
    assert_eq!(seal.verify(luks.header(), None, &key, None), Ok(()), "where no data is touched");
    let forged = forge(&luks, replaced("aes-xts-plain64", "aes-xts-plain"));
    let seal = Seal::of(forged.header()).unwrap().unwrap();
    assert!(matches!(seal.compare(forged.header(), None), Err(Broken::Differs(_))));
}

/// An attacker who changes header and seal alike cannot make the MAC.
#[test]
fn a_seal_changed_with_the_header_is_forged() {
    let (luks, key) = sealed(Some("x"));
    let other_label = |json: &str| json.replace("aes-xts-plain64\",\"sector", "aes-xts-plain\",\"sector");
    let forged = forge(&luks, other_label);
    assert_eq!(
        Seal::of(forged.header()).unwrap().unwrap().compare(forged.header(), Some(LEN as u64)),
        Ok(())
    );
    assert_eq!(verify(&forged, &key, None), Err(Broken::Forged));
    for member in ["\"mac\":\"", "\"context\":\""] {
        let forged = forge(&luks, |json| {
            let at = json.find(member).unwrap() + member.len();
            let other = if json[at..].starts_with('A') { 'B' } else { 'A' };
            format!("{}{other}{}", &json[..at], &json[at + 1..])
        });
        assert_eq!(verify(&forged, &key, None), Err(Broken::Forged), "{member}");
    }
    let without_context = forge(&luks, |json| {
        let at = json.find("\"context\":").unwrap();
        let end = at + json[at..].find("\"sealed\"").unwrap();
        format!("{}{}", &json[..at], &json[end..])
    });
    assert_eq!(verify(&without_context, &key, None), Err(Broken::Forged));
}

#[test]
fn a_token_that_is_no_seal_is_unreadable() {
    let (luks, key) = sealed(None);
    for (from, to, why) in [
        ("\"version\":1", "\"version\":2", "its version is 2, not 1"),
        ("\"version\":1,", "", "it has no version"),
        ("\"version\":1,", "\"version\":1,\"extra\":1,", "its member \"extra\" is unknown"),
        ("\"salt\":\"", "\"salt\":\"AAAA", "its salt is not 32 bytes in base64"),
        ("\"mac\":\"", "\"mac\":\"AAAA", "its mac is not 32 bytes in base64"),
        ("\"sealed\":{", "\"context\":\"AA\",\"sealed\":{", "its context is not 32 bytes in base64"),
    ] {
        let from = from.to_owned();
        // Other objects may have a member of the same name; the token's is the one after its type.
        let forged = forge(&luks, |json| {
            let token = json.find(Seal::TYPE).unwrap();
            let at = token + json[token..].find(&from).unwrap();
            format!("{}{to}{}", &json[..at], &json[at + from.len()..])
        });
        assert_eq!(verify(&forged, &key, None), Err(Broken::Unreadable(why.into())), "{to}");
    }
    assert_eq!(Seal::parse("[]").unwrap_err(), "it is of type array, not an object");
    assert_eq!(Seal::parse(r#"{"version":1,"type":"x"}"#).unwrap_err(), "it is not of type keyway-seal");
    let (luks, key) = sealed(None);
    let twice = forge(&luks, |json| {
        json.replacen("\"tokens\":{", "\"tokens\":{\"9\":{\"type\":\"keyway-seal\",\"keyslots\":[]},", 1)
    });
    assert_eq!(verify(&twice, &key, None), Err(Broken::Unreadable("the header has two seals".into())));
}

#[test]
fn keyslots_and_tokens_come_and_go_under_a_seal() {
    let (mut luks, key) = sealed(None);
    let options = AddKey { kdf: pbkdf2(), ..AddKey::default() };
    edit::add_key(&mut luks, &key, &secret("second"), &options, &mut OsRandom).unwrap();
    let unbound = Secret::copy_from(&[3; 32]);
    edit::add_unbound_key(&mut luks, &unbound, &secret("third"), &options, &mut OsRandom).unwrap();
    edit::kill_slot(&mut luks, 0, &mut OsRandom).unwrap();
    edit::token_import(&mut luks, None, br#"{"type":"other","keyslots":["1"]}"#, &[], false, &mut OsRandom)
        .unwrap();
    edit::set_priority(&mut luks, 1, keyway_format::luks2::Priority::Prefer, &mut OsRandom).unwrap();
    assert_eq!(verify(&luks, &key, None), Ok(()));
}

#[test]
fn sealing_again_replaces_and_removing_removes() {
    let (mut luks, key) = sealed(Some("old"));
    edit::set_label(&mut luks, Some("new"), None, None, &mut OsRandom).unwrap();
    assert!(matches!(verify(&luks, &key, None), Err(Broken::Differs(_))));
    seal(&mut luks, &key, LEN as u64, Some("new"), &mut OsRandom).unwrap();
    assert_eq!(verify(&luks, &key, Some("new")), Ok(()));
    let Header::Luks2 { metadata, .. } = luks.header() else { panic!() };
    assert_eq!(metadata.tokens.keys().collect::<Vec<_>>(), [&0]);
    assert!(seal(&mut luks, &Secret::copy_from(&[8; 64]), LEN as u64, None, &mut OsRandom).is_err());
    assert!(remove(&mut luks, &mut OsRandom).unwrap());
    assert_eq!(verify(&luks, &key, None), Err(Broken::Missing));
    assert!(!remove(&mut luks, &mut OsRandom).unwrap());
}

/// An edit seals its changes in the same write, unless the seal was already invalid.
#[test]
fn a_renewal_signs_only_what_held() {
    let (luks, key) = sealed(Some("kept"));
    let renewal = Renewal { volume_key: &key };
    let flagged = |luks: &Luks| {
        let Header::Luks2 { binary, metadata } = luks.header() else { panic!() };
        let mut metadata = metadata.clone();
        metadata.set_flags(&["allow-discards"]).unwrap();
        let renewed = renewal.renew(luks.header(), binary, &mut metadata);
        renewed.map(|()| rewrite(luks, binary, &metadata.to_json()))
    };
    assert_eq!(verify(&flagged(&luks).unwrap(), &key, Some("kept")), Ok(()));
    let forged = forge(&luks, replaced("aes-xts-plain64", "aes-xts-plain"));
    assert!(matches!(flagged(&forged).map(drop), Err(Broken::Differs(_))));
    let (unsealed, key) = volume();
    assert_eq!(verify(&flagged(&unsealed).unwrap(), &key, None), Err(Broken::Missing));
}

/// Paths and values of any content stay distinct: different trees give different byte lists.
#[test]
fn no_two_trees_are_one_list() {
    let bytes = |json: &str| {
        let keyway_format::json::Value::Object(object) = keyway_format::json::parse(json.as_bytes()).unwrap()
        else {
            panic!()
        };
        Fields::of(&object).to_bytes()
    };
    let trees = [
        r#"{"a":{"b":1}}"#,
        r#"{"a.b":1}"#,
        r#"{"a~1b":1}"#,
        r#"{"a":[1]}"#,
        r#"{"a[0]":1}"#,
        r#"{"a":{"0":1}}"#,
        r#"{"a":"1"}"#,
        r#"{"a":1}"#,
        r#"{"a":{}}"#,
        r#"{"a":[]}"#,
        r#"{"a":"{}"}"#,
        r#"{"a":null}"#,
        r#"{}"#,
        r#"{"a":[1,2]}"#,
        r#"{"a":[2,1]}"#,
        r#"{"a":1,"b":2}"#,
        r#"{"a":"1\",\"b\":\"2"}"#,
        r#"{"a~2":1}"#,
        r#"{"a[":1}"#,
        r#"{"a~0":1}"#,
        r#"{"a~":1}"#,
    ];
    for (at, one) in trees.iter().enumerate() {
        for other in &trees[at + 1..] {
            assert_ne!(bytes(one), bytes(other), "{one} {other}");
        }
    }
    assert_eq!(bytes(r#"{"a":1,"b":2}"#), bytes(r#"{"b":2,"a":1}"#), "the order of members says nothing");
}
