//! What parses, to what, and which rule refuses the rest.

use super::*;

fn canonical(text: &str) -> String {
    CipherSpec::recognise(text).unwrap_or_else(|error| panic!("{text}: {error}")).to_string()
}

fn refusal(text: &str) -> String {
    CipherSpec::parse(text).expect_err(text).to_string()
}

#[test]
fn implemented_specifications() {
    for text in [
        "aes-xts-plain64",
        "aes-xts-plain",
        "aes-xts-plain64be",
        "aes-xts-null",
        "aes-xts-benbi",
        "aes-xts-essiv:sha256",
        "aes-cbc-plain",
        "aes-cbc-plain64",
        "aes-cbc-null",
        "aes-cbc-essiv:sha256",
        "aes-cbc-essiv:sha3-256",
        "aes-cbc-essiv:blake2s-256",
        "aes-ecb",
    ] {
        assert_eq!(CipherSpec::parse(text).unwrap().to_string(), text);
    }
}

#[test]
fn short_forms_and_parts() {
    assert_eq!(canonical("aes"), "aes-cbc-plain");
    assert_eq!(canonical("aes-plain"), "aes-cbc-plain");
    assert_eq!(canonical("aes:1-xts-plain64"), "aes-xts-plain64");
    // dm-crypt drops the IV of a mode that takes none.
    assert_eq!(canonical("aes-ecb-plain64"), "aes-ecb");
    let spec = CipherSpec::from_parts("aes", "cbc-essiv:sha256").unwrap();
    assert_eq!(spec.cipher_name(), "aes");
    assert_eq!(spec.mode_name(), "cbc-essiv:sha256");
    assert_eq!(CipherSpec::from_parts("aes", "ecb").unwrap().mode_name(), "ecb");
    assert_eq!(spec.block_len(), 16);
    assert_eq!(CipherSpec::recognise("blowfish-cbc-plain").unwrap().block_len(), 8);
}

#[test]
fn existing_combinations_are_named_as_not_built() {
    for (text, missing) in [
        ("serpent-xts-plain64", "serpent"),
        ("twofish-cbc-essiv:sha256", "twofish"),
        ("blowfish-cbc-essiv:sha256", "blowfish"),
        ("cast5-cbc-plain64", "cast5"),
        ("cast6-lrw-benbi", "cast6"),
        ("aes-lrw-benbi", "lrw"),
        ("aes-ctr-plain64", "ctr"),
        ("aes-pcbc-plain", "pcbc"),
        ("aes-hctr2-plain64", "hctr2"),
        ("xchacha12,aes-adiantum-plain64", "adiantum"),
        ("aes-cbc-tcw", "tcw"),
        ("aes-cbc-eboiv", "eboiv"),
        ("aes-cbc-elephant", "elephant"),
        ("aes-xts-random", "random"),
        ("aes-cbc-essiv:md5", "md5"),
        ("aes-cbc-essiv:wp256", "wp256"),
        ("cipher_null-ecb", "cipher_null"),
        ("des3_ede-cbc-plain", "des3_ede"),
    ] {
        assert_eq!(canonical(text), text);
        assert_eq!(refusal(text), format!("{text} exists, but this build does not implement {missing} yet"));
    }
    assert_eq!(
        refusal("aes:64-cbc-lmk"),
        "aes:64-cbc-lmk exists, but this build does not implement 64 keys a volume yet"
    );
    assert!(matches!(CipherSpec::parse("capi:xts(aes)-plain64"), Err(Error::Unsupported(_))));
}

