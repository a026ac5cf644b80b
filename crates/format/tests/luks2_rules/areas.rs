//! Keyslots and their areas.

use super::*;

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
