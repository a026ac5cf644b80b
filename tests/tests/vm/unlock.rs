//! `keyway unlock` as the first process: opens what the image or the kernel's command line names,
//! and executes the image's own /init, which here runs the scenarios.

use crate::need_machine;
use keyway_tests::peers::{CHEAP_ARGON2, CHEAP_PBKDF2, program};
use keyway_tests::vm::{Machine, prepared};
use keyway_tests::{Scratch, keyway, peer};
use std::fs;
use std::path::{Path, PathBuf};

const PASSPHRASE: &str = "correct horse battery staple";

/// A volume with random content that `key` opens.
fn volume(scratch: &Scratch, key: &Path, options: &str) -> (PathBuf, PathBuf) {
    let image = scratch.sized("volume", 24 << 20);
    let cost = if options.contains("luks1") { CHEAP_PBKDF2 } else { CHEAP_ARGON2 };
    keyway("luksFormat -q").args(cost).args(options).arg(&image).arg(key).ok();
    let plaintext = scratch.random_file("plaintext", 301, 1 << 20);
    keyway("write --key-file").arg(key).arg(&image).arg(&plaintext).ok();
    (image, plaintext)
}

/// A machine whose /init is Keyway, and whose original /init runs after it.
pub(crate) fn machine(config: &str) -> Machine {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    Machine::new()
        .directory("keyway")
        .directory("keyway/keys")
        .file("init", fs::read(program()).unwrap())
        .file("keyway/original-init", fs::read(here.join("vm/init")).unwrap())
        .file("keyway/modules", fs::read(prepared("root/modules/order")).unwrap())
        .file("keyway/unlock.conf", config)
}

/// The checks of every scenario once the volume should be open.
const LOOK: &str = "cmp -n 1048576 /dev/mapper/root /plaintext && echo CONTENT=same
     echo STATUS=$(cryptsetup status root | sed -n 's/^ *type: *//p')
     echo LEFT=$([ -e /keyway ] && echo something || echo nothing)
     echo MOUNTS=$(grep -c ' /proc ' /proc/mounts)
     echo OWN=$(head -c 2 /init)";

#[test]
fn the_first_process_opens_by_the_embedded_key_and_hands_over() {
    need_machine!();
    let scratch = Scratch::new();
    let key = scratch.file("key", PASSPHRASE);
    let (image, plaintext) = volume(&scratch, &key, "--type luks2");
    let report = machine("root /dev/vda /keyway/keys/root\n")
        .file("keyway/keys/root", PASSPHRASE)
        .file("plaintext", fs::read(plaintext).unwrap())
        .disk(&image)
        .run(LOOK);
    for (what, is) in
        [("CONTENT", "same"), ("STATUS", "LUKS2"), ("LEFT", "nothing"), ("MOUNTS", "1"), ("OWN", "#!")]
    {
        report.has(what, is);
    }
}

/// By its UUID, without udev, with the key at an offset in a file on another disk, which is named
/// by its label.
#[test]
fn a_volume_is_found_by_uuid_and_its_key_on_a_labelled_disk() {
    need_machine!();
    let scratch = Scratch::new();
    let stick = scratch.path("stick");
    fs::create_dir(&stick).unwrap();
    fs::write(stick.join("key"), format!("0123456{PASSPHRASE}and more")).unwrap();
    let disk = scratch.sized("stick.img", 8 << 20);
    peer("mkfs.ext4", "-q -L stick -d").arg(&stick).arg(&disk).ok();
    let key = scratch.file("key", PASSPHRASE);
    let (image, plaintext) =
        volume(&scratch, &key, "--type luks1 --uuid 0a1b2c3d-0000-4000-8000-0123456789ab");
    let options = format!("keyfile-offset=7,keyfile-size={}", PASSPHRASE.len());
    let config = format!("root UUID=0a1b2c3d-0000-4000-8000-0123456789ab /key:LABEL=stick {options}\n");
    let report = machine(&config).file("plaintext", fs::read(plaintext).unwrap()).disk(&image).disk(&disk);
    let report = report.run(LOOK);
    report.has("CONTENT", "same");
    report.has("STATUS", "LUKS1");
    report.has("LEFT", "nothing");
}

