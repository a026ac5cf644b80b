//! Every field of a header, forged: it is refused by name, or what comes out is the owner's
//! data or nothing that anybody could have wanted.

use super::{Disk, block_number};
use keyway_volume::{Storage, Terms};

/// What becomes of a forged header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    /// It is not opened, and this is said.
    Refused(&'static str),
    /// The owner's data, all or the start of it.
    Same,
    /// Noise, under the owner's own key.
    Noise,
}
use Outcome::{Noise, Refused, Same};

#[test]
fn every_field_of_luks2_metadata() {
    for (number, (from, to, expected)) in LUKS2.iter().enumerate() {
        let disk = Disk::luks2();
        disk.forge(|json| {
            let json = json.replace(OFFSET, "@offset@");
            assert_eq!(json.matches(from).count().min(1), 1, "row {number}: no {from} in {json}");
            json.replacen(from, to, 1).replace("@offset@", OFFSET)
        });
        check(&disk, *expected, &format!("row {number}: {from} forged to {to}"));
    }
}

#[test]
fn every_field_of_a_luks1_header() {
    for (at, bytes, expected) in LUKS1 {
        let disk = Disk::luks1();
        disk.storage.write_at(bytes, *at).unwrap();
        check(&disk, *expected, &format!("byte {at} forged to {bytes:x?}"));
    }
}

/// Weak ciphers are taken on the user's word; what is forged in other ways is not.
#[test]
fn only_the_option_s_own_rules_are_lifted() {
    let all = Terms { weak_ciphers: true, linear_segments: true, ..Terms::default() };
    for (from, to, expected) in LUKS2 {
        let Refused(why) = expected else { continue };
        let disk = Disk::luks2();
        disk.forge(|json| json.replace(OFFSET, "@offset@").replacen(from, to, 1).replace("@offset@", OFFSET));
        let outcome = disk.open("owner", &all).map(|_| ()).map_err(|why| why.to_string());
        let lifted =
            why.contains("segment 0 uses") && !why.contains("another key") || why.contains("is linear");
        match outcome {
            Ok(()) => assert!(lifted, "{to} is opened"),
            // The cipher's own refusal of the key's length, and the
            // keyslot's of its area, come later.
            Err(said) => assert!(lifted || said.contains(why), "{to}: {said}"),
        }
    }
}

#[test]
fn linear_segments_are_read_on_the_user_s_word_alone() {
    let disk = Disk::luks2();
    disk.forge(|json| json.replacen("\"type\":\"crypt\"", "\"type\":\"linear\"", 1));
    let weak = Terms { weak_ciphers: true, ..Terms::default() };
    assert!(disk.open("owner", &weak).is_err());
    let opened = disk.open("owner", &Terms { linear_segments: true, ..Terms::default() }).unwrap();
    let mut first = [0; 512];
    disk.volume(&opened).unwrap().read_at(&mut first, 0).unwrap();
    assert_eq!(first[..], disk.storage.to_vec()[9 << 20..][..512]);
}

fn check(disk: &Disk, expected: Outcome, what: &str) {
    let volume = disk.open("owner", &Terms::default()).and_then(|opened| {
        assert!(opened.volume_key().ct_eq(disk.key.expose()), "{what}: opened under another key");
        disk.volume(&opened)
    });
    let outcome = match (&volume, expected) {
        (Err(why), Refused(rule)) => {
            assert!(why.to_string().contains(rule), "{what}: {why}");
            return;
        }
        (Err(why), _) => panic!("{what}: refused ({why}), not {expected:?}"),
        (Ok(volume), _) => {
            let mut found = vec![0; volume.len() as usize];
            volume.read_at(&mut found, 0).unwrap();
            let raw = disk.storage.to_vec();
            let first = found.first_chunk::<16>().unwrap();
            assert!(
                !raw.windows(16).any(|stored| stored == first),
                "{what}: the storage's bytes come through"
            );
            match disk.plaintext.starts_with(&found) {
                true => Same,
                false => {
                    let mut blocks = (0..).zip(found.chunks_exact(16));
                    let shown =
                        blocks.any(|(at, found)| block_number(found).is_some_and(|number| number != at));
                    assert!(!shown, "{what}: the owner's data at another place");
                    Noise
                }
            }
        }
    };
    assert_eq!(outcome, expected, "{what}");
}

