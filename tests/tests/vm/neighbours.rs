//! Several clients at once in one encryption sector of 4096 bytes, each in a part of its own, through ublk:
//! as tests/doors/neighbours.rs has it for the other front ends. The kernel asks this front end for whole sectors
//! only, as it does dm-crypt. Small writes reach it as pages of the cache, while others read the sector
//! past the cache.

use crate::need_machine;
use keyway_tests::vm::{Machine, has_kernel};
use keyway_tests::{Scratch, need_that, random};
use std::fs;

/// A cipher and the size of its key. In the first two a change of one byte changes some of the sector's
/// ciphertext, in the others all of it.
const MODES: [(&str, &str); 4] = [
    ("aes-xts-plain64", "512"),
    ("aes-cbc-essiv:sha256", "256"),
    ("xchacha12,aes-adiantum-plain64", "256"),
    ("aes-hctr2-plain64", "256"),
];

#[test]
fn over_ublk() {
    need_machine!();
    need_that!(has_kernel("6.12"), "there is no kernel with ublk: ./dev test vm fetches it");
    let scratch = Scratch::new();
    let image = scratch.random_file("image", 161, 1 << 20);
    let client = fs::read(env!("CARGO_BIN_EXE_ublk-disk")).unwrap();
    let machine = Machine::new().processors(2).kernel("6.12").disk(&image).with_keyway();
    let machine = machine.file("bin/ublk-disk", client).file("plaintext", random(162, 1 << 20));
    let mut script = String::new();
    for (number, (cipher, bits)) in MODES.iter().enumerate() {
        let (key, bytes) = (format!("key-{number}"), bits.parse::<u32>().unwrap() / 8);
        script += &format!(
            r#"
            dd if=/dev/urandom of=/{key} bs={bytes} count=1 2>/dev/null
            keyway open -q --type plain -c {cipher} -s {bits} --sector-size 4096 --key-file /{key} \
                --backend ublk /dev/vda n >/dev/null
            dd if=/plaintext of=/dev/ublkb0 bs=64k oflag=direct 2>/dev/null
            echo SECTOR_{number}=$(blockdev --getss /dev/ublkb0)
            echo READS_{number}=$(ublk-disk neighbours /dev/ublkb0 /plaintext {ROUNDS})
            sync; keyway close n
            "#
        );
    }
    let report = machine.run(&script);
    for (number, (cipher, _)) in MODES.iter().enumerate() {
        report.has(&format!("SECTOR_{number}"), "4096");
        let reads = report.value(&format!("READS_{number}"));
        eprintln!("ublk, {cipher}: {reads}");
        let all = reads.strip_prefix("0 of ").and_then(|rest| rest.strip_suffix(" reads are wrong"));
        assert!(all.is_some_and(|all| all.parse().is_ok_and(|all: usize| all > ROUNDS)), "{cipher}: {reads}");
    }
}

/// Requests of a client.
const ROUNDS: usize = 2_000;
