//! Which specifications parse, to what value, and which rule refuses the rest.

use super::table::{ESSIV_HASHES, IVS};
use super::*;
use crate::block::table::CIPHERS;

fn canonical(text: &str) -> String {
    CipherSpec::parse(text).unwrap_or_else(|error| panic!("{text}: {error}")).to_string()
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
        "blowfish-cbc-essiv:sha256",
        "cast6-xts-plain64",
        "cipher_null-ecb",
        "des3_ede-cbc-plain",
    ] {
        assert_eq!(CipherSpec::parse(text).unwrap().to_string(), text);
    }
}

#[test]
fn short_forms_and_parts() {
    assert_eq!(canonical("aes"), "aes-cbc-plain");
    assert_eq!(canonical("aes-plain"), "aes-cbc-plain");
    assert_eq!(canonical("aes:1-xts-plain64"), "aes-xts-plain64");
    assert_eq!(canonical("cipher_null"), "cipher_null-ecb");
    assert_eq!(canonical("null"), "cipher_null-ecb");
    // dm-crypt drops the IV of a mode that takes none, whatever its name, and ignores all
    // parameters except essiv's.
    assert_eq!(canonical("aes-ecb-plain64"), "aes-ecb");
    assert_eq!(canonical("aes-ecb-nonsense"), "aes-ecb");
    assert_eq!(canonical("aes-cbc-plain64:sha256"), "aes-cbc-plain64");
    let spec = CipherSpec::parse("aes-cbc-essiv:sha256").unwrap();
    assert_eq!(spec.cipher_name(), "aes");
    assert_eq!(spec.mode_name(), "cbc-essiv:sha256");
    assert_eq!(CipherSpec::parse("aes-ecb").unwrap().mode_name(), "ecb");
    assert_eq!(spec.block_len(), 16);
    assert_eq!(CipherSpec::parse("blowfish-cbc-plain").unwrap().block_len(), 8);
}

