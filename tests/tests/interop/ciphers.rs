//! Volumes under unusual ciphers: created, filled, read back and described by Keyway; opened and
//! described by cryptsetup where its OpenSSL can decrypt the keyslot (`./dev test vm` has the
//! kernel read the data).

use keyway_tests::peers::{CHEAP_LUKS2_PBKDF2, CHEAP_PBKDF2};
use keyway_tests::{Scratch, assert_same_bytes, assert_same_lines, cryptsetup, keyway, need, random};

/// The data's cipher, the key size (0: the default), and the keyslot's default encryption.
const LUKS2: &[(&str, u32, &str)] = &[
    ("serpent-xts-plain64", 0, "serpent-xts-plain64"),
    ("twofish-cbc-essiv:sha256", 0, "twofish-cbc-essiv:sha256"),
    ("blowfish-cbc-plain64", 128, "blowfish-cbc-plain64"),
    ("des3_ede-cbc-plain", 0, "des3_ede-cbc-plain"),
    ("cast5-ctr-plain64be", 0, "aes-xts-plain64"),
    ("anubis-lrw-benbi", 256, "anubis-lrw-benbi"),
    ("xchacha12,aes-adiantum-plain64", 0, "xchacha12,aes-adiantum-plain64"),
    ("aes-pcbc-eboiv", 0, "aes-pcbc-eboiv"),
    ("arc4-ecb", 128, "aes-xts-plain64"),
    ("kuznyechik-xts-plain64", 0, "aes-xts-plain64"),
    ("aes-cbc-tcw", 0, "aes-xts-plain64"),
    ("aes-cbc-elephant", 0, "aes-xts-plain64"),
    ("aes:2-cbc-plain64", 512, "aes-xts-plain64"),
    ("capi:xts(serpent)-plain64", 512, "aes-xts-plain64"),
    ("capi:essiv(cbc(aes),sha256)-plain64", 256, "aes-xts-plain64"),
];

#[test]
fn luks2_with_unusual_ciphers() {
    need!("cryptsetup");
    for (cipher, bits, keyslot) in LUKS2 {
        let scratch = Scratch::new();
        let volume = scratch.sized("volume", 18 << 20);
        let weak = word(cipher);
        let format = keyway("luksFormat -q --type luks2").args(CHEAP_LUKS2_PBKDF2).arg("-c").arg(cipher);
        let size = if *bits == 0 { String::new() } else { format!("-s {bits}") };
        format.args(&size).args(weak).arg(&volume).stdin("secret").ok();
        there_and_back(&volume, cipher);
        let dump = cryptsetup("luksDump").arg(&volume).ok().text();
        assert!(dump.contains(&format!("\tcipher: {cipher}\n")), "{dump}");
        assert!(dump.contains(&format!("\tCipher:     {keyslot}\n")), "{dump}");
        assert_same_lines("cryptsetup", &dump, "keyway", &keyway("luksDump").arg(&volume).ok().text());
        if *keyslot == "aes-xts-plain64" {
            cryptsetup("open --test-passphrase").arg(&volume).stdin("secret").ok();
        }
        keyway("luksAddKey").args(CHEAP_LUKS2_PBKDF2).args(weak).arg(&volume).stdin("secret\nother\n").ok();
        keyway("open --test-passphrase -S 1").args(weak).arg(&volume).stdin("other").ok();
    }
}

#[test]
fn luks1_with_unusual_ciphers() {
    need!("cryptsetup");
    for (cipher, bits) in [
        ("serpent-cbc-essiv:sha256", 256),
        ("blowfish-cbc-plain", 448),
        ("twofish-lrw-benbi", 384),
        ("xtea-cbc-plain", 128),
        ("xchacha20,aes-adiantum-plain64", 256),
    ] {
        let scratch = Scratch::new();
        let volume = scratch.sized("volume", 4 << 20);
        let format = keyway("luksFormat -q --type luks1").args(CHEAP_PBKDF2).arg("-c").arg(cipher);
        format.args(&format!("-s {bits}")).arg(&volume).stdin("secret").ok();
        there_and_back(&volume, cipher);
        let dump = cryptsetup("luksDump").arg(&volume).ok().text();
        assert_same_lines("cryptsetup", &dump, "keyway", &keyway("luksDump").arg(&volume).ok().text());
    }
}

/// The option needed for ciphers that protect little.
fn word(cipher: &str) -> &'static str {
    if cipher.starts_with("arc4") || cipher.contains("-ctr-") { "--allow-weak-cipher" } else { "" }
}

/// Random data through `write` and `read`.
fn there_and_back(volume: &std::path::Path, cipher: &str) {
    let data = random(7, 96 << 10);
    let input = volume.with_file_name("data");
    std::fs::write(&input, &data).unwrap();
    let key = volume.with_file_name("key");
    std::fs::write(&key, "secret").unwrap();
    let weak = word(cipher);
    keyway("write").args(weak).arg(volume).arg("-d").arg(&key).arg(&input).ok();
    let read = keyway("read --length 98304").args(weak).arg(volume).arg("-d").arg(&key).ok();
    assert_same_bytes("written", &data, cipher, &read.stdout);
    let raw = std::fs::read(volume).unwrap();
    assert!(!raw.windows(32).any(|window| window == &data[..32]), "{cipher} leaves the data readable");
}

#[test]
fn a_sector_size_that_the_iv_cannot_take_is_refused() {
    let scratch = Scratch::new();
    let volume = scratch.sized("volume", 18 << 20);
    let refused = keyway("luksFormat -q --sector-size 4096 -c aes-cbc-tcw -s 512").args(CHEAP_LUKS2_PBKDF2);
    refused
        .arg(&volume)
        .stdin("secret")
        .fails(1)
        .says("the IV tcw is defined for sectors of 512 bytes, not 4096");
}

/// cryptsetup accepts MD5, whose digest is shorter than any other's.
#[test]
fn luks2_with_md5_opens() {
    need!("cryptsetup");
    let scratch = Scratch::new();
    let volume = scratch.sized("volume", 18 << 20);
    let format = cryptsetup("luksFormat -q --type luks2 -h md5").args(CHEAP_LUKS2_PBKDF2);
    format.arg(&volume).arg("-").stdin("secret").ok();
    keyway("open --test-passphrase").arg(&volume).stdin("secret").ok();
    keyway("open --test-passphrase").arg(&volume).stdin("wrong").fails(2);
}