#[test]
fn impossible_combinations_name_their_rule() {
    for (text, rule) in [
        ("blowfish-xts-plain64", "xts needs a cipher with 128-bit blocks, blowfish's are 64 bits"),
        ("cast5-lrw-benbi", "lrw needs a cipher with 128-bit blocks, cast5's are 64 bits"),
        ("xtea-hctr2-plain64", "hctr2 needs a cipher with 128-bit blocks, xtea's are 64 bits"),
        ("xchacha12,seed-adiantum-plain64", "adiantum needs a cipher with 256-bit keys, seed has none"),
        (
            "aes-adiantum-plain64",
            "aes-adiantum-plain64: adiantum is made of two ciphers: xchacha12,aes or xchacha20,aes",
        ),
        (
            "xchacha20,aes-xts-plain64",
            "xchacha20,aes-xts-plain64: only adiantum takes two ciphers, xts takes one",
        ),
        ("aes-xts", "aes-xts needs an IV, for example aes-xts-plain64"),
        ("aes-cbc", "aes-cbc needs an IV, for example aes-cbc-plain64"),
        ("aes-cbc-essiv", "aes-cbc-essiv: essiv needs a hash, for example essiv:sha256"),
        ("aes-cbc-essiv:", "aes-cbc-essiv:: essiv needs a hash, for example essiv:sha256"),
        (
            "aes-cbc-essiv:sha1",
            "aes-cbc-essiv:sha1: essiv uses the digest as a key, sha1's has 160 bits, aes takes 128, 192 or 256 bits",
        ),
        (
            "aes-cbc-essiv:sha512",
            "aes-cbc-essiv:sha512: essiv uses the digest as a key, sha512's has 512 bits, aes takes 128, 192 or 256 bits",
        ),
        (
            "aes-cbc-plain64:sha256",
            "aes-cbc-plain64:sha256: plain64 takes no parameter (\":sha256\"); only essiv does",
        ),
        ("aes-xts-lmk", "aes-xts-lmk: the IV lmk is made for cbc, not for xts"),
        ("serpent-cbc-eboiv", "serpent-cbc-eboiv: the IV eboiv is BitLocker's and exists for aes only"),
        (
            "aes-hctr2-essiv:sha256",
            "aes-hctr2-essiv:sha256: essiv makes IVs of one block, hctr2 takes 256-bit IVs",
        ),
        ("cipher_null-xts-plain64", "cipher_null encrypts nothing: only cipher_null-ecb exists"),
        ("aes:3-cbc-plain", "aes:3-cbc-plain: the number of keys after \"aes:\" must be a power of two"),
        (
            "arc4",
            "arc4: arc4 is a stream cipher and gives every sector the same key stream; sectors need a block cipher",
        ),
    ] {
        assert_eq!(CipherSpec::parse(text), Err(Error::Impossible(rule.into())), "{text}");
    }
    assert!(refusal("arc4-ecb").contains("arc4 is a stream cipher"));
}

#[test]
fn unknown_names() {
    assert_eq!(refusal("rot13-xts-plain64"), "unknown cipher \"rot13\"");
    assert_eq!(refusal("aes-xtz-plain64"), "unknown cipher mode \"xtz\"");
    assert_eq!(refusal("aes-xts-plain63"), "unknown IV \"plain63\"");
    assert_eq!(refusal("aes-cbc-essiv:sha257"), "unknown hash \"sha257\"");
    assert_eq!(refusal("xchacha8,aes-adiantum-plain64"), "unknown Adiantum stream cipher \"xchacha8\"");
    assert_eq!(refusal(""), "unknown cipher \"\"");
    assert_eq!(refusal("AES-xts-plain64"), "unknown cipher \"AES\"");
    assert_eq!(refusal("aes-"), "unknown cipher mode \"\"");
    assert_eq!(refusal("aes-xts-"), "aes-xts- needs an IV, for example aes-xts-plain64");
}

#[test]
fn key_sizes() {
    let bits = |text: &str| CipherSpec::recognise(text).unwrap().key_bits();
    assert_eq!(bits("aes-xts-plain64"), [256, 384, 512]);
    assert_eq!(bits("aes-cbc-plain"), [128, 192, 256]);
    assert_eq!(bits("aes-lrw-benbi"), [256, 320, 384]);
    assert_eq!(bits("xchacha20,aes-adiantum-plain64"), [256]);
    assert_eq!(bits("aes-hctr2-plain64"), [128, 192, 256]);
    assert_eq!(bits("aes-cbc-elephant"), [256, 384, 512]);
    assert_eq!(bits("aes-cbc-tcw"), [384, 448, 512]);
    assert_eq!(bits("des3_ede-cbc-plain"), [192]);
    assert_eq!(bits("blowfish-cbc-plain").len(), 53);
    let refused =
        |text: &str, bits| CipherSpec::recognise(text).unwrap().check_key_bits(bits).unwrap_err().to_string();
    assert_eq!(
        refused("aes-xts-plain64", 128),
        "aes-xts-plain64 takes a key of 256, 384 or 512 bits (two keys: one for the data, one for the tweak), not 128 bits"
    );
    assert_eq!(
        refused("aes-cbc-plain", 512),
        "aes-cbc-plain takes a key of 128, 192 or 256 bits, not 512 bits"
    );
    assert_eq!(
        refused("blowfish-cbc-plain", 24),
        "blowfish-cbc-plain takes a key of 32 to 448 bits in steps of 8, not 24 bits"
    );
    assert_eq!(refused("des-cbc-plain", 56), "des-cbc-plain takes a key of 64 bits, not 56 bits");
    assert_eq!(CipherSpec::parse("aes-xts-plain64").unwrap().check_key_bits(512), Ok(()));
}