#[test]
fn combinations_that_exist() {
    for text in [
        "serpent-xts-plain64",
        "twofish-cbc-essiv:sha256",
        "blowfish-cbc-essiv:sha256",
        "cast5-cbc-plain64",
        "cast6-lrw-benbi",
        "cast6-cbc-essiv:sha1",
        "anubis-cbc-essiv:rmd160",
        "aes-lrw-benbi",
        "aes-ctr-plain64",
        "aes-ctr-essiv:sha256",
        "aes-pcbc-plain",
        "aes-hctr2-plain64",
        "xchacha12,aes-adiantum-plain64",
        "xchacha20,serpent-adiantum-null",
        "aes-cbc-tcw",
        "aes-xts-tcw",
        "blowfish-cbc-tcw",
        "aes-cbc-eboiv",
        "serpent-xts-eboiv",
        "aes-cbc-elephant",
        "aes-xts-elephant",
        "aes-cbc-lmk",
        "aes:64-cbc-lmk",
        "aes:2-xts-plain64",
        "twofish:16-cbc-essiv:sha256",
        "aes-cbc-essiv:md5",
        "aes-cbc-essiv:wp256",
        "arc4-ecb",
        "cipher_null-ecb",
        "des3_ede-cbc-plain",
    ] {
        assert_eq!(canonical(text), text);
    }
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
            "aes-xts-lmk",
            "aes-xts-lmk: the IV lmk depends on the data and can be removed again only in cbc, not in xts",
        ),
        (
            "aes-ctr-eboiv",
            "aes-ctr-eboiv: the IV eboiv is an encrypted block, and ctr makes a key stream instead of \
            encrypting blocks",
        ),
        (
            "xchacha12,aes-adiantum-tcw",
            "xchacha12,aes-adiantum-tcw: the IV tcw is at most one block of 128 bits, adiantum takes 256 bits",
        ),
        ("aes-ecb-essiv:sha256", "aes-ecb-essiv:sha256: essiv encrypts the IV, and ecb takes none"),
        (
            "des-cbc-elephant",
            "des-cbc-elephant: elephant's sector keys are AES's and as long as all other keys: 128, 192 or 256 bits",
        ),
        (
            "aes-xts-random",
            "aes-xts-random: random IVs must be stored beside each sector and need integrity tags for that",
        ),
        (
            "aes-gcm-random",
            "aes-gcm-random: gcm authenticates, and its tags need space beside each sector (integrity)",
        ),
        (
            "aegis128-random",
            "aegis128-random: aegis128 authenticates, and its tags need space beside each sector (integrity)",
        ),
        (
            "xts(aes)-plain64",
            "xts(aes)-plain64: names with parentheses are for specifications that start with capi:",
        ),
        ("aes:131072-cbc-lmk", "aes:131072-cbc-lmk: 131072 keys are too many, at most 65536 are allowed"),
        (
            "aes-hctr2-essiv:sha256",
            "aes-hctr2-essiv:sha256: essiv makes IVs of one block, hctr2 takes 256-bit IVs",
        ),
        ("cipher_null-xts-plain64", "cipher_null encrypts nothing: only cipher_null-ecb makes sense"),
        ("aes:3-cbc-plain", "aes:3-cbc-plain: the number of keys after \"aes:\" must be a power of two"),
        ("arc4", "arc4 is a stream cipher and has no blocks for cbc to chain: only arc4-ecb exists"),
        (
            "salsa20-ecb",
            "salsa20-ecb: salsa20 is a stream cipher and has no blocks to chain; sectors need a block cipher",
        ),
    ] {
        assert_eq!(CipherSpec::parse(text), Err(Error::Impossible(rule.into())), "{text}");
    }
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
    let bits = |text: &str| CipherSpec::parse(text).unwrap().key_bits();
    assert_eq!(bits("aes-xts-plain64"), [256, 384, 512]);
    assert_eq!(bits("aes-cbc-plain"), [128, 192, 256]);
    assert_eq!(bits("aes-lrw-benbi"), [256, 320, 384]);
    assert_eq!(bits("xchacha20,aes-adiantum-plain64"), [256]);
    assert_eq!(bits("aes-hctr2-plain64"), [128, 192, 256]);
    assert_eq!(bits("aes-cbc-elephant"), [256, 384, 512]);
    assert_eq!(bits("aes-cbc-tcw"), [384, 448, 512]);
    assert_eq!(bits("aes-xts-elephant"), [512]);
    assert_eq!(bits("aes-xts-tcw"), [512, 640, 768]);
    assert_eq!(bits("blowfish-cbc-elephant"), [256, 384, 512]);
    assert_eq!(bits("aes-cbc-lmk"), [128, 192, 256]);
    assert_eq!(bits("aes:64-cbc-lmk"), [64 * 128, 65 * 128, 64 * 192, 65 * 192, 64 * 256, 65 * 256]);
    assert_eq!(bits("des:64-cbc-lmk"), [64 * 64]);
    assert_eq!(bits("aes:2-xts-plain64"), [512, 768, 1024]);
    assert_eq!(bits("arc4-ecb").len(), 256);
    assert_eq!(bits("cipher_null-ecb"), [0]);
    assert_eq!(bits("des3_ede-cbc-plain"), [192]);
    assert_eq!(bits("blowfish-cbc-plain").len(), 53);
    let refused =
        |text: &str, bits| CipherSpec::parse(text).unwrap().check_key_bits(bits).unwrap_err().to_string();
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

#[test]
fn volume_keys_are_divided() {
    let layout = |text: &str, len| {
        let layout = CipherSpec::parse(text).unwrap().key_layout(len)?;
        Some((layout.keys, layout.each, layout.extra))
    };
    assert_eq!(layout("aes-xts-plain64", 64), Some((1, 64, 0)));
    assert_eq!(layout("aes:64-cbc-lmk", 64 * 32), Some((64, 32, 0)));
    assert_eq!(layout("aes:64-cbc-lmk", 65 * 16), Some((64, 16, 16)));
    assert_eq!(layout("aes:64-cbc-lmk", 65 * 16 + 1), None);
    assert_eq!(layout("aes-cbc-tcw", 64), Some((1, 32, 32)));
    assert_eq!(layout("blowfish-cbc-tcw", 40), Some((1, 16, 24)));
    assert_eq!(layout("aes-cbc-elephant", 32), Some((1, 16, 16)));
    assert_eq!(layout("cipher_null-ecb", 0), Some((1, 0, 0)));
    assert_eq!(layout("cipher_null-ecb", 16), Some((1, 0, 16)), "the header's, which is not used");
    // 2 keys and a seed would be 3 × 16 bytes: dm-crypt takes them as two keys of 24.
    assert_eq!(layout("aes:2-cbc-lmk", 48), Some((2, 24, 0)));
}

