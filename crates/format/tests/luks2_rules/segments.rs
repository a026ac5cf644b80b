//! Segments, digests and tokens.

use super::*;

#[test]
fn segments() {
    check(
        KEYSLOTS,
        &[
            ("segments", "{}", "digests.0.segments: \"0\" is not in segments"),
            ("segments.0.type", "", "segments.0.type: is missing"),
            ("segments.0.type", "\"linear\"", "accepted"),
            ("segments.0.type", "\"zero-of-the-future\"", "accepted"),
            ("segments.0.offset", "16777216", "segments.0.offset: is of type number, not a string"),
            ("segments.0.offset", "\"16777217\"", "segments.0.offset: 16777217 is not a multiple of 512"),
            ("segments.0.offset", "\"0x1000\"", "segments.0.offset: \"0x1000\" is not a number of 64 bits"),
            ("segments.0.size", "\"Dynamic\"", "segments.0.size: \"Dynamic\" is not a number of 64 bits"),
            ("segments.0.size", "\"0\"", "segments.0.size: 0 is not a positive multiple of 512"),
            ("segments.0.size", "\"1000\"", "segments.0.size: 1000 is not a positive multiple of 512"),
            ("segments.0.size", "\"512\"", "segments.0.size: 512 is not a multiple of the sector size 4096"),
            ("segments.0.size", "\"8192\"", "accepted"),
            ("segments.0.size", "\"18446744073709547520\"", "accepted"),
            ("segments.0.iv_tweak", "0", "segments.0.iv_tweak: is of type number, not a string"),
            ("segments.0.iv_tweak", "", "segments.0.iv_tweak: is missing"),
            ("segments.0.encryption", "", "segments.0.encryption: is missing"),
            ("segments.0.sector_size", "0", "segments.0.sector_size: 0 is not 512, 1024, 2048 or 4096"),
            ("segments.0.sector_size", "520", "segments.0.sector_size: 520 is not 512, 1024, 2048 or 4096"),
            ("segments.0.sector_size", "8192", "segments.0.sector_size: 8192 is not 512, 1024, 2048 or 4096"),
            ("segments.0.integrity", "\"aead\"", "segments.0.integrity: is of type string, not an object"),
            (
                "segments.0.integrity",
                "{\"type\":\"aead\"}",
                "segments.0.integrity.journal_encryption: is missing",
            ),
            (
                "segments.0.integrity",
                r#"{"type":"aead","journal_encryption":"none","journal_integrity":"none"}"#,
                "accepted",
            ),
            ("segments.0.flags", "\"x\"", "segments.0.flags: is of type string, not an array"),
            ("segments.0.flags", "[1]", "segments.0.flags: holds something that is not a string"),
            ("segments.0.flags", "[\"x\",\"backup\"]", "accepted"),
            ("segments.0.flags", "[\"backup-final\"]", "segments.0: is a backup: no segment is mapped"),
            ("digests.0.segments", "[]", "segments.0: no digest verifies its key"),
        ],
    );
}

