//! Headers forged by an attacker who can write to the storage, and volumes that protect little: no
//! verb opens them without the user's explicit consent.

use crate::{CHEAP, names, volume_of};
use keyway_format::luks2::Copy;
use keyway_tests::{Run, Scratch, keyway, random};
use keyway_volume::device::storage::File;
use keyway_volume::{Access, Header, Locking, Luks};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Arc;

/// Every verb that opens a volume's data or tries its keys for it.
fn openers(scratch: &Scratch, volume: &Path, key: &Path, tool: impl Fn(&str) -> Run) -> Vec<Run> {
    let input = scratch.file("input", [1; 512]);
    fs::create_dir_all(scratch.path("mnt")).unwrap();
    let on = |line: &str| tool(line).arg("-d").arg(key).env("XDG_RUNTIME_DIR", scratch.root());
    vec![
        on("read --length 512").arg(volume),
        on("write").arg(volume).arg(&input),
        on("copy --to raw").arg(volume).arg(scratch.path("raw")),
        on("copy").args(CHEAP).arg("--new-keyfile").arg(key).arg(volume).arg(scratch.path("copied")),
        on("serve").arg("--socket").arg(scratch.path("socket")).arg(volume),
        on("open --backend nbd").arg(volume).arg("forged"),
        on("open --backend nbd --readonly").arg(volume).arg("forged"),
        on("open --test-passphrase").arg(volume),
    ]
}

#[test]
fn no_verb_opens_a_forged_segment() {
    let scratch = Scratch::new();
    let key = scratch.file("key", "secret");
    let volume = volume_of(&scratch, &random(3, 1 << 20), &key, "--sector-size 512");
    let sound = fs::read(&volume).unwrap();
    let crypt = "\"type\":\"crypt\"";
    for (from, to, says) in [
        (
            crypt,
            "\"type\":\"linear\"",
            "segment 0 is linear: it is not encrypted, though no reencryption is under way",
        ),
        (
            "\"size\":\"dynamic\",\"iv_tweak\":\"0\",\"encryption\":\"aes-xts-plain64\",\"sector_size\":512}",
            "\"size\":\"512\",\"iv_tweak\":\"0\",\"encryption\":\"aes-xts-plain64\",\"sector_size\":512},\
             \"1\":{\"type\":\"linear\",\"offset\":\"16777728\",\"size\":\"dynamic\"}",
            "segment 1 is linear",
        ),
        ("\"iv_tweak\":\"0\"", "\"iv_tweak\":\"8\"", "segment 0 starts with the IV 8 at sector 0"),
        ("\"offset\":\"16777216\"", "\"offset\":\"0\"", "segment 0 starts at byte 0, inside the header"),
    ] {
        fs::write(&volume, &sound).unwrap();
        forge(&volume, from, to);
        let forged = fs::read(&volume).unwrap();
        // Nor under cryptsetup's name.
        let link = as_cryptsetup(&scratch);
        let ours = openers(&scratch, &volume, &key, keyway);
        let theirs = openers(&scratch, &volume, &key, |line| Run::new(&link, line));
        for opener in ours.into_iter().chain(theirs) {
            // A passphrase may be tried on a detached header, too, whose data starts at 0.
            let is_try = opener.arguments().iter().any(|argument| argument == "--test-passphrase");
            if !is_try || !to.contains("offset\":\"0") {
                opener.fails(1).says(&format!("volume: S{}", &says[1..]));
            }
        }
        assert!(fs::read(&volume).unwrap() == forged, "{to}: something was written");
        // `inspect` reports it.
        keyway("inspect").arg(&volume).ok().says(&format!("It is not opened: {says}"));
        for look in ["isLuks", "luksUUID", "luksDump"] {
            keyway(look).arg(&volume).ok();
        }
    }
    // For forensics: the data is read, and never written.
    fs::write(&volume, &sound).unwrap();
    forge(&volume, crypt, "\"type\":\"linear\"");
    let word = "--allow-linear-segments";
    let read = keyway("read --length 512 -d").arg(&key).args(word).arg(&volume).ok();
    assert!(read.stdout == fs::read(&volume).unwrap()[16 << 20..][..512]);
    keyway("write -d").arg(&key).args(word).arg(&volume).arg(scratch.path("input")).fails(1);
    assert!(!names(&scratch).iter().any(|name| ["raw", "copied"].contains(&name.as_str())));
}

