//! Which keys open a volume that was re-encrypted, and how they are given.

use crate::Fixture;
use keyway_tests::peers::CHEAP_LUKS2_PBKDF2;
use keyway_tests::{Run, cryptsetup, keyway, need, random};
use std::path::Path;

#[test]
fn every_passphrase_is_asked_for_and_stays() {
    let f = Fixture::volume();
    let second = f.scratch.file("second", "battery staple");
    let add = keyway("luksAddKey -q").args(CHEAP_LUKS2_PBKDF2).arg("--key-file").arg(&f.key);
    add.arg(&f.device).arg(&second).ok();
    let refused = f.reencrypt(keyway, "").fails(1);
    refused.says("Key file can be used only with --key-slot or with exactly one key slot active.");
    f.reads(false);
    let run = keyway("reencrypt -q")
        .directory(f.scratch.root())
        .arg(&f.device)
        .stdin("correct horse\nbattery staple\n")
        .ok();
    drop(run);
    f.reads(false);
    for key in [&f.key, &second] {
        keyway("open --test-passphrase --key-file").arg(key).arg(&f.device).ok();
    }
    let dump = keyway("luksDump").arg(&f.device).ok().text();
    assert!(dump.contains("  2: luks2") && dump.contains("  3: luks2"), "{dump}");
}

/// A seal is a MAC from the old volume key.
#[test]
fn a_seal_goes_first() {
    let f = Fixture::volume();
    keyway("seal --key-file").arg(&f.key).arg(&f.device).ok();
    let before = std::fs::read(&f.device).unwrap();
    f.reencrypt(keyway, "")
        .fails(1)
        .says("is sealed with the key that will be replaced.")
        .says("keyway seal --remove");
    assert!(std::fs::read(&f.device).unwrap() == before);
    keyway("seal --remove").arg(&f.device).ok();
    f.reencrypt(keyway, "").ok();
    keyway("seal --key-file").arg(&f.key).arg(&f.device).ok();
    f.reads(false);
}

/// What the refusal prints is what is to be run, in this order; then the seal is of the new key.
#[test]
fn the_three_commands_that_a_sealed_header_asks_for_lead_to_a_sealed_one() {
    let context = "--seal-context host-17";
    for (given, shown) in [("", ""), (context, "--seal-context STRING ")] {
        let f = Fixture::volume();
        keyway("seal").args(given).arg("--key-file").arg(&f.key).arg(&f.device).ok();
        let device = f.device.display();
        let commands = [
            format!("keyway seal --remove {device}"),
            format!("keyway reencrypt {device}"),
            format!("keyway seal {shown}{device}"),
        ];
        let [remove, reencrypt, seal] = &commands;
        let way = format!(
            "\"{remove}\", then \"{reencrypt}\" with the options as now, then \"{seal}\". Nothing was changed.\n"
        );
        f.reencrypt(keyway, "").fails(1).says(&way);
        keyway("reencrypt --estimate").arg(&f.device).fails(1).says(&way);

        let old = keyway("luksDump --dump-volume-key -q --key-file").arg(&f.key).arg(&f.device).ok().text();
        let run = |line: &str| {
            let line = line.strip_prefix("keyway ").unwrap().replace("STRING", "host-17");
            keyway(&line).args("-q --key-file").arg(&f.key).directory(f.scratch.root()).ok()
        };
        run(remove);
        run(&reencrypt.replace("reencrypt ", &format!("reencrypt {} ", CHEAP_LUKS2_PBKDF2)));
        run(seal);
        let new = keyway("luksDump --dump-volume-key -q --key-file").arg(&f.key).arg(&f.device).ok().text();
        assert_ne!(old, new, "the volume key is another one");
        let read = keyway("read --length 4096 --require sealed").args(given);
        let read = read.arg("--key-file").arg(&f.key).arg(&f.device).ok().stdout;
        assert!(read == f.plain[..4096]);
        f.reads(false);
    }
}

#[test]
fn one_keyslot_is_kept_with_key_slot() {
    let f = Fixture::volume();
    let second = f.scratch.file("second", "battery staple");
    let add = keyway("luksAddKey -q").args(CHEAP_LUKS2_PBKDF2).arg("--key-file").arg(&f.key);
    add.arg(&f.device).arg(&second).ok();
    f.reencrypt(keyway, "--key-slot 0").ok();
    f.reads(false);
    keyway("open --test-passphrase --key-file").arg(&second).arg(&f.device).fails(2);
}

