//! Verdicts on hand-made headers; `./dev test oracle` uses real headers and the real GRUB.

use super::*;

fn judge(bytes: &[u8], version: Version) -> Judgement {
    let read =
        |offset: u64, len: usize| bytes.get(offset as usize..offset as usize + len).map(<[u8]>::to_vec);
    let found = Loader::new(version).judge(&Disk::new(&read, 64 << 20));
    let of_slots = found.slots.iter().filter_map(|slot| slot.verdict.finding());
    for finding in found.refused.iter().chain(&found.notes).chain(of_slots) {
        assert!(holds_for(finding.rule, version), "{} of GRUB {version}", finding.rule.id);
    }
    found
}

fn holds_for(rule: &Rule, version: Version) -> bool {
    version >= rule.versions.0 && rule.versions.1.is_none_or(|end| version < end)
}

/// What is computed until this keyslot has opened, with the keyslots tried before it.
fn works_until(found: &Judgement, number: u64) -> Vec<Work> {
    let end = found.slots.iter().position(|slot| slot.number == number).unwrap() + 1;
    found.slots[..end].iter().flat_map(|slot| slot.works.clone()).collect()
}

fn by(name: &str, bytes: &[u8]) -> Judgement {
    let read =
        |offset: u64, len: usize| bytes.get(offset as usize..offset as usize + len).map(<[u8]>::to_vec);
    Loader::of(Distribution::find(name).unwrap()).judge(&Disk::new(&read, 64 << 20))
}

fn luks1(cipher: &str, mode: &str, hash: &str, key: u32) -> Vec<u8> {
    let mut bytes = vec![0; 4096];
    bytes[..8].copy_from_slice(b"LUKS\xba\xbe\x00\x01");
    for (at, text) in [(8, cipher), (40, mode), (72, hash)] {
        bytes[at..at + text.len()].copy_from_slice(text.as_bytes());
    }
    bytes[108..112].copy_from_slice(&key.to_be_bytes());
    bytes[164..168].copy_from_slice(&1000_u32.to_be_bytes());
    for (slot, iterations) in [(1, 5000_u32), (4, 7000)] {
        bytes[208 + 48 * slot..][..4].copy_from_slice(&[0, 0xac, 0x71, 0xf3]);
        bytes[212 + 48 * slot..][..4].copy_from_slice(&iterations.to_be_bytes());
    }
    bytes
}

fn keyslot(kdf: &str) -> String {
    format!(
        r#"{{"type":"luks2","key_size":64,"af":{{"type":"luks1","stripes":4000,"hash":"sha256"}},"area":{{"type":"raw","offset":"32768","size":"258048","encryption":"aes-xts-plain64","key_size":64}},"kdf":{kdf}}}"#
    )
}

const PBKDF2: &str = r#"{"type":"pbkdf2","hash":"sha512","iterations":9000,"salt":"AAAA"}"#;
const ARGON2: &str = r#"{"type":"argon2id","time":4,"memory":1048576,"cpus":4,"salt":"AAAA"}"#;

fn luks2(keyslots: &str, unbound: &str) -> Vec<u8> {
    let json = format!(
        r#"{{"keyslots":{{{keyslots}}},"tokens":{{}},"segments":{{"0":{{"type":"crypt","offset":"16777216","size":"dynamic","iv_tweak":"0","encryption":"aes-xts-plain64","sector_size":4096}}}},"digests":{{"1":{{"type":"pbkdf2","keyslots":[{unbound}],"segments":[],"hash":"sha256","iterations":1000,"salt":"AAAA","digest":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="}},"0":{{"type":"pbkdf2","keyslots":["0","1","2"],"segments":["0"],"hash":"sha256","iterations":1000,"salt":"AAAA","digest":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="}}}},"config":{{"json_size":"12288","keyslots_size":"1048576","requirements":{{"mandatory":["new"]}}}}}}"#
    );
    let mut bytes = vec![0; 32768];
    for (at, magic, offset) in [(0, b"LUKS", 0_u64), (16384, b"SKUL", 16384)] {
        bytes[at..at + 4].copy_from_slice(magic);
        bytes[at + 4..at + 8].copy_from_slice(&[0xba, 0xbe, 0, 2]);
        bytes[at + 8..at + 16].copy_from_slice(&16384_u64.to_be_bytes());
        bytes[at + 23] = 3;
        bytes[at + 256..at + 264].copy_from_slice(&offset.to_be_bytes());
        bytes[at + 4096..at + 4096 + json.len()].copy_from_slice(json.as_bytes());
    }
    bytes
}