/// Where the data starts, as the metadata has it.
const OFFSET: &str = "\"offset\":\"9437184\"";

/// What stands in the metadata, what the forger makes of it, and what comes of it.
#[rustfmt::skip]
const LUKS2: &[(&str, &str, Outcome)] = &[
    // Keyslots.
    ("\"type\":\"luks2\"", "\"type\":\"other\"", Refused("No usable keyslot")),
    ("\"key_size\":64,\"af\"", "\"key_size\":32,\"af\"", Refused("No key available")),
    ("\"type\":\"luks1\"", "\"type\":\"none\"", Refused("af.type")),
    ("\"stripes\":4000", "\"stripes\":1", Refused("af.stripes")),
    ("\"stripes\":4000", "\"stripes\":0", Refused("af.stripes")),
    ("4000,\"hash\":\"sha256\"", "4000,\"hash\":\"md5\"", Refused("No key available")),
    ("\"type\":\"raw\"", "\"type\":\"file\"", Refused("area.type")),
    ("\"offset\":\"32768\"", "\"offset\":\"294912\"", Refused("No key available")),
    ("\"offset\":\"32768\"", "\"offset\":\"0\"", Refused("keyslots.0.area")),
    ("\"size\":\"258048\"", "\"size\":\"512\"", Refused("area.size")),
    ("\"encryption\":\"aes-xts-plain64\",\"key_size\":64", "\"encryption\":\"cipher_null-ecb\",\"key_size\":1", Refused("cipher_null-ecb")),
    ("\"encryption\":\"aes-xts-plain64\",\"key_size\":64", "\"encryption\":\"arc4-ecb\",\"key_size\":1", Refused("keyslot 0 cannot be used: its area uses arc4-ecb")),
    ("\"encryption\":\"aes-xts-plain64\",\"key_size\":64", "\"encryption\":\"aes-ecb\",\"key_size\":32", Refused("keyslot 0 cannot be used: its area uses aes-ecb")),
    ("\"encryption\":\"aes-xts-plain64\",\"key_size\":64", "\"encryption\":\"aes-ctr-plain64\",\"key_size\":32", Refused("keyslot 0 cannot be used: its area uses aes-ctr")),
    ("\"encryption\":\"aes-xts-plain64\",\"key_size\":64", "\"encryption\":\"serpent-xts-plain64\",\"key_size\":2", Refused("with a key of 8 bits")),
    ("\"encryption\":\"aes-xts-plain64\",\"key_size\":64", "\"encryption\":\"aes-xts-plain64\",\"key_size\":32", Refused("No key available")),
    ("\"encryption\":\"aes-xts-plain64\",\"key_size\":64", "\"encryption\":\"serpent-xts-plain64\",\"key_size\":64", Refused("No key available")),
    ("\"type\":\"pbkdf2\",\"hash\":\"sha256\",\"iterations\":1000", "\"type\":\"none\",\"hash\":\"sha256\",\"iterations\":1000", Refused("No usable keyslot")),
    ("\"type\":\"pbkdf2\",\"hash\":\"sha256\",\"iterations\":1000", "\"type\":\"pbkdf2\",\"hash\":\"sha256\",\"iterations\":0", Refused("kdf.iterations")),
    ("\"type\":\"pbkdf2\",\"hash\":\"sha256\",\"iterations\":1000", "\"type\":\"pbkdf2\",\"hash\":\"sha256\",\"iterations\":1", Refused("No key available")),
    ("\"type\":\"pbkdf2\",\"hash\":\"sha256\",\"iterations\":1000", "\"type\":\"pbkdf2\",\"hash\":\"md4\",\"iterations\":1000", Refused("No key available")),
    // Segments: what the data is.
    ("\"type\":\"crypt\"", "\"type\":\"linear\"", Refused("segment 0 is linear: it is not encrypted")),
    ("\"type\":\"crypt\"", "\"type\":\"striped\"", Refused("type \"striped\" is unknown")),
    ("\"size\":\"dynamic\"", "\"size\":\"1048576\"", Refused("its header describes data up to byte 10485760")),
    ("\"size\":\"dynamic\"", "\"size\":\"4096\"", Same),
    ("\"size\":\"dynamic\"", "\"size\":\"0\"", Refused("segments.0.size")),
    ("\"iv_tweak\":\"0\"", "\"iv_tweak\":\"8\"", Refused("starts with the IV 8 at sector 0")),
    ("\"iv_tweak\":\"0\"", "\"iv_tweak\":\"18446744073709551615\"", Refused("starts with the IV")),
    ("@offset@", "\"offset\":\"9437696\"", Noise),
    ("@offset@", "\"offset\":\"0\"", Refused("starts at byte 0, inside the header")),
    ("@offset@", "\"offset\":\"9502720\"", Refused("there is no room for a sector of 512 bytes")),
    ("@offset@", "\"offset\":\"18446744073709551104\"", Refused("there is no room")),
    ("@offset@", "\"offset\":\"32768\"", Refused("keyslots area")),
    ("\"encryption\":\"aes-xts-plain64\",\"sector_size\":512", "\"encryption\":\"aes-xts-plain64\",\"sector_size\":4096", Noise),
    ("\"encryption\":\"aes-xts-plain64\",\"sector_size\":512", "\"encryption\":\"aes-xts-plain64\",\"sector_size\":1", Refused("sector_size")),
    ("\"encryption\":\"aes-xts-plain64\",\"sector_size\":512", "\"encryption\":\"serpent-xts-plain64\",\"sector_size\":512", Noise),
    ("\"encryption\":\"aes-xts-plain64\",\"sector_size\":512", "\"encryption\":\"cipher_null-ecb\",\"sector_size\":512", Refused("segment 0 uses cipher_null-ecb, which encrypts nothing")),
    ("\"encryption\":\"aes-xts-plain64\",\"sector_size\":512", "\"encryption\":\"capi:ecb(cipher_null)\",\"sector_size\":512", Refused("segment 0 uses capi:ecb(cipher_null)")),
    ("\"encryption\":\"aes-xts-plain64\",\"sector_size\":512", "\"encryption\":\"arc4-ecb\",\"sector_size\":512", Refused("segment 0 uses arc4-ecb")),
    ("\"encryption\":\"aes-xts-plain64\",\"sector_size\":512", "\"encryption\":\"aes-ecb\",\"sector_size\":512", Refused("segment 0 uses aes-ecb, which shows which blocks are equal")),
    ("\"encryption\":\"aes-xts-plain64\",\"sector_size\":512", "\"encryption\":\"aes-ctr-plain64\",\"sector_size\":512", Refused("segment 0 uses aes-ctr-plain64, which uses the same key stream")),
    ("\"encryption\":\"aes-xts-plain64\",\"sector_size\":512", "\"encryption\":\"aes-xctr-plain64\",\"sector_size\":512", Refused("segment 0 uses aes-xctr-plain64")),
    ("\"encryption\":\"aes-xts-plain64\",\"sector_size\":512", "\"encryption\":\"aes-cfb-plain64\",\"sector_size\":512", Refused("segment 0 uses aes-cfb-plain64")),
    ("\"encryption\":\"aes-xts-plain64\",\"sector_size\":512", "\"encryption\":\"aes-ofb-plain64\",\"sector_size\":512", Refused("segment 0 uses aes-ofb-plain64")),
    ("\"encryption\":\"aes-xts-plain64\",\"sector_size\":512", "\"encryption\":\"aes-xts-null\",\"sector_size\":512", Refused("segment 0 uses aes-xts-null, which shows which sectors are equal")),
    ("\"encryption\":\"aes-xts-plain64\",\"sector_size\":512", "\"encryption\":\"none\",\"sector_size\":512", Refused("unknown cipher")),
    ("\"sector_size\":512", "\"sector_size\":512,\"integrity\":{\"type\":\"hmac(sha256)\",\"journal_encryption\":\"none\",\"journal_integrity\":\"none\"}", Refused("dm-integrity")),
    ("\"sector_size\":512", "\"sector_size\":512,\"flags\":[\"backup-final\"]", Refused("no segment is mapped")),
    ("\"sector_size\":512", "\"sector_size\":512,\"flags\":[\"in-reencryption\"]", Same),
    // A second segment, beside one that is as it should be.
    ("\"size\":\"dynamic\",\"iv_tweak\":\"0\",\"encryption\":\"aes-xts-plain64\",\"sector_size\":512}",
     "\"size\":\"4096\",\"iv_tweak\":\"0\",\"encryption\":\"aes-xts-plain64\",\"sector_size\":512},\"1\":{\"type\":\"linear\",\"offset\":\"9441280\",\"size\":\"dynamic\"}",
     Refused("segment 1 is linear")),
    ("\"size\":\"dynamic\",\"iv_tweak\":\"0\",\"encryption\":\"aes-xts-plain64\",\"sector_size\":512}",
     "\"size\":\"4096\",\"iv_tweak\":\"0\",\"encryption\":\"aes-xts-plain64\",\"sector_size\":512},\"1\":{\"type\":\"crypt\",\"offset\":\"9441280\",\"size\":\"dynamic\",\"iv_tweak\":\"8\",\"encryption\":\"aes-xts-plain64\",\"sector_size\":512}",
     Refused("no digest verifies its key")),
    // Digests.
    ("\"type\":\"pbkdf2\",\"keyslots\":[\"0\"]", "\"type\":\"other\",\"keyslots\":[\"0\"]", Refused("does not \
        support the type of digest 0")),
    ("\"type\":\"pbkdf2\",\"keyslots\":[\"0\"]", "\"type\":\"pbkdf2\",\"keyslots\":[]", Refused("0 digests, not one")),
    ("\"segments\":[\"0\"]", "\"segments\":[]", Refused("no digest verifies its key")),
    ("\"digest\":\"", "\"digest\":\"AAAA", Refused("digests.0.digest")),
    // Configuration.
    ("\"json_size\":\"12288\"", "\"json_size\":\"8192\"", Refused("json_size")),
    ("\"keyslots_size\":\"8388608\"", "\"keyslots_size\":\"134217728\"", Refused("keyslots area")),
    ("\"keyslots_size\":\"8388608\"", "\"keyslots_size\":\"4096\"", Refused("keyslots.0.area")),
    ("\"keyslots_size\":\"8388608\"", "\"keyslots_size\":\"8388608\",\"flags\":[\"allow-discards\"]", Same),
    ("\"keyslots_size\":\"8388608\"", "\"keyslots_size\":\"8388608\",\"requirements\":{\"mandatory\":[\"online-reencrypt-v2\"]}", Refused("reencrypt")),
    ("\"keyslots_size\":\"8388608\"", "\"keyslots_size\":\"8388608\",\"requirements\":{\"mandatory\":[\"opal\"]}", Refused("opal")),
];

