//! Every rule of LUKS2 metadata: a document of cryptsetup's, one thing in it changed, and the message that names it.

use keyway_format::json;
use keyway_format::luks2::{HeaderSize, Metadata};

/// Keyslots 0 (preferred), 1, 2 (unbound), 3 (ignored); digests 0 and 1; tokens 0 and 1; one crypt segment.
const KEYSLOTS: &[u8] = include_bytes!("golden/keyslots.json");
/// Segments 1 and 2 are backups; keyslot 5 is of type reencrypt.
const REENCRYPT: &[u8] = include_bytes!("golden/reencrypt.json");

/// The member at `path` replaced by `new` (added when missing), or removed when `new` is empty.
fn edited(document: &[u8], path: &str, new: &str) -> String {
    let mut root = json::parse(document).unwrap();
    let (parents, last) = path.rsplit_once('.').unwrap_or(("", path));
    let mut parent = &mut root;
    for name in parents.split('.').filter(|name| !name.is_empty()) {
        parent = parent.as_object_mut().unwrap().get_mut(name).unwrap_or_else(|| panic!("{path}: no {name}"));
    }
    let parent = parent.as_object_mut().unwrap();
    match new {
        "" => drop(parent.remove(last).expect(path)),
        new => parent.set(last, json::parse(new.as_bytes()).unwrap()),
    }
    root.to_compact()
}

fn refusal(json: &[u8]) -> String {
    match Metadata::parse(json, HeaderSize::ALL[0]) {
        Ok(metadata) => {
            assert_eq!(metadata.to_json(), json, "what is accepted is kept to the byte");
            "accepted".into()
        }
        Err(error) => error.to_string(),
    }
}

fn check(document: &[u8], cases: &[(&str, &str, &str)]) {
    for (path, new, message) in cases {
        assert_eq!(refusal(edited(document, path, new).as_bytes()), *message, "{path} = {new}");
    }
}