#[test]
fn locking_ranges_of_drives() {
    let opal = |fields: &str| format!(r#"{{"type":"hw-opal","offset":"16777216",{fields}}}"#);
    let range = r#""opal_segment_number":1,"opal_key_size":32,"opal_segment_size":"1048576""#;
    let with = |segment: &str| refusal(edited(KEYSLOTS, "segments.0", segment).as_bytes());
    assert_eq!(with(&opal(&format!(r#""size":"1048576",{range}"#))), "accepted");
    for (fields, message) in [
        (format!(r#""size":"dynamic",{range}"#), "size: a locking range has no dynamic size"),
        (
            format!(r#""size":"1049088",{range}"#),
            "opal_segment_size: 1048576 bytes do not hold the segment's 1049088",
        ),
        (r#""size":"512""#.to_owned(), "opal_segment_number: is missing"),
        (r#""size":"512","opal_segment_number":1"#.to_owned(), "opal_key_size: is missing"),
    ] {
        assert_eq!(with(&opal(&fields)), format!("segments.0.{message}"));
    }
    // With dm-crypt above it, a crypt segment's rules hold as well.
    let both = opal(&format!(r#""size":"1048576",{range}"#)).replace("hw-opal", "hw-opal-crypt");
    assert_eq!(with(&both), "segments.0.sector_size: is missing");
    let json = edited(KEYSLOTS, "segments.0", &opal(&format!(r#""size":"1048576",{range}"#)));
    let metadata = |json: &str| Metadata::parse(json.as_bytes(), HeaderSize::ALL[0]).unwrap();
    assert!(metadata(&json).is_opal());
    assert!(metadata(&edited(KEYSLOTS, "config.requirements", r#"{"mandatory":["opal"]}"#)).is_opal());
    assert!(!metadata(&edited(KEYSLOTS, "config.requirements", r#"{"mandatory":["x"]}"#)).is_opal());
}

#[test]
fn several_segments() {
    let linear =
        |offset: u64, size: &str| format!(r#"{{"type":"linear","offset":"{offset}","size":"{size}"}}"#);
    let mib = |n: u64| n << 20;
    let with = |segments: &str| refusal(edited(KEYSLOTS, "segments", segments).as_bytes());
    let none = edited(KEYSLOTS, "segments", "{}");
    assert_eq!(refusal(edited(none.as_bytes(), "digests.0.segments", "[]").as_bytes()), "segments: is empty");
    let two = |first: &str, second: &str| with(&format!(r#"{{"0":{first},"1":{second}}}"#));
    let (first, dynamic) = (linear(mib(16), "1048576"), linear(mib(17), "dynamic"));
    assert_eq!(two(&first, &dynamic), "accepted");
    assert_eq!(two(&dynamic, &first), "segments.0.size: only the last segment may be dynamic");
    assert_eq!(two(&first, &linear(mib(17) - 512, "dynamic")), "segments.1: overlaps segments.0");
    assert_eq!(two(&first, &linear(mib(16), "512")), "segments.1: overlaps segments.0");
    // A volume in reencryption may run backwards over the device.
    assert_eq!(two(&linear(mib(17), "512"), &linear(mib(16), "1048576")), "accepted");
    assert_eq!(
        with(&format!(r#"{{"0":{first},"2":{dynamic}}}"#)),
        "segments.1: is missing, though a higher number exists"
    );
    check(
        REENCRYPT,
        &[
            ("segments.1.flags", "[]", "segments.0.size: only the last segment may be dynamic"),
            ("segments.2.flags", "[]", "segments.2: follows a backup segment"),
            (
                "segments.3",
                "{\"type\":\"x\",\"offset\":\"0\",\"size\":\"dynamic\",\"flags\":[\"backup-y\"]}",
                "accepted",
            ),
        ],
    );
    // Where backups start does not bound the keyslots area.
    check(REENCRYPT, &[("segments.1.offset", "\"512\"", "accepted")]);
}

#[test]
fn digests() {
    check(
        KEYSLOTS,
        &[
            ("digests.0.type", "", "digests.0.type: is missing"),
            ("digests.0.type", "\"new\"", "accepted"),
            ("digests.0.keyslots", "", "digests.0.keyslots: is missing"),
            ("digests.0.keyslots", "[0]", "digests.0.keyslots: holds something that is not a string"),
            (
                "digests.0.keyslots",
                "[\"0\",\"3\",\"1\",\"9\"]",
                "digests.0.keyslots: \"9\" is not in keyslots",
            ),
            ("digests.0.keyslots", "[\"00\"]", "digests.0.keyslots: \"00\" is not in keyslots"),
            ("digests.0.keyslots", "[\"0\",\"3\"]", "keyslots.1: has 0 digests, not one"),
            ("digests.1.keyslots", "[\"2\",\"1\"]", "keyslots.1: has 2 digests, not one"),
            ("digests.0.segments", "{}", "digests.0.segments: is of type object, not an array"),
            ("digests.0.segments", "[\"0\",\"1\"]", "digests.0.segments: \"1\" is not in segments"),
            ("digests.0.hash", "", "digests.0.hash: is missing"),
            ("digests.0.hash", "\"sha512\"", "digests.0.digest: 32 bytes is not the length of sha512"),
            ("digests.0.hash", "\"of-the-future\"", "accepted"),
            ("digests.0.iterations", "0", "digests.0.iterations: is zero"),
            ("digests.0.salt", "\"AAAA\"", "digests.0.salt: 3 bytes, not 32"),
            ("digests.0.digest", "\"!\"", "digests.0.digest: is not base64"),
            ("digests.0.digest", "\"AAAA\"", "digests.0.digest: 3 bytes is not the length of sha256"),
            ("digests.0.digest", "\"AAAAAAAAAAAAAAAAAAAAAAAAAAA=\"", "accepted"),
            (
                "digests.0.digest",
                "\"AAAAAAAAAAAAAAAAAAAAAA==\"",
                "digests.0.digest: 16 bytes is not the length of sha256",
            ),
        ],
    );
}

#[test]
fn tokens() {
    check(
        KEYSLOTS,
        &[
            ("tokens.1.type", "", "tokens.1.type: is missing"),
            ("tokens.1.keyslots", "", "tokens.1.keyslots: is missing"),
            ("tokens.1.keyslots", "[\"4\"]", "tokens.1.keyslots: \"4\" is not in keyslots"),
            ("tokens.1.keyslots", "[null]", "tokens.1.keyslots: holds something that is not a string"),
            ("tokens.1.keyslots", "[]", "accepted"),
            ("tokens.31", "{\"type\":\"x\",\"keyslots\":[],\"\":{}}", "accepted"),
            ("tokens.1.type", "\"\"", "tokens.1.type: is empty"),
            ("tokens.1.type", "\"luks2-keyring\\u0000\"", "tokens.1.type: contains a NUL byte"),
        ],
    );
}