#[test]
fn sector_sizes() {
    let sizes = |text: &str| -> Vec<usize> {
        CipherSpec::parse(text).unwrap().sector_sizes().map(SectorSize::bytes).collect()
    };
    assert_eq!(sizes("aes-xts-plain64"), [512, 1024, 2048, 4096]);
    assert_eq!(sizes("aes-cbc-elephant"), [512, 1024, 2048, 4096]);
    assert_eq!(sizes("aes:64-cbc-lmk"), [512]);
    assert_eq!(
        CipherSpec::parse("aes-cbc-tcw")
            .unwrap()
            .check_sector_size(SectorSize::S4096)
            .unwrap_err()
            .to_string(),
        "aes-cbc-tcw: the IV tcw is defined for sectors of 512 bytes, not 4096"
    );
}

#[test]
fn capi_specifications_mean_what_they_say_and_stay_as_they_are() {
    for (capi, classic) in [
        ("capi:xts(aes)-plain64", "aes-xts-plain64"),
        ("capi:xts(ecb-aes-aesni)-plain64", "aes-xts-plain64"),
        ("capi:cbc(aes)-essiv:sha256", "aes-cbc-essiv:sha256"),
        ("capi:cbc(aes)-essiv:sha3-256", "aes-cbc-essiv:sha3-256"),
        ("capi:essiv(cbc(aes),sha256)-plain64", "aes-cbc-essiv:sha256"),
        ("capi:essiv(cbc(aes),sha3-256)-plain64", "aes-cbc-essiv:sha3-256"),
        ("capi:essiv(cbc-aes-aesni,sha256-avx2)-plain64", "aes-cbc-essiv:sha256"),
        ("capi:adiantum(xchacha12,aes)-plain64", "xchacha12,aes-adiantum-plain64"),
        ("capi:cbc(aes-generic)-plain64", "aes-cbc-plain64"),
        ("capi:cbc(ecb(aes-generic))-plain64", "aes-cbc-plain64"),
        ("capi:xts(ecb(aes-generic))-plain64", "aes-xts-plain64"),
        ("capi:xctr(aes)-null", "aes-xctr-null"),
        ("capi:adiantum(xchacha20-simd,aes-aesni,nhpoly1305-avx2)-plain64", "xchacha20,aes-adiantum-plain64"),
        ("capi:hctr2_base(xctr(aes-generic),polyval-generic)-plain64", "aes-hctr2-plain64"),
        ("capi:hctr2(aes)-plain64", "aes-hctr2-plain64"),
        ("capi:cbc(aes)-lmk", "aes:64-cbc-lmk"),
        ("capi:ecb(aes)", "aes-ecb"),
        ("capi:ecb(arc4)", "arc4-ecb"),
        ("capi:arc4-generic-null", "arc4-ecb"),
        ("capi:xts-aes-aesni-plain64", "aes-xts-plain64"),
        ("capi:xts-aes-vaes-avx10_512-plain64", "aes-xts-plain64"),
        ("capi:ctr-camellia-aesni-avx2-plain64be", "camellia-ctr-plain64be"),
    ] {
        let (capi_spec, spec) = (CipherSpec::parse(capi).expect(capi), CipherSpec::parse(classic).unwrap());
        assert_eq!(capi_spec.to_string(), capi);
        assert_eq!(CipherSpec { capi: None, ..capi_spec.clone() }, spec, "{capi}");
        let (name, mode) = (capi_spec.cipher_name(), capi_spec.mode_name());
        assert_eq!(if mode.is_empty() { name } else { format!("{name}-{mode}") }, capi);
    }
}

