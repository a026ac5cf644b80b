//! TrueCrypt, BitLocker, FileVault and loop-AES volumes through the kernel: mapped by Keyway and by cryptsetup, the same tables, and the
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
    let noise = scratch.file("noise", random(6, 1 << 20));
    let made = scratch.file("made", random(8, 4 << 20));
    let script = r#"
        try() {
            kind=${1%% *} name=$1 device=$2 key=$3 as=${4:-$1}
            cryptsetup open --type $name --key-file $key $device theirs </key || echo "$name: cryptsetup $?"
            dmsetup table --showkeys theirs >/tmp/theirs
            cryptsetup status theirs | grep -E "type|cipher|keysize|offset|size" >/tmp/status-theirs
            sum=$(sha256sum </dev/mapper/theirs)
            cryptsetup close theirs
            keyway open --type $name --key-file $key $device ours </key || echo "$name: keyway $?"
            dmsetup table --showkeys ours >/tmp/ours
            echo "UUID_$as=$(dmsetup info -c --noheadings -o uuid ours)"
            [ "$sum" = "$(sha256sum </dev/mapper/ours)" ] && echo "PLAIN_$as=same"
            cmp -s /tmp/theirs /tmp/ours && echo "TABLE_$as=same" || { cat /tmp/theirs; cat /tmp/ours; }
            keyway close ours
            # (In read, --offset is of the plaintext.)
            case $as in offset | skip) return ;; esac
            [ "$sum" = "$(keyway read --type $name --key-file $key $device </key | sha256sum)" ] && echo "READ_$as=same"
        }
        try tcrypt /dev/vdb -
        try bitlk /dev/vda /key
        # Made here, by the length of its sectors.
        keyway bitlkFormat -q --quick /dev/vde /long || echo "bitlkFormat: $?"
        try bitlk /dev/vde /long made
        try fvault2 /dev/vdc /key
        for keys in 1 64 65; do
            head -n $keys /keys >/tmp/keys
            try loopaes /dev/vdd /tmp/keys loopaes$keys
        done
        try "loopaes --key-size 128 --offset 16 --cipher serpent" /dev/vdd /tmp/keys offset
        try "loopaes --hash sha256 --offset 16 --skip 0" /dev/vdd /tmp/keys skip
        # A last line that nothing ends; an encrypted file.
        head -c 100 /keys >/tmp/open
        echo "-----BEGIN PGP MESSAGE-----" >/tmp/sealed
        for program in cryptsetup keyway; do
            for keys in open sealed; do
                $program open --type loopaes --key-file /tmp/$keys /dev/vdd x 2>/tmp/said && echo "$program opened it"
                echo "SAID_${program}_$keys=$? $(head -c 40 /tmp/said)"
            done
        done
    "#;
    let lines: String =
        (0..65).map(|line| format!("{line:02}/VJ0WkQ1mZ2l5w9yX3cEo7b+P6nTs8uAfGhKqRd\n")).collect();
    let machine = Machine::new().disk(&windows).disk(&container).disk(&mac).disk(&noise).disk(&made);
    let machine = machine.with_keyway().file("long", "a long secret");
    let report = machine.file("key", "secret").file("keys", &lines).run(script);
    for kind in ["tcrypt", "bitlk", "made", "fvault2", "loopaes1", "loopaes64", "loopaes65"] {
        for what in ["PLAIN", "TABLE", "READ"] {
            report.has(&format!("{what}_{kind}"), "same");
        }
    }
    for what in ["PLAIN_offset", "TABLE_offset", "PLAIN_skip", "TABLE_skip"] {
        report.has(what, "same");
    }
    report.has("UUID_tcrypt", "CRYPT-TCRYPT-ours");
    report.has("UUID_loopaes65", "CRYPT-LOOPAES-ours");
    for program in ["cryptsetup", "keyway"] {
        report.has(&format!("SAID_{program}_open"), "1 Incompatible loop-AES keyfile detected.");
        report.has(&format!("SAID_{program}_sealed"), "1 Detected not yet supported GPG encrypted");
    }
}
