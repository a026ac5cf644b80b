//! GRUB on a PC with EFI firmware: `cryptomount -A`, which only 2.14's build for x86_64 EFI has.

use super::grub::Grub;
use super::kit::{Kit, PASSPHRASE};
use keyway_boot::loader::grub::Version;
use keyway_tests::console::{self, Board};
use keyway_tests::{need, need_that};
use std::fs;
use std::path::Path;

/// It opens what it opens without `-A`, with fewer instructions where the hash is SHA-2 and with as many
/// where it is SHA-1. QEMU counts them: one is a nanosecond of the machine's time. (QEMU 7.2 has AVX2, and no
/// SHA-NI.)
#[test]
fn accelerated_grub_opens_the_same_in_fewer_instructions() {
    need!("grub-fstest", "grub-mkimage", "qemu-system-x86_64", "mke2fs");
    need_that!(Path::new(console::FIRMWARE).exists(), "ovmf is not installed");
    let newest = Grub::all(keyway_tests::test_name!()).pop().filter(|grub| grub.version >= Version::V2_14);
    need_that!(newest.is_some(), "GRUB 2.14 is not there");
    let (kit, grub) = (Kit::new(), newest.unwrap());
    let partition = kit.scratch.path("esp");
    let hashes = ["sha256", "sha512", "sha1"];
    let lines = hashes.iter().enumerate().map(|(at, hash)| steps(hash, 2 * at + 1)).collect::<String>();
    let lines = format!("serial --unit=0 --speed=115200\nterminal_output serial\n{lines}halt\n");
    let modules = format!(
        "serial terminal echo halt time part_msdos fat cryptodisk luks2 gcry_rijndael {}",
        hashes.map(|hash| format!("gcry_{hash}")).join(" ")
    );
    need_that!(grub.efi_partition(&partition, &modules, &lines), "GRUB's modules for EFI are not there");
    fs::write(partition.join("key"), PASSPHRASE).unwrap();
    let count = "-accel tcg -icount shift=0,align=off,sleep=off -cpu max -nic none -vga none";
    let mut board = Board::new("qemu-system-x86_64", count).firmware(&kit.scratch, &partition);
    for hash in hashes {
        let options = format!("--type luks2 -s 256 -h {hash} --pbkdf pbkdf2 --pbkdf-force-iterations 10000");
        let volume = kit.build(hash, &options).path;
        board = board.disk(&volume).disk(&volume);
    }
    let said = board.start().ends();
    assert_eq!(said.matches("Slot \"0\" opened").count(), 2 * hashes.len(), "{said}");
    for hash in hashes {
        let (plain, accelerated) = (seconds(&said, hash, "plain"), seconds(&said, hash, "accelerated"));
        let ratio = accelerated / plain;
        println!("GRUB {}, {hash}: {plain} s, with -A {accelerated} s: {ratio:.2}", grub.name);
        let expected = if hash == "sha1" { 0.98..1.02 } else { 0.5..0.85 };
        assert!(expected.contains(&ratio), "{hash}: {ratio}\n{said}");
    }
}

/// Opens both drives with a volume.
fn steps(hash: &str, drive: usize) -> String {
    let open = |how: &str, options: &str, drive: usize| {
        format!("echo [{hash} {how}]\ntime cryptomount {options} (hd{drive}) -k (hd0,msdos1)/key\n")
    };
    open("plain", "", drive) + &open("accelerated", "-A", drive + 1)
}

/// What GRUB's `time` said of this step.
fn seconds(said: &str, hash: &str, how: &str) -> f64 {
    let step = said.split(&format!("[{hash} {how}]")).last().unwrap_or_default();
    let time = step.split("Elapsed time: ").nth(1).and_then(|rest| rest.split(' ').next()?.parse().ok());
    time.unwrap_or_else(|| panic!("{hash} {how}: no time\n{said}"))
}