#[test]
fn capi_refusals() {
    let long = format!("capi:xts({})-plain64", "a".repeat(130));
    let mixed = |text: &str| {
        format!("{text}: the kernel finds an algorithm by its name or by its driver's; this mixes both")
    };
    for (text, refusal) in [
        ("capi:", "capi:: \"\" is not a name in the crypto API"),
        ("capi:xts(aes)", "capi:xts(aes) needs an IV, for example capi:xts(aes)-plain64"),
        ("capi:xts(aes", "capi:xts(aes: the parenthesis after xts must close at the end"),
        ("capi:xts(aes)x-plain64", "capi:xts(aes)x-plain64: the parenthesis after xts must close at the end"),
        (
            "capi:aes-plain64",
            "capi:aes-plain64: aes alone is a block cipher; sectors need a mode, as in xts(aes)",
        ),
        (
            "capi:xts(cbc(aes))-plain64",
            "capi:xts(cbc(aes))-plain64: a mode takes a cipher, and cbc(…) is not one",
        ),
        ("capi:xts(blowfish)-plain64", "xts needs a cipher with 128-bit blocks, blowfish's are 64 bits"),
        ("capi:xts(rot13)-plain64", "unknown cipher \"rot13\""),
        ("capi:foo(aes)-plain64", "unknown algorithm of the kernel's crypto API \"foo\""),
        ("capi:adiantum(chacha20,aes)-plain64", "unknown Adiantum stream cipher \"chacha20\""),
        ("capi:adiantum(aes)-plain64", "unknown algorithm of the kernel's crypto API \"adiantum\""),
        (
            "capi:gcm(aes)-random",
            "capi:gcm(aes)-random: gcm authenticates, and its tags need space beside each sector (integrity)",
        ),
        (
            "capi:authenc(hmac(sha256),xts(aes))-plain64",
            "capi:authenc(hmac(sha256),xts(aes))-plain64: authenc authenticates, and its tags need space beside \
             each sector (integrity)",
        ),
        (
            "capi:essiv(cbc(aes),sha256)-benbi",
            "capi:essiv(cbc(aes),sha256)-benbi exists, but this build encrypts plain64 IVs with essiv, not benbi",
        ),
        (
            "capi:cts(cbc(aes))-plain64",
            "capi:cts(cbc(aes))-plain64 exists, but this build does not implement cts",
        ),
        (
            "capi:xchacha20-plain64",
            "capi:xchacha20-plain64 exists, but this build does not implement xchacha20",
        ),
        ("capi:xts(ecb(aes))-plain64", &mixed("capi:xts(ecb(aes))-plain64")),
        ("capi:xts(aes-aesni)-plain64", &mixed("capi:xts(aes-aesni)-plain64")),
        (
            "capi:adiantum(xchacha12,aes,nhpoly1305)-plain64",
            &mixed("capi:adiantum(xchacha12,aes,nhpoly1305)-plain64"),
        ),
        ("capi:adiantum(xchacha12-simd,aes)-plain64", &mixed("capi:adiantum(xchacha12-simd,aes)-plain64")),
        ("capi:essiv(cbc(aes),sha256-avx2)-plain64", &mixed("capi:essiv(cbc(aes),sha256-avx2)-plain64")),
        ("capi:hctr2_base(xctr(aes),polyval)-plain64", &mixed("capi:hctr2_base(xctr(aes),polyval)-plain64")),
        (&long, &format!("{long}: the crypto API's names have at most 127 characters")),
    ] {
        assert_eq!(CipherSpec::parse(text).expect_err(text).to_string(), refusal);
    }
}

#[test]
fn the_space_is_whole_and_every_refusal_is_a_rule() {
    let all: Vec<Combination> = space().collect();
    assert_eq!(all.len(), CIPHERS.len() * (11 * (IVS.len() + 2 + ESSIV_HASHES.len()) + 2));
    for combination in &all {
        match &combination.outcome {
            Ok(existing) => {
                assert_eq!(existing.spec.to_string(), combination.text);
                assert!(
                    !existing.key_bits.is_empty() && !existing.sector_sizes.is_empty(),
                    "{}",
                    combination.text
                );
                assert!(existing.key_bits.is_sorted());
            }
            Err(error) => assert!(matches!(error, Error::Impossible(_)), "{}: {error}", combination.text),
        }
    }
    let exists = |text: &str| all.iter().any(|it| it.text == text && it.outcome.is_ok());
    assert!(exists("aes-xts-plain64") && exists("aes:64-cbc-lmk") && exists("xchacha20,aes-adiantum-plain"));
    assert!(
        exists("blowfish-cbc-essiv:sha256") && !exists("blowfish-xts-plain64") && !exists("aes-xts-random")
    );
}

#[test]
fn a_drivers_name_is_told_from_an_algorithms() {
    let names_driver = |text: &str| CipherSpec::parse(text).unwrap().names_driver();
    for driver in ["capi:xts(ecb(aes-generic))-plain64", "capi:cbc(serpent-generic)-essiv:sha256"] {
        assert!(names_driver(driver), "{driver}");
    }
    // Without parentheses cryptsetup sees a cipher, and leaves it to the kernel.
    for other in ["aes-xts-plain64", "capi:xts(aes)-plain64", "capi:xts-aes-aesni-plain64"] {
        assert!(!names_driver(other), "{other}");
    }
}
