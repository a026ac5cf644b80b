//! OpenSSL's ciphers, including those of its legacy provider, sector by sector: `openssl enc` and
//! Keyway's engine produce the same bytes from the same sectors.

use keyway_crypto::{CipherSpec, Cpu, Secret, SectorCipher, SectorSize};
use keyway_tests::{assert_same_bytes, need, peer, random};

/// Keyway's cipher, OpenSSL's name for it, and the key size in bytes that `openssl enc` gives it.
const CIPHERS: [(&str, &str, usize); 15] = [
    ("aes", "aes-128", 16),
    ("aes", "aes-192", 24),
    ("aes", "aes-256", 32),
    ("aria", "aria-128", 16),
    ("aria", "aria-192", 24),
    ("aria", "aria-256", 32),
    ("camellia", "camellia-128", 16),
    ("camellia", "camellia-192", 24),
    ("camellia", "camellia-256", 32),
    ("sm4", "sm4", 16),
    ("seed", "seed", 16),
    ("blowfish", "bf", 16),
    ("cast5", "cast5", 16),
    ("des", "des", 8),
    ("des3_ede", "des-ede3", 24),
];

/// Modes that all of them have in OpenSSL; those with 128-bit blocks except SEED also have ctr.
const MODES: [&str; 4] = ["ecb", "cbc", "cfb", "ofb"];

#[test]
fn block_ciphers_in_every_mode() {
    need!("openssl");
    for (seed, (cipher, theirs, key_len)) in (1..).zip(CIPHERS) {
        let key = random(seed, key_len);
        let counter =
            (cipher != "seed" && !["bf", "cast5", "des", "des-ede3"].contains(&theirs)).then_some("ctr");
        for mode in MODES.into_iter().chain(counter) {
            let spec =
                if mode == "ecb" { format!("{cipher}-ecb") } else { format!("{cipher}-{mode}-plain64") };
            let block_len = CipherSpec::parse(&spec).unwrap().block_len();
            compare(&spec, &format!("{theirs}-{mode}"), &key, |number| {
                let mut iv = number.to_le_bytes().to_vec();
                iv.resize(block_len, 0);
                if mode == "ecb" { Vec::new() } else { iv }
            });
        }
    }
}

#[test]
fn arc4_starts_anew_in_every_sector() {
    need!("openssl");
    compare("arc4-ecb", "rc4", &random(9, 16), |_| Vec::new());
}

/// Three sectors of each size, in both directions; `iv` gives OpenSSL's IV for a sector number.
fn compare(spec: &str, theirs: &str, key: &[u8], iv: impl Fn(u64) -> Vec<u8>) {
    for sector_size in [512, 4096] {
        let size = SectorSize::new(sector_size).unwrap();
        let cipher = SectorCipher::new(
            &CipherSpec::parse(spec).unwrap(),
            &Secret::copy_from(key),
            size,
            Cpu::detect(),
        );
        let cipher = cipher.unwrap();
        let plaintext = random(u64::from(sector_size), 3 * size.bytes());
        let first = 0x1_ffff_fff8;
        let mut ciphertext = plaintext.clone();
        cipher.encrypt(first, &mut ciphertext);
        let sectors = plaintext.chunks(size.bytes());
        let expected: Vec<u8> = (0..)
            .zip(sectors)
            .flat_map(|(index, sector)| enc(theirs, key, &iv(first + index * size.units()), sector))
            .collect();
        assert_same_bytes(theirs, &expected, spec, &ciphertext);
        cipher.decrypt(first, &mut ciphertext);
        assert_same_bytes("plaintext", &plaintext, spec, &ciphertext);
    }
}

/// A sector encrypted by OpenSSL.
fn enc(theirs: &str, key: &[u8], iv: &[u8], sector: &[u8]) -> Vec<u8> {
    let mut run = peer("openssl", "enc -e -nopad -provider legacy -provider default -K")
        .arg(hex(key))
        .arg(format!("-{theirs}"));
    if !iv.is_empty() {
        run = run.arg("-iv").arg(hex(iv));
    }
    run.stdin(sector).ok().stdout
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
