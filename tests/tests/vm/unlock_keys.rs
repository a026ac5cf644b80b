//! What `keyway unlock` opens a volume with, on a running machine: key files, programs, tokens,
//! typed passphrases; and devices that appear late.

use crate::need_machine;
use keyway_tests::peers::{CHEAP_ARGON2, peer};
use keyway_tests::vm::{Machine, Report};
use keyway_tests::{Scratch, keyway};

const PASSPHRASE: &str = "correct horse battery staple";

/// `says ARGUMENT…` runs `keyway unlock` with nothing to read, `asked ARGUMENT…` with the right
/// passphrase: exit code and all output, on one line. `table LINE…` writes /etc/crypttab.
const FUNCTIONS: &str = r#"
said() { echo "$1 $(tr '\n' '|' </tmp/out)"; }
says() { code=0; keyway unlock "$@" </dev/null >/tmp/out 2>&1 || code=$?; said $code; }
asked() { code=0; keyway unlock "$@" </passphrase >/tmp/out 2>&1 || code=$?; said $code; }
table() { mkdir -p /etc; printf '%s\n' "$@" >/etc/crypttab; }
script() { printf '#!/bin/sh\n%s\n' "$2" >"$1"; chmod +x "$1"; }
is_open() { [ -b "/dev/mapper/$1" ] && cryptsetup close "$1" && echo open || echo closed; }
"#;

/// Runs a scenario with a LUKS2 volume on /dev/vda: keyslot 0 by the key in /other, keyslot 1 by
/// that in /key, which /passphrase contains as typed.
#[track_caller]
fn run(script: &str) -> Report {
    run_with(script, |machine| machine)
}

/// As [`run`], in a machine to which something is added.
#[track_caller]
fn run_with(script: &str, add: impl FnOnce(Machine) -> Machine) -> Report {
    let scratch = Scratch::new();
    let image = scratch.sized("volume", 24 << 20);
    let (key, other) = (scratch.file("key", PASSPHRASE), scratch.file("other", "another"));
    keyway("luksFormat -q --type luks2").args(CHEAP_ARGON2).arg(&image).arg(&other).ok();
    keyway("luksAddKey -q").args(CHEAP_ARGON2).arg("-d").arg(&other).arg(&image).arg(&key).ok();
    let machine = Machine::new().with_keyway().disk(&image).file("key", PASSPHRASE).file("other", "another");
    let machine = machine.file("passphrase", format!("{PASSPHRASE}\n")).file("wrong", "wrong");
    add(machine).run(&format!("{FUNCTIONS}\n{script}"))
}