fn rule(judgement: &Judgement, slot: u64) -> &'static str {
    judgement.slot(slot).unwrap().verdict.finding().map_or("opens", |finding| finding.rule.id)
}

#[test]
fn luks1_is_judged_as_a_whole_and_timed_slot_by_slot() {
    let found = judge(&luks1("aes", "xts-plain64", "sha512", 64), Version::V2_06);
    assert_eq!((found.format, rule(&found, 1), rule(&found, 4)), (1, "opens", "opens"));
    assert_eq!(works_until(&found, 1).len(), 2);
    let all = works_until(&found, 4);
    let expected = [("sha512", 5000, 64), ("sha512", 1000, 20), ("sha512", 7000, 64), ("sha512", 1000, 20)];
    assert_eq!(all, expected.map(|(hash, iterations, len)| Work::pbkdf2(hash, iterations, len)));
    assert_eq!(found.modules, ["cryptodisk", "luks", "gcry_sha512", "gcry_rijndael"]);
    let asked = |cipher, mode, hash| {
        judge(&luks1(cipher, mode, hash, 64), Version::V2_12).refused.map(|it| it.rule.id)
    };
    assert_eq!(asked("camellia", "xts-plain64", "sha256"), Some("luks1-cipher"));
    assert_eq!(asked("aes", "xts-plain64", "sha3-256"), Some("luks1-hash"));
    assert_eq!(rule(&judge(&luks1("aes", "xts-plain64be", "sha256", 64), Version::V2_12), 1), "misread-slot");
    assert_eq!(rule(&judge(&luks1("aes", "xts-plain64", "whirlpool", 64), Version::V2_14), 1), "md-context");
    assert_eq!(rule(&judge(&luks1("aes", "xts-plain64", "whirlpool", 64), Version::V2_12), 1), "opens");
}

