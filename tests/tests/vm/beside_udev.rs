//! `keyway open` in a system with udev, beside `cryptsetup open`: the same links when it
//! returns, the key in the keyring that was named.

use crate::need_machine;
use keyway_tests::vm::{Machine, Report, has_udev};
use keyway_tests::{Scratch, need_that, random};

#[test]
fn links_are_cryptsetups_when_keyway_returns() {
    need_machine!();
    need_that!(has_udev(), "there is no udev for the machine: ./dev test vm fetches it");
    let report = run(
        Machine::new().with_udev(),
        r#"
        see() {
            for link in $(find /dev/mapper /dev/disk -name '*' ! -type d | sort); do
                echo "$link $(readlink -f $link)"
            done
        }
        for program in cryptsetup keyway; do
            see >/tmp/before
            $program open --key-file /key /dev/vda volume
            see >/tmp/$program
            $program close volume
            see | cmp - /tmp/before && echo AFTER_$program=nothing
        done
        cmp /tmp/cryptsetup /tmp/keyway && echo LINKS=same
        grep -q '/dev/disk/by-id/dm-uuid-CRYPT-LUKS2-.*-volume /dev/dm-' /tmp/keyway && echo BY_ID=there
        echo SEMAPHORES=$(grep -vc semid /proc/sysvipc/sem)
        "#,
    );
    for program in ["cryptsetup", "keyway"] {
        report.has(&format!("AFTER_{program}"), "nothing");
    }
    report.has("LINKS", "same");
    report.has("BY_ID", "there");
    report.has("SEMAPHORES", "0");
}

/// As after the ramdisk: udev starts when the mapping is there. The entry of its database is the one that
/// `keyway_attach::dm::introduce` writes.
#[test]
fn a_udev_that_starts_later_takes_what_it_is_told_of() {
    need_machine!();
    need_that!(has_udev(), "there is no udev for the machine: ./dev test vm fetches it");
    let report = run(
        Machine::new().with_udev(),
        r#"
        for volume in untold told; do
            udevadm control --exit
            # It may still be removing its own links.
            while pidof systemd-udevd >/dev/null; do sleep 0.1; done
            until rm -rf /run/udev; do sleep 0.1; done
            keyway open --key-file /key /dev/vda $volume
            if [ $volume = told ]; then
                mkdir -p /run/udev/data
                echo E:DM_UDEV_PRIMARY_SOURCE_FLAG=1 >/run/udev/data/b$(dmsetup info -c --noheadings -o devno $volume)
            fi
            systemd-udevd --daemon 2>/dev/null; udevadm trigger --action=add; udevadm settle
            echo $volume=$(ls /dev/disk/by-id 2>/dev/null | grep -c dm-name-$volume)
            keyway close $volume
        done
        "#,
    );
    report.has("untold", "0");
    report.has("told", "1");
}

#[test]
fn a_volume_key_is_left_in_the_keyring_that_was_named() {
    need_machine!();
    let report = run(
        Machine::new(),
        r#"
        keyctl newring vaults @u >/dev/null
        keyctl link @u @s
        keyway open --key-file /key --link-vk-to-keyring @u::mine /dev/vda one
        keyctl pipe %user:mine | cmp - /vk && echo USER=same
        keyway close one
        keyway open --key-file /key --link-vk-to-keyring %:vaults::%logon:volume:key /dev/vda two
        echo LOGON=$(keyctl rlist $(keyctl search @u keyring vaults) | wc -w) $(keyctl rdescribe %logon:volume:key ' ' | cut -d' ' -f1)
        keyway close two
        keyway open --key-file /key --link-vk-to-keyring @u::first --link-vk-to-keyring @u::second /dev/vda three
        keyctl search @u user first >/dev/null && echo FIRST=there
        keyctl search @u user second >/dev/null 2>&1 || echo SECOND=absent
        keyway close three
        dd if=/dev/vda of=/half bs=1M count=20 status=none; L=$(losetup -f); losetup $L /half
        keyway reencrypt -q --init-only --pbkdf pbkdf2 --pbkdf-force-iterations 1000 --key-file /key $L
        keyway open --key-file /key --link-vk-to-keyring @u::old $L half 2>&1 | sed 's/^/ONE=/'
        keyway open --key-file /key --link-vk-to-keyring @u::old --link-vk-to-keyring @u::new $L half
        keyctl pipe %user:old | cmp - /vk && echo OLD=same
        keyctl pipe %user:new | cmp -s - /vk || echo NEW=another
        sha256sum </dev/mapper/half >/sum; keyway close half
        keyway open --volume-key-keyring old --volume-key-keyring new $L half
        sha256sum </dev/mapper/half | cmp - /sum && echo BOTH=open; keyway close half
        keyway open --volume-key-keyring new --volume-key-keyring new $L half 2>&1 | sed 's/^/TWICE=/'
        mkdir -p /run/cryptsetup && touch /run/cryptsetup/LN_memory-hard-access
        keyway open --test-passphrase --serialize-memory-hard-pbkdf --key-file /key /dev/vda
        [ -e /run/cryptsetup/LN_memory-hard-access ] || echo LOCK=gone
        grep -c 'cryptsetup:' /proc/keys >/tmp/left || true
        echo LEFT=$(cat /tmp/left)
        "#,
    );
    report.has("USER", "same");
    report.has("LOGON", "1 logon");
    report.has("LEFT", "0");
    report.has("FIRST", "there");
    report.has("SECOND", "absent");
    report.has("OLD", "same");
    report.has("NEW", "another");
    report.has("BOTH", "open");
    assert!(report.value("ONE").contains("give --link-vk-to-keyring twice"), "{}", report.value("ONE"));
    assert!(
        report.value("TWICE").contains("volume key does not match the volume"),
        "{}",
        report.value("TWICE")
    );
    report.has("LOCK", "gone");
}

/// Runs a scenario with a LUKS2 volume with cheap key derivation: its passphrase in `/key`, its
/// volume key in `/vk`.
#[track_caller]
fn run(machine: Machine, script: &str) -> Report {
    let scratch = Scratch::new();
    let disk = scratch.sized("disk", 24 << 20);
    let machine = machine.disk(&disk).with_keyway().file("key", "secret").file("vk", random(83, 64));
    machine.run(&format!(
        "cryptsetup luksFormat -q --type luks2 --pbkdf pbkdf2 --pbkdf-force-iterations 1000 -s 512 \
             --volume-key-file /vk /dev/vda /key
         {script}"
    ))
}
