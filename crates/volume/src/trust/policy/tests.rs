//! Every demand, met and not met, and every way to misspell one.

use super::*;
use crate::change::create::{Luks1Params, Luks2Params, create_luks1, create_luks2};
use crate::change::edit;
use crate::change::seal;
use crate::device::storage::Memory;
use crate::{Cost, KdfChoice, Luks, OsRandom};
use keyway_crypto::kdf::Argon2Variant;
use std::sync::Arc;

const LEN: usize = 4 << 20;
const UUID: &str = "01234567-89ab-cdef-0123-456789abcdef";

fn secret(text: &str) -> Secret {
    Secret::copy_from(text.as_bytes())
}

fn key() -> Secret {
    Secret::copy_from(&[7; 64])
}

/// Keyslot 0 with PBKDF2 of 2000 iterations, keyslot 1 with Argon2id of 64 KiB and 4 passes.
fn luks2() -> Luks {
    let kdf = KdfChoice::Pbkdf2 { hash: "sha256".into(), cost: Cost::Forced(2000) };
    let params = Luks2Params {
        kdf,
        keyslots_size: Some(1 << 20),
        key_bits: 512,
        sector_size: Some(512),
        uuid: Some(UUID.into()),
        label: Some("root".into()),
        ..Luks2Params::default()
    };
    let storage = Arc::new(Memory::zeroed(LEN));
    let mut luks = create_luks2(storage, &params, &key(), &secret("pass"), &mut OsRandom).unwrap();
    let kdf = KdfChoice::Argon2 {
        variant: Argon2Variant::Argon2id,
        memory_kib: 64,
        lanes: 1,
        cost: Cost::Forced(4),
    };
    let options = edit::AddKey { kdf, ..edit::AddKey::default() };
    edit::add_key(&mut luks, &key(), &secret("second"), &options, &mut OsRandom).unwrap();
    edit::set_persistent_flags(&mut luks, &["allow-discards"], None, &mut OsRandom).unwrap();
    edit::token_import(&mut luks, None, br#"{"type":"mine","keyslots":[]}"#, &[], false, &mut OsRandom)
        .unwrap();
    luks
}

fn luks1() -> Luks {
    let params = Luks1Params {
        kdf: KdfChoice::Pbkdf2 { hash: "sha256".into(), cost: Cost::Forced(1500) },
        key_bits: 256,
        ..Luks1Params::default()
    };
    let (storage, key) = (Arc::new(Memory::zeroed(LEN)), Secret::copy_from(&[7; 32]));
    create_luks1(storage, &params, &key, &secret("pass"), &mut OsRandom).unwrap()
}

fn judge(luks: &Luks, policy: &str, volume_key: Option<&Secret>) -> Judgement {
    let policy = Policy::parse(policy.as_bytes()).unwrap_or_else(|e| panic!("{policy}: {e}"));
    let subject = Subject { header: luks.header(), data_len: Some(luks.storage().len()), volume_key };
    policy.audit(subject).remove(0)
}

/// One demand per row: its name, a value that is met, one that is not, and the finding.
fn table(luks: &Luks, rows: &[(&str, &str, &str, &str)]) {
    for (rule, good, bad, found) in rows {
        assert_eq!(judge(luks, &format!("{rule} = {good}"), None).verdict, Verdict::Met, "{rule} = {good}");
        let finding = judge(luks, &format!("{rule} = {bad}"), None);
        assert_eq!((finding.rule, finding.verdict), (*rule, Verdict::Violated), "{rule} = {bad}");
        assert_eq!(finding.found, *found, "{rule}");
    }
}

#[test]
fn every_demand_on_luks2_is_judged() {
    let luks = luks2();
    let Header::Luks2 { metadata, .. } = luks.header() else { panic!() };
    let size = LEN - metadata.data_offset().0 as usize;
    let size_text = size.to_string();
    let quoted = format!("\"{size}\"");
    let (less, more) = ((size - 1).to_string(), (size + 1).to_string());
    table(
        &luks,
        &[
            ("formats", r#"["luks1", "luks2"]"#, r#"["luks1"]"#, "luks2"),
            ("ciphers", r#"["aes"]"#, r#"["serpent", "ae"]"#, "aes-xts-plain64"),
            ("ciphers", r#"["aes-xts-plain64"]"#, r#"["aes-xts-plain"]"#, "aes-xts-plain64"),
            ("modes", r#"["xts-plain64"]"#, r#"["cbc-essiv:sha256", "xts-plain"]"#, "aes-xts-plain64"),
            ("modes", r#"["xts"]"#, r#"["plain64"]"#, "aes-xts-plain64"),
            ("min-key-bits", "512", "513", "512"),
            ("sector-sizes", "[512, 4096]", "[4096]", "512"),
            ("allowed-flags", r#"["allow-discards"]"#, "[]", "allow-discards"),
            ("allowed-tokens", r#"["mine"]"#, "[]", "mine"),
            ("uuid", r#""01234567-89AB-cdef-0123-456789abcdef""#, r#""1""#, UUID),
            ("label", r#""root""#, r#""Root""#, "root"),
            ("subsystem", r#""""#, r#""x""#, ""),
            ("size", &size_text, &more, &size_text),
            ("size", &quoted, &more, &size_text),
            ("min-size", &size_text, &more, &size_text),
            ("max-size", &size_text, &less, &size_text),
            ("max-keyslots", "2", "1", "2"),
            ("kdfs", r#"["argon2id", "pbkdf2"]"#, r#"["argon2id"]"#, "keyslot 0: pbkdf2 (2000 iterations)"),
            ("min-pbkdf2-iterations", "2000", "2001", "keyslot 0: pbkdf2 (2000 iterations)"),
            ("min-argon2-memory", r#""64KiB""#, "65537", "keyslot 1: argon2id (64 KiB, 4 passes)"),
            ("min-argon2-passes", "4", "5", "keyslot 1: argon2id (64 KiB, 4 passes)"),
        ],
    );
    assert_eq!(judge(&luks, "linear-segments = false", None).verdict, Verdict::Met);
    // Less than one sector holds no data.
    let subject = Subject { header: luks.header(), data_len: Some(LEN as u64 + 511), volume_key: None };
    let sized = Policy::parse(format!("size = {size}").as_bytes()).unwrap().audit(subject).remove(0);
    assert_eq!((sized.verdict, sized.found), (Verdict::Met, size_text.clone()));
    assert_eq!(
        judge(&luks, "kdfs = [\"argon2id\", \"argon2i\", \"pbkdf2\"]", None).found.matches("keyslot").count(),
        2
    );
}

#[test]
fn of_nothing_nothing_is_found() {
    let mut luks = luks2();
    edit::token_remove(&mut luks, 0, &mut OsRandom).unwrap();
    let finding = judge(&luks, "allowed-tokens = []", None);
    assert_eq!((finding.verdict, finding.found.as_str()), (Verdict::Met, "none"));
}

#[test]
fn every_demand_on_luks1_is_judged() {
    let luks = luks1();
    table(
        &luks,
        &[
            ("formats", r#"["luks1"]"#, r#"["luks2"]"#, "luks1"),
            ("min-key-bits", "256", "257", "256"),
            ("sector-sizes", "[512]", "[4096]", "512"),
            ("max-keyslots", "1", "0", "1"),
            ("kdfs", r#"["pbkdf2"]"#, r#"["argon2id"]"#, "keyslot 0: pbkdf2 (1500 iterations)"),
            ("min-pbkdf2-iterations", "1500", "1501", "keyslot 0: pbkdf2 (1500 iterations)"),
        ],
    );
    for nothing in
        ["allowed-flags = []", "allowed-tokens = []", "min-argon2-memory = 1", "linear-segments = false"]
    {
        assert_eq!(judge(&luks, nothing, None).verdict, Verdict::Met, "{nothing}");
    }
    for lacking in ["label = \"\"", "subsystem = \"\"", "sealed = true"] {
        assert_eq!(judge(&luks, lacking, None).verdict, Verdict::Violated, "{lacking}");
    }
    let uuid = luks.uuid().to_owned();
    assert_eq!(judge(&luks, &format!("uuid = \"{uuid}\""), None).verdict, Verdict::Met);
}

/// A linear segment has no cipher, mode or sector size that could meet a demand.
#[test]
fn a_segment_in_the_clear_meets_no_demand_on_encryption() {
    let luks = luks2();
    let Header::Luks2 { binary, metadata } = luks.header() else { panic!() };
    let json = String::from_utf8(metadata.to_json()).unwrap();
    let linear = json.replace(r#""size":"dynamic","#, r#""size":"512","#).replace(
        r#""segments":{"0":"#,
        r#""segments":{"1":{"type":"linear","offset":"2101248","size":"dynamic"},"0":"#,
    );
    let metadata = keyway_format::luks2::Metadata::parse(linear.as_bytes(), binary.size).unwrap();
    let header = Header::Luks2 { binary: binary.clone(), metadata };
    let subject = Subject { header: &header, data_len: Some(LEN as u64), volume_key: None };
    for (policy, found) in [
        ("ciphers = [\"aes\"]", "not encrypted (linear)"),
        ("modes = [\"xts\"]", "not encrypted (linear)"),
        ("linear-segments = false", "not encrypted (linear)"),
        ("sector-sizes = [512]", "not encrypted"),
    ] {
        let finding = Policy::parse(policy.as_bytes()).unwrap().audit(subject).remove(0);
        assert_eq!((finding.verdict, finding.found.as_str()), (Verdict::Violated, found), "{policy}");
    }
    let size = (512 + LEN - 2_101_248).to_string();
    let sized = Policy::parse(format!("size = {size}").as_bytes()).unwrap().audit(subject).remove(0);
    assert_eq!((sized.verdict, sized.found), (Verdict::Met, size));
}

#[test]
fn a_seal_is_met_only_with_the_key() {
    let mut luks = luks2();
    let key = key();
    for demand in ["sealed = true", "seal-context = \"c\""] {
        assert_eq!(judge(&luks, demand, Some(&key)).found, "it is not sealed");
        assert_eq!(judge(&luks, demand, None).verdict, Verdict::Violated);
    }
    seal::seal(&mut luks, &key, LEN as u64, None, &mut OsRandom).unwrap();
    assert_eq!(judge(&luks, "seal-context = \"c\"", None).verdict, Verdict::Violated);
    seal::seal(&mut luks, &key, LEN as u64, Some("c"), &mut OsRandom).unwrap();
    for demand in ["sealed = true", "seal-context = \"c\""] {
        let finding = judge(&luks, demand, None);
        assert_eq!(finding.verdict, Verdict::NeedsKey);
        assert!(!finding.forbids(false) && finding.forbids(true));
        assert_eq!(judge(&luks, demand, Some(&key)).verdict, Verdict::Met);
    }
    assert_eq!(judge(&luks, "seal-context = \"d\"", Some(&key)).verdict, Verdict::Violated);
    assert_eq!(judge(&luks, "allowed-tokens = [\"mine\"]", None).verdict, Verdict::Met);
    edit::set_label(&mut luks, Some("other"), None, None, &mut OsRandom).unwrap();
    let finding = judge(&luks, "sealed = true", None);
    assert_eq!(finding.found, "it does not match its seal: header.label is \"other\", sealed as \"root\"");
    assert!(finding.forbids(false));
}

/// For example, a passphrase that is only tested, or a mapping whose key is restored.
#[test]
fn where_no_data_is_touched_its_size_does_not_matter() {
    let luks = luks2();
    let subject = Subject { header: luks.header(), data_len: None, volume_key: None };
    let finding = Policy::parse(b"size = 1").unwrap().audit(subject).remove(0);
    assert_eq!((finding.found.as_str(), finding.verdict), ("not checked", Verdict::Met));
}

/// The keyslots only state the key's length.
#[test]
fn the_key_itself_decides_its_length() {
    let luks = luks2();
    let short = Secret::copy_from(&[1; 16]);
    let finding = judge(&luks, "min-key-bits = 256", Some(&short));
    assert_eq!((finding.found.as_str(), finding.verdict), ("128", Verdict::Violated));
    let mut empty = luks2();
    edit::erase(&mut empty, &mut OsRandom).unwrap();
    assert_eq!(judge(&empty, "min-key-bits = 256", None).verdict, Verdict::NeedsKey);
    assert_eq!(judge(&empty, "min-key-bits = 256", Some(&key())).verdict, Verdict::Met);
}

#[test]
fn a_policy_that_cannot_be_meant_is_refused_with_its_line() {
    for (text, line, why) in [
        ("", 1, "it demands nothing"),
        ("# sealed = true\n", 1, "it demands nothing"),
        ("\nsealed = false", 2, "sealed: only true is allowed; omit it otherwise"),
        ("linear-segments = true", 1, "linear-segments: only false is allowed; omit it otherwise"),
        ("sealed = 1", 1, "sealed: true is needed"),
        ("uuid = 7", 1, "uuid: a string in quotes is needed"),
        ("\n\nmin-key-bits = \"x\"", 3, "min-key-bits: a whole number is needed"),
        ("min-key-bits = -1", 1, "min-key-bits: a whole number is needed"),
        ("min-size = \"1 GiB\"", 1, "min-size: a number of bytes is needed, or a string such as \"64MiB\""),
        ("size = \"99999999TiB\"", 1, "size: a number of bytes is needed, or a string such as \"64MiB\""),
        ("size = \"MiB\"", 1, "size: a number of bytes is needed, or a string such as \"64MiB\""),
        ("ciphers = []", 1, "ciphers: no volume can meet an empty list"),
        ("ciphers = \"aes\"", 1, "ciphers: a list of strings is needed, such as [\"aes\"]"),
        ("ciphers = [1]", 1, "ciphers: a list of strings is needed, such as [\"aes\"]"),
        ("sector-sizes = [\"a\"]", 1, "sector-sizes: a list of numbers is needed, such as [512, 4096]"),
        ("sector-sizes = []", 1, "sector-sizes: no volume can meet an empty list"),
        ("kdfs = [\"scrypt\"]", 1, "kdfs: \"scrypt\" is none of argon2id, argon2i, pbkdf2"),
        ("formats = [\"luks3\"]", 1, "formats: \"luks3\" is none of luks1, luks2"),
    ] {
        let error = Policy::parse(text.as_bytes()).unwrap_err();
        assert_eq!((error.line, error.why.as_str()), (line, why), "{text}");
    }
    let unknown = Policy::parse(b"sealed = true\nmin-keybits = 512\n").unwrap_err();
    assert!(
        unknown.to_string().starts_with("2: min-keybits: no such demand; known are formats, ciphers"),
        "{unknown}"
    );
    assert!(Policy::parse(b"[kdf]\nx = 1").unwrap_err().why.starts_with("kdf: no such demand"));
    assert!(Policy::parse(b"allowed-flags = [\"discards\"]").unwrap_err().why.contains("allow-discards"));
    assert_eq!(Policy::parse(b"sealed = true\nsealed = true").unwrap_err().line, 2);
    assert_eq!(Policy::parse(b"sealed = true\n\n = ").unwrap_err().line, 3);
    assert_eq!(Policy::parse(b"a = 1\n\n\xff").unwrap_err(), Unreadable { line: 3, why: "not UTF-8".into() });
    let long = [b"sealed = true\n#".as_slice(), &vec![b'x'; MAX_LEN]].concat();
    assert_eq!(Policy::parse(&long).unwrap_err().why, "longer than 64 KiB");
    let fits = &long[..MAX_LEN];
    assert!(Policy::parse(fits).is_ok());
}

/// The table for people lists the demands that the parser knows, and the findings are in the order
/// of the lines.
#[test]
fn every_demand_in_the_table_is_known() {
    for (name, _) in DEMANDS {
        let error = Policy::parse(format!("{name} = 1979-05-27").as_bytes()).unwrap_err();
        assert!(!error.why.contains("no such demand"), "{name}");
    }
    let text = "uuid = \"x\"\nsealed = true\nciphers = [\"aes\"]\nsize = \"1KiB\"\nmin-size = \"2MiB\"\nmax-size = \"3TiB\"\nseal-context = \"secret\"\nsector-sizes = [512, 0x1000]\nmin-argon2-memory = \"5GiB\"";
    let policy = Policy::parse(text.as_bytes()).unwrap();
    let luks = luks2();
    let found = policy.audit(Subject { header: luks.header(), data_len: Some(0), volume_key: None });
    let said: Vec<_> = found.iter().map(|f| (f.line, f.rule, f.wanted.as_str())).collect();
    assert_eq!(
        said,
        [
            (1, "uuid", "x"),
            (2, "sealed", "true"),
            (3, "ciphers", "[aes]"),
            (4, "size", "1024"),
            (5, "min-size", "2097152"),
            (6, "max-size", "3298534883328"),
            (7, "seal-context", "(not shown)"),
            (8, "sector-sizes", "[512, 4096]"),
            (9, "min-argon2-memory", "5368709120"),
        ]
    );
}
