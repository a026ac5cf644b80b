//! What is weak in a volume, and the commands that mend it.

use super::{assert_near, json, number, of_each, passport};
use keyway_tests::{Scratch, keyway, random};
use serde_json::Value;

#[test]
fn a_short_pim_is_called_short() {
    let scratch = Scratch::new();
    let volume = scratch.file("volume", random(9, 1 << 20));
    let short = json("tcrypt --veracrypt-pim 1 --hash sha512", &volume);
    assert_eq!(of_each(&short, "way"), ["VeraCrypt sha512"]);
    assert_eq!(short["ways"][0]["kdf"]["iterations"], 16_000);
    let change = |options: &str| format!("keyway tcryptChangeKey {options} {}", volume.display());
    let commands = |passport: &Value| passport["weaknesses"][0]["commands"].clone();
    let known = change("--hash sha512 --veracrypt-pim 1 --new-veracrypt-pim 485");
    assert_eq!(commands(&short), serde_json::json!([known]));
    let said =
        |times: &str| format!("where VeraCrypt takes 500,000 without one. A guess costs {times} less.");
    passport("tcrypt --veracrypt-pim 1 --hash sha512", &volume)
        .ok()
        .says("The PIM is short: 16,000 iterations, ")
        .says(&said("31.2 times"));
    for (pim, times) in [(236, "2.0 times"), (300, "1.6 times"), (484, "a little")] {
        passport(&format!("tcrypt --veracrypt-pim {pim} --hash sha512"), &volume).ok().says(&said(times));
    }
    passport("tcrypt --veracrypt-pim 1", &volume)
        .ok()
        .says("31.2 times less. (With Argon2id its own is 12.)");
    let argon2 = json("tcrypt --hash argon2id --veracrypt-pim 1", &volume);
    let said = "The PIM is short: argon2id, 3 passes over 64.0 MiB, 1 lane, where VeraCrypt takes argon2id, 6 passes over \
                416.0 MiB, 1 lane without one (PIM 12). A guess costs 13.8 times less.";
    assert_eq!(argon2["weaknesses"][0]["says"], said);
    let known = change("--hash argon2id --veracrypt-pim 1 --new-veracrypt-pim 12");
    assert_eq!(commands(&argon2), serde_json::json!([known]));
    let enough = json("tcrypt --hash argon2id --veracrypt-pim 12", &volume);
    assert_eq!(enough["weaknesses"], serde_json::json!([]));
    let usual = json("tcrypt --veracrypt-pim 485 --hash sha512", &volume);
    assert_eq!(usual["ways"][0]["kdf"]["iterations"], 500_000);
    assert_eq!(usual["weaknesses"], serde_json::json!([]));
    let old = passport("tcrypt --veracrypt-pim 485 --hash ripemd160", &volume).ok();
    let known = change("--hash ripemd160 --veracrypt-pim 485 --new-hash sha512");
    old.says("RIPEMD-160 left VeraCrypt in 1.26").says(&known);
    let key = scratch.file("key", "key");
    let with_file = passport("tcrypt --hash whirlpool --key-file", &key).arg(&volume).ok();
    with_file.says("no search: the key file goes into it, and nobody guesses random bytes");
}

/// The outer volume's header is another, with another passphrase.
#[test]
fn commands_are_about_the_header_that_the_options_name() {
    let scratch = Scratch::new();
    let (volume, key) = (scratch.file("volume", random(9, 1 << 20)), scratch.file("a key", "key"));
    let found = |options: &str| {
        let shown =
            keyway("passport --json --type tcrypt --key-file").arg(&key).args(options).arg(&volume).ok();
        serde_json::from_slice::<Value>(&shown.stdout).unwrap()["weaknesses"].clone()
    };
    let (key, device) = (format!("--key-file '{}'", key.display()), volume.display());
    let hidden = "--tcrypt-hidden --tcrypt-backup";
    let weak = found(&format!("{hidden} --hash ripemd160 --cipher aes --veracrypt-pim 1"));
    let change = |new: &str| {
        let known = format!("{hidden} {key} --hash ripemd160 --cipher aes --veracrypt-pim 1");
        serde_json::json!([format!("keyway tcryptChangeKey {known} {new} {device}")])
    };
    let commands = [&weak[0]["commands"], &weak[1]["commands"]];
    assert_eq!(commands, [&change("--new-veracrypt-pim 485"), &change("--new-hash sha512")]);
    let weak = found(&format!("{hidden} --disable-veracrypt"));
    let copy = format!(
        "keyway copy --type tcrypt {hidden} {key} --disable-veracrypt --to veracrypt {device} new.hc"
    );
    assert_eq!(weak[0]["commands"], serde_json::json!([copy]));

    for (options, said) in [
        (
            "--hash sha512 --veracrypt-pim 1",
            "(tcryptChangeKey changes no encrypted system: VeraCrypt does, running in it.)",
        ),
        ("--disable-veracrypt", "Encrypt the system anew: no command changes one in place."),
    ] {
        let weak = found(&format!("--tcrypt-system {options}"));
        assert!(weak[0]["says"].as_str().unwrap().ends_with(said), "{weak}");
        assert_eq!(weak[0]["commands"], serde_json::json!([]));
    }
}

#[test]
fn what_has_no_key_derivation_says_so() {
    let scratch = Scratch::new();
    let (volume, key) = (scratch.file("volume", random(9, 1 << 20)), scratch.file("key", random(8, 32)));
    let guesses = |options: &str| number(&json(options, &volume)["ways"][0]["guesses_per_second"]);
    assert_near(guesses("plain --hash sha256"), 2.2e10);
    // Its key is two digests long.
    assert_near(guesses("plain --hash ripemd160 --key-size 256 --cipher aes-cbc-essiv:sha256"), 1.8e10);
    let shown = passport("plain --hash sha256 --cipher capi:xts(aes)-plain64 --key-size 256", &volume).ok();
    let shown = shown.says("Passphrase  sha256 once, no key derivation");
    let shown = shown.says("A passphrase is only hashed").says(&format!(
        "keyway copy --type plain --source-cipher 'capi:xts(aes)-plain64' --source-key-size 256 --source-hash sha256 {} new.luks\n",
        volume.display()
    ));
    shown.says("GRUB             2.12 and later, by plainmount").lacks("with cryptsetup");
    passport("plain", &volume).ok().says("A passphrase is only hashed").lacks("keyway copy --type plain");
    let by_file = keyway("passport --type plain --key-file").arg(&key).arg(&volume).ok();
    by_file.says("Key file  no key derivation").lacks("A passphrase is only hashed");
    // As the fastest hash that has a rate, SHA-1.
    assert_eq!(json("plain --hash plain", &volume)["ways"][0]["search"], "costs");
    assert_near(guesses("plain --hash plain"), 5.1e10);
    let none = passport("plain --hash plain", &volume).ok().lacks("no published rates");
    let none = none.says("A passphrase is the key itself, not even hashed, so a guess costs next to nothing");
    let none = none.lacks("only hashed");
    none.says("at least ").says(" guesses a second, at most ").says(": cheaper than any hash");
    let found = json("loopaes", &volume);
    passport("loopaes", &volume).ok().says("Cipher     aes:64-cbc-lmk or aes-cbc-plain64\n");
    assert_eq!(found["ways"][0]["kdf"], serde_json::json!({"type": "hash", "hash": "sha512"}));
    assert_eq!(of_each(&found, "search"), ["hopeless"]);
    assert_eq!(of_each(&found, "takes"), ["key file"]);
}