/// After boot it is a command like any other: its messages and exit codes.
#[test]
fn what_cannot_be_opened_is_said() {
    need_machine!();
    let scratch = Scratch::new();
    let key = scratch.file("key", PASSPHRASE);
    let (image, _) = volume(&scratch, &key, "--type luks2");
    let report = Machine::new().with_keyway().disk(&image).file("k", PASSPHRASE).file("wrong", "wrong").run(
        "says() { code=0; keyway unlock \"$@\" </dev/null >/tmp/out 2>&1 || code=$?; echo \"$code $(tr '\\n' ' ' </tmp/out)\"; }
         echo LATE=$(says --wait 1 --cmdline 'keyway.device=/dev/vdz')
         echo NONE=$(says --cmdline quiet)
         echo OFF=$(says --cmdline 'rd.luks=0 keyway.device=/dev/vda')
         echo WRONG=$(says --cmdline 'cryptdevice=/dev/vda:home cryptkey=rootfs:/wrong')
         echo RIGHT=$(says --cmdline 'cryptdevice=/dev/vda:home cryptkey=rootfs:/k')
         echo AGAIN=$(says --cmdline 'cryptdevice=/dev/vda:home cryptkey=rootfs:/k')
         keyway close home
         echo A04_SEALED=$(says --cmdline 'cryptdevice=/dev/vda:home cryptkey=rootfs:/k keyway.require=sealed')
         mkdir /keyway; echo 'min-key-bits = 1024' >/keyway/policy.toml
         echo A04_POLICY=$(says --cmdline 'cryptdevice=/dev/vda:home cryptkey=rootfs:/k')
         echo 'min-key-bits = 512' >/keyway/policy.toml
         echo A04_MET=$(says --cmdline 'cryptdevice=/dev/vda:home cryptkey=rootfs:/k')
         keyway close home
         printf '#!/bin/sh\\nprintf %s \"correct horse \"; cat \"$1\"\\n' >/tmp/script; chmod +x /tmp/script
         printf 'battery staple' >/tmp/rest
         printf 'scripted /dev/vda /tmp/rest luks,keyscript=/tmp/script\\n' >/etc/crypttab 2>/dev/null || { mkdir -p /etc; printf 'scripted /dev/vda /tmp/rest luks,keyscript=/tmp/script\\n' >/etc/crypttab; }
         echo SCRIPT=$(says)
         [ -e /dev/mapper/scripted ] && echo OPEN=yes
         keyway close scripted
         printf 'gone /dev/vdz none nofail\\nnice /dev/vda /k luks\\n' >/etc/crypttab
         echo NOFAIL=$(says --wait 1)
         [ -e /dev/mapper/nice ] && echo NICE=yes",
    );
    report.has("LATE", "4 root: /dev/vdz did not appear within 1 s.");
    assert!(report.value("NONE").starts_with("1 Nothing to open: neither"), "{report:?}");
    assert!(report.value("OFF").starts_with("1 Nothing to open"), "{report:?}");
    let wrong = report.value("WRONG");
    assert!(
        wrong.contains("No key available with this passphrase.")
            && wrong.contains("home: the key file did not open it.")
    );
    report.has("RIGHT", "0");
    report.has("AGAIN", "0");
    report.has("A04_SEALED", &format!("6 Device /dev/vda: {UNSEALED}"));
    report.has(
        "A04_POLICY",
        "6 Device /dev/vda: policy /keyway/policy.toml:1 demands min-key-bits = 1024: 512.",
    );
    report.has("A04_MET", "0");
    report.has("SCRIPT", "0");
    report.has("OPEN", "yes");
    report.has("NOFAIL", "0 gone: /dev/vdz did not appear within 1 s. gone: skipped (nofail).");
    report.has("NICE", "yes");
}

/// What a demand of a table or of the kernel's command line says of a volume without a seal.
const UNSEALED: &str =
    "x-keyway.require=sealed: it is not sealed; if it is the volume that you mean, \"keyway seal\" seals it.";