#[test]
fn tokens_and_priorities_go_over_to_the_new_keyslots() {
    need!("cryptsetup");
    let f = Fixture::volume();
    keyway("config --key-slot 0 --priority prefer").arg(&f.device).ok();
    keyway("token add --key-slot 0 --key-description keyway-test:a").arg(&f.device).ok();
    f.reencrypt(keyway, "").ok();
    let json = cryptsetup("luksDump --dump-json-metadata").arg(&f.device).ok().text();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["tokens"]["0"]["keyslots"], serde_json::json!(["1"]));
    assert_eq!(json["keyslots"]["1"]["priority"], 2);
}

#[test]
fn cipher_sector_size_and_key_size_change() {
    need!("cryptsetup");
    let f = Fixture::volume();
    f.reencrypt(keyway, "--cipher aes-cbc-essiv:sha256 --new-key-size 256 --sector-size 512").ok();
    f.is_whole(false);
    let dump = cryptsetup("luksDump").arg(&f.device).ok().text();
    assert!(dump.contains("cipher: aes-cbc-essiv:sha256\n\tsector: 512"), "{dump}");
    // The cipher alone, under the same key.
    f.reencrypt(keyway, "--keep-key --cipher serpent-xts-plain64").ok();
    f.reads(false);
    let same = f.reencrypt(keyway, "--keep-key").fails(1);
    same.says("No data segment parameters changed. Reencryption aborted.");
    let weak = f.reencrypt(keyway, "--cipher aes-ecb").fails(1);
    weak.says("aes-ecb");
    f.reads(false);
}

#[test]
fn the_old_key_opens_nothing_any_more() {
    let f = Fixture::volume();
    let old = f.scratch.path("volume-key");
    let dump =
        keyway("luksDump -q --dump-volume-key --volume-key-file").arg(&old).arg("--key-file").arg(&f.key);
    dump.arg(&f.device).ok();
    keyway("open --test-passphrase --volume-key-file").arg(&old).arg(&f.device).ok();
    f.reencrypt(keyway, "").ok();
    let wrong = keyway("open --test-passphrase --volume-key-file").arg(&old).arg(&f.device).fails(2);
    wrong.says("Volume key does not match the volume.");
    // With keys instead of passphrases, there are no keyslots in the end.
    let (now, next) = (f.scratch.path("now"), f.scratch.random_file("next", 5, 64));
    let dump =
        keyway("luksDump -q --dump-volume-key --volume-key-file").arg(&now).arg("--key-file").arg(&f.key);
    dump.arg(&f.device).ok();
    let keys =
        keyway("reencrypt -q --new-key-size 512 --volume-key-file").arg(&now).directory(f.scratch.root());
    let keys = keys.arg("--new-volume-key-file").arg(&next);
    keys.arg(&f.device).fails(1).says("Use --force-no-keyslots");
    let keys = keyway("reencrypt -q --force-no-keyslots --new-key-size 512 --volume-key-file")
        .arg(&now)
        .directory(f.scratch.root());
    keys.arg("--new-volume-key-file").arg(&next).arg(&f.device).ok();
    let read = keyway("read --volume-key-file").arg(&next).args("--key-size 512").arg(&f.device).ok();
    assert!(read.stdout == f.plain);
    keyway("open --test-passphrase --key-file").arg(&f.key).arg(&f.device).fails(1);
}