#[test]
fn luks2_keyslots_are_walked_in_the_order_of_the_text() {
    let slots = format!(r#""1":{},"0":{}"#, keyslot(ARGON2), keyslot(PBKDF2));
    let bytes = luks2(&slots, "");
    let old = judge(&bytes, Version::V2_12);
    assert_eq!((rule(&old, 1), rule(&old, 0)), ("no-argon2", "opens"));
    assert_eq!(works_until(&old, 0).len(), 2, "Argon2 costs nothing where it is not known");
    let new = judge(&bytes, Version::V2_14);
    assert_eq!((rule(&new, 1), rule(&new, 0)), ("opens", "opens"));
    assert_eq!(works_until(&new, 0).len(), 4);
    assert!(new.modules.contains(&"argon2"));
    assert_eq!(
        new.notes.iter().map(|note| note.rule.id).collect::<Vec<_>>(),
        ["requirements", "argon2-memory"]
    );
    let small = Loader { largest_piece_kib: 1 << 19, ..Loader::new(Version::V2_14) };
    let read =
        |offset: u64, len: usize| bytes.get(offset as usize..offset as usize + len).map(<[u8]>::to_vec);
    assert_eq!(rule(&small.judge(&Disk::new(&read, 64 << 20)), 1), "argon2-memory");
}

/// LUKS2 by PBKDF2 and by Argon2id, and LUKS1 with hashes and ciphers that not all have: the rule that
/// keeps each from opening.
#[test]
fn distributions_open_what_is_built_into_their_images() {
    let volumes = [
        luks2(&format!(r#""1":{}"#, keyslot(PBKDF2)), ""),
        luks2(&format!(r#""1":{}"#, keyslot(ARGON2)), ""),
        luks1("aes", "xts-plain64", "sha1", 64),
        luks1("aes", "xts-plain64", "ripemd160", 64),
        luks1("aes", "xts-plain64", "whirlpool", 64),
        luks1("serpent", "xts-plain64", "sha512", 64),
        luks1("aes", "xts-plain64", "sha3-256", 64),
    ];
    let (no, o, hash) = ("signed-image", "opens", "luks1-hash");
    for (name, rules) in [
        ("grub-debian-12", [o, "no-argon2", o, o, o, o, hash]),
        ("grub-debian-13", [o, "no-argon2", o, o, o, o, hash]),
        ("grub-debian-14", [o, o, o, o, "md-context", o, o]),
        ("grub-fedora", [o, "no-argon2", o, hash, o, o, hash]),
        ("grub-rhel-10", [o, "no-argon2", o, hash, "md-context", o, hash]),
        ("grub-tumbleweed", [o, o, o, hash, hash, "luks1-cipher", hash]),
        ("grub-ubuntu-22.04", [no, no, o, o, o, o, hash]),
        ("grub-ubuntu-24.04", [no, no, o, o, o, o, hash]),
        ("grub-ubuntu-26.04", [no, no, o, o, "md-context", o, o]),
    ] {
        assert_eq!(volumes.each_ref().map(|bytes| rule(&by(name, bytes), 1)), rules, "{name}");
    }
    assert_eq!(Distribution::all().count(), 9, "each has a row here");
}

#[test]
fn what_a_signed_image_lacks_is_named() {
    let argon2 = luks2(&format!(r#""1":{}"#, keyslot(ARGON2)), "");
    let found = by("ubuntu-26.04", &argon2);
    assert_eq!((found.format, found.asks, works_until(&found, 1).len()), (2, false, 0));
    assert!(found.modules.is_empty() && by("debian-14", &argon2).modules.is_empty());
    assert_eq!(
        found.refused.unwrap().because,
        "the signed image of Ubuntu 26.04 has no module luks2, and loads none under Secure Boot, nor from the \
         volume itself"
    );
    let ripemd160 = luks1("aes", "xts-plain64", "ripemd160", 64);
    assert_eq!(
        by("fedora", &ripemd160).refused.unwrap().because,
        "its signed image has no gcry_rmd160, and so no hash \"ripemd160\""
    );
    let twofish = luks1("twofish", "xts-plain64", "sha256", 64);
    assert_eq!(
        by("tumbleweed", &twofish).refused.unwrap().because,
        "its signed image has no gcry_twofish, and so no cipher \"twofish\""
    );
    let slot = keyslot(&PBKDF2.replace("sha512", "ripemd160"));
    assert_eq!(rule(&by("tumbleweed", &luks2(&format!(r#""1":{slot}"#), "")), 1), "slot-hash");
    assert!(by("ubuntu-24.04", &[0; 4096]).refused.is_some_and(|it| it.rule.id == "not-luks"));
    // Whoever starts Debian's image needs no installer that knows LUKS2.
    let notes = |found: Judgement| found.notes.iter().map(|note| note.rule.id).collect::<Vec<_>>();
    let pbkdf2 = luks2(&format!(r#""1":{}"#, keyslot(PBKDF2)), "");
    assert_eq!(notes(judge(&pbkdf2, Version::V2_06)), ["install-luks2", "requirements"]);
    assert_eq!(notes(by("debian-12", &pbkdf2)), ["requirements"]);
}

#[test]
fn an_unreadable_keyslot_ends_the_search_of_2_06_alone() {
    let slots = format!(r#""9":{},"0":{}"#, keyslot(PBKDF2), keyslot(PBKDF2));
    let bytes = luks2(&slots, "\"9\"");
    let old = judge(&bytes, Version::V2_06);
    assert_eq!((rule(&old, 9), rule(&old, 0)), ("unreadable-slot", "unreadable-slot"));
    let new = judge(&bytes, Version::V2_12);
    assert_eq!((rule(&new, 9), rule(&new, 0)), ("skipped-slot", "opens"));
}

#[test]
fn both_copies_need_their_magic_and_no_checksum() {
    let good = luks2(&format!(r#""0":{}"#, keyslot(PBKDF2)), "");
    let damaged = |at: usize| {
        let mut bytes = good.clone();
        bytes[at] ^= 0xff;
        judge(&bytes, Version::V2_14).refused.map(|finding| finding.rule.id)
    };
    assert_eq!(damaged(0), Some("both-copies"));
    assert_eq!(damaged(16384), Some("both-copies"));
    assert_eq!(damaged(448), None);
    assert_eq!(damaged(4096), Some("broken-json"));
    assert_eq!(damaged(16384 + 4096), None);
    assert_eq!(judge(&[0; 100], Version::V2_14).refused.map(|finding| finding.rule.id), Some("not-luks"));
    assert_eq!(
        judge(&good[..20000], Version::V2_14).refused.map(|finding| finding.rule.id),
        Some("not-luks")
    );
}

/// Any bytes lead to a verdict, and none to a panic.
#[test]
fn hostile_headers() {
    let good = luks2(&format!(r#""0":{}"#, keyslot(PBKDF2)), "");
    for at in (0..264).chain(4096..5600) {
        for value in [0, 1, b'"', b'9', 0x7f, 0xff] {
            let mut bytes = good.clone();
            bytes[at] = value;
            judge(&bytes, Version::V2_14);
        }
    }
    for hole in 0..592 {
        let mut bytes = luks1("aes", "xts-plain64", "sha512", 64);
        bytes[hole] = 0xff;
        judge(&bytes, Version::V2_06);
    }
}