#[test]
fn ciphers_that_protect_little_need_a_word() {
    let scratch = Scratch::new();
    let key = scratch.file("key", "secret");
    let word = "--allow-weak-cipher";
    for (options, why) in [
        ("--type luks2 -c aes-ctr-plain64 -s 256", "aes-ctr-plain64, which uses the same key stream"),
        ("--type luks2 -c aes-ecb -s 256", "aes-ecb, which shows which blocks are equal"),
        ("--type luks1 -c arc4-ecb -s 256", "arc4-ecb, which uses the same key stream"),
        ("--type luks2 -c aes-xts-null", "aes-xts-null, which shows which sectors are equal"),
        ("--type luks2 -c blowfish-cbc-plain64 -s 64", "blowfish-cbc-plain64 with a key of 64 bits"),
        ("--type luks1 -c serpent-xts-plain64 -s 128", "serpent-xts-plain64 with a key of 64 bits"),
    ] {
        let volume = scratch.sized("volume", 17 << 20);
        let format = || keyway("luksFormat -q").args(CHEAP).args(options).arg(&volume).arg(&key);
        format().fails(1).says(why).says("--allow-weak-cipher makes it anyway");
        let build = keyway("build -q --force").args(CHEAP).args(options).arg("-d").arg(&key);
        build.arg(&key).arg(scratch.path("built")).fails(1).says(why);
        assert!(fs::read(&volume).unwrap().iter().all(|byte| *byte == 0), "{options}: something was written");

        format().args(word).ok().quiet();
        for opener in openers(&scratch, &volume, &key, keyway) {
            opener.fails(1).says(&format!("volume: Segment 0 uses {why}")).says(word);
        }
        keyway("inspect").arg(&volume).ok().says(&format!("It is not opened: segment 0 uses {why}"));
        let input = scratch.random_file("data", 4, 4096);
        keyway("write -d").arg(&key).args(word).arg(&volume).arg(&input).ok().quiet();
        let read = keyway("read --length 4096 -d").arg(&key).args(word).arg(&volume).ok();
        assert!(read.stdout == fs::read(&input).unwrap());
        assert!(read.stderr.is_empty(), "who said the word is not warned");

        // Scripts that call cryptsetup are warned, and run.
        let link = as_cryptsetup(&scratch);
        let format = Run::new(&link, "luksFormat -q").args(CHEAP).args(options).arg(&volume).arg(&key);
        format.ok().says("WARNING: The volume would use ").says(why);
        let test = Run::new(&link, "open --test-passphrase -d").arg(&key).arg(&volume);
        test.ok().says("WARNING: Device ").says(&format!("segment 0 uses {why}"));
        Run::new(&link, "read --length 512 -d").arg(&key).arg(&volume).ok().says("WARNING");
    }
}

/// Puts another text into the metadata of both copies, with correct checksums.
pub(crate) fn forge(volume: &Path, from: &str, to: &str) {
    let storage = Arc::new(File::open_rw(volume).unwrap());
    let luks = Luks::open_with(storage, Access::Probe, Locking::Disabled).unwrap();
    let Header::Luks2 { binary, metadata } = luks.header() else { panic!("not LUKS2") };
    let json = String::from_utf8(metadata.to_json()).unwrap();
    assert!(json.contains(from), "no {from} in {json}");
    let json = json.replacen(from, to, 1);
    for (copy, offset) in [(Copy::Primary, 0), (Copy::Secondary, binary.size.bytes().0)] {
        let bytes = binary.as_copy(copy, [7; 64]).copy_to_bytes(json.as_bytes()).unwrap();
        luks.storage().write_at(&bytes, offset).unwrap();
    }
}

/// The program under cryptsetup's name.
fn as_cryptsetup(scratch: &Scratch) -> std::path::PathBuf {
    let link = scratch.path("cryptsetup");
    if !link.exists() {
        symlink(keyway_tests::peers::program(), &link).unwrap();
    }
    link
}
