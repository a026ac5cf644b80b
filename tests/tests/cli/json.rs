//! Machine-readable output: `--json` parses and agrees with the text; `benchmark` has cryptsetup's
//! layout.

use keyway_format::json::{Value, parse};
use keyway_tests::peers::{CHEAP_ARGON2, CHEAP_PBKDF2};
use keyway_tests::{Scratch, cryptsetup, keyway, need};
use std::path::PathBuf;

fn volume(scratch: &Scratch, options: &str) -> PathBuf {
    let volume = scratch.sized("volume", 20 << 20);
    let uuid = "--uuid 6b55e3df-8f04-4fce-abe8-f4a2eaaef085";
    keyway("luksFormat -q").args(uuid).args(options).arg(&volume).stdin("secret").ok();
    volume
}

/// The member at a path such as "keyslots/0/iterations", as text.
fn at(document: &Value, path: &str) -> String {
    let mut value = document;
    for name in path.split('/') {
        let found = value.as_object().and_then(|object| object.get(name));
        value = found.unwrap_or_else(|| panic!("{path} is missing in {}", document.to_pretty()));
    }
    value.as_str().map_or_else(|| value.to_compact(), str::to_owned)
}

#[test]
fn luks1_as_json() {
    let scratch = Scratch::new();
    let volume = volume(&scratch, &format!("--type luks1 {CHEAP_PBKDF2} --hash sha512 -S 2"));
    let document = parse(&keyway("luksDump --json").arg(&volume).ok().quiet().stdout).unwrap();
    for (path, value) in [
        ("version", "1"),
        ("format", "luks1"),
        ("uuid", "6b55e3df-8f04-4fce-abe8-f4a2eaaef085"),
        ("cipher", "aes-xts-plain64"),
        ("hash", "sha512"),
        ("key_bits", "512"),
        ("payload_offset_sectors", "4096"),
        ("keyslots/2/iterations", "1000"),
        ("keyslots/2/af_stripes", "4000"),
    ] {
        assert_eq!(at(&document, path), value, "{path}");
    }
    assert_eq!(at(&document, "digest/value").len(), 40);
    let uuid = parse(&keyway("luksUUID --json").arg(&volume).ok().stdout).unwrap();
    assert_eq!(at(&uuid, "uuid"), "6b55e3df-8f04-4fce-abe8-f4a2eaaef085");
}

#[test]
fn luks2_as_json_holds_its_metadata() {
    let scratch = Scratch::new();
    let volume = volume(&scratch, &format!("{CHEAP_ARGON2} --label name"));
    let document = parse(&keyway("luksDump --json").arg(&volume).ok().quiet().stdout).unwrap();
    assert_eq!(at(&document, "format"), "luks2");
    assert_eq!(at(&document, "label"), "name");
    assert_eq!(at(&document, "metadata_bytes"), "16384");
    assert_eq!(at(&document, "metadata/keyslots/0/kdf/memory"), "32");
    let metadata = parse(&keyway("luksDump --dump-json-metadata").arg(&volume).ok().stdout).unwrap();
    assert_eq!(at(&document, "metadata"), metadata.to_compact());
}

/// The rows of `benchmark --json`.
fn rows_of(text: &[u8]) -> Vec<Value> {
    let document = parse(text).unwrap();
    document.as_object().unwrap().get("rows").unwrap().as_array().unwrap().to_vec()
}

#[test]
fn measurements_as_json() {
    let rows = keyway("benchmark --json -c aes-xts-plain64 -s 512").ok().quiet().stdout;
    let row = &rows_of(&rows)[0].clone();
    assert_eq!(at(row, "cipher"), "aes-xts-plain64");
    assert!(at(row, "encrypt_bytes_per_second").parse::<u64>().unwrap() > 1_000_000);
    let rows = keyway("benchmark --json --pbkdf argon2id --pbkdf-memory 1024 -i 50").ok().stdout;
    let row = &rows_of(&rows)[0].clone();
    assert_eq!((at(row, "kdf"), at(row, "requested_milliseconds")), ("argon2id".to_owned(), "50".to_owned()));
}

/// The same lines as cryptsetup's apart from numbers and the padding before them.
#[test]
fn the_benchmark_has_cryptsetups_layout() {
    need!("cryptsetup");
    for line in [
        "benchmark -h sha256",
        "benchmark -h sha1 -s 512",
        "benchmark -h nosuch",
        "benchmark --pbkdf argon2id --pbkdf-memory 1024 --pbkdf-parallel 1 -i 50",
        "benchmark --pbkdf argon2i --pbkdf-memory 1024 --pbkdf-parallel 1 -i 50",
    ] {
        let shape = |text: String| {
            let words = text
                .split_whitespace()
                .map(|word| word.trim_matches(|c: char| c.is_ascii_digit()).to_owned());
            words.collect::<Vec<_>>().join(" ")
        };
        let (ours, theirs) = (keyway(line).outcome(), cryptsetup(line).outcome());
        assert_eq!(ours.code, theirs.code, "{ours}{theirs}");
        assert_eq!(shape(ours.text()), shape(theirs.text()), "{line}");
    }
    let row = keyway("benchmark -c aes-cbc -s 256").ok().text();
    let lines: Vec<&str> = row.lines().collect();
    let header = "# Algorithm |       Key |      Encryption |      Decryption";
    // If the kernel's ciphers are available, they have separate columns and a line that says so.
    match has_kernel_columns() {
        true => assert_eq!(lines[2], format!("{header} |  Kernel encrypt |  Kernel decrypt")),
        false => assert_eq!((lines.len(), lines[1]), (3, header)),
    }
    let last = lines.len() - 1;
    assert!(lines[last].starts_with("    aes-cbc        256b  ") && lines[last].ends_with(" MiB/s"), "{row}");
    assert_eq!(lines[last - 1].len(), lines[last].len(), "{row}");
    // Full crypto API names, and IVs for sectors of 512 bytes.
    for (cipher, bits) in
        [("capi:xts(aes)-plain64", "512"), ("aes:64-cbc-lmk", "8192"), ("aes-cbc-tcw", "512")]
    {
        let row = keyway("benchmark -c").arg(cipher).args(format!("-s {bits}").as_str()).ok().text();
        assert!(row.contains(&format!(" {bits}b ")) && row.contains(" MiB/s"), "{row}");
    }
}

/// As the same command reports it in JSON.
fn has_kernel_columns() -> bool {
    let rows = keyway("benchmark --json -c aes-cbc -s 256").ok().stdout;
    let row = &rows_of(&rows)[0].clone();
    match row.as_object().unwrap().get("kernel_unavailable") {
        None => {
            assert!(at(row, "kernel_encrypt_bytes_per_second").parse::<u64>().unwrap() > 0);
            true
        }
        Some(reason) => {
            let reason = reason.as_str().unwrap();
            assert!(reason.contains("af_alg") || reason.contains("AF_ALG"), "{reason}");
            false
        }
    }
}
