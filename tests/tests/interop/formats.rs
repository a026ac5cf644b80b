//! What can be formatted: ciphers, hashes, KDFs, sector sizes, sizes of
//! the header's areas, offsets, detached headers.
//!
//! Each row's volume is created by one program; the other one identifies it, dumps it line for
//! line, opens it with the right key, refuses the wrong one and finds the same volume key. Then the
//! roles change.

use crate::volume::{BOTH_WAYS, Tool, Volume};
use keyway_tests::peers::CHEAP_PBKDF2;
use keyway_tests::{Run, assert_same_bytes, cryptsetup, keyway, need};

#[test]
fn luks1_ciphers_and_key_sizes() {
    need!("cryptsetup");
    luks1("-c aes-xts-plain64 -s 256");
    luks1("-c aes-xts-plain64 -s 512");
    luks1("-c aes-xts-plain -s 512");
    luks1("-c aes-cbc-essiv:sha256 -s 128");
    luks1("-c aes-cbc-essiv:sha256 -s 256");
    luks1("-c aes-cbc-plain64 -s 192");
    luks1("-c aes-cbc-plain -s 256");
    luks1("-c aes");
}

/// Ciphers that cryptsetup accepts without a question.
#[test]
fn luks1_under_ecb() {
    need!("cryptsetup");
    for maker in [weakly, cryptsetup] {
        let options = format!("--type luks1 {CHEAP_PBKDF2} -c aes-ecb -s 256");
        agree_by(&Volume::made_by(maker, &options, SIZE), [weakly, cryptsetup]);
    }
}

/// Keyway, with the option that it requires for weak ciphers if keys are at stake.
fn weakly(line: &str) -> Run {
    let looks_only = ["isLuks", "luksUUID"].contains(&line);
    keyway(line).args(if looks_only { "" } else { "--allow-weak-cipher" })
}

#[test]
fn luks1_hashes() {
    need!("cryptsetup");
    for hash in ["sha1", "sha256", "sha512", "ripemd160", "whirlpool"] {
        luks1(&format!("-h {hash}"));
    }
}

#[test]
fn luks1_payload_offsets_and_slots() {
    need!("cryptsetup");
    luks1("--align-payload 8");
    luks1("--align-payload 8192");
    luks1("--offset 8192");
    luks1("--uuid 6a7e3a5e-4b0c-4b6e-8a39-2c2f9d7b1a10");
    luks1("--key-slot 7");
}

#[test]
fn luks1_detached_headers() {
    need!("cryptsetup");
    detached(&format!("--type luks1 {CHEAP_PBKDF2}"));
    detached(&format!("--type luks1 {CHEAP_PBKDF2} --align-payload 0"));
    detached(&format!("--type luks1 {CHEAP_PBKDF2} --offset 4096"));
}

#[test]
fn luks2_kdfs() {
    need!("cryptsetup");
    luks2("--pbkdf pbkdf2 --pbkdf-force-iterations 1000");
    for hash in ["sha1", "sha512", "ripemd160", "whirlpool", "blake2b-512"] {
        luks2(&format!("--pbkdf pbkdf2 --pbkdf-force-iterations 1001 -h {hash}"));
    }
    luks2("--pbkdf argon2i --pbkdf-force-iterations 4 --pbkdf-memory 32 --pbkdf-parallel 1");
    luks2("--pbkdf argon2id --pbkdf-force-iterations 5 --pbkdf-memory 1000 --pbkdf-parallel 4");
}

#[test]
fn luks2_sector_sizes() {
    need!("cryptsetup");
    for size in [512, 1024, 2048, 4096] {
        luks2(&format!("{CHEAP} --sector-size {size}"));
    }
}

#[test]
fn luks2_ciphers_of_the_data_and_of_the_keyslots() {
    need!("cryptsetup");
    luks2(&format!("{CHEAP} -c aes-xts-plain64 -s 256"));
    luks2(&format!("{CHEAP} -c aes-cbc-essiv:sha256 -s 256"));
    luks2(&format!("{CHEAP} -c aes-cbc-plain64 -s 128 --sector-size 512"));
    luks2(&format!("{CHEAP} --keyslot-cipher aes-cbc-essiv:sha256 --keyslot-key-size 256"));
}

#[test]
fn luks2_sizes_of_the_header_areas() {
    need!("cryptsetup");
    for kib in [16, 32, 64, 128, 256, 512, 1024, 2048, 4096] {
        luks2(&format!("{CHEAP} --luks2-metadata-size {kib}k"));
    }
    luks2(&format!("{CHEAP} --luks2-keyslots-size 512k"));
    luks2(&format!("{CHEAP} --luks2-metadata-size 64k --luks2-keyslots-size 20m"));
    luks2(&format!("{CHEAP} --offset 65536"));
    luks2(&format!("{CHEAP} --align-payload 16384"));
}

#[test]
fn luks2_names_and_slots() {
    need!("cryptsetup");
    luks2(&format!("{CHEAP} --label root --subsystem laptop"));
    luks2(&format!("{CHEAP} --uuid 6a7e3a5e-4b0c-4b6e-8a39-2c2f9d7b1a10 --key-slot 31"));
}

#[test]
fn luks2_detached_headers() {
    need!("cryptsetup");
    detached(&format!("--type luks2 {CHEAP}"));
    detached(&format!("--type luks2 {CHEAP} --offset 2048"));
    detached(&format!("--type luks2 {CHEAP} --luks2-metadata-size 32k --sector-size 4096"));
}

/// Four passes over 32 KiB in one lane.
const CHEAP: &str = keyway_tests::peers::CHEAP_ARGON2;
/// Room for the largest header here and some data.
const SIZE: u64 = 64 << 20;

#[track_caller]
fn luks1(options: &str) {
    for (way, maker, _) in BOTH_WAYS {
        eprintln!("LUKS1 {way}: {options}");
        agree(&Volume::made_by(maker, &format!("--type luks1 {CHEAP_PBKDF2} {options}"), SIZE));
    }
}

#[track_caller]
fn luks2(options: &str) {
    for (way, maker, _) in BOTH_WAYS {
        eprintln!("LUKS2 {way}: {options}");
        agree(&Volume::made_by(maker, &format!("--type luks2 {options}"), SIZE));
    }
}

#[track_caller]
fn detached(options: &str) {
    for (way, maker, _) in BOTH_WAYS {
        eprintln!("detached, {way}: {options}");
        let volume = Volume::detached_made_by(maker, options, 4 << 20);
        agree(&volume);
        let data = std::fs::read(&volume.path).expect("the data device can be read");
        assert!(data.iter().all(|byte| *byte == 0), "formatting a detached header touched the data");
    }
}

/// Asserts that both programs report the same about the volume.
#[track_caller]
fn agree(volume: &Volume) {
    agree_by(volume, [keyway, cryptsetup]);
}

#[track_caller]
fn agree_by(volume: &Volume, tools: [Tool; 2]) {
    let mut keys = Vec::new();
    for tool in tools {
        let header = volume.header.as_ref().unwrap_or(&volume.path);
        tool("isLuks").arg(header).ok();
        volume.opens(tool, &volume.first_key, true);
        volume.opens(tool, &volume.second_key, false);
        keys.push(volume.volume_key(tool, &volume.first_key));
    }
    assert_same_bytes("volume key by Keyway", &keys[0], "by cryptsetup", &keys[1]);
    let dump = volume.dump();
    for tool in tools {
        let uuid = volume.run(tool, "luksUUID").ok().text();
        assert!(dump.contains(uuid.trim()), "luksUUID {uuid:?} is not the dump's");
    }
}