#[test]
fn sections() {
    check(
        KEYSLOTS,
        &[
            ("keyslots", "", "keyslots: is missing"),
            ("tokens", "", "tokens: is missing"),
            ("segments", "", "segments: is missing"),
            ("digests", "", "digests: is missing"),
            ("config", "", "config: is missing"),
            ("config", "[]", "config: is of type array, not an object"),
            ("keyslots", "\"x\"", "keyslots: is of type string, not an object"),
            ("unknown", "{\"kept\":[1.50]}", "accepted"),
        ],
    );
    assert_eq!(refusal(b"[]"), "JSON: is not an object");
    assert_eq!(refusal(b"{"), "JSON: text ends too early at byte 1");
    assert_eq!(
        refusal(br#"{"keyslots":{},"keyslots":{}}"#),
        r#"JSON: member "keyslots" occurs twice at byte 15"#
    );
    let long = format!("{{\"pad\":\"{}\"}}", "x".repeat(12288 - 10));
    assert_eq!(refusal(long.as_bytes()), "JSON area is full: needs 12289 bytes, has 12288");
}

#[test]
fn numbers_of_objects() {
    let slot = "{}";
    check(
        KEYSLOTS,
        &[
            ("keyslots.x", slot, "keyslots.x: is not numbered 0 to 31"),
            ("keyslots.32", slot, "keyslots.32: is not numbered 0 to 31"),
            ("keyslots.01", slot, "keyslots.01: is not numbered 0 to 31"),
            ("keyslots.+1", slot, "keyslots.+1: is not numbered 0 to 31"),
            ("keyslots.-1", slot, "keyslots.-1: is not numbered 0 to 31"),
            ("tokens.4294967296", slot, "tokens.4294967296: is not numbered 0 to 31"),
            ("digests.00", slot, "digests.00: is not numbered 0 to 31"),
            ("segments.one", slot, "segments.one: is not numbered 0 to 31"),
            ("keyslots.7", "[]", "keyslots.7: is of type array, not an object"),
        ],
    );
}

#[test]
fn keyslots() {
    check(
        KEYSLOTS,
        &[
            ("keyslots.0.type", "", "keyslots.0.type: is missing"),
            ("keyslots.0.type", "2", "keyslots.0.type: is of type number, not a string"),
            ("keyslots.0.type", "\"new\"", "accepted"),
            ("keyslots.0.key_size", "", "keyslots.0.key_size: is missing"),
            ("keyslots.0.key_size", "\"64\"", "keyslots.0.key_size: is of type string, not a number"),
            ("keyslots.0.key_size", "-1", "keyslots.0.key_size: -1 is not a whole number of 32 bits"),
            ("keyslots.0.key_size", "64.0", "keyslots.0.key_size: 64.0 is not a whole number of 32 bits"),
            (
                "keyslots.0.key_size",
                "4294967296",
                "keyslots.0.key_size: 4294967296 is not a whole number of 32 bits",
            ),
            ("keyslots.0.key_size", "0", "keyslots.0.key_size: is zero"),
            ("keyslots.0.priority", "3", "keyslots.0.priority: 3 is not 0, 1 or 2"),
            ("keyslots.0.priority", "null", "keyslots.0.priority: is of type null, not a number"),
            ("keyslots.0.kdf", "", "keyslots.0.kdf: is missing"),
            ("keyslots.0.kdf.type", "", "keyslots.0.kdf.type: is missing"),
            ("keyslots.0.kdf.type", "\"scrypt\"", "accepted"),
            ("keyslots.0.kdf.hash", "", "keyslots.0.kdf.hash: is missing"),
            ("keyslots.0.kdf.hash", "\"\"", "keyslots.0.kdf.hash: is empty"),
            (
                "keyslots.0.kdf.hash",
                "\"sha 1\"",
                "keyslots.0.kdf.hash: is not a name of printable characters",
            ),
            ("keyslots.0.kdf.iterations", "0", "keyslots.0.kdf.iterations: is zero"),
            ("keyslots.0.kdf.iterations", "", "keyslots.0.kdf.iterations: is missing"),
            ("keyslots.0.kdf.iterations", "4294967295", "accepted"),
            ("keyslots.1.kdf.time", "0", "keyslots.1.kdf.time: is zero"),
            ("keyslots.1.kdf.memory", "0", "keyslots.1.kdf.memory: is zero"),
            ("keyslots.1.kdf.cpus", "0", "keyslots.1.kdf.cpus: is zero"),
            ("keyslots.3.kdf.cpus", "", "keyslots.3.kdf.cpus: is missing"),
            ("keyslots.0.kdf.salt", "", "keyslots.0.kdf.salt: is missing"),
            ("keyslots.3.kdf.salt", "\"AAA\"", "keyslots.3.kdf.salt: is not base64"),
            ("keyslots.3.kdf.salt", "\"AAAA\"", "keyslots.3.kdf.salt: 3 bytes, not 32"),
            ("keyslots.0.kdf.more", "1", "accepted"),
            ("keyslots.0.af", "", "keyslots.0.af: is missing"),
            ("keyslots.0.af.type", "\"luks2\"", "keyslots.0.af.type: \"luks2\" is not \"luks1\""),
            ("keyslots.0.af.stripes", "3999", "keyslots.0.af.stripes: 3999 is not 4000"),
            ("keyslots.0.af.hash", "", "keyslots.0.af.hash: is missing"),
        ],
    );
}

#[test]
fn keyslots_with_an_unknown_kdf_keep_the_other_rules() {
    let document = edited(KEYSLOTS, "keyslots.0.kdf.type", "\"scrypt\"");
    check(
        document.as_bytes(),
        &[
            ("keyslots.0.kdf.more", "1", "accepted"),
            ("keyslots.0.area.encryption", "", "keyslots.0.area.encryption: is missing"),
            ("digests.0.keyslots", "[\"3\",\"1\"]", "keyslots.0: has 0 digests, not one"),
        ],
    );
}

#[test]
fn areas() {
    check(
        KEYSLOTS,
        &[
            ("keyslots.0.area", "", "keyslots.0.area: is missing"),
            ("keyslots.0.area.type", "", "keyslots.0.area.type: is missing"),
            ("keyslots.0.area.type", "\"none\"", "keyslots.0.area.type: \"none\" is not \"raw\""),
            ("keyslots.0.area.offset", "32768", "keyslots.0.area.offset: is of type number, not a string"),
            ("keyslots.0.area.offset", "\"\"", "keyslots.0.area.offset: is empty"),
            (
                "keyslots.0.area.offset",
                "\"+32768\"",
                "keyslots.0.area.offset: \"+32768\" is not a number of 64 bits",
            ),
            (
                "keyslots.0.area.offset",
                "\" 32768\"",
                "keyslots.0.area.offset: \" 32768\" is not a number of 64 bits",
            ),
            (
                "keyslots.0.area.offset",
                "\"18446744073709551616\"",
                "keyslots.0.area.offset: \"18446744073709551616\" is not a number of 64 bits",
            ),
            (
                "keyslots.0.area.offset",
                "\"32256\"",
                "keyslots.0.area: bytes 32256 to 290304 are not within 32768 to 16777216",
            ),
            (
                "keyslots.3.area.offset",
                "\"16519680\"",
                "keyslots.3.area: bytes 16519680 to 16777728 are not within 32768 to 16777216",
            ),
            ("keyslots.3.area.offset", "\"16519168\"", "accepted"),
            (
                "keyslots.0.area.offset",
                "\"18446744073709551615\"",
                "keyslots.0.area.size: ends beyond 64 bits",
            ),
            ("keyslots.1.area.offset", "\"286720\"", "keyslots.1.area: overlaps keyslots.0.area"),
            ("keyslots.0.area.size", "\"262144\"", "keyslots.1.area: overlaps keyslots.0.area"),
            ("keyslots.0.area.size", "\"0\"", "keyslots.0.area.size: is zero"),
            (
                "keyslots.0.area.size",
                "\"255999\"",
                "keyslots.0.area.size: 255999 bytes, but a key of 64 bytes takes 256000",
            ),
            ("keyslots.0.area.size", "\"256000\"", "accepted"),
            ("keyslots.0.area.encryption", "", "keyslots.0.area.encryption: is missing"),
            ("keyslots.0.area.key_size", "0", "keyslots.0.area.key_size: is zero"),
        ],
    );
    check(
        REENCRYPT,
        &[
            ("keyslots.5.area.offset", "\"1195520\"", "keyslots.5.area: overlaps keyslots.4.area"),
            ("keyslots.5.area.type", "\"journal\"", "accepted"),
        ],
    );
}

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
            ("segments.0.size", "\"18446744073709547520\"", "segments.0.size: ends beyond 64 bits"),
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
fn several_segments() {
    let linear =
        |offset: u64, size: &str| format!(r#"{{"type":"linear","offset":"{offset}","size":"{size}"}}"#);
    let mib = |n: u64| n << 20;
    let with = |segments: &str| refusal(edited(KEYSLOTS, "segments", segments).as_bytes());
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
        "segments.1: is missing, though a higher number is there"
    );
    check(
        REENCRYPT,
        &[
            ("segments.1.flags", "[]", "segments.0.size: only the last segment may be dynamic"),
            ("segments.2.flags", "[]", "segments.2: stands behind a backup segment"),
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

#[test]
fn config() {
    let size = "bytes is not a multiple of 4096 up to 128 MiB";
    check(
        KEYSLOTS,
        &[
            ("config.json_size", "", "config.json_size: is missing"),
            ("config.json_size", "12288", "config.json_size: is of type number, not a string"),
            (
                "config.json_size",
                "\"16384\"",
                "config.json_size: 16384 bytes, but the binary header leaves 12288",
            ),
            ("config.keyslots_size", "\"4097\"", &format!("config.keyslots_size: 4097 {size}")),
            ("config.keyslots_size", "\"134221824\"", &format!("config.keyslots_size: 134221824 {size}")),
            (
                "config.keyslots_size",
                "\"16748544\"",
                "config.keyslots_size: the keyslots area would end at 16781312, behind the data at 16777216",
            ),
            ("config.keyslots_size", "\"937984\"", "accepted"),
            (
                "config.keyslots_size",
                "\"901120\"",
                "keyslots.3.area: bytes 679936 to 937984 are not within 32768 to 933888",
            ),
            ("config.flags", "\"allow-discards\"", "config.flags: is of type string, not an array"),
            ("config.flags", "[true]", "config.flags: holds something that is not a string"),
            ("config.flags", "[\"of-the-future\"]", "accepted"),
            ("config.requirements", "[]", "config.requirements: is of type array, not an object"),
            (
                "config.requirements",
                "{\"mandatory\":\"x\"}",
                "config.requirements.mandatory: is of type string, not an array",
            ),
            (
                "config.requirements",
                "{\"mandatory\":[7]}",
                "config.requirements.mandatory: holds something that is not a string",
            ),
            ("config.requirements", "{\"optional\":7}", "accepted"),
            ("config.unknown", "[[]]", "accepted"),
        ],
    );
    let detached = include_bytes!("golden/detached.json");
    check(detached, &[("config.keyslots_size", "\"134217728\"", "accepted")]);
}

#[test]
fn requirements_are_reported_by_name() {
    let json = edited(KEYSLOTS, "config.requirements", r#"{"mandatory":["opal","of-the-future"]}"#);
    let metadata = Metadata::parse(json.as_bytes(), HeaderSize::ALL[0]).unwrap();
    assert_eq!(metadata.unmet_requirements(), ["opal", "of-the-future"]);
}

#[test]
fn reencryption() {
    let linear = r#"{"type":"linear","offset":"16777216","size":"dynamic","flags":["backup-final"]}"#;
    let neither = "segments.0: is mapped neither as before the reencryption nor as after it";
    check(
        REENCRYPT,
        &[
            (
                "config.requirements.mandatory",
                "[\"online-reencrypt-v2\",\"online-reencrypt\"]",
                "config.requirements.mandatory: 2 versions of online reencryption",
            ),
            (
                "config.requirements.mandatory",
                "[\"online-reencrypt-v2\",\"online-reencrypt-vx\"]",
                "accepted",
            ),
            (
                "segments.1.flags",
                "[\"backup-x\"]",
                "segments: online reencryption without a backup-previous segment",
            ),
            (
                "segments.2.flags",
                "[\"backup-x\"]",
                "segments: online reencryption without a backup-final segment",
            ),
            ("segments.0.sector_size", "512", neither),
            ("segments.0.encryption", "\"aes-cbc-plain\"", neither),
            ("segments.0.type", "\"linear\"", neither),
            ("segments.1.sector_size", "512", "accepted"),
            ("segments.2", linear, "accepted"),
        ],
    );
    let begun = edited(REENCRYPT, "segments.0.flags", "[\"in-reencryption\"]");
    check(
        begun.as_bytes(),
        &[("segments.2", linear, neither), ("segments.1.sector_size", "512", "accepted")],
    );
    check(
        REENCRYPT,
        &[
            ("keyslots.5.type", "\"x\"", "keyslots: online reencryption without a keyslot of type reencrypt"),
            (
                "config.requirements",
                "",
                "keyslots.5: is of type reencrypt, but no requirement says that reencryption is under way",
            ),
        ],
    );
    let ended = edited(REENCRYPT, "config.requirements", "");
    check(ended.as_bytes(), &[("keyslots.5.type", "\"x\"", "accepted")]);
}
