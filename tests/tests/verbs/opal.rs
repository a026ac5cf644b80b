//! Headers of what drives encrypt themselves, or keep tags for: dumped as cryptsetup 2.8 dumps them, refused with the
//! reason, and never erased or overwritten while a range of the drive needs their keys.

use keyway_tests::peers::{CHEAP_ARGON2, cryptsetup};
use keyway_tests::{Scratch, keyway, need};
use keyway_volume::device::storage::File;
use keyway_volume::{Access, Header, Luks, Storage};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const OPAL: &str = r#""segments":{"0":{"type":"hw-opal","offset":"16777216","size":"4194304","opal_segment_number":3,"opal_key_size":32,"opal_segment_size":"8388608"}}"#;

/// A volume whose JSON has `new` instead of what stands between `from` and the first `to` after it.
fn volume(scratch: &Scratch, name: &str, from: &str, to: &str, new: &str) -> PathBuf {
    let volume = scratch.sized(name, 24 << 20);
    keyway("luksFormat -q --type luks2").args(CHEAP_ARGON2).arg(&volume).stdin("a passphrase").ok();
    let storage: Arc<dyn Storage> = Arc::new(File::open_rw(&volume).unwrap());
    let luks = Luks::open(Arc::clone(&storage), Access::Probe).unwrap();
    let Header::Luks2 { binary, metadata } = luks.header() else { panic!("not LUKS2") };
    let json = String::from_utf8(metadata.to_json()).unwrap();
    let start = json.find(from).unwrap_or_else(|| panic!("{from} in {json}"));
    let end = start + json[start..].find(to).unwrap_or_else(|| panic!("{to} in {json}")) + to.len();
    let json = format!("{}{new}{}", &json[..start], &json[end..]);
    for (copy, offset) in [
        (keyway_format::luks2::Copy::Primary, 0),
        (keyway_format::luks2::Copy::Secondary, binary.size.bytes().0),
    ] {
        let bytes = binary.as_copy(copy, [9; 64]).copy_to_bytes(json.as_bytes()).unwrap();
        storage.write_at(&bytes, offset).unwrap();
    }
    volume
}

fn with_requirement(scratch: &Scratch, name: &str) -> PathBuf {
    let new = format!(r#""config":{{"requirements":{{"mandatory":["{name}"]}},"#);
    volume(scratch, name, r#""config":{"#, "{", &new)
}

/// `keyway LINE VOLUME` fails with `code`, says `words`, and leaves every byte as it is.
#[track_caller]
fn refuses(line: &str, volume: &Path, code: i32, words: &[&str]) {
    let before = fs::read(volume).unwrap();
    let outcome = keyway(line).arg(volume).stdin("a passphrase").fails(code);
    words.iter().fold(outcome, |outcome, words| outcome.says(words));
    assert!(fs::read(volume).unwrap() == before, "{line} changed it");
}

#[test]
fn a_locking_range_is_shown_and_its_keys_stay() {
    let scratch = Scratch::new();
    let volume = volume(&scratch, "opal", r#""segments":{"#, "}}", OPAL);
    keyway("luksDump").arg(&volume).ok().says(
        "  0: hw-opal\n\toffset: 16777216 [bytes]\n\tlength: 4194304 [bytes]\n\tcipher: (no SW encryption)\n\
         \tHW OPAL encryption:\n\t\tOPAL segment number: 3\n\t\tOPAL key: 256 bits\n\
         \t\tOPAL segment length: 8388608 [bytes]\n\n",
    );
    refuses("read --length 512 -o /dev/null", &volume, 1, &["the drive itself encrypts it (OPAL)"]);
    refuses("erase -q", &volume, 1, &["that only keys in this header unlock", "Nothing was changed"]);
    refuses("luksFormat -q", &volume, 1, &["would stay locked", "Nothing was written"]);
    let required = with_requirement(&scratch, "opal");
    for line in ["open --test-passphrase", "config --label x", "luksAddKey"] {
        refuses(line, &required, 1, &["requires \"opal\"", "cryptsetup 2.7 or later opens it"]);
    }
    for line in ["erase -q", "luksFormat -q"] {
        refuses(line, &required, 1, &["locked"]);
    }
}

#[test]
fn tags_in_the_drives_own_metadata_are_named() {
    let scratch = Scratch::new();
    let volume = with_requirement(&scratch, "inline-hw-tags");
    keyway("luksDump").arg(&volume).ok().says("Requirements:\tinline-hw-tags");
    refuses(
        "open --test-passphrase",
        &volume,
        1,
        &["requires \"inline-hw-tags\"", "cryptsetup 2.8 or later"],
    );
    keyway("erase -q").arg(&volume).ok();
}

/// AEGIS (in cryptsetup from 2.8 on as a cipher with tags) and PHMAC (s390's integrity).
#[test]
fn ciphers_and_tags_of_later_kernels_are_shown_and_refused_by_name() {
    need!("cryptsetup");
    let scratch = Scratch::new();
    for (name, cipher, integrity) in
        [("aegis", "aegis128-random", "aead"), ("phmac", "paes-xts-plain64", "phmac(sha256)")]
    {
        let new = format!(
            r#""encryption":"{cipher}","sector_size":4096,"integrity":{{"type":"{integrity}","journal_encryption":"none","journal_integrity":"none"}}"#
        );
        let volume = volume(&scratch, name, r#""encryption":"aes-xts-plain64","sector_size""#, "4096", &new);
        let theirs = cryptsetup("luksDump").arg(&volume).ok().text();
        assert_eq!(keyway("luksDump").arg(&volume).ok().text(), theirs, "{name}");
        refuses("read --length 512 -o /dev/null", &volume, 1, &[integrity]);
    }
}
