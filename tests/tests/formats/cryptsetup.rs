//! TrueCrypt and VeraCrypt headers beside tcplay and cryptsetup. tcplay works on loop devices alone,
//! so as root; cryptsetup without AF_ALG opens what has AES for its only cipher, and stops at the
//! first other one that it would have to try: the KDF is named, and nothing it tries before fits.

use super::tcplay::{Loop, create};
use keyway_crypto::Secret;
use keyway_format::tcrypt::{CIPHERS, Program};
use keyway_tests::skip::find;
use keyway_tests::{Scratch, Terminal, cryptsetup, need, need_that, tcrypt};
use keyway_volume::UnlockOptions;
use keyway_volume::device::storage::File;
use keyway_volume::kind::tcrypt::{Place, Tcrypt, Unlocked};
use std::fs;
use std::path::{Path, PathBuf};

/// What tcplay says of the volume that the passphrase opens.
fn info(file: &Path, line: &str, passphrase: &str) -> String {
    let device = Loop::over(file);
    let terminal = Terminal::start(&device.tcplay("-i").args(line));
    let ending = terminal.expect("Passphrase:").type_secretly(passphrase).finish();
    assert_eq!(ending.code, Some(0), "{}", ending.screen);
    ending.screen
}

fn open(of: &Tcrypt, file: &Path, passphrase: &str) -> Unlocked {
    let locked = of.read(&File::open(file).unwrap()).unwrap();
    locked.unlock(&Secret::copy_from(passphrase.as_bytes()), &UnlockOptions::default()).unwrap()
}

fn hidden(hidden: bool, backup: bool) -> Tcrypt {
    Tcrypt { place: Place::Volume { hidden, backup }, ..Tcrypt::default() }
}

/// The names that tcplay has for chains.
fn in_tcplays_words(chain: &str) -> String {
    let names = chain.split('-').map(|cipher| format!("{}-256-XTS", cipher.to_uppercase()));
    names.collect::<Vec<_>>().join(",")
}

/// Sizes, places and the checksum of the keys are tcplay's.
#[track_caller]
fn assert_same(unlocked: &Unlocked, info: &str, file_len: u64) {
    let segment = unlocked.found(file_len).unwrap().layout.segments.remove(0);
    let header = unlocked.header.to_bytes();
    let checksum = u32::from_be_bytes(*header.expose()[8..].first_chunk().unwrap());
    let sectors = |bytes: u64| format!("{} sectors", bytes / u64::from(unlocked.header.shown_sector_size()));
    for (name, value) in [
        ("Cipher:\t\t\t", in_tcplays_words(unlocked.cipher.chain)),
        ("CRC Key Data:\t\t", format!("{checksum:#x}")),
        ("Sector size:\t\t", unlocked.header.shown_sector_size().to_string()),
        ("Volume size:\t\t", sectors(segment.length.unwrap())),
        ("Block offset:\t\t", sectors(segment.storage_offset)),
    ] {
        assert!(info.contains(&format!("{name}{value}\n")), "{name}{value}:\n{info}");
    }
}

#[test]
fn volumes_that_tcplay_made() {
    need!("tcplay", "losetup", "setsid");
    need_that!(Loop::is_there(), "loop devices cannot be had here");
    let chains = CIPHERS.iter().filter(|it| it.is_of(Program::TrueCrypt) && it.mode_name() == "xts-plain64");
    for (cipher, hash) in chains.zip(["SHA512", "whirlpool", "RIPEMD160"].into_iter().cycle()) {
        let scratch = Scratch::new();
        let line = format!("-a {hash} -b {}", in_tcplays_words(cipher.chain));
        let file = create(&scratch, &line, &["outer"]);
        let unlocked = open(&hidden(false, false), &file, "outer");
        assert_eq!((unlocked.cipher, unlocked.kdf.name), (cipher, hash.to_lowercase().as_str()));
        assert_same(&unlocked, &info(&file, "", "outer"), 1 << 20);
        let backup = open(&hidden(false, true), &file, "outer");
        assert_eq!(backup.header.to_bytes().expose(), unlocked.header.to_bytes().expose());
    }
}

#[test]
fn hidden_volumes_and_key_files_of_tcplays() {
    need!("tcplay", "losetup", "setsid");
    need_that!(Loop::is_there(), "loop devices cannot be had here");
    let scratch = Scratch::new();
    let outer =
        [("one", 2, 64), ("two", 3, 3000)].map(|(name, seed, len)| scratch.random_file(name, seed, len));
    let inner = scratch.random_file("three", 4, (1 << 20) + 5000);
    let keys = format!("-k {} -k {}", outer[0].display(), outer[1].display());
    let line =
        format!("-a SHA512 -b AES-256-XTS {keys} -g -x whirlpool -y SERPENT-256-XTS -f {}", inner.display());
    let file = create(&scratch, &line, &["", "inner"]);
    let with = |of: Tcrypt, key_files: &[PathBuf]| Tcrypt { key_files: key_files.to_vec(), ..of };
    let unlocked = open(&with(hidden(false, false), &outer), &file, "");
    assert_same(&unlocked, &info(&file, &keys, ""), 1 << 20);
    for backup in [false, true] {
        let unlocked = open(&with(hidden(true, backup), std::slice::from_ref(&inner)), &file, "inner");
        assert_eq!((unlocked.kdf.name, unlocked.cipher.chain), ("whirlpool", "serpent"));
        assert_same(&unlocked, &info(&file, &format!("-k {}", inner.display()), "inner"), 1 << 20);
    }
}

#[test]
fn cryptsetup_shows_the_same() {
    need!("cryptsetup");
    for (program, hash, pim) in [
        (Program::TrueCrypt, "sha512", None),
        (Program::TrueCrypt, "whirlpool", None),
        (Program::VeraCrypt, "sha512", Some(1)),
        (Program::VeraCrypt, "sha256", Some(2)),
    ] {
        let scratch = Scratch::new();
        let file = scratch.file("made", tcrypt::made(program, hash, pim));
        let pim_option = pim.map_or(String::new(), |pim| format!("--veracrypt-pim {pim}"));
        let line = format!("tcryptDump -q -h {hash} {pim_option}");
        let unlocked = open(&Tcrypt { pim, hash: Some(hash.into()), ..Tcrypt::default() }, &file, "secret");
        let name = file.display().to_string();
        let shown = cryptsetup(&line).arg(&file).stdin("secret").ok();
        assert_eq!(unlocked.dump(&name), shown.text());
        let shown = cryptsetup(&line).arg("--dump-volume-key").arg(&file).stdin("secret").ok();
        let text = unlocked.dump_volume_key(&name).unwrap();
        assert_eq!(String::from_utf8_lossy(text.expose()), shown.text());
        // tcplay 1.1 knows TrueCrypt alone.
        if program == Program::TrueCrypt && find("tcplay").is_some() && Loop::is_there() {
            assert_same(&unlocked, &info(&file, "", "secret"), fs::metadata(&file).unwrap().len());
        }
    }
}
