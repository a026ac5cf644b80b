//! clevis beside Keyway in Debian's own image, wrapped: docs/BOOTING.md says who opens the volume. The pin is `null`, which
//! needs no network.

use crate::root::{self, PASSPHRASE};
use keyway_tests::vm::{is_prepared, prepared};
use keyway_tests::{Board, Console, Scratch, debian, keyway, need, need_that, peers::peer, skip, test_name};
use std::fs;
use std::path::{Path, PathBuf};

const UUID: &str = "0a1b2c3d-0000-4000-8000-0123456789ab";
/// What clevis gives for the second keyslot.
const BOUND: &str = "clevis-opens-this";

#[test]
fn clevis_opens_the_volume_where_keyway_is_told_not_to() {
    need!("busybox", "mke2fs", "qemu-system-x86_64", "mkinitramfs", "unshare", "zstd");
    need_that!(is_prepared(), "the virtual machine's kernel was not fetched (./dev test vm)");
    need_that!(prepared("clevis/made").exists(), "Debian's clevis was not fetched (./dev test boot)");
    let scratch = Scratch::new();
    let volume = bound(&scratch);
    let Some(original) = debian::initramfs_beside(&scratch, "initrd.img", MODULES, &packages(&scratch))
    else {
        skip::record(test_name!(), "no user may mount a private /lib/modules here");
        return;
    };
    let image = scratch.path("image");
    root::boot_initramfs(&image).arg(&original).arg("--modules").arg(prepared("kernel")).ok();

    // Keyway asks first, and the mapping is there when clevis looks.
    let mut console = booted(&image, &volume, "");
    console.expect("Enter passphrase for /dev/vda: ").types(&format!("{PASSPHRASE}\n"));
    let said = console.ends();
    root::assert_reached(&said);
    assert!(!said.contains("Please unlock disk"), "{said}");

    let said = booted(&image, &volume, "rd.luks=0").ends();
    root::assert_reached(&said);
    // Nobody types.
    assert!(
        said.contains("Please unlock disk root: ") && said.contains("root: set up successfully"),
        "{said}"
    );
    assert!(!said.contains("Enter passphrase for"), "{said}");
}

fn booted(image: &Path, volume: &Path, word: &str) -> Console {
    let line = format!("console=ttyS0 no_timer_check panic=-1 loglevel=3 root=/dev/mapper/root ro {word}");
    let board = Board::pc().kernel(&prepared("vmlinuz")).initrd(image).append(&line).disk(volume);
    board.args("-m 1024").start()
}

/// The packages with the table that Debian's hook copies.
fn packages(scratch: &Scratch) -> PathBuf {
    let tree = scratch.path("packages");
    peer("cp", "-a").arg(prepared("clevis")).arg(&tree).ok();
    fs::write(tree.join("etc/crypttab"), format!("root UUID={UUID} none luks,initramfs\n")).unwrap();
    tree
}

/// A volume with a keyslot that clevis opens, bound by clevis' own program.
fn bound(scratch: &Scratch) -> PathBuf {
    let ext4 = root::ext4(scratch, Path::new("/bin/busybox"));
    let volume = root::encrypted(scratch, &ext4, "volume", &format!("--uuid {UUID}"));
    let key = scratch.file("bound", BOUND);
    let cheap = keyway_tests::peers::CHEAP_ARGON2;
    let add = keyway("luksAddKey -q").args(cheap).arg("--key-file").arg(scratch.path("passphrase"));
    add.arg(&volume).arg(&key).ok();
    let tree = prepared("clevis/usr");
    let bind = format!(
        "PATH={0}/bin:$PATH LD_LIBRARY_PATH={0}/lib/x86_64-linux-gnu clevis-encrypt-null '{{}}' <\"$1\"",
        tree.display()
    );
    let jwe = peer("bash", "-euc").arg(bind).arg("bash").arg(&key).ok().text();
    let parts: Vec<&str> = jwe.trim().split('.').collect();
    let [protected, encrypted_key, iv, ciphertext, tag] = parts[..] else { panic!("no JWE: {jwe}") };
    let token = format!(
        r#"{{"type":"clevis","keyslots":["1"],"jwe":{{"ciphertext":"{ciphertext}","encrypted_key":"{encrypted_key}","iv":"{iv}","protected":"{protected}","tag":"{tag}"}}}}"#
    );
    let file = scratch.file("token", token);
    keyway("token import --json-file").arg(file).arg(&volume).ok();
    volume
}

/// The hook finds no cipher's modules: the volume is not open where the image is made.
const MODULES: &str = "dm-crypt\nxts\naes_generic\nalgif_skcipher\nalgif_hash\n";