/// Where bytes of the header stand, what the forger makes of them, and what comes of it.
#[rustfmt::skip]
const LUKS1: &[(u64, &[u8], Outcome)] = &[
    (0, b"LUKS\0", Refused("LUKS")),
    (6, &[0, 9], Refused("LUKS")),
    (8, b"serpent\0", Refused("No key available")),
    (8, b"arc4\0\0\0\0", Refused("arc4")),
    (8, b"cipher_null\0", Refused("cipher_null")),
    (40, b"ecb\0\0\0\0\0\0\0\0\0", Refused("segment 0 uses aes-ecb")),
    (40, b"ctr-plain64\0", Refused("segment 0 uses aes-ctr-plain64")),
    (40, b"xts-null\0\0\0\0", Refused("segment 0 uses aes-xts-null")),
    (40, b"xts-plain\0\0\0", Same),
    (72, b"md5\0\0\0\0", Refused("No key available")),
    (72, b"none\0\0\0", Refused("hash")),
    (104, &[0, 0, 0, 0], Refused("starts at byte 0, inside the header")),
    (104, &[0, 0, 16, 1], Noise),
    (104, &[0xff; 4], Refused("there is no room")),
    (108, &[0, 0, 0, 0], Refused("key length")),
    (108, &[0, 0, 0, 1], Refused("1")),
    (108, &[0, 0, 0, 32], Refused("No key available")),
    (112, &[0; 20], Refused("No key available")),
    (132, &[0; 32], Refused("No key available")),
    (164, &[0; 4], Refused("digest iterations")),
    (208, &[0, 0, 0xde, 0xad], Refused("No usable keyslot")),
    (212, &[0; 4], Refused("zero iterations")),
    (212, &[0, 0, 0, 1], Refused("No key available")),
    (216, &[0; 32], Refused("No key available")),
    (248, &[0, 0, 0, 0], Refused("lies in the header")),
    (252, &[0, 0, 0, 0], Refused("0 stripes")),
    (252, &[0, 0, 0, 1], Refused("1 stripes")),
];
