//! What must not depend on secrets, and what is known to.

use crate::memcheck::{hide, publish, secret};
use keyway_crypto::kdf::{Argon2Cost, Argon2Variant, Stop, argon2_on, pbkdf2_on};
use keyway_crypto::{CipherSpec, Cpu, Hash, Secret, SectorCipher, SectorSize};

/// One piece of code with secrets in it.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) run: fn(Cpu),
}

/// No branch and no address in these depends on the key, the passphrase or the plaintext.
pub(crate) const CLEAN: &[Case] = &[
    Case { name: "aes-xts-plain64, 256 bits", run: |cpu| sectors("aes-xts-plain64", 32, cpu) },
    Case { name: "aes-xts-plain64, 512 bits", run: |cpu| sectors("aes-xts-plain64", 64, cpu) },
    Case { name: "aes-cbc-plain64, 192 bits", run: |cpu| sectors("aes-cbc-plain64", 24, cpu) },
    Case { name: "aes-cbc-essiv:sha256", run: |cpu| sectors("aes-cbc-essiv:sha256", 32, cpu) },
    Case { name: "aes-ecb", run: |cpu| sectors("aes-ecb", 32, cpu) },
    Case { name: "aes-ctr-plain64", run: |cpu| sectors("aes-ctr-plain64", 32, cpu) },
    Case { name: "aes-lrw-benbi", run: |cpu| sectors("aes-lrw-benbi", 48, cpu) },
    Case { name: "aes-hctr2-plain64", run: |cpu| sectors("aes-hctr2-plain64", 32, cpu) },
    Case {
        name: "xchacha12,aes-adiantum-plain64",
        run: |cpu| sectors("xchacha12,aes-adiantum-plain64", 32, cpu),
    },
    Case {
        name: "xchacha20,aes-adiantum-plain64",
        run: |cpu| sectors("xchacha20,aes-adiantum-plain64", 32, cpu),
    },
    Case { name: "camellia-xts-plain64, vectors", run: |cpu| vector_code("camellia-xts-plain64", 64, cpu) },
    Case { name: "serpent-xts-plain64", run: |cpu| sectors("serpent-xts-plain64", 64, cpu) },
    Case { name: "PBKDF2-SHA1", run: |cpu| passphrase(Hash::Sha1, cpu) },
    Case { name: "PBKDF2-SHA256", run: |cpu| passphrase(Hash::Sha256, cpu) },
    Case { name: "PBKDF2-SHA512", run: |cpu| passphrase(Hash::Sha512, cpu) },
    Case { name: "PBKDF2-SHA3-256", run: |cpu| passphrase(Hash::Sha3_256, cpu) },
    Case { name: "PBKDF2-RIPEMD160", run: |cpu| passphrase(Hash::Ripemd160, cpu) },
    Case { name: "PBKDF2-BLAKE2b", run: |cpu| passphrase(Hash::Blake2b512, cpu) },
    // All of Argon2i is what the first half of Argon2id's first pass
    // is: addresses from public counters alone.
    Case { name: "Argon2i, as Argon2id's first half", run: |cpu| argon(Argon2Variant::Argon2i, cpu) },
    Case { name: "comparison of secrets", run: comparison },
    Case { name: "anti-forensic merge", run: stripes },
];

/// Tables that secrets index, or addresses made of them: memcheck must see that.
pub(crate) const CONTROLS: &[Case] = &[
    Case { name: "blowfish-cbc-plain64 (tables)", run: |cpu| sectors("blowfish-cbc-plain64", 32, cpu) },
    Case { name: "Argon2id, addresses of the second half", run: |cpu| argon(Argon2Variant::Argon2id, cpu) },
];

/// A cipher whose portable code and key set-up look secrets up in tables, and say so: the vector
/// code, where there is some, under a key that is no secret.
fn vector_code(spec: &str, key_len: usize, cpu: Cpu) {
    let key = &[0x5a; 64][..key_len];
    let cipher = keyed(spec, key, cpu);
    if cipher.code() != keyed(spec, key, Cpu::portable()).code() {
        there_and_back(&cipher);
    }
}

/// Three sectors of 512 bytes there and back.
fn sectors(spec: &str, key_len: usize, cpu: Cpu) {
    there_and_back(&keyed(spec, &secret::<64>()[..key_len], cpu));
}

fn there_and_back(cipher: &SectorCipher) {
    let mut data = secret::<1536>();
    cipher.encrypt(7, &mut data);
    cipher.decrypt(7, &mut data);
    publish(&mut data);
    assert!(data.iter().enumerate().all(|(index, byte)| *byte == (index * 37 + 11) as u8));
}

fn keyed(spec: &str, key: &[u8], cpu: Cpu) -> SectorCipher {
    let spec = CipherSpec::parse(spec).expect("a known cipher");
    SectorCipher::new(&spec, &Secret::copy_from(key), SectorSize::S512, cpu).expect("a fitting key")
}

fn passphrase(hash: Hash, cpu: Cpu) {
    let passphrase = secret::<20>();
    let mut key = [0; 64];
    pbkdf2_on(cpu, hash, &passphrase, b"a public salt", 3, &mut key, &Stop::new()).expect("a key");
    publish(&mut key);
    assert_ne!(key, [0; 64]);
}

fn argon(variant: Argon2Variant, cpu: Cpu) {
    let passphrase = secret::<20>();
    let mut key = [0; 32];
    let cost = Argon2Cost { time: 1, memory_kib: 32, lanes: 1 };
    argon2_on(cpu, variant, cost, &passphrase, b"a public salt", &mut key, 1, &Stop::new()).expect("a key");
    publish(&mut key);
    assert_ne!(key, [0; 32]);
}

/// Whether two secrets are equal is public, where they differ is not.
fn comparison(_: Cpu) {
    let key = secret::<32>();
    let held = Secret::copy_from(&key);
    let mut other = key;
    other[31] ^= 1;
    hide(&mut other);
    let mut answers = [u8::from(held.ct_eq(&key)), u8::from(held.ct_eq(&other))];
    publish(&mut answers);
    assert_eq!(answers, [1, 0]);
}

fn stripes(_: Cpu) {
    let material = secret::<{ 32 * 8 }>();
    let merged = keyway_format::af::merge(&material, 32, 8, Hash::Sha256).expect("eight stripes");
    assert_eq!(merged.len(), 32);
}