/// No keyslot holds either key, so that only the keys themselves go on.
#[test]
fn volume_keys_go_on() {
    let f = Fixture::volume();
    let (old, new) = (f.scratch.path("old"), f.scratch.random_file("new", 5, 64));
    let dump = keyway("luksDump -q --dump-volume-key --volume-key-file").arg(&old);
    dump.arg("--key-file").arg(&f.key).arg(&f.device).ok();
    let begin = keyway("reencrypt -q --init-only --force-no-keyslots --new-key-size 512 --volume-key-file");
    begin.directory(f.scratch.root()).arg(&old).arg("--new-volume-key-file").arg(&new).arg(&f.device).ok();
    let resume = |size: &str, old: &Path, new: &Path| {
        let run = keyway("reencrypt -q --resume-only").args(size).arg("--volume-key-file").arg(old);
        run.arg("--new-volume-key-file").arg(new).arg(&f.device).directory(f.scratch.root())
    };
    let before = std::fs::read(&f.device).unwrap();
    let size = "--key-size 512 --new-key-size 512";
    resume(size, &new, &new).fails(2).says("Volume key does not match the volume.");
    let other = f.scratch.random_file("other", 6, 64);
    resume(size, &old, &other).fails(2).says("Volume key does not match the volume.");
    let half = keyway("reencrypt -q --resume-only --new-volume-key-file").arg(&new).arg(&f.device);
    half.fails(1).says(
        "The new volume key is the second one: give the first with --volume-key-file or --volume-key-keyring.",
    );
    assert!(std::fs::read(&f.device).unwrap() == before, "something was changed");
    resume(size, &old, &new).ok();
    let read = keyway("read --volume-key-file").arg(&new).args("--key-size 512").arg(&f.device).ok();
    assert!(read.stdout == f.plain);
}

/// `--key-size` is of the key that the volume has: it need not fit the cipher that would be the default.
#[test]
fn the_size_of_the_old_key_need_not_fit_another_cipher() {
    let f = Fixture::plaintext(8 << 20);
    let (old, new) = (f.scratch.random_file("old", 61, 16), f.scratch.random_file("new", 62, 32));
    let format = keyway("luksFormat -q --type luks2 -c aes-cbc-essiv:sha256 -s 128").args(CHEAP_LUKS2_PBKDF2);
    format.arg("--volume-key-file").arg(&old).arg(&f.device).arg(&f.key).ok();
    let before = keyway("read --volume-key-file").arg(&old).arg(&f.device).ok().stdout;
    keyway("luksErase -q").arg(&f.device).ok();
    let run = keyway("reencrypt -q --no-header-backup --key-size 128 --new-key-size 256 --volume-key-file");
    run.arg(&old).arg("--new-volume-key-file").arg(&new).arg(&f.device).ok();
    let read = keyway("read --key-size 256 --volume-key-file").arg(&new).arg(&f.device).ok();
    assert!(read.stdout == before);
}

/// In the middle of it there are two volume keys, of two sizes: both open it, in any order, and one opens nothing.
#[test]
fn two_volume_keys_open_what_is_under_way() {
    let f = Fixture::volume();
    let (old, new) = (f.scratch.path("old"), f.scratch.file("new", random(17, 32)));
    let dump = keyway("luksDump -q --dump-volume-key --volume-key-file").arg(&old);
    dump.arg("--key-file").arg(&f.key).arg(&f.device).ok();
    let begin = keyway("reencrypt -q --init-only --no-header-backup --force-no-keyslots --new-key-size 256");
    let begin = begin.args(CHEAP_LUKS2_PBKDF2).arg("--volume-key-file").arg(&old);
    begin.arg("--new-volume-key-file").arg(&new).arg(&f.device).ok();
    let with = |run: Run, keys: &[(&std::path::PathBuf, &str)]| {
        let add = |run: Run, (file, bits): &(&std::path::PathBuf, &str)| {
            run.arg("--volume-key-file").arg(file).args("--key-size").args(bits)
        };
        keys.iter().fold(run, add).arg(&f.device)
    };
    let (old, new) = ((&old, "512"), (&new, "256"));
    for both in [[old, new], [new, old]] {
        with(keyway("open --test-passphrase"), &both).ok();
        assert!(with(keyway("read"), &both).ok().stdout == f.plain, "the plaintext differs");
    }
    for one in [old, new] {
        with(keyway("read"), &[one]).fails(1).says("has two volume keys: a passphrase opens both.");
        let refused = with(keyway("open --test-passphrase"), &[one]).fails(1);
        refused.says("has two volume keys: give both, or a passphrase, which opens both.");
    }
    with(keyway("open --test-passphrase"), &[old, old])
        .fails(2)
        .says("Volume key does not match the volume.");
    let unpaired = keyway("open --test-passphrase --key-size 512 --volume-key-file").arg(old.0);
    unpaired.arg("--volume-key-file").arg(new.0).arg(&f.device).fails(1).says("must be paired");
}
