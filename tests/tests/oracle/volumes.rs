//! The table: each volume, as built by `keyway build`, and the changes made to it.

use super::kit::{Kit, Volume};
use keyway_tests::keyway;

/// A row.
pub(crate) struct Case {
    pub(crate) name: String,
    options: String,
    then: fn(Volume, &Kit) -> Volume,
}

impl Case {
    pub(crate) fn make(&self, kit: &Kit) -> Volume {
        (self.then)(kit.build(&self.name, &self.options), kit)
    }
}

const ONE: &str = "--type luks1 --pbkdf-force-iterations 1000";
const TWO: &str = "--type luks2 --pbkdf pbkdf2 --pbkdf-force-iterations 1000";
const CHEAP: &str = "--pbkdf pbkdf2 --pbkdf-force-iterations 1000";
const ARGON2: &str = "--pbkdf argon2id --pbkdf-force-iterations 4 --pbkdf-memory 1024 --pbkdf-parallel 2";

/// Every row.
pub(crate) fn all() -> Vec<Case> {
    let mut cases = Vec::new();
    for hash in HASHES {
        cases.push(plain(format!("luks1-hash-{hash}"), format!("{ONE} -h {hash}")));
        cases.push(plain(format!("luks2-hash-{hash}"), format!("{TWO} -h {hash}")));
    }
    for (spec, bits) in LUKS1_CIPHERS {
        cases.push(plain(format!("luks1-{}-{bits}", file(spec)), format!("{ONE} -c {spec} -s {bits}")));
    }
    for (spec, bits, sector) in LUKS2_CIPHERS {
        let options = format!("{TWO} -c {spec} -s {bits} --sector-size {sector}");
        cases.push(plain(format!("luks2-{}-{bits}-{sector}", file(spec)), options));
    }
    for (name, options, then) in OTHERS {
        cases.push(Case { name: (*name).into(), options: (*options).into(), then: *then });
    }
    cases
}

fn plain(name: String, options: String) -> Case {
    Case { name, options, then: |volume, _| volume }
}

fn file(spec: &str) -> String {
    spec.replace([':', ','], "-")
}

const HASHES: &[&str] = &[
    "sha1",
    "sha224",
    "sha256",
    "sha384",
    "sha512",
    "ripemd160",
    "whirlpool",
    "sha3-256",
    "sha3-512",
    "blake2b-512",
    "blake2s-256",
    "sm3",
    "stribog512",
];

const LUKS1_CIPHERS: &[(&str, u32)] = &[
    ("aes-xts-plain64", 256),
    ("aes-xts-plain64", 384),
    ("aes-xts-plain", 512),
    ("aes-xts-essiv:sha256", 512),
    ("aes-xts-plain64be", 512),
    ("aes-cbc-essiv:sha256", 256),
    ("aes-cbc-plain", 128),
    ("aes-cbc-plain64", 192),
    ("aes-cbc-plain64be", 256),
    ("aes-cbc-benbi", 256),
    ("aes-cbc-null", 256),
    ("aes-ecb", 256),
    ("aes-ctr-plain64", 256),
    ("aes-pcbc-plain64", 256),
    ("aes-lrw-benbi", 256),
    ("aes-lrw-benbi", 384),
    ("aes-lrw-plain64", 384),
    ("serpent-xts-plain64", 512),
    ("serpent-cbc-essiv:sha256", 256),
    ("twofish-xts-plain64", 512),
    ("twofish-xts-plain64", 256),
    ("twofish-cbc-plain64", 192),
    ("camellia-xts-plain64", 512),
    ("cast6-xts-plain64", 512),
    ("aria-xts-plain64", 512),
    ("sm4-xts-plain64", 256),
];

