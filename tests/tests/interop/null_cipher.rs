//! cipher_null, which encrypts nothing and serves to measure and to prepare reencryption: by
//! cryptsetup's name for it, with the key sizes that it writes. (cryptsetup itself makes and opens
//! such volumes only where there is a device mapper.)

use keyway_tests::{Scratch, cryptsetup, keyway, need};

const WEAK: &str = "--allow-weak-cipher";
const CHEAP: &str = "--pbkdf pbkdf2 --pbkdf-force-iterations 1000";

#[test]
fn headers_name_it_as_cryptsetup_does_and_only_the_empty_passphrase_opens() {
    need!("cryptsetup");
    for (options, lines) in [
        ("--type luks1", ["cipher_null", "ecb", "256"]),
        ("--type luks1 -s 128", ["cipher_null", "ecb", "128"]),
        ("--type luks2", ["cipher: cipher_null-ecb", "Cipher:     aes-xts-plain64", "Key:        256 bits"]),
        (
            "--type luks2 -s 512",
            ["cipher: cipher_null-ecb", "Cipher:     aes-xts-plain64", "Key:        512 bits"],
        ),
    ] {
        let scratch = Scratch::new();
        let volume = scratch.sized("volume", 32 << 20);
        let format = format!("luksFormat -q -c null {options}");
        keyway(&format).args(CHEAP).args(WEAK).args("--allow-empty-passphrase").arg(&volume).stdin("\n").ok();
        let open = "open --test-passphrase";
        keyway(open).args(WEAK).arg(&volume).stdin("\n").ok();
        keyway(open).args(WEAK).arg(&volume).stdin("pw\n").fails(2);
        keyway(open).arg(&volume).stdin("\n").fails(1).says("cipher_null-ecb");
        let dump = cryptsetup("luksDump").arg(&volume).ok();
        lines.into_iter().fold(dump, |dump, line| dump.says(line));
    }
}
