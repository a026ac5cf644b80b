//! `copy` of volumes of other formats: to LUKS, whose options are the new volume's, and to raw.

use keyway_format::tcrypt::Program;
use keyway_tests::bitlk::{self, Bitlk};
use keyway_tests::fvault2::{self, Fvault2};
use keyway_tests::{Run, Scratch, cryptsetup, keyway, need, random, tcrypt};
use std::fs::{self, File};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

/// The new volume's passphrase.
const NEW: &str = "new passphrase";

/// The passphrase of a container, and of what is hidden in it.
const CONTAINER: &str = "secret";

const CHEAP: &str = "--pbkdf pbkdf2 --pbkdf-force-iterations 1000";

/// A volume as the command line names it, and its passphrase.
struct Source {
    volume: PathBuf,
    options: &'static str,
    passphrase: &'static str,
}

impl Source {
    fn read(&self) -> Vec<u8> {
        let run = keyway("read").args(self.options).arg(&self.volume);
        run.stdin(self.passphrase).ok().quiet().stdout
    }

    /// The command that asks for this volume's passphrase, then for [`NEW`].
    fn copy(&self, options: &str, to: &Path) -> Run {
        let run = keyway("copy -q").args(CHEAP).args(options).args(self.options);
        run.arg(&self.volume).arg(to).stdin(format!("{}\n{NEW}\n", self.passphrase))
    }
}

fn sources(scratch: &Scratch) -> [Source; 5] {
    let container = scratch.file("container", tcrypt::made_around_hidden(Program::TrueCrypt, "sha512"));
    let windows = Bitlk::default().make(&random(3, bitlk::LEN));
    let mac = Fvault2::default().make(&random(4, fvault2::LEN));
    [
        Source { volume: container.clone(), options: "--type tcrypt", passphrase: CONTAINER },
        Source { volume: container, options: "--type tcrypt --tcrypt-hidden", passphrase: CONTAINER },
        Source {
            volume: scratch.file("windows", windows),
            options: "--type bitlk",
            passphrase: bitlk::PASSPHRASE,
        },
        Source {
            volume: scratch.file("mac", &mac),
            options: "--type fvault2",
            passphrase: fvault2::PASSPHRASE,
        },
        Source { volume: scratch.file("mac2", mac), options: "-M FVAULT2", passphrase: fvault2::PASSPHRASE },
    ]
}

fn read_new(volume: &Path) -> Vec<u8> {
    keyway("read").arg(volume).stdin(NEW).ok().quiet().stdout
}

#[test]
fn each_format_becomes_luks_or_raw() {
    let scratch = Scratch::new();
    for (number, source) in sources(&scratch).into_iter().enumerate() {
        let before = fs::read(&source.volume).unwrap();
        let plain = source.read();
        let (luks, raw) = (scratch.path(&format!("{number}.luks")), scratch.path(&format!("{number}.img")));
        source.copy("", &luks).ok();
        assert!(read_new(&luks) == plain, "{}", source.options);
        source.copy("--to raw", &raw).ok();
        assert!(fs::read(&raw).unwrap() == plain, "{}", source.options);
        assert_eq!(fs::metadata(&raw).unwrap().mode() & 0o777, 0o600);
        assert!(fs::read(&source.volume).unwrap() == before);
    }
}

/// A plain source's own options could not be told from these.
#[test]
fn cipher_hash_and_sizes_are_those_of_the_new_volume() {
    need!("cryptsetup");
    let scratch = Scratch::new();
    let new = "--cipher serpent-xts-plain64 --hash sha512 --sector-size 2048 --key-size 256 --label moved \
               --keyslot-cipher aes-xts-plain64 --keyslot-key-size 512";
    for source in sources(&scratch) {
        let luks = scratch.path("new.luks");
        source.copy(new, &luks).args("--force").ok();
        let shown = cryptsetup("luksDump").arg(&luks).ok().text();
        for line in ["cipher: serpent-xts-plain64", "sector: 2048", "Hash:       sha512", "moved"] {
            assert!(shown.contains(line), "{line}: {shown}");
        }
        cryptsetup("open --test-passphrase").arg(&luks).stdin(NEW).ok();
        assert!(read_new(&luks) == source.read());
    }
}

