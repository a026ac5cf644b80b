//! Seals: cryptsetup's edits of keyslots and tokens leave them intact, and a forged header is
//! refused with the name of the field, whichever program forged it.

use crate::volume::Volume;
use keyway_format::luks2::Copy;
use keyway_tests::peers::CHEAP_LUKS2_PBKDF2;
use keyway_tests::{cryptsetup, keyway, need};
use keyway_volume::device::storage::File;
use keyway_volume::{Access, Header, Luks, Storage};
use std::sync::Arc;

fn sealed() -> Volume {
    let v = Volume::made_by(cryptsetup, CHEAP_LUKS2_PBKDF2, 18 << 20);
    v.run(keyway, "seal").arg("-d").arg(&v.first_key).ok();
    v
}

fn read(v: &Volume) -> keyway_tests::Run {
    v.run(keyway, "read --length 1 --require sealed").arg("-d")
}

#[test]
fn a_seal_outlives_cryptsetups_keyslots() {
    need!("cryptsetup");
    let v = sealed();
    let dump = v.dump();
    assert!(dump.contains("0: keyway-seal"), "{dump}");
    v.run(cryptsetup, "luksAddKey").args(CHEAP_ADD).arg("-d").arg(&v.first_key).arg(&v.second_key).ok();
    read(&v).arg(&v.second_key).ok();
    v.run(cryptsetup, "luksChangeKey").args(CHEAP_ADD).arg("-d").arg(&v.second_key).arg(&v.third_key).ok();
    read(&v).arg(&v.third_key).ok();
    v.run(cryptsetup, "luksKillSlot -q").arg("0").ok();
    v.run(cryptsetup, "config --key-slot 1 --priority prefer").ok();
    v.run(cryptsetup, "token add --key-description nothing").ok();
    v.run(cryptsetup, "luksAddKey --unbound --key-size 256").args(CHEAP_ADD).arg(&v.second_key).ok();
    v.run(cryptsetup, "repair -q").ok();
    read(&v).arg(&v.third_key).ok();
    v.run(cryptsetup, "open --test-passphrase").arg("-d").arg(&v.third_key).ok();
    v.dump();

    v.run(cryptsetup, "config --label forged").ok();
    read(&v).arg(&v.third_key).fails(6).says("header.label is \"forged\", sealed as \"\"");
    v.run(cryptsetup, "config --label=").ok();
    v.run(cryptsetup, "luksUUID -q --uuid 11111111-2222-3333-4444-555555555555").ok();
    read(&v).arg(&v.third_key).fails(6).says("header.uuid is \"11111111-2222-3333-4444-555555555555\"");
    v.run(keyway, "seal -q").arg("-d").arg(&v.third_key).ok();
    read(&v).arg(&v.third_key).ok();
    v.run(cryptsetup, "token remove --token-id 0").ok();
    read(&v).arg(&v.third_key).fails(6).says("it is not sealed");
}

/// Each field, changed with corrected checksums; the real cryptsetup accepts most of them silently.
#[test]
fn each_forged_field_is_refused_by_its_name() {
    need!("cryptsetup");
    let v = sealed();
    let (forged, key) = (v.scratch.path("forged"), &v.first_key);
    for (from, to, field) in FORGERIES {
        std::fs::copy(&v.path, &forged).unwrap();
        forge(&forged, from, to);
        for verb in
            ["read --length 1", "read --allow-weak-cipher --allow-linear-segments", "open --test-passphrase"]
        {
            let refused = keyway(verb).arg("-d").arg(key).arg(&forged).fails(6);
            assert!(
                refused.errors().contains(&format!("does not match its seal: {field} ")),
                "{to}: {refused}"
            );
        }
        keyway("inspect").arg(&forged).ok().says(&format!("does not match its seal: {field} "));
        keyway("read --length 1 --require sealed --ignore-seal")
            .arg("-d")
            .arg(key)
            .arg(&forged)
            .fails(6)
            .says(field);
    }
    // The whole seal of another volume.
    let other = sealed();
    let token = other.run(keyway, "token export --token-id 0").ok().text();
    v.run(cryptsetup, "token remove --token-id 0").ok();
    v.run(cryptsetup, "token import --token-id 0").stdin(token).ok();
    read(&v).arg(key).fails(6).says("digests.0.digest");
}

/// The text in the header, its forged replacement, and the field that is then named.
const FORGERIES: &[(&str, &str, &str)] = &[
    (
        "\"encryption\":\"aes-xts-plain64\",\"sector",
        "\"encryption\":\"cipher_null-ecb\",\"sector",
        "segments.0.encryption",
    ),
    (
        "\"encryption\":\"aes-xts-plain64\",\"sector",
        "\"encryption\":\"aes-ctr-plain64\",\"sector",
        "segments.0.encryption",
    ),
    ("\"type\":\"crypt\"", "\"type\":\"linear\"", "segments.0.type"),
    (
        "\"offset\":\"16777216\",\"size\":\"dynamic\"",
        "\"offset\":\"16781312\",\"size\":\"dynamic\"",
        "segments.0.offset",
    ),
    ("\"size\":\"dynamic\"", "\"size\":\"4096\"", "segments.0.size"),
    ("\"iv_tweak\":\"0\"", "\"iv_tweak\":\"8\"", "segments.0.iv_tweak"),
    (
        "\"sector_size\":",
        "\"integrity\":{\"type\":\"aead\",\"journal_encryption\":\"none\",\"journal_integrity\":\"none\"},\"sector_size\":",
        "segments.0.integrity.journal_encryption",
    ),
    ("\"iterations\":1000,\"salt\"", "\"iterations\":1001,\"salt\"", "digests.0.iterations"),
    ("\"config\":{", "\"config\":{\"flags\":[\"allow-discards\"],", "config.flags[0]"),
    (
        "\"config\":{",
        "\"config\":{\"requirements\":{\"mandatory\":[\"unheard-of\"]},",
        "config.requirements.mandatory[0]",
    ),
    ("\"keyslots_size\":\"16744448\"", "\"keyslots_size\":\"16740352\"", "config.keyslots_size"),
];

/// Replaces the last `from` by `to` (the seal's own list comes before), in both copies.
fn forge(path: &std::path::Path, from: &str, to: &str) {
    let storage: Arc<dyn Storage> = Arc::new(File::open_rw(path).unwrap());
    let luks = Luks::open(Arc::clone(&storage), Access::Probe).unwrap();
    let Header::Luks2 { binary, metadata } = luks.header() else { panic!("not LUKS2") };
    let json = String::from_utf8(metadata.to_json()).unwrap();
    let at = json.rfind(from).unwrap_or_else(|| panic!("no {from} in {json}"));
    let json = format!("{}{to}{}", &json[..at], &json[at + from.len()..]);
    for (copy, offset) in [(Copy::Primary, 0), (Copy::Secondary, binary.size.bytes().0)] {
        let bytes = binary.as_copy(copy, [9; 64]).copy_to_bytes(json.as_bytes()).unwrap();
        storage.write_at(&bytes, offset).unwrap();
    }
}

const CHEAP_ADD: &str = "--pbkdf pbkdf2 --pbkdf-force-iterations 1000";
