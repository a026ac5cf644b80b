//! What opened one volume is tried on the others, whose headers somebody else may have written: that tells them nothing,
//! and opens nothing that anything opens.

use crate::need_machine;
use keyway_tests::peers::{CHEAP_ARGON2, CHEAP_PBKDF2};
use keyway_tests::vm::Machine;
use keyway_tests::{Scratch, keyway};

const PASSPHRASE: &str = "correct horse battery staple";

#[test]
fn a_passphrase_is_tried_on_no_volume_that_anything_opens() {
    need_machine!();
    let scratch = Scratch::new();
    let volume = scratch.sized("volume", 24 << 20);
    let (key, other) = (scratch.file("key", PASSPHRASE), scratch.file("other", "another"));
    keyway("luksFormat -q --type luks2").args(CHEAP_ARGON2).arg(&volume).arg(&key).ok();
    // Its keyslots are not encrypted either: any passphrase would give the key, and is not taken for it.
    let null = scratch.sized("null", 4 << 20);
    let format =
        keyway("luksFormat -q --type luks1 -c cipher_null-ecb --allow-weak-cipher").args(CHEAP_PBKDF2);
    format.arg(&null).arg(&other).ok();
    keyway("open --test-passphrase --allow-weak-cipher -d").arg(&key).arg(&null).fails(2);
    // Cheap to guess at, and not under this passphrase.
    let cheap = scratch.sized("cheap", 20 << 20);
    keyway("luksFormat -q --type luks2 --pbkdf pbkdf2 --pbkdf-force-iterations 1000")
        .arg(&cheap)
        .arg(&other)
        .ok();

    let machine = Machine::new().with_keyway().disk(&volume).disk(&null).disk(&cheap);
    let report = machine.file("passphrase", format!("{PASSPHRASE}\n")).run(
        r#"
        asked() { code=0; keyway unlock "$@" </passphrase >/tmp/out 2>&1 || code=$?; echo "$code $(tr '\n' '|' </tmp/out)"; }
        table() { mkdir -p /etc; printf '%s\n' 'a /dev/vda none luks' "$@" >/etc/crypttab; }
        are_open() { for name; do [ -b "/dev/mapper/$name" ] && cryptsetup close $name && echo open || echo closed; done; }
        truncate -s 4M /tmp/wiped; losetup /dev/loop3 /tmp/wiped
        before=$(cat /dev/vdb /dev/vdc /dev/loop3 | sha256sum)
        table 'b /dev/vdb none luks'
        echo NULL=$(asked) $(are_open a b)
        table 'b /dev/vdc none luks'
        echo CHEAP=$(asked) $(are_open a b)
        table 'b /dev/loop3 none'
        echo WIPED=$(asked) $(are_open a b)
        table 'b /dev/loop3 none plain,luks,cipher=aes-xts-plain64,size=256,hash=sha256'
        echo PLAIN=$(asked) $(are_open a b)
        rm /etc/crypttab
        echo CRYPTO=$(asked --cmdline "rd.luks.name=$(cryptsetup luksUUID /dev/vda)=a cryptdevice=/dev/loop3:b crypto=sha256:aes-xts-plain64:256:0:") $(are_open a b)
        [ "$(cat /dev/vdb /dev/vdc /dev/loop3 | sha256sum)" = "$before" ] && echo BYTES=same"#,
    );
    let nobody = "Nothing to read on input.|1 of 2 volumes are not open: b.| open closed";
    for key in ["NULL", "WIPED"] {
        assert!(
            report.value(key).ends_with("|1 of 2 volumes are not open: b.| open closed"),
            "{key} {report:?}"
        );
    }
    assert!(report.value("NULL").contains("cipher_null"), "{report:?}");
    report.has("CHEAP", &format!("1 {nobody}"));
    report.has("PLAIN", &format!("1 {nobody}"));
    report.has("CRYPTO", &format!("1 {nobody}"));
    report.has("BYTES", "same");
}