const LUKS2_CIPHERS: &[(&str, u32, u32)] = &[
    ("aes-xts-plain64", 512, 512),
    ("aes-xts-plain64", 512, 1024),
    ("aes-xts-plain64", 256, 2048),
    ("aes-xts-plain64", 512, 4096),
    ("aes-xts-plain", 512, 4096),
    ("aes-xts-essiv:sha256", 512, 4096),
    ("aes-cbc-essiv:sha256", 256, 512),
    ("aes-cbc-essiv:sha256", 256, 4096),
    ("aes-cbc-plain", 256, 4096),
    ("aes-cbc-plain64", 256, 4096),
    ("aes-cbc-plain64be", 256, 512),
    ("aes-cbc-plain64be", 256, 4096),
    ("aes-cbc-benbi", 256, 4096),
    ("aes-ecb", 256, 4096),
    ("aes-lrw-benbi", 384, 512),
    ("aes-lrw-benbi", 384, 4096),
    ("serpent-xts-plain64", 512, 4096),
    ("twofish-xts-plain64", 512, 4096),
    ("twofish-cbc-plain64", 192, 512),
    ("camellia-xts-plain64", 512, 512),
    ("xchacha12,aes-adiantum-plain64", 256, 512),
    ("xchacha12,aes-adiantum-plain64", 256, 4096),
];

type Then = fn(Volume, &Kit) -> Volume;

