//! Each rule at its limit, on forged headers.

use super::*;
use crate::change::create::{Luks2Params, create_luks2};
use crate::device::storage::Memory;
use crate::trust::policy::Policy;
use crate::{Access, Cost, KdfChoice, OsRandom};
use keyway_format::luks2::Copy;
use std::sync::Arc;

const LEN: usize = 4 << 20;

fn key() -> Secret {
    Secret::copy_from(&[7; 64])
}

/// Data from `sector` on; `None`: at the default offset.
fn volume(sector: Option<u64>) -> Luks {
    let params = Luks2Params {
        kdf: KdfChoice::Pbkdf2 { hash: "sha256".into(), cost: Cost::Forced(1000) },
        keyslots_size: Some(1 << 20),
        key_bits: 512,
        sector_size: Some(512),
        data_offset: sector,
        ..Luks2Params::default()
    };
    let storage = Arc::new(Memory::zeroed(LEN));
    create_luks2(storage, &params, &key(), &Secret::copy_from(b"pass"), &mut OsRandom).unwrap()
}

/// The volume with other metadata: for each pair in `changes`, the last occurrence of the first
/// text is replaced by the second.
fn forged(changes: &[(&str, &str)]) -> Luks {
    let luks = volume(None);
    let Header::Luks2 { binary, metadata } = luks.header() else { panic!() };
    let mut json = String::from_utf8(metadata.to_json()).unwrap();
    for (from, to) in changes {
        let at = json.rfind(from).unwrap_or_else(|| panic!("no {from} in {json}"));
        json.replace_range(at..at + from.len(), to);
    }
    for (copy, offset) in [(Copy::Primary, 0), (Copy::Secondary, binary.size.bytes().0)] {
        let bytes = binary.as_copy(copy, [9; 64]).copy_to_bytes(json.as_bytes()).unwrap();
        luks.storage().write_at(&bytes, offset).unwrap();
    }
    Luks::open(luks.storage().clone(), Access::Read).unwrap()
}

fn cipher(name: &str) -> (&'static str, String) {
    (CIPHER, format!("\"encryption\":\"{name}\",\"sector_size\""))
}

/// The objections to it on a device of `len` bytes.
fn said(luks: &Luks, len: u64) -> Vec<String> {
    let found = findings(luks, Some(DataDevice { len, holds_header: true }));
    found.iter().map(|finding| finding.to_string()).collect()
}

fn refusal<T>(result: Result<T>) -> Rule {
    match result.map(drop) {
        Err(Error::NotAdmitted(finding)) => finding.rule,
        other => panic!("{other:?}"),
    }
}

#[test]
fn against_a_sound_volume_nothing_is_said() {
    assert_eq!(said(&volume(None), LEN as u64), [""; 0]);
    // Data directly after the header.
    assert_eq!(said(&volume(Some(((32 << 10) + (1 << 20)) / 512)), LEN as u64), [""; 0]);
}

#[test]
fn short_keys_are_told_by_the_keyslots_and_by_the_key() {
    let (from, serpent) = cipher("serpent-xts-plain64");
    let with = |len: usize| {
        let keyslot = format!("\"key_size\":{len},\"af\"");
        forged(&[("\"key_size\":64,\"af\"", &keyslot), (from, &serpent)])
    };
    assert_eq!(said(&with(32), LEN as u64), [""; 0]);
    let short = Rule::ShortKey { cipher: "serpent-xts-plain64".into(), bits: 120 };
    assert_eq!(findings(&with(30), None), [Finding { segment: 0, rule: short.clone() }]);

    let spec = CipherSpec::parse("serpent-xts-plain64").unwrap();
    assert_eq!(spec.weakness_with(30).unwrap(), " with a key of 120 bits (128 are needed)");
    assert_eq!(spec.weakness_with(32), None);

    let admitted = || Admitted::judge(forged(&[(from, &serpent)]), None, &Terms::default()).unwrap();
    assert_eq!(refusal(admitted().open(Secret::copy_from(&[7; 30]), 0)), short);
    assert!(admitted().open(Secret::copy_from(&[7; 32]), 0).is_ok());
    let opened = admitted().open(key(), 0).unwrap();
    assert!(opened.volume_key().ct_eq(key().expose()) && opened.digest() == 0);
    assert_eq!(*opened.layout(), opened.luks().header().layout().unwrap());
    assert_eq!(refusal(admitted().open(key(), 1)), Rule::AnotherKey { digest: 0, first: 1 });
    let renumbered = forged(&[("\"digests\":{\"0\":", "\"digests\":{\"1\":")]);
    let opened = Admitted::judge(renumbered, None, &Terms::default()).unwrap().open(key(), 1).unwrap();
    assert_eq!(opened.digest(), 1);
}

#[test]
fn a_second_key_for_the_data_is_named() {
    let Header::Luks2 { metadata, .. } = volume(None).header().clone() else { panic!() };
    let json = String::from_utf8(metadata.to_json()).unwrap();
    let at = json.find("\"digests\":{\"0\":").unwrap() + "\"digests\":{\"0\":".len();
    let digest = &json[at..][..json[at..].find('}').unwrap() + 1];
    let second = digest.replace("\"keyslots\":[\"0\"]", "\"keyslots\":[]");
    // The salt differs from volume to volume, so the digest is inserted before the existing one.
    let luks = forged(&[("\"digests\":{\"0\":", &format!("\"digests\":{{\"1\":{second},\"0\":"))]);
    let rule = Rule::AnotherKey { digest: 1, first: 0 };
    assert_eq!(findings(&luks, None), [Finding { segment: 0, rule }]);
}

