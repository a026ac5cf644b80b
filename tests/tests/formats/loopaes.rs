//! loop-AES volumes: each version of the key file, read as the ciphers say that the kernel's dm-crypt has for it; what is
//! refused. (Beside cryptsetup and the kernel: layer vm, `formats`.)

use keyway_crypto::Hash;
use keyway_tests::{Scratch, Terminal, keyway, random};
use std::fs;
use std::path::Path;

const LEN: usize = 1 << 20;

/// As loop-AES's README makes them: base64 in lines of 60, of which so many are taken.
pub(super) fn key_file(lines: usize) -> String {
    (0..lines)
        .map(|line| format!("{line:02}/VJ0WkQ1mZ2l5w9yX3cEo7b+P6nTs8uAfGhKqRdUaLxIeYtBvNpCjMzHgOSDF\n"))
        .collect()
}

/// The keys that dm-crypt gets: the start of each line's hash, its first byte marked by the version.
fn volume_key(lines: usize, hash: Hash, len: usize) -> Vec<u8> {
    let mark =
        [(64, 0x55), (65, 0xF4)].iter().find(|(count, _)| *count == lines).map_or(0, |(_, mark)| *mark);
    let keys = key_file(lines);
    let key = |line: &str| {
        let mut key = hash.digest(&[line.as_bytes()])[..len].to_vec();
        key[0] ^= mark;
        key
    };
    keys.lines().flat_map(key).collect()
}

fn read(line: &str, key: &Path, volume: &Path) -> Vec<u8> {
    keyway(&format!("read {line} --key-file")).arg(key).arg(volume).ok().stdout
}

#[test]
fn each_version_is_the_cipher_that_dm_crypt_has_for_it() {
    let scratch = Scratch::new();
    let volume = scratch.file("volume", random(1, LEN));
    for (lines, cipher) in [(1, "aes-cbc-plain64"), (64, "aes:64-cbc-lmk"), (65, "aes:64-cbc-lmk")] {
        for (bits, hash) in [(128, Hash::Sha256), (192, Hash::Sha384), (256, Hash::Sha512)] {
            let keys = volume_key(lines, hash, bits / 8);
            let (all, own) = (keys.len() * 8, scratch.file("keys", key_file(lines)));
            let raw = scratch.file("raw", keys);
            let plain = read(&format!("--type plain --cipher {cipher} --key-size {all}"), &raw, &volume);
            assert_eq!(plain.len(), LEN);
            let size = if bits == 256 { String::new() } else { format!("--key-size {bits}") };
            assert!(read(&format!("--type loopaes {size}"), &own, &volume) == plain, "{lines} {bits}");
        }
    }
}

/// Where data start on a device, loop-AES counts its sectors from the device's start, unless that is said.
#[test]
fn offset_skip_hash_and_cipher() {
    let scratch = Scratch::new();
    let (volume, own) = (scratch.file("volume", random(2, LEN)), scratch.file("keys", key_file(65)));
    let raw = scratch.file("raw", volume_key(65, Hash::Whirlpool, 32));
    let plain = "--type plain --cipher serpent:64-cbc-lmk --key-size 16640 --device-offset 4096";
    let ours = "--type loopaes --cipher serpent --hash whirlpool --device-offset 4096";
    for (theirs, line) in [("--skip 8", ""), ("--skip 0", "--skip 0"), ("--skip 24", "--skip 24")] {
        let plain = read(&format!("{plain} {theirs}"), &raw, &volume);
        assert!(read(&format!("{ours} {line}"), &own, &volume) == plain, "{line}");
        assert_eq!(plain.len(), LEN - 4096);
    }
}

