//! GRUB as distributions sign it: what `boot check` and `passport` say of a volume, and their exit codes.

use keyway_tests::peers::CHEAP_PBKDF2;
use keyway_tests::{Scratch, keyway};
use serde_json::Value;

/// LUKS1, LUKS2 by PBKDF2 and by Argon2id, with sha256; and LUKS1 with ripemd160.
const VOLUMES: [(&str, &str); 4] = [
    ("luks1", "--type luks1"),
    ("pbkdf2", "--type luks2 --pbkdf pbkdf2"),
    (
        "argon2id",
        "--type luks2 --pbkdf argon2id --pbkdf-force-iterations 4 --pbkdf-memory 32 --pbkdf-parallel 1",
    ),
    ("ripemd160", "--type luks1 --hash ripemd160"),
];

fn json(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).unwrap()
}

fn scratch() -> Scratch {
    let scratch = Scratch::new();
    scratch.file("key", "secret");
    for (name, options) in VOLUMES {
        scratch.sized(name, 32 << 20);
        let cost = if name == "argon2id" { "" } else { CHEAP_PBKDF2 };
        keyway(&format!("luksFormat -q {name} key {options}")).args(cost).directory(scratch.root()).ok();
    }
    scratch
}

/// For each volume 0 where it opens, else 1; and the rule that says why not.
#[test]
fn verdicts_and_exit_codes() {
    let scratch = scratch();
    scratch.file("rates.json", keyway("bench kdf --hash sha512 --time 1 --json").ok().stdout);
    let opens = (0, "");
    let (no_argon2, no_luks2, no_hash) = ((1, "no-argon2"), (1, "signed-image"), (1, "luks1-hash"));
    for (name, expected) in [
        ("2.12", [opens, opens, no_argon2, opens]),
        ("debian-12", [opens, opens, no_argon2, opens]),
        ("debian-13", [opens, opens, no_argon2, opens]),
        ("debian-14", [opens, opens, opens, opens]),
        ("fedora", [opens, opens, no_argon2, no_hash]),
        ("rhel-10", [opens, opens, no_argon2, no_hash]),
        ("tumbleweed", [opens, opens, opens, no_hash]),
        ("ubuntu-22.04", [opens, no_luks2, no_luks2, opens]),
        ("ubuntu-24.04", [opens, no_luks2, no_luks2, opens]),
        ("grub-ubuntu-26.04", [opens, no_luks2, no_luks2, opens]),
    ] {
        for ((volume, _), (code, rule)) in VOLUMES.into_iter().zip(expected) {
            let check =
                keyway(&format!("boot check --json --rate-file rates.json --grub-version {name} {volume}"));
            let check = check.directory(scratch.root());
            let said = if code == 0 { check.ok() } else { check.fails(code) };
            let found = json(&said.stdout);
            let slot = &found["keyslots"][0];
            assert_eq!(slot["rule"].as_str().unwrap_or_default(), rule, "{name}: {volume}");
            assert_eq!(found["asks"].as_bool(), Some(!["signed-image", "luks1-hash"].contains(&rule)));
            assert_eq!(found["distribution"].is_null(), name == "2.12", "{name}");
        }
    }
}

#[test]
fn what_is_not_in_the_image_is_said() {
    let scratch = scratch();
    let why = "the signed image of Ubuntu 24.04 has no module luks2, and loads none under Secure Boot, nor from the volume itself";
    let check = keyway("boot check --grub-version ubuntu-24.04 pbkdf2").directory(scratch.root()).fails(1);
    check
        .says("pbkdf2  LUKS2  GRUB 2.12 of Ubuntu 24.04 (--grub-version)\n")
        .says(&format!("  It does not ask for a passphrase, because {why}.\n"))
        .says(&format!(" Keyslot 0   cannot, because {why}\n"))
        .says("  It does not open.\n");
    // passport only tells.
    let passport = keyway("passport --target grub-ubuntu-24.04 pbkdf2").directory(scratch.root()).ok();
    passport
        .says("GRUB 2.12 of Ubuntu 24.04 in EFI firmware, the signed image, on a CPU like this one")
        .says(&format!("  It opens no keyslot, because {why}.\n"));
    let fedora = keyway("boot check --grub-version fedora ripemd160").directory(scratch.root()).fails(1);
    fedora.says("because its signed image has no gcry_rmd160, and so no hash \"ripemd160\"");
    let known = "2.06, 2.12, 2.14 are known, versions between, and debian-12, debian-13, debian-14, fedora, rhel-10, \
                 tumbleweed, ubuntu-22.04, ubuntu-24.04, ubuntu-26.04";
    let unknown = keyway("boot check --grub-version ubuntu-25.10 luks1").directory(scratch.root()).fails(1);
    assert_eq!(unknown.errors(), format!("keyway: --grub-version ubuntu-25.10: {known}.\n"));
    let targets = keyway("passport --target grub-suse luks1").directory(scratch.root()).fails(1).errors();
    assert_eq!(
        targets,
        "keyway: --target grub-suse: there are grub-2.06, grub-2.12, grub-2.14, grub-2.14-accel, grub-debian-12, \
         grub-debian-13, grub-debian-14, grub-fedora, grub-rhel-10, grub-tumbleweed, grub-ubuntu-22.04, grub-ubuntu-24.04 and \
         grub-ubuntu-26.04.\n"
    );
}

/// As fast as the release that it is made of.
#[test]
fn seconds_are_those_of_the_release() {
    let scratch = scratch();
    scratch.file("rates.json", keyway("bench kdf --hash sha512 --time 1 --json").ok().stdout);
    let seconds = |target: &str| {
        let line = format!("passport --json --rate-file rates.json --target {target} luks1");
        json(&keyway(&line).directory(scratch.root()).ok().stdout)["keyslots"][0]["seconds_on_target"].clone()
    };
    for (target, release) in [
        ("grub-debian-12", "grub-2.06"),
        ("grub-fedora", "grub-2.12"),
        ("grub-tumbleweed", "grub-2.14"),
        ("grub-ubuntu-26.04", "grub-2.14"),
    ] {
        assert!(seconds(target).is_number(), "{target}");
        assert_eq!(seconds(target), seconds(release), "{target}");
    }
}
