//! TrueCrypt, BitLocker and FileVault volumes through the kernel: mapped by Keyway and by cryptsetup, the same tables, and the
//! plaintext that Keyway reads itself.

use crate::need_machine;
use keyway_format::tcrypt::Program;
use keyway_tests::bitlk::{self, Bitlk, Protector};
use keyway_tests::vm::Machine;
use keyway_tests::{Scratch, fvault2, random, tcrypt};

#[test]
fn the_kernel_maps_what_we_read() {
    need_machine!();
    let scratch = Scratch::new();
    let windows = Bitlk { protectors: vec![Protector::Passphrase("secret")], ..Bitlk::default() };
    let windows = scratch.file("windows", windows.make(&random(3, bitlk::LEN)));
    let container = scratch.file("container", tcrypt::made(Program::TrueCrypt, "sha512", None));
    let mac = fvault2::Fvault2 { passphrases: vec!["secret"], ..fvault2::Fvault2::default() };
    let mac = scratch.file("mac", mac.make(&random(5, fvault2::LEN)));
    let script = r#"
        try() {
            kind=$1 device=$2 key=$3
            cryptsetup open --type $kind --key-file $key $device theirs </key || echo "$kind: cryptsetup $?"
            dmsetup table --showkeys theirs >/tmp/theirs
            cryptsetup status theirs | grep -E "type|cipher|keysize|offset|size" >/tmp/status-theirs
            sum=$(sha256sum </dev/mapper/theirs)
            cryptsetup close theirs
            keyway open --type $kind --key-file $key $device ours </key || echo "$kind: keyway $?"
            dmsetup table --showkeys ours >/tmp/ours
            echo "UUID_$kind=$(dmsetup info -c --noheadings -o uuid ours)"
            [ "$sum" = "$(sha256sum </dev/mapper/ours)" ] && echo "PLAIN_$kind=same"
            cmp -s /tmp/theirs /tmp/ours && echo "TABLE_$kind=same" || { cat /tmp/theirs; cat /tmp/ours; }
            keyway close ours
            [ "$sum" = "$(keyway read --type $kind --key-file $key $device </key | sha256sum)" ] && echo "READ_$kind=same"
        }
        try tcrypt /dev/vdb -
        try bitlk /dev/vda /key
        try fvault2 /dev/vdc /key
    "#;
    let machine =
        Machine::new().disk(&windows).disk(&container).disk(&mac).with_keyway().file("key", "secret");
    let report = machine.run(script);
    for kind in ["tcrypt", "bitlk", "fvault2"] {
        for what in ["PLAIN", "TABLE", "READ"] {
            report.has(&format!("{what}_{kind}"), "same");
        }
    }
    report.has("UUID_tcrypt", "CRYPT-TCRYPT-ours");
}