const OTHERS: &[(&str, &str, Then)] = &[
    (
        "luks2-argon2id",
        "--type luks2 --pbkdf argon2id --pbkdf-force-iterations 4 --pbkdf-memory 1024 --pbkdf-parallel 1",
        |v, _| v,
    ),
    (
        "luks2-argon2id-lanes",
        "--type luks2 --pbkdf argon2id --pbkdf-force-iterations 4 --pbkdf-memory 1024 --pbkdf-parallel 4",
        |v, _| v,
    ),
    (
        "luks2-argon2i",
        "--type luks2 --pbkdf argon2i --pbkdf-force-iterations 4 --pbkdf-memory 1024 --pbkdf-parallel 1",
        |v, _| v,
    ),
    (
        "luks2-metadata-64k",
        "--type luks2 --pbkdf pbkdf2 --pbkdf-force-iterations 1000 --luks2-metadata-size 64k",
        |v, _| v,
    ),
    (
        "luks2-metadata-1m",
        "--type luks2 --pbkdf pbkdf2 --pbkdf-force-iterations 1000 --luks2-metadata-size 1m",
        |v, _| v,
    ),
    (
        "luks2-keyslot-serpent",
        "--type luks2 --pbkdf pbkdf2 --pbkdf-force-iterations 1000 --keyslot-cipher serpent-xts-plain64 --keyslot-key-size 512",
        |v, _| v,
    ),
    (
        "luks2-keyslot-camellia",
        "--type luks2 --pbkdf pbkdf2 --pbkdf-force-iterations 1000 --keyslot-cipher camellia-xts-plain64 --keyslot-key-size 512",
        |v, _| v,
    ),
    (
        "luks2-data-camellia",
        "--type luks2 --pbkdf pbkdf2 --pbkdf-force-iterations 1000 -c camellia-xts-plain64 -s 512 --keyslot-cipher aes-xts-plain64 --keyslot-key-size 512",
        |v, _| v,
    ),
    (
        "luks2-data-adiantum",
        "--type luks2 --pbkdf pbkdf2 --pbkdf-force-iterations 1000 -c xchacha12,aes-adiantum-plain64 -s 256 --keyslot-cipher aes-xts-plain64 --keyslot-key-size 512",
        |v, _| v,
    ),
    (
        "luks2-data-plain64be",
        "--type luks2 --pbkdf pbkdf2 --pbkdf-force-iterations 1000 -c aes-cbc-plain64be -s 256 --keyslot-cipher aes-xts-plain64 --keyslot-key-size 512",
        |v, _| v,
    ),
    ("luks1-second-keyslot", ONE, |v, kit| v.add_key(kit, 5, "--pbkdf-force-iterations 1000")),
    ("luks2-second-keyslot", TWO, |v, kit| v.add_key(kit, 7, CHEAP)),
    ("luks2-argon2-before", TWO, |v, kit| {
        let volume = v.add_key(kit, 1, ARGON2);
        volume.add_key(kit, 2, CHEAP)
    }),
    ("luks2-argon2-behind", TWO, |v, kit| v.add_key(kit, 1, ARGON2)),
    ("luks2-priority-ignore", TWO, |v, _| v.keyway("config --key-slot 0 --priority ignore")),
    ("luks2-priority-ignore-before", TWO, |v, kit| {
        v.add_key(kit, 1, CHEAP).keyway("config --key-slot 0 --priority ignore")
    }),
    ("luks2-priority-prefer", TWO, |v, kit| {
        v.add_key(kit, 1, CHEAP).keyway("config --key-slot 1 --priority prefer")
    }),
    ("luks2-unbound-behind", TWO, |v, kit| {
        v.add_key(kit, 1, "--unbound --key-size 256 --pbkdf pbkdf2 --pbkdf-force-iterations 1000")
            .by_the_first()
    }),
    ("luks2-unbound-before", TWO, |v, kit| {
        let volume =
            v.add_key(kit, 1, "--unbound --key-size 256 --pbkdf pbkdf2 --pbkdf-force-iterations 1000");
        volume.add_key(kit, 2, CHEAP)
    }),
    ("luks2-unbound-itself", TWO, |v, kit| {
        v.add_key(kit, 1, "--unbound --key-size 256 --pbkdf pbkdf2 --pbkdf-force-iterations 1000")
    }),
    ("luks2-primary-magic", TWO, |v, _| v.damage(|bytes| bytes[0] = 0)),
    ("luks2-secondary-magic", TWO, |v, _| v.damage(|bytes| bytes[16384] = 0)),
    ("luks2-secondary-version", TWO, |v, _| v.damage(|bytes| bytes[16384 + 7] = 3)),
    ("luks2-primary-json", TWO, |v, _| v.damage(|bytes| bytes[4096] = b'x')),
    ("luks2-secondary-json", TWO, |v, _| v.damage(|bytes| bytes[16384 + 4096] = b'x')),
    ("luks2-primary-checksum", TWO, |v, _| v.damage(|bytes| bytes[448] ^= 1)),
    ("luks2-secondary-newer", TWO, |v, _| {
        v.damage(|bytes| {
            bytes[16384 + 23] += 1;
            bytes[4096] = b'x';
        })
    }),
    ("luks2-requirement", TWO, |v, _| {
        v.json(|text| {
            text.replacen(
                "\"config\":{",
                "\"config\":{\"requirements\":{\"mandatory\":[\"from-the-future\"]},",
                1,
            )
        })
    }),
    ("luks2-escaped-slashes", TWO, |v, kit| v.with_a_slash(kit, TWO).json(|text| text.replace('/', "\\/"))),
    ("luks2-unknown-kdf", TWO, |v, kit| {
        v.add_key(kit, 1, CHEAP).json(|text| text.replacen("\"type\":\"pbkdf2\"", "\"type\":\"scrypt\"", 1))
    }),
    ("luks2-linear-segment", TWO, |v, _| {
        v.json(|text| text.replacen("\"type\":\"crypt\"", "\"type\":\"linear\"", 1))
    }),
    // As with `cryptsetup luksFormat --integrity hmac-sha256`: the
    // key is 32 bytes longer than the cipher's.
    ("luks2-integrity", TWO, |v, kit| {
        let volume =
            v.add_key(kit, 1, "--unbound --key-size 768 --pbkdf pbkdf2 --pbkdf-force-iterations 1000");
        keyway("luksKillSlot -q").arg(&volume.path).arg("0").ok();
        volume.json(|text| {
            let text = text.replacen("\"segments\":[\"0\"]", "\"segments\":[ ]", 1);
            let text = text.replacen("\"segments\":[]", "\"segments\":[\"0\"]", 1);
            let crypt = "\"type\":\"crypt\",";
            text.replacen(crypt, &format!("{crypt}\"integrity\":{{\"type\":\"hmac(sha256)\"}},"), 1)
        })
    }),
    ("luks2-iv-tweak", TWO, |v, kit| {
        v.behind_a_mebibyte(kit, TWO).json(|text| {
            let text = text.replacen("\"offset\":\"16777216\"", "\"offset\":\"17825792\"", 1);
            text.replacen("\"iv_tweak\":\"0\"", "\"iv_tweak\":\"2048\"", 1)
        })
    }),
    ("luks2-key-too-long", TWO, |v, _| {
        v.json(|text| text.replacen("\"key_size\":64", "\"key_size\":192", 1))
    }),
    ("luks1-key-too-long", ONE, |v, _| v.damage(|bytes| bytes[111] = 192)),
    ("luks1-magic", ONE, |v, _| v.damage(|bytes| bytes[0] = 0)),
    ("luks1-version", ONE, |v, _| v.damage(|bytes| bytes[7] = 9)),
    ("luks1-disabled", ONE, |v, _| v.damage(|bytes| bytes[208..212].copy_from_slice(&[0, 0, 0xde, 0xad]))),
];
