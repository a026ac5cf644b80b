//! The aarch64 binary, run by an emulator, compared with this machine's binary and the real
//! cryptsetup on the same volumes.
//!
//! `./dev test aarch64` sets `KEYWAY_EMULATED_BIN` to the program to emulate, once for each CPU
//! core model.

use keyway_tests::{Run, Scratch, cryptsetup, keyway, need, need_that, random};

/// LUKS1 and LUKS2 with every KDF, in modes that AES instructions accelerate; costs are low because
/// the emulator is slow.
const VOLUMES: [&str; 7] = [
    "--type luks1 --pbkdf-force-iterations 1000 -h sha1",
    "--type luks1 --pbkdf-force-iterations 1000 -h sha512 -c aes-cbc-essiv:sha256 -s 256",
    "--type luks2 --pbkdf pbkdf2 --pbkdf-force-iterations 1000 -h sha256 --sector-size 512",
    "--type luks2 --pbkdf pbkdf2 --pbkdf-force-iterations 1000 -h sha384 -s 256",
    "--type luks2 --pbkdf pbkdf2 --pbkdf-force-iterations 1000 -h whirlpool -c aes-cbc-plain64 -s 192 --sector-size 512",
    "--type luks2 --pbkdf argon2i --pbkdf-force-iterations 4 --pbkdf-memory 100 --pbkdf-parallel 3",
    "--type luks2 --pbkdf argon2id --pbkdf-force-iterations 4 --pbkdf-memory 4096 --pbkdf-parallel 4",
];

#[test]
fn volumes_change_hands_between_architectures() {
    need_that!(is_emulated(), "no emulated aarch64 binary is named");
    for options in VOLUMES {
        changes_hands(options, emulated, keyway);
        changes_hands(options, keyway, emulated);
    }
}

#[test]
fn volumes_change_hands_with_cryptsetup() {
    need_that!(is_emulated(), "no emulated aarch64 binary is named");
    need!("cryptsetup");
    for options in VOLUMES {
        for (maker, opener) in [(emulated as Tool, cryptsetup as Tool), (cryptsetup, emulated)] {
            let scratch = Scratch::new();
            let (first, second) = (scratch.file("first", "secret"), scratch.file("second", "another"));
            let volume = scratch.sized("volume", 20 << 20);
            maker("luksFormat -q").args(options).arg(&volume).arg(&first).ok();
            opener("open --test-passphrase -d").arg(&first).arg(&volume).ok();
            opener("open --test-passphrase -d").arg(&second).arg(&volume).fails(2);
            opener("luksAddKey -q -d")
                .arg(&first)
                .args(&options_of_a_slot(options))
                .arg(&volume)
                .arg(&second)
                .ok();
            maker("open --test-passphrase -d").arg(&second).arg(&volume).ok();
        }
    }
}

#[test]
fn the_benchmark_runs() {
    need_that!(is_emulated(), "no emulated aarch64 binary is named");
    emulated("benchmark -c aes-xts-plain64 -s 512").ok().says("aes-xts");
}

/// Each program reads what the other has built and written.
#[track_caller]
fn changes_hands(options: &str, maker: Tool, other: Tool) {
    let scratch = Scratch::new();
    let key = scratch.file("key", "secret");
    let mut plain = random(5, 1 << 20);
    let (source, volume) = (scratch.file("source", &plain), scratch.path("volume"));
    maker("build --force").args(options).arg("-d").arg(&key).arg(&source).arg(&volume).ok();
    let read = |tool: Tool| tool("read -d").arg(&key).arg(&volume).ok().quiet().stdout;
    assert!(read(other) == plain, "{options}: another plaintext");
    let (at, new) = (70_001, random(6, 300_000));
    other(&format!("write --offset {at} -d")).arg(&key).arg(&volume).stdin(&new).ok().quiet();
    plain[at..at + new.len()].copy_from_slice(&new);
    assert!(read(maker) == plain, "{options}: not what was written");
}

/// The options that `luksAddKey` accepts.
fn options_of_a_slot(options: &str) -> String {
    let words: Vec<&str> = options.split(' ').collect();
    let taken = words.chunks(2).filter(|option| option[0].starts_with("--pbkdf") || option[0] == "-h");
    taken.map(|option| option.join(" ")).collect::<Vec<_>>().join(" ")
}

type Tool = fn(&str) -> Run;

/// The aarch64 binary in the emulator.
fn emulated(line: &str) -> Run {
    Run::new(std::env::var_os(EMULATED).expect("need_that!(is_emulated())"), line)
}

fn is_emulated() -> bool {
    std::env::var_os(EMULATED).is_some()
}

const EMULATED: &str = "KEYWAY_EMULATED_BIN";