#[test]
fn ivs_count_from_the_volumes_start() {
    let luks = forged(&[("\"iv_tweak\":\"0\"", "\"iv_tweak\":\"8\"")]);
    assert_eq!(findings(&luks, None)[0].rule, Rule::ShiftedIv { iv_tweak: 8, sector: 0 });
    let two = |iv: u32| {
        let second = format!(
            "\"size\":\"4096\",\"iv_tweak\":\"0\",{CIPHER}:512}},\"1\":{{\"type\":\"crypt\",\"offset\":\"3145728\",\
             \"size\":\"dynamic\",\"iv_tweak\":\"{iv}\",{CIPHER}"
        );
        let first = format!("\"size\":\"dynamic\",\"iv_tweak\":\"0\",{CIPHER}");
        forged(&[(&first, &second), ("\"segments\":[\"0\"]", "\"segments\":[\"0\",\"1\"]")])
    };
    assert_eq!(findings(&two(8), None), []);
    let rule = Rule::ShiftedIv { iv_tweak: 0, sector: 8 };
    assert_eq!(findings(&two(0), None), [Finding { segment: 1, rule }]);
}

#[test]
fn data_is_on_the_device_and_behind_the_header() {
    let start = 2 << 20;
    let fixed = forged(&[("\"size\":\"dynamic\"", "\"size\":\"4096\"")]);
    assert_eq!(said(&fixed, start + 4096), [""; 0]);
    let described = format!(
        "segment 0: the device ends at byte {}, but its header describes data up to byte {}",
        start + 4095,
        start + 4096
    );
    assert_eq!(said(&fixed, start + 4095), [described]);

    let large = forged(&[("\"sector_size\":512", "\"sector_size\":4096")]);
    let linear = forged(&[("\"type\":\"crypt\"", "\"type\":\"linear\"")]);
    for (luks, sector_size, others) in [(volume(None), 512, 0), (large, 4096, 0), (linear, 512, 1)] {
        assert_eq!(said(&luks, start + sector_size).len(), others);
        let has = start + sector_size - 1;
        let found = findings(&luks, Some(DataDevice { len: has, holds_header: true }));
        assert_eq!(found.last().unwrap().rule, Rule::NoRoom { start, sector_size, has });
        assert_eq!(found.len(), others + 1);
    }

    let over = forged(&[(OFFSET, "\"offset\":\"0\",\"size\":\"dynamic\"")]);
    let header_end = (32 << 10) + (1 << 20);
    let on = |holds_header| findings(&over, Some(DataDevice { len: LEN as u64, holds_header }));
    assert_eq!(on(true), [Finding { segment: 0, rule: Rule::OverHeader { start: 0, header_end } }]);
    assert_eq!(on(false), []);
}

#[test]
fn each_term_lifts_its_own_rule() {
    let (from, ecb) = cipher("aes-ecb");
    let key_of_ecb = ("\"key_size\":64,\"af\"", "\"key_size\":32,\"af\"");
    let weak = || forged(&[key_of_ecb, (from, &ecb)]);
    let linear = || forged(&[("\"type\":\"crypt\"", "\"type\":\"linear\"")]);
    let shifted = || forged(&[("\"iv_tweak\":\"0\"", "\"iv_tweak\":\"8\"")]);
    let none = Terms::default();
    let ciphers = Terms { weak_ciphers: true, ..Terms::default() };
    let segments = Terms { linear_segments: true, ..Terms::default() };
    let both = Terms { weak_ciphers: true, ..segments.clone() };
    let passes = |luks: Luks, terms: &Terms| match Admitted::judge(luks, None, terms) {
        Ok(admitted) => {
            assert_eq!(admitted.tolerated().len(), 1);
            true
        }
        Err(Error::NotAdmitted(_)) => false,
        Err(other) => panic!("{other}"),
    };
    let all = [&none, &ciphers, &segments, &both];
    assert_eq!(all.map(|terms| passes(weak(), terms)), [false, true, false, true]);
    assert_eq!(all.map(|terms| passes(linear(), terms)), [false, false, true, true]);
    assert_eq!(all.map(|terms| passes(shifted(), terms)), [false; 4]);
}

#[test]
fn what_is_not_a_rule_is_judged_too() {
    let unknown = "\"config\":{\"requirements\":{\"mandatory\":[\"time-travel\"]},";
    assert!(check(&forged(&[("\"config\":{", unknown)]), None, &Terms::default()).is_err());
    let policy = Policy::parse(b"min-key-bits = 1024").unwrap();
    let terms = Terms { policies: vec![Required { name: "ours".into(), policy }], ..Terms::default() };
    assert!(matches!(check_header(&volume(None), &terms), Err(Error::Unmet(_))));
    assert!(check_header(&volume(None), &Terms::default()).is_ok());
}

#[test]
fn keyslots_that_need_no_passphrase_are_named() {
    assert_eq!(forged_keyslots(&volume(None)), []);
    let area = |cipher: &str| format!("\"encryption\":\"{cipher}\",\"key_size\":1");
    let luks = forged(&[("\"encryption\":\"aes-xts-plain64\",\"key_size\":64", &area("arc4-ecb"))]);
    let found = forged_keyslots(&luks);
    assert_eq!(found.len(), 1);
    assert!(found[0].0 == 0 && found[0].1.starts_with("its area uses arc4-ecb"), "{found:?}");
}

/// The cipher of the segment; a keyslot's area has no sector size.
const CIPHER: &str = "\"encryption\":\"aes-xts-plain64\",\"sector_size\"";
const OFFSET: &str = "\"offset\":\"2097152\",\"size\":\"dynamic\"";
