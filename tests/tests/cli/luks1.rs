//! What only LUKS2 has, asked of a LUKS1 volume: the message says which of both it is.

use keyway_tests::peers::CHEAP_PBKDF2;
use keyway_tests::{Scratch, keyway};

const NOT_LUKS2: &str = "Device volume is not a valid LUKS2 device.\nIts header is LUKS1, which convert --type luks2 makes LUKS2.\n";
const NO_TOKENS: &str = "No usable token is available.\nThe header is LUKS1, which has no tokens.\n";

#[test]
fn messages_about_a_luks1_volume_speak_of_luks1() {
    let scratch = Scratch::new();
    scratch.sized("volume", 3 << 20);
    scratch.file("key", "secret");
    scratch.file("token", "{\"type\":\"x\",\"keyslots\":[]}");
    keyway("luksFormat -q --type luks1 volume key").args(CHEAP_PBKDF2).directory(scratch.root()).ok();
    let before = std::fs::read(scratch.path("volume")).unwrap();
    for (line, said) in [
        ("token add --key-description x volume", NOT_LUKS2),
        ("token import --json-file token volume", NOT_LUKS2),
        ("token export --token-id 0 volume", NOT_LUKS2),
        ("token remove --token-id 0 volume", NOT_LUKS2),
        ("token unassign --token-id 0 -S 0 volume", NOT_LUKS2),
        ("config --label x volume", NOT_LUKS2),
        ("config --priority prefer -S 0 volume", NOT_LUKS2),
        ("luksConvertKey volume -d key", NOT_LUKS2),
        ("luksAddKey --unbound --key-size 256 volume key", NOT_LUKS2),
        ("luksAddKey --type luks2 volume -d key key", NOT_LUKS2),
        ("luksAddKey --new-token-id 0 volume -d key", NO_TOKENS),
        ("luksAddKey --token-id 0 volume key", NO_TOKENS),
        ("open --test-passphrase --token-only volume", NO_TOKENS),
        (
            "luksAddKey volume -d key key --pbkdf argon2id",
            "LUKS1 supports only PBKDF2, not argon2id: omit --pbkdf, or convert the volume first (convert --type \
             luks2).\n",
        ),
    ] {
        let outcome = keyway(line).directory(scratch.root()).outcome();
        assert_eq!((outcome.code, outcome.errors().as_str()), (Some(1), said), "{outcome}");
    }
    assert!(std::fs::read(scratch.path("volume")).unwrap() == before);
    keyway("convert -q --type luks2 volume").directory(scratch.root()).ok();
    let outcome = keyway("luksAddKey --type luks1 volume -d key key").directory(scratch.root()).outcome();
    let said = "Device volume is not a valid LUKS1 device.\nIts header is LUKS2.\n";
    assert_eq!((outcome.code, outcome.errors().as_str()), (Some(1), said), "{outcome}");
}
