//! qemu-img, which reads and writes LUKS1 with its own implementation: the bytes on both sides.

use keyway_tests::{Run, Scratch, assert_same_bytes, cryptsetup, keyway, need, peer};
use std::fs::read;
use std::path::{Path, PathBuf};

/// The size of the plaintext: not a multiple of a megabyte.
const PLAINTEXT: usize = (5 << 20) + 3 * 512;

#[test]
fn qemu_reads_what_keyway_built() {
    need!("qemu-img", "cryptsetup");
    for options in [
        "-c aes-xts-plain64 -s 512 -h sha256",
        "-c aes-xts-plain64 -s 256 -h sha512",
        "-c aes-cbc-essiv:sha256 -s 256 -h sha1",
        "-c aes-cbc-plain64 -s 128 -h ripemd160",
    ] {
        eprintln!("{options}");
        let s = Setup::new();
        s.key_option(keyway("build --type luks1 --pbkdf-force-iterations 1000").args(options))
            .arg(&s.plaintext)
            .arg(&s.volume)
            .ok();
        let decrypted = s.scratch.path("decrypted");
        qemu_img("convert -O raw --image-opts", &s).arg(s.image_options()).arg(&decrypted).ok();
        assert_same_bytes("qemu", &read(&decrypted).unwrap(), "original", &read(&s.plaintext).unwrap());
    }
}

#[test]
fn qemu_reads_what_keyway_wrote_into_a_volume_of_cryptsetup() {
    need!("qemu-img", "cryptsetup");
    let s = Setup::new();
    std::fs::File::create(&s.volume).and_then(|f| f.set_len((2 << 20) + PLAINTEXT as u64)).unwrap();
    cryptsetup("luksFormat -q --type luks1 --pbkdf-force-iterations 1000").arg(&s.volume).arg(&s.key).ok();
    s.key_option(keyway("write")).arg(&s.volume).arg(&s.plaintext).ok();
    let decrypted = s.scratch.path("decrypted");
    qemu_img("convert -O raw --image-opts", &s).arg(s.image_options()).arg(&decrypted).ok();
    assert_same_bytes("qemu", &read(&decrypted).unwrap(), "original", &read(&s.plaintext).unwrap());
}

#[test]
fn keyway_reads_edits_and_writes_what_qemu_made() {
    need!("qemu-img", "cryptsetup");
    for (cipher, mode, iv, hash) in [
        ("aes-256", "xts", "plain64", "sha256"),
        ("aes-128", "xts", "plain64", "sha512"),
        ("aes-256", "cbc", "essiv,ivgen-hash-alg=sha256", "sha1"),
        ("aes-128", "cbc", "plain", "ripemd160"),
        ("aes-256", "ecb", "plain", "sha256"),
    ] {
        eprintln!("{cipher}-{mode}-{iv} {hash}");
        let s = Setup::new();
        let weak = if mode == "ecb" { "--allow-weak-cipher" } else { "" };
        let choices = format!(
            "key-secret=key,iter-time=10,cipher-alg={cipher},cipher-mode={mode},ivgen-alg={iv},hash-alg={hash}"
        );
        created_by_qemu(&choices, &s);
        qemu_img("convert -n -f raw", &s)
            .arg(&s.plaintext)
            .arg("--target-image-opts")
            .arg(s.image_options())
            .ok();
        same_dump(&s.volume);
        let plaintext = read(&s.plaintext).unwrap();
        let read_back = s.key_option(keyway("read").args(weak)).arg(&s.volume).ok().stdout;
        assert_same_bytes("keyway read", &read_back, "original", &plaintext);

        // A range that begins and ends inside sectors.
        let patch = s.scratch.random_file("patch", 8, 10_001);
        s.key_option(keyway("write --offset 70001").args(weak)).arg(&s.volume).arg(&patch).ok();
        let mut expected = plaintext;
        expected[70_001..80_002].copy_from_slice(&read(&patch).unwrap());
        let decrypted = s.scratch.path("decrypted");
        qemu_img("convert -O raw --image-opts", &s).arg(s.image_options()).arg(&decrypted).ok();
        assert_same_bytes("qemu", &read(&decrypted).unwrap(), "patched", &expected);

        // A key that Keyway adds opens the volume in QEMU.
        let second = s.scratch.file("second.key", "another");
        let add = keyway("luksAddKey -q --pbkdf-force-iterations 1000").args(weak);
        s.key_option(add).arg(&s.volume).arg(&second).ok();
        let s = Setup { key: second, ..s };
        qemu_img("convert -O raw --image-opts", &s).arg(s.image_options()).arg(&decrypted).ok();
        assert_same_bytes("qemu with the new key", &read(&decrypted).unwrap(), "patched", &expected);
    }
}

struct Setup {
    scratch: Scratch,
    plaintext: PathBuf,
    key: PathBuf,
    volume: PathBuf,
}

impl Setup {
    fn new() -> Self {
        let scratch = Scratch::new();
        Self {
            plaintext: scratch.random_file("plaintext", 21, PLAINTEXT),
            key: scratch.file("key", "correct horse battery staple"),
            volume: scratch.path("volume.luks"),
            scratch,
        }
    }

    fn key_option(&self, run: Run) -> Run {
        run.arg("--key-file").arg(&self.key)
    }

    fn image_options(&self) -> String {
        format!("driver=luks,key-secret=key,file.driver=file,file.filename={}", self.volume.display())
    }
}

/// `command` of qemu-img (its first word is the subcommand), with the
/// key as the secret named "key".
fn qemu_img(command: &str, s: &Setup) -> Run {
    let (subcommand, options) = command.split_once(' ').unwrap_or((command, ""));
    let secret = format!("secret,id=key,file={}", s.key.display());
    peer("qemu-img", subcommand).arg("--object").arg(secret).args(options)
}

/// A volume created by qemu-img. It times its first few milliseconds of PBKDF2 with a clock that
/// may not have moved by then, and gives up: one try in ten here (QEMU 7.2.22; qemu-devel, January
/// 2025, "Unable to get accurate CPU usage").
fn created_by_qemu(choices: &str, s: &Setup) {
    for _ in 0..30 {
        let run = qemu_img("create -q -f luks -o", s).arg(choices).arg(&s.volume).arg(PLAINTEXT.to_string());
        let outcome = run.outcome();
        if !outcome.errors().contains("Unable to get accurate CPU usage") {
            assert_eq!(outcome.code, Some(0), "{outcome}");
            return;
        }
    }
    panic!("qemu-img gave up 30 times to measure its PBKDF2");
}

fn same_dump(volume: &Path) {
    let [ours, theirs] = [keyway, cryptsetup].map(|tool| tool("luksDump").arg(volume).ok().text());
    keyway_tests::assert_same_lines("keyway luksDump", &ours, "cryptsetup luksDump", &theirs);
}