/// The program's key works together with the entry's other options: the header is only where
/// `header=` says.
#[test]
fn a_programs_key_opens_with_the_entrys_options() {
    need_machine!();
    let report = run(r#"
        cryptsetup luksHeaderBackup /dev/vda --header-backup-file /tmp/header
        dd if=/dev/zero of=/dev/vda bs=1M count=1 conv=notrunc 2>/dev/null
        script /tmp/print 'env | grep ^CRYPTTAB | sort >/tmp/env; printf "correct horse "; cat "$1"'
        printf 'battery staple' >/tmp/rest
        table 'home /dev/vda /tmp/rest luks,keyscript=/tmp/print,discard,readonly,key-slot=1,header=/tmp/header,no-read-workqueue'
        echo SCRIPT=$(says)
        echo TABLE=$(dmsetup table home | cut -d' ' -f9-)
        echo READ_ONLY=$(blockdev --getro /dev/mapper/home)
        echo ENVIRONMENT=$(tr '\n' '|' </tmp/env)
        echo OPEN=$(is_open home)
        table 'home /dev/vda /tmp/rest luks,keyscript=/tmp/print,key-slot=0,header=/tmp/header'
        echo OTHER_SLOT=$(says --tries 1)"#);
    report.has("SCRIPT", "0");
    report.has("TABLE", "3 allow_discards no_read_workqueue sector_size:4096");
    report.has("READ_ONLY", "1");
    report.has(
        "ENVIRONMENT",
        "CRYPTTAB_KEY=/tmp/rest|CRYPTTAB_NAME=home|CRYPTTAB_OPTIONS=luks keyscript discard readonly key-slot header \
         no-read-workqueue|CRYPTTAB_OPTION_discard=yes|CRYPTTAB_OPTION_header=/tmp/header|CRYPTTAB_OPTION_key_slot=1|\
         CRYPTTAB_OPTION_keyscript=/tmp/print|CRYPTTAB_OPTION_luks=yes|CRYPTTAB_OPTION_no_read_workqueue=yes|\
         CRYPTTAB_OPTION_readonly=yes|CRYPTTAB_SOURCE=/dev/vda|CRYPTTAB_TRIED=0|",
    );
    report.has("OPEN", "open");
    report
        .has("OTHER_SLOT", "2 No key available with this passphrase.|home: the keyscript did not open it.|");
}

#[test]
fn after_a_program_or_a_key_file_that_fails_somebody_is_asked() {
    need_machine!();
    let report = run(r#"
        script /tmp/fails 'exit 3'
        script /tmp/second '[ $CRYPTTAB_TRIED = 1 ] && exec cat /key; echo wrong'
        table 'home /dev/vda none luks,keyscript=/tmp/fails'
        echo FAILS=$(asked) $(is_open home)
        echo FAILS_ALONE=$(says) $(is_open home)
        table 'home /dev/vda none luks,keyscript=/tmp/nowhere'
        echo NOWHERE=$(asked) $(is_open home)
        table 'home /dev/vda none luks,keyscript=/tmp/second'
        echo SECOND=$(says) $(is_open home)
        echo SECOND_OF_ONE=$(says --tries 1) $(is_open home)
        table 'home /dev/vda /wrong luks'
        echo WRONG=$(asked) $(is_open home)
        echo WRONG_ALONE=$(says) $(is_open home)
        table 'home /dev/vda /nowhere luks'
        echo MISSING=$(asked) $(is_open home)
        table 'home /dev/vda /key:LABEL=nowhere luks'
        echo NO_STICK=$(asked --wait 1) $(is_open home)
        echo NO_STICK_ALONE=$(says --wait 1) $(is_open home)
        table 'home /dev/vda none luks,tpm2-device=auto'
        echo HARDWARE=$(asked) $(is_open home)
        table 'home /dev/vda none luks'
        echo ASKED=$(asked) $(is_open home)
        echo NOBODY=$(says) $(is_open home)
        echo mistyped >/passphrase
        echo MISTYPED=$(asked) $(is_open home)"#);
    let said = |key: &str, code: &str, lines: &[&str], end: &str| {
        let lines: String = lines.iter().map(|line| format!("{line}|")).collect();
        report.has(key, &format!("{code} {lines} {end}").replace("  ", " "));
    };
    let (wrong, script) = ("No key available with this passphrase.", "home: the keyscript did not open it.");
    let file = "home: the key file did not open it.";
    let fails = "keyscript /tmp/fails: it ended with exit status: 3.";
    said("FAILS", "0", &[fails, script], "open");
    said("FAILS_ALONE", "1", &[fails, script], "closed");
    said(
        "NOWHERE",
        "0",
        &["keyscript /tmp/nowhere: No such file or directory (os error 2).", script],
        "open",
    );
    said("SECOND", "0", &[wrong], "open");
    said("SECOND_OF_ONE", "2", &[wrong, script], "closed");
    said("WRONG", "0", &[wrong, file], "open");
    said("WRONG_ALONE", "2", &[wrong, file], "closed");
    let missing = "Failed to open key file /nowhere: No such file or directory (os error 2).";
    said("MISSING", "0", &[missing, file], "open");
    let stick = "The key file's device LABEL=nowhere did not appear within 1 s.";
    said("NO_STICK", "0", &[stick, file], "open");
    said("NO_STICK_ALONE", "4", &[stick, file], "closed");
    said("HARDWARE", "0", &["home: tpm2-device= is ignored: it is not implemented yet."], "open");
    said("ASKED", "0", &[], "open");
    said("NOBODY", "1", &["Nothing to read on input."], "closed");
    said("MISTYPED", "2", &[wrong], "closed");
}

/// A token's key has precedence over a key file and a prompt, whichever program created the token.
#[test]
fn a_token_opens_by_the_kernels_keyring() {
    need_machine!();
    let report = run(r#"
        table 'home /dev/vda /wrong luks'
        cryptsetup token add --key-description boot:theirs --key-slot 1 /dev/vda
        echo WITHOUT=$(says) $(is_open home)
        keyctl padd user boot:theirs @u </key >/dev/null
        echo THEIRS=$(says -v) $(is_open home)
        cryptsetup token remove --token-id 0 /dev/vda
        keyway token add --key-description boot:ours --key-slot 0 /dev/vda
        keyctl padd user boot:ours @u </other >/dev/null
        echo OURS=$(says -v) $(is_open home)
        cryptsetup open --token-only /dev/vda home
        echo BY_CRYPTSETUP=$(is_open home)
        keyway open --token-only /dev/vda home
        echo BY_OPEN=$(is_open home)
        keyctl padd user boot:ours @u </key >/dev/null
        echo ANOTHER=$(asked) $(is_open home)"#);
    let lines = "No key available with this passphrase.|home: the key file did not open it.|";
    report.has("WITHOUT", &format!("2 {lines} closed"));
    report.has("THEIRS", "0 Key slot 1 unlocked.|Command successful.| open");
    report.has("OURS", "0 Key slot 0 unlocked.|Command successful.| open");
    report.has("BY_CRYPTSETUP", "open");
    report.has("BY_OPEN", "open");
    // It opens a keyslot that is not the token's.
    report.has("ANOTHER", &format!("0 {lines} open"));
}

#[test]
fn devices_that_are_late_open_already_or_without_dm_crypt() {
    need_machine!();
    let report = run(r#"
        uuid=$(cryptsetup luksUUID /dev/vda)
        dd if=/dev/vda of=/tmp/image bs=1M 2>/dev/null
        cryptsetup luksUUID -q --uuid 0a1b2c3d-0000-4000-8000-0123456789ab /tmp/image
        cryptsetup luksHeaderBackup /tmp/image --header-backup-file /tmp/header
        table 'late UUID=0a1b2c3d-0000-4000-8000-0123456789ab /key:LABEL=stick luks,header=/tmp/late-header' 'home /dev/vda /key luks'
        mkdir /tmp/tree; cp /key /tmp/tree; truncate -s 4M /tmp/stick; mkfs.ext4 -q -L stick -d /tmp/tree /tmp/stick
        (sleep 3; losetup /dev/loop5 /tmp/image; sleep 1; mv /tmp/header /tmp/late-header
         sleep 1; losetup /dev/loop6 /tmp/stick) &
        echo NEVER=$(says --wait 1 late)
        echo LATE=$(says --wait 60 late) $(is_open late)
        echo ONE=$(says home)
        echo AGAIN=$(says -v home)
        echo AGAIN_QUIET=$(says home) $(is_open home)
        rmmod dm_crypt
        echo WITHOUT=$(says home)
        insmod /modules/dm-crypt.ko
        keyway unlock home </dev/null
        echo WITH=$(is_open home)
        on() { echo "keyway.device=$1 keyway.name=home keyway.key=${2:-/key}"; }
        pci=$(readlink -f /sys/block/vda/device | grep -o '[0-9a-f]*:[0-9a-f]*:[0-9a-f]*\.[0-9a-f]' | tail -1)
        echo BY_PATH=$(says --cmdline "$(on /dev/disk/by-path/virtio-pci-$pci)") $(is_open home)
        echo BY_ID=$(says --cmdline "$(on /dev/disk/by-id/ata-X)")
        echo BY_LINK=$(says --cmdline "$(on /dev/disk/by-uuid/$(echo $uuid | tr a-f A-F))") $(is_open home)
        echo START=$(says --cmdline "rd.luks.uuid=luks-${uuid%%-*} rd.luks.key=/key") $(is_open luks-$uuid)
        cp /tmp/image /tmp/second; losetup /dev/loop7 /tmp/second
        (head -c 512 /dev/zero; cat /key; echo more) >/tmp/raw; truncate -s 64K /tmp/raw; losetup /dev/loop4 /tmp/raw
        echo RANGE=$(says --cmdline "cryptdevice=/dev/vda:home cryptkey=/dev/loop4:512:$(wc -c </key)") $(is_open home)
        rm -r /tmp/tree; mkdir /tmp/tree; mv /tmp/late-header /tmp/tree/hdr
        mkdir /tmp/tree/keys; cp /key /tmp/tree/keys/real; ln -s keys/../keys/real /tmp/tree/inside
        ln -s /key /tmp/tree/outside; ln -s ../.. /tmp/tree/up; ln -s /tmp/header-copy /tmp/tree/header
        cp /tmp/tree/hdr /tmp/header-copy
        truncate -s 24M /tmp/hdr; mkfs.ext4 -q -L hdr -d /tmp/tree /tmp/hdr; losetup /dev/loop3 /tmp/hdr
        table 'home /dev/loop7 /key luks,header=/hdr:LABEL=hdr'
        echo HEADER=$(says) $(is_open home) $(grep -c keyway-header /proc/mounts)
        for file in inside outside up/key ../../key gone; do
            table "home /dev/vda /$file:LABEL=hdr luks"
            echo KEY $file=$(says) $(is_open home)
        done
        table 'home /dev/loop7 /key luks,header=/header:LABEL=hdr'
        echo HEADER_OUTSIDE=$(says) $(is_open home) $(grep -c keyway-header /proc/mounts)
        table 'one /dev/vda none luks' 'swap /dev/vdz /dev/urandom swap' \
            'gone /dev/vdz none luks,x-systemd.device-timeout=1s' 'two /dev/loop7 none luks'
        echo ALL=$(asked) $(is_open one) $(is_open two)
        table 'one /dev/vda none luks' 'two /dev/loop7 none luks'
        echo ASKED_ONCE=$(asked) $(is_open one) $(is_open two)
        echo ASKED_TWICE=$(asked --cmdline keyway.cache=no) $(is_open one) $(is_open two)
        cp /key /tmp/erased
        table 'home /dev/vda /tmp/erased luks,keyfile-erase'
        echo ERASED=$(says) $(is_open home) $([ -e /tmp/erased ] && echo there || echo gone)
        table 'home /dev/vda none luks,headless=yes'
        echo HEADLESS=$(asked)"#);
    report.has("BY_PATH", "0 open");
    let only_udev = "/dev/disk/by-id/ata-X: only udev knows that name, and none runs here; write UUID=, PARTUUID= or LABEL= \
                     instead.";
    report.has("BY_ID", &format!("4 {only_udev}|home: /dev/disk/by-id/ata-X cannot be found.|"));
    report.has("BY_LINK", "0 open");
    report.has("START", "0 open");
    report.has("RANGE", "0 open");
    report.has("HEADER", "0 open 0");
    report.has("KEY inside", "0 open");
    for file in ["outside", "up/key", "../../key"] {
        let why = format!("The key file /{file} on LABEL=hdr: it leads out of the device.");
        report.has(&format!("KEY {file}"), &format!("1 {why}|home: the key file did not open it.| closed"));
    }
    let gone = "The key file /gone on LABEL=hdr: No such file or directory (os error 2).";
    report.has("KEY gone", &format!("1 {gone}|home: the key file did not open it.| closed"));
    report.has("HEADER_OUTSIDE", "1 The header /header on LABEL=hdr: it leads out of the device.| closed 0");
    report.has(
        "ALL",
        "4 swap: left to the system that starts: it gets a random key each time.|gone: /dev/vdz did not appear within 1 \
         s.|1 of 3 volumes are not open: gone.| open open",
    );
    report.has("ASKED_ONCE", "0 open open");
    report.has("ASKED_TWICE", "1 Nothing to read on input.|1 of 2 volumes are not open: two.| open closed");
    report.has("ERASED", "0 open gone");
    report.has("HEADLESS", "1 home: no passphrase is asked for (headless).|");
    report.has("NEVER", "4 late: UUID=0a1b2c3d-0000-4000-8000-0123456789ab did not appear within 1 s.|");
    report.has("LATE", "0 open");
    report.has("ONE", "0");
    report.has("AGAIN", "0 home is already open.|Command successful.|");
    report.has("AGAIN_QUIET", "0 open");
    assert!(
        report.value("WITHOUT").starts_with("4 This kernel has no dm-crypt: the module dm-crypt"),
        "{report:?}"
    );
    report.has("WITH", "open");
}

/// genkernel's root_key= without root_keydev=: in the image, and on no device that somebody added.
#[test]
fn a_key_of_no_named_device_is_in_the_image() {
    need_machine!();
    let report = run(r#"
        mkdir -p /tmp/tree/keys; cp /key /tmp/tree/keys/k; truncate -s 4M /tmp/stick
        mkfs.ext4 -q -d /tmp/tree /tmp/stick; losetup /dev/loop5 /tmp/stick
        on() { echo "crypt_root=/dev/vda root_key=$1"; }
        echo NOT_THERE=$(says --cmdline "$(on keys/k)") $(is_open root)
        echo ASKED=$(asked --cmdline "$(on keys/k)") $(is_open root)
        echo STAR=$(says --cmdline "keyway.device=/dev/vda keyway.key=/keys/k:*") $(is_open root)
        echo HERE=$(says --cmdline "$(on key)") $(is_open root)"#);
    let missing = |file: &str| {
        let why = "No such file or directory (os error 2)";
        format!("Failed to open key file {file}: {why}.|root: the key file did not open it.|")
    };
    report.has("NOT_THERE", &format!("1 {} closed", missing("/keys/k")));
    report.has("ASKED", &format!("0 {} open", missing("/keys/k")));
    report.has("STAR", &format!("1 {} closed", missing("/keys/k:*")));
    report.has("HERE", "0 open");
}

/// A machine may have been suspended: the disk with the key is left as it is, by a mount that replays no journal and finishes
/// no removal, which the kernel does under "ro,noload", too.
#[test]
fn a_device_with_a_key_is_not_changed() {
    need_machine!();
    let scratch = Scratch::new();
    let (tree, stick) = (scratch.path("tree"), scratch.path("stick"));
    std::fs::create_dir(&tree).unwrap();
    std::fs::write(tree.join("removed"), "x").unwrap();
    peer("mke2fs", "-q -t ext4 -L stick -d").arg(&tree).arg(&stick).arg("4M").ok();
    let key = scratch.file("k", PASSPHRASE);
    let requests = format!(
        "write {} k\nstat /removed\nset_inode_field /removed links_count 0\nunlink /removed\n\
         set_super_value last_orphan 12\nquit\n",
        key.display()
    );
    peer("debugfs", "-w -f").arg(scratch.file("requests", requests)).arg(&stick).ok().says("Inode: 12 ");
    let script = r#"
        sum() { sha256sum </tmp/stick; }
        same() { [ "$(sum)" = "$before" ] && echo same || echo changed; }
        key() { says --cmdline "keyway.device=/dev/vda keyway.name=home keyway.key=$1:/dev/loop5"; }
        state() { echo $(is_open home) $(blockdev --getro /dev/loop5) $(same) $(grep -c keyway-key /proc/mounts); }
        cp /stick /tmp/stick; before=$(sum); losetup /dev/loop5 /tmp/stick
        echo ORPHAN=$(key /k) $(state)
        blockdev --setro /dev/loop5
        echo READ_ONLY=$(key /k) $(state)
        blockdev --setrw /dev/loop5
        mount -t ext4 -o ro,noload /dev/loop5 /mnt
        echo MOUNTED=$(key /k) $(is_open home) $(blockdev --getro /dev/loop5)
        umount /mnt
        echo PLAIN=$(same)
        mount -t ext4 /dev/loop5 /mnt; echo x >/mnt/x; sync
        cat /dev/loop5 >/tmp/dirty; umount /mnt; losetup -d /dev/loop5
        mv /tmp/dirty /tmp/stick; before=$(sum); losetup /dev/loop5 /tmp/stick
        echo JOURNAL=$(key /k) $(state)
        losetup -d /dev/loop5; rm /tmp/stick; truncate -s 1M /tmp/stick; before=$(sum); losetup /dev/loop5 /tmp/stick
        echo NOTHING=$(key /k | cut -c-43) $(state)"#;
    let report = run_with(script, |machine| machine.file("stick", std::fs::read(&stick).unwrap()));
    report.has("ORPHAN", "0 open 0 same 0");
    report.has("READ_ONLY", "0 open 1 same 0");
    report.has("MOUNTED", "0 open 0");
    // What the rest of the test would be worth nothing without.
    report.has("PLAIN", "changed");
    report.has("JOURNAL", "0 open 0 same 0");
    report.has("NOTHING", "4 Cannot mount /dev/loop5 for the key file: closed 0 same 0");
}