#[test]
fn key_files_go_with_the_passphrase() {
    let scratch = Scratch::new();
    let windows = scratch.file("windows", Bitlk::default().make(&random(3, bitlk::LEN)));
    let (luks, new) = (scratch.path("luks"), scratch.file("key", NEW));
    let passphrase = scratch.file("passphrase", bitlk::PASSPHRASE);
    let files = |run: Run| run.arg("--key-file").arg(&passphrase).arg("--new-keyfile").arg(&new);
    files(keyway("copy -q --type bitlk").args(CHEAP)).arg(&windows).arg(&luks).ok();
    assert!(read_new(&luks) == Bitlk::visible(&random(3, bitlk::LEN)));
    // A container that no key file belongs to does not open with one.
    let container = scratch.file("container", tcrypt::made(Program::TrueCrypt, "sha512", None));
    let to = scratch.path("to");
    let run = files(keyway("copy -q --type tcrypt --disable-veracrypt").args(CHEAP));
    run.arg(&container).arg(&to).stdin(CONTAINER).fails(2);
    assert!(!to.exists());
}

/// Holes of what is not encrypted are zeros, not noise: the new volume has them as zeros.
#[test]
fn the_plain_part_of_a_sparse_disk_stays_zeros() {
    let scratch = Scratch::new();
    let mut plain = random(5, bitlk::LEN);
    plain[bitlk::LEN / 2..].fill(0);
    let made = Bitlk { state: [5, 4], encrypted: 1 << 20, ..Bitlk::default() }.make(&plain);
    let volume = scratch.sized("windows", made.len() as u64);
    let file = File::options().write(true).open(&volume).unwrap();
    for (number, block) in
        made.chunks(4096).enumerate().filter(|(_, block)| block.iter().any(|byte| *byte != 0))
    {
        file.write_all_at(block, number as u64 * 4096).unwrap();
    }
    assert!(fs::metadata(&volume).unwrap().blocks() * 512 < made.len() as u64);
    let source = Source { volume, options: "--type bitlk", passphrase: bitlk::PASSPHRASE };
    let luks = scratch.path("luks");
    source.copy("", &luks).ok();
    assert!(read_new(&luks) == Bitlk::visible(&plain));
}

#[test]
fn what_cannot_be_copied_is_refused_before_anything_is_made() {
    let scratch = Scratch::new();
    let [container, _, windows, ..] = sources(&scratch);
    let to = scratch.path("to");
    let refused = |source: &Source, options: &str, code| {
        let run = keyway("copy -q").args(options).arg(&source.volume).arg(&to);
        let said = run.stdin(format!("{}\n{NEW}\n", source.passphrase)).fails(code).errors();
        assert!(!to.exists(), "{options}");
        said
    };
    for options in [
        "--type plain",
        "--type plain --source-cipher aes-xts-plain64 --source-key-size 512",
        "--type plain --source-cipher aes-xts-plain64 --source-hash sha256",
        "--type plain --source-cipher aes-xts-plain64 --source-key-size 512 --key-file -",
    ] {
        assert_eq!(
            refused(&container, options, 1),
            "keyway: A plain source needs --source-cipher, --source-key-size and, unless a key file opens it, --source-hash: \
             its device does not record them, and with wrong ones the copy would be noise.\n"
        );
    }
    assert_eq!(
        refused(&container, "--type tcrypt --source-cipher aes-xts-plain64", 1),
        "keyway: Options that begin with --source describe a source of --type plain or loopaes; other volumes \
         have a header that describes them.\n"
    );
    assert_eq!(
        refused(&container, "--type loopaes --source-size 1M", 1),
        "keyway: --source-size does not apply to loop-AES volumes.\n"
    );
    assert_eq!(
        refused(&windows, "--type luks3", 1),
        "keyway: --type luks3: copy handles luks, luks1 and luks2.\n"
    );
    assert_eq!(
        refused(&windows, "--type bitlk --header x", 1),
        "keyway: --header does not apply to BitLocker volumes.\n"
    );
    assert_eq!(
        refused(&windows, "--tcrypt-hidden", 1),
        "keyway: Option --tcrypt-hidden, --tcrypt-system or --tcrypt-backup is supported only for TCRYPT device.\n"
    );
    let key = scratch.file("key", bitlk::PASSPHRASE);
    let over_key =
        keyway("copy -q --force --type bitlk --new-keyfile").arg(scratch.file("new", NEW)).arg("--key-file");
    let over_key = over_key.arg(&key).arg(&windows.volume).arg(&key).fails(1);
    over_key.says(&format!("{} is an input of this command; name another file.", key.display()));
    assert_eq!(fs::read(&key).unwrap(), bitlk::PASSPHRASE.as_bytes());
    let wrong = Source { passphrase: "wrong", ..windows };
    assert_eq!(refused(&wrong, "--type bitlk", 2), "No key available with this passphrase.\n");
}
