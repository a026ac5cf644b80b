//! The configuration: sizes, flags, requirements; a volume in re-encryption.

use super::*;

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
                "config.keyslots_size: the keyslots area would end at 16781312, after the data at 16777216",
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
    let detached = include_bytes!("../golden/detached.json");
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
    let neither = "segments.0: is mapped as neither before nor after the reencryption";
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
