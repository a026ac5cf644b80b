//! A kernel whose ciphers no program reaches (AF_ALG is off, as more and more distributions have
//! it): everything works as everywhere (cryptsetup 2.6 opens no keyslot of Adiantum's there), and
//! `xray` says what is still to be known and how.

use crate::need_machine;
use keyway_tests::vm::Machine;

const CIPHERS: [&str; 4] = [
    "aes-xts-plain64 512",
    "xchacha12,aes-adiantum-plain64 256",
    "serpent-xts-plain64 512",
    "twofish-xts-plain64 512",
];

#[test]
fn nothing_but_the_look_at_drivers_needs_af_alg() {
    need_machine!();
    let volumes: String = CIPHERS
        .iter()
        .map(|cipher| {
            let (spec, bits) = cipher.split_once(' ').expect("a cipher and its key");
            format!(
                "echo '{spec}'
                 keyway benchmark -c {spec} -s {bits} | tail -n 1 | sed 's/^/SPEED /'
                 truncate -s 20M /tmp/v
                 keyway luksFormat -q --pbkdf argon2id --pbkdf-memory 4096 --pbkdf-force-iterations 4 -c {spec} \
                     -s {bits} --keyslot-cipher {spec} --keyslot-key-size {bits} /tmp/v /tmp/key
                 keyway write --key-file /tmp/key /tmp/v /tmp/data
                 keyway read --key-file /tmp/key --length 1048576 /tmp/v | cmp - /tmp/data && echo 'READ={spec}'
                 keyway open --key-file /tmp/key /tmp/v c && cmp -n 1048576 /dev/mapper/c /tmp/data && echo 'MAPPED={spec}'
                 keyway close c
                 rm /tmp/v\n"
            )
        })
        .collect();
    let report = Machine::new().with_keyway().run(&format!(
        "echo >/proc/sys/kernel/modprobe
         for module in algif_skcipher algif_hash algif_aead algif_rng af_alg; do rmmod $module 2>/dev/null || true; done
         grep -c af_alg /proc/modules | sed 's/^/AF_ALG=/'
         printf 'a passphrase' >/tmp/key
         head -c 1048576 /dev/urandom >/tmp/data
         {volumes}
         keyway xray aes-xts-plain64 >/tmp/xray && echo XRAY=0 || echo XRAY=$?
         sed 's/^/SAID /' /tmp/xray
         keyway bench disk --cipher aes-xts-plain64 -q --time 10 --save /tmp/disk.json /dev/ram0 >/tmp/shown && echo BENCH=0
         grep -c '\"id\":\"disk/dm-crypt/brd/aes-xts-plain64/[^\"]*\",\"case\":{{[^}}]*}},\"outcome\":{{\"result\":\"measured\"' /tmp/disk.json |
             sed 's/^/ROWS=/'
         grep -c '\"result\":\"wrong\"' /tmp/disk.json | sed 's/^/WRONG=/'"
    ));
    report.has("AF_ALG", "0");
    for cipher in CIPHERS {
        let spec = cipher.split(' ').next().unwrap_or_default();
        for what in ["READ", "MAPPED"] {
            let done = format!("{what}={spec}");
            assert!(report.lines().any(|line| line == done), "{done}\n{report:?}");
        }
    }
    let speeds: Vec<&str> = report.lines().filter_map(|line| line.strip_prefix("SPEED ")).collect();
    assert_eq!(speeds.len(), CIPHERS.len(), "{speeds:?}");
    assert!(speeds.iter().all(|line| line.matches(" MiB/s").count() == 2), "{speeds:?}");
    report.has("XRAY", "0");
    let said: String = report.lines().filter_map(|line| line.strip_prefix("SAID ")).collect();
    for text in [
        "· Nothing was measured: this kernel has not loaded the module af_alg",
        "· Keyway itself needs none of it. As root, \"keyway bench disk --cipher aes-xts-plain64 /dev/ram0\"",
        "aes-xts-plain64 w",
    ] {
        assert!(said.contains(text), "{text}\n{said}");
    }
    report.has("BENCH", "0");
    assert_ne!(report.value("ROWS"), "0", "{report:?}");
    report.has("WRONG", "0");
}
