//! nbdkit's LUKS1 filter, a third implementation of LUKS1 (on GnuTLS).

use keyway_tests::{Scratch, assert_same_bytes, keyway, need, peer};
use std::fs::read;

#[test]
fn nbdkit_serves_what_keyway_built() {
    need!("nbdkit", "nbdcopy");
    for options in ["-c aes-xts-plain64 -s 512 -h sha256", "-c aes-xts-plain64 -s 256 -h sha512"] {
        let scratch = Scratch::new();
        let plaintext = scratch.random_file("plaintext", 31, 4 << 20);
        let key = scratch.file("key", "correct horse battery staple");
        let volume = scratch.path("volume.luks");
        keyway("build --type luks1 --pbkdf-force-iterations 1000")
            .args(options)
            .arg("--key-file")
            .arg(&key)
            .arg(&plaintext)
            .arg(&volume)
            .ok();
        let served = peer("nbdkit", "-U - --filter=luks file")
            .arg(&volume)
            .arg(format!("passphrase=+{}", key.display()))
            .arg("--run")
            .arg("nbdcopy $uri -")
            .ok();
        assert_same_bytes("nbdkit", &served.stdout, "original", &read(&plaintext).unwrap());
    }
}
