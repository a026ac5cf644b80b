//! Options that name a key in the kernel's keyring: the passphrase, the new one, or the volume key.

use crate::tokens::{self, InKeyring, keyring_is_usable};
use crate::volume::Volume;
use keyway_tests::peers::CHEAP_LUKS2_PBKDF2;
use keyway_tests::{keyway, need, need_that, peer};

/// A volume, and its two keys in the keyring under unique names.
struct Keys {
    v: Volume,
    first: InKeyring,
    second: InKeyring,
}

impl Keys {
    fn new(name: &str) -> Self {
        let v = tokens::volume(keyway);
        let first = InKeyring::new(&format!("{name}-first"));
        let second = InKeyring::new(&format!("{name}-second"));
        first.holds(&v.first_key);
        second.holds(&v.second_key);
        Self { v, first, second }
    }
}

#[test]
fn a_passphrase_comes_from_the_keyring() {
    need!("keyctl");
    need_that!(keyring_is_usable(), "the kernel's keyring is not to be had here");
    let Keys { v, first, second } = Keys::new("passphrase");
    let by = |line: &str, key: &str| v.run(keyway, line).arg("--key-description").arg(key);
    by("-v open --test-passphrase", &first.0).ok().says("Key slot 0 unlocked.");
    by("-v open --test-passphrase", &second.0).ok().says("Key slot 1 unlocked.");
    by("luksDump -q --dump-volume-key", &first.0).ok().says("MK dump:");
    // Before a key file, and without asking.
    by("-v open --test-passphrase", &first.0).arg("-d").arg(&v.second_key).ok().says("Key slot 0 unlocked.");
    let none = "Failed to read passphrase from keyring";
    by("open --test-passphrase", "keyway-test:nonexist").fails(1).says(none);
    by("luksDump -q --dump-volume-key", "keyway-test:nonexist").fails(1).says(none);
    let is_wrong = "No key available with this passphrase.";
    by("open --test-passphrase -S 1", &first.0).fails(2).says(is_wrong);
    // A new volume, and a new keyslot.
    by("luksFormat -q", &second.0).args(CHEAP_LUKS2_PBKDF2).ok();
    v.run(keyway, "open --test-passphrase").args("-d").arg(&v.second_key).ok();
    let add = by("luksAddKey -q", &second.0).args(CHEAP_LUKS2_PBKDF2);
    add.arg("--new-key-description").arg(&first.0).ok();
    v.run(keyway, "-v open --test-passphrase").args("-d").arg(&v.first_key).ok().says("Key slot 1 unlocked.");
    let add = by("luksAddKey -q", &second.0).args("--new-key-description keyway-test:nonexist");
    add.args(CHEAP_LUKS2_PBKDF2).fails(1).says(none);
}

#[test]
fn a_volume_key_comes_from_the_keyring() {
    need!("keyctl");
    need_that!(keyring_is_usable(), "the kernel's keyring is not to be had here");
    let Keys { v, first, .. } = Keys::new("volume-key");
    let file = v.scratch.path("volume-key");
    let dump = v.run(keyway, "luksDump -q --dump-volume-key").args("--volume-key-file").arg(&file);
    dump.arg("-d").arg(&v.first_key).ok();
    let held = InKeyring::new("held");
    held.holds(&file);
    let by = |line: &str, key: &str| v.run(keyway, line).arg("--volume-key-keyring").arg(key);
    by("open --test-passphrase", &held.0).ok().quiet();
    by("open --test-passphrase", &format!("%user:{}", held.0)).ok().quiet();
    by("luksAddKey -q --key-slot 5", &held.0)
        .args(CHEAP_LUKS2_PBKDF2)
        .arg("--new-keyfile")
        .arg(&v.third_key)
        .ok();
    v.run(keyway, "-v open --test-passphrase").args("-d").arg(&v.third_key).ok().says("Key slot 5 unlocked.");
    // Neither a key that is missing, nor one that cannot be read back, nor another volume's is ignored.
    let unread = "Failed to read volume key candidate from keyring";
    for name in ["%user:nonexist", "nonexist", "%logon:nonexist", "%trusted:nonexist", "%user"] {
        for line in ["open --test-passphrase", "luksAddKey -q"] {
            by(line, name).arg("-d").arg(&v.first_key).fails(1).says(unread);
        }
    }
    for line in ["open --test-passphrase", "luksAddKey -q"] {
        by(line, &first.0).arg("-d").arg(&v.first_key).fails(2).says("does not match the volume");
    }
    by("luksFormat -q", &held.0).fails(1).says("--volume-key-keyring: a new volume's key is random");
}

#[test]
fn a_token_gives_the_existing_passphrase_and_the_new_one() {
    need!("keyctl");
    need_that!(keyring_is_usable(), "the kernel's keyring is not to be had here");
    let Keys { v, first, second } = Keys::new("tokens");
    v.run(keyway, "token add --key-slot 0 --token-id 0").args("--key-description").arg(&first.0).ok();
    v.run(keyway, "token add --unbound --token-id 3").args("--key-description").arg(&second.0).ok();
    let add = |line: &str| v.run(keyway, "luksAddKey -q").args(line).args(CHEAP_LUKS2_PBKDF2);
    add("--token-id 0 --new-token-id 3 --new-key-slot 7").ok();
    // The token opens the keyslot that was made of its passphrase.
    v.run(keyway, "-v open --test-passphrase --token-only --token-id 3").ok().says("Key slot 7 unlocked.");
    add("--token-only").arg("--new-keyfile").arg(&v.third_key).ok();
    v.run(keyway, "open --test-passphrase").args("-d").arg(&v.third_key).ok();
    add("--token-id 9 --new-token-id 3").fails(1).says("No usable token is available.");
    add("--token-id 0 --new-token-id 9").fails(1).says("No usable token is available: token 9");
    peer("keyctl", "unlink").arg(format!("%user:{}", second.0)).arg("@u").ok();
    add("--token-id 0 --new-token-id 3").fails(1).says("Failed to read passphrase from keyring");
}