#[test]
fn written_opened_and_piped() {
    let scratch = Scratch::new();
    let (volume, own) = (scratch.sized("volume", LEN as u64), scratch.file("keys", key_file(65)));
    let content = random(3, LEN);
    keyway("write --type loopaes --key-file").arg(&own).arg(&volume).stdin(&content).ok().quiet();
    assert!(read("--type loopaes", &own, &volume) == content);
    let piped = keyway("read --type loopaes --key-file -").arg(&volume).stdin(key_file(65)).ok();
    assert!(piped.stdout == content);
    // What a command prints, as gpg would.
    let command = format!("cat {}", own.display());
    let printed = keyway("read --type loopaes --password-command").arg(command).arg(&volume).ok();
    assert!(printed.stdout == content);
    // Another file gives noise, and no error: nothing on the device tells.
    let other = scratch.file("other", key_file(64));
    assert!(read("--type loopaes", &other, &volume) != content);
}

#[test]
fn what_is_refused_says_so_in_one_line() {
    let scratch = Scratch::new();
    let (volume, own) = (scratch.sized("volume", LEN as u64), scratch.file("keys", key_file(65)));
    let short = scratch.file("short", key_file(63));
    let open = scratch.file("open", key_file(65).trim_end());
    let sealed = scratch.file("sealed", "-----BEGIN PGP MESSAGE-----\n\njA0E\n-----END PGP MESSAGE-----\n");
    let incompatible = "Incompatible loop-AES keyfile detected.";
    let cases: [(&str, Option<&Path>, &str); 10] = [
        ("", None, "Option --key-file is required."),
        ("", Some(&short), incompatible),
        ("", Some(&open), incompatible),
        (
            "",
            Some(&sealed),
            "Detected not yet supported GPG encrypted keyfile: decrypt it, as in gpg --decrypt KEYFILE | keyway open \
             --type loopaes --key-file - DEVICE NAME.",
        ),
        ("--hash sha1", Some(&own), "Key processing error (using hash sha1)."),
        ("--size 8", Some(&own), "--size does not apply to loop-AES volumes."),
        ("--sector-size 4096", Some(&own), "--sector-size does not apply to loop-AES volumes."),
        ("--header x", Some(&own), "--header does not apply to loop-AES volumes."),
        ("--key-size 12", Some(&own), "Key size must be a multiple of 8 bits"),
        ("--device-offset 1M", Some(&own), "Requested offset is beyond real size of device"),
    ];
    for (line, key, words) in cases {
        let run = keyway(&format!("read --type loopaes {line}")).arg(&volume).stdin("typed\n");
        let run = key.into_iter().fold(run, |run, key| run.arg("--key-file").arg(key));
        let said = run.fails(1).errors();
        assert!(said.contains(words) && said.lines().count() == 1, "{line}\n{said}");
    }
    let piped = keyway("read --type loopaes --key-file -").arg(&volume).stdin(key_file(65).trim_end());
    assert_eq!(piped.fails(1).errors(), format!("{incompatible}\n"));
    // A terminal would give the first line alone.
    let run = keyway("read --type loopaes --key-file - -o").arg(scratch.path("out")).arg(&volume);
    let said = Terminal::start(&run).finish().screen;
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("pipe it to --key-file -"), "{said}");
    assert_eq!(fs::read(&volume).unwrap(), vec![0; LEN]);
}

/// What cryptsetup's old name opens, `status` calls LOOPAES.
#[test]
fn opened_by_its_old_name() {
    let scratch = Scratch::new();
    let (volume, own) = (scratch.sized("volume", LEN as u64), scratch.file("keys", key_file(64)));
    let runtime = scratch.path("run");
    fs::create_dir(&runtime).unwrap();
    let run = |line: &str| keyway(line).env("XDG_RUNTIME_DIR", &runtime);
    run("loopaesOpen --backend nbd --key-file").arg(&own).arg(&volume).arg("loop").ok();
    let status = run("status loop").ok().text();
    assert!(
        status.contains("  type:    LOOPAES\n") && status.contains("  cipher:  aes:64-cbc-lmk\n"),
        "{status}"
    );
    run("loopaesClose loop").ok();
}
