//! The real kernel: Debian's dm-crypt maps volumes created by Keyway, and Keyway reads what the
//! kernel wrote.

mod bench_disk;
mod beside_udev;
mod block_device;
mod boot;
mod chains;
mod ciphers;
mod combinations;
mod detached;
mod device_mapper;
mod fio;
mod foreign;
mod formats;
mod from_kernel;
mod kernel_column;
mod midstate;
mod mkinitramfs;
mod nbd;
mod neighbours;
mod open;
mod partitions;
mod plain;
mod reencrypting;
mod reencrypting_resized;
mod rekey;
mod to_kernel;
mod ublk;
mod unlock;
mod unlock_keys;
mod unlock_memory;
mod unlock_typed;
mod without_af_alg;
mod xray;

use keyway_tests::peers::{CHEAP_ARGON2, CHEAP_LUKS2_PBKDF2, CHEAP_PBKDF2};

/// Options of luksFormat and `keyway build`: what the kernel must map as Keyway does.
fn matrix() -> Vec<String> {
    let luks1 = [
        "-c aes-xts-plain64 -s 512 -h sha256",
        "-c aes-xts-plain -s 256 -h sha1",
        "-c aes-cbc-essiv:sha256 -s 256 -h sha512",
        "-c aes-cbc-plain64 -s 192 -h ripemd160",
        "-c aes-cbc-plain -s 128 -h sha256",
        "-c aes-ecb -s 256 -h sha256",
    ];
    let luks2 = [
        "--sector-size 512",
        "--sector-size 1024",
        "--sector-size 2048 -s 256",
        "--sector-size 4096",
        "--sector-size 4096 -c aes-cbc-essiv:sha256 -s 256",
        "--sector-size 512 -c aes-cbc-plain64 -s 128 --luks2-metadata-size 64k",
        "--sector-size 4096 -c aes-xts-plain -s 256 --offset 49152",
    ];
    let argon2 = luks2.iter().map(|options| format!("--type luks2 {CHEAP_ARGON2} {options}"));
    let pbkdf2 = [format!("--type luks2 {CHEAP_LUKS2_PBKDF2} -h sha512")];
    luks1
        .iter()
        .map(|options| format!("--type luks1 {CHEAP_PBKDF2} {options}"))
        .chain(argon2)
        .chain(pbkdf2)
        .collect()
}

/// The option needed for ciphers that protect little.
fn weak(options: &str) -> &'static str {
    if options.contains("-ecb") || options.contains("-ctr-") { "--allow-weak-cipher" } else { "" }
}

/// The letter in the name of the machine's disk: `/dev/vda` is the first.
fn letter(number: usize) -> char {
    char::from(b'a' + u8::try_from(number).expect("few disks"))
}

/// Skips the test if the machine cannot run.
macro_rules! need_machine {
    () => {
        keyway_tests::need!("qemu-system-x86_64", "cryptsetup", "mke2fs", "debugfs", "e2fsck");
        keyway_tests::need_that!(
            keyway_tests::vm::is_prepared(),
            "there is no kernel: ./dev test vm fetches it"
        );
    };
}
use need_machine;
