//! Keyway's own device-mapper layer under Debian's kernel, beside cryptsetup's and dmsetup's: the
//! same tables, UUIDs, names, nodes and keys; errors that say why; udev's links where udev runs.

use crate::need_machine;
use keyway_tests::vm::{Machine, Report, has_udev};
use keyway_tests::{Scratch, need_that, random};
use std::fs;

#[test]
fn mappings_are_cryptsetups_to_the_byte() {
    need_machine!();
    let report = run(
        Machine::new(),
        r#"
        format --type luks2 --sector-size 4096
        for name in home "my volume"; do
            cryptsetup open --key-file /key /dev/vda "$name"
            see "$name" >/tmp/theirs
            head -c 1000000 /random >/dev/mapper/$(dmsetup info -c --noheadings --mangle hex -o mangled_name "$name")
            cryptsetup close "$name"
            sectors=$(cut -d' ' -f2 /tmp/theirs | head -1) offset=$(head -1 /tmp/theirs | cut -d' ' -f8)
            mapper luks2 "$name" $uuid /vk $sectors aes-xts-plain64 /dev/vda $offset sector_size:4096
            see "$name" >/tmp/ours
            cmp /tmp/theirs /tmp/ours && echo "LUKS2_${name%% *}=same"
            node=/dev/mapper/$(ls /dev/mapper | grep -v control)
            head -c 1000000 $node | cmp - /random && echo "READ_${name%% *}=same"
            cryptsetup status "$name" | grep -q 'type:    LUKS2' && echo "STATUS_${name%% *}=cryptsetup's"
            cryptsetup close "$name"
            [ ! -e $node ] && echo "NODE_${name%% *}=gone"
        done
        format --type luks1 -c aes-cbc-essiv:sha256
        cryptsetup open --readonly --allow-discards --key-file /key /dev/vda old
        see old >/tmp/theirs
        cryptsetup close old
        hex=$(od -An -v -tx1 /vk | tr -d ' \n') offset=$(head -1 /tmp/theirs | cut -d' ' -f8)
        sectors=$(cut -d' ' -f2 /tmp/theirs | head -1)
        mapper create read-only old CRYPT-LUKS1-$(echo $uuid | tr -d -)-old $sectors crypt \
            aes-cbc-essiv:sha256 $hex 0 $vda $offset 1 allow_discards
        see old >/tmp/ours
        cmp /tmp/theirs /tmp/ours && echo LUKS1=same
        mapper keys old >/tmp/keys; dmsetup table --showkeys old | cmp - /tmp/keys && echo KEYS=dmsetup\'s
        mapper table old >/tmp/table; dmsetup table old | cmp - /tmp/table && echo TABLE=dmsetup\'s
        mapper deps old | grep -qx $vda && echo DEPS=dmsetup\'s
        mapper remove old
        mapper list | wc -l | grep -qx 0 && echo LIST=empty
        "#,
    );
    for name in ["home", "my"] {
        report.has(&format!("LUKS2_{name}"), "same");
        report.has(&format!("READ_{name}"), "same");
        report.has(&format!("STATUS_{name}"), "cryptsetup's");
        report.has(&format!("NODE_{name}"), "gone");
    }
    report.has("LUKS1", "same");
    for key in ["KEYS", "TABLE", "DEPS"] {
        report.has(key, "dmsetup's");
    }
    report.has("LIST", "empty");
}

/// A logical volume or a multipath device: only the program that created it removes it.
#[test]
fn other_peoples_mappings_are_left_alone() {
    need_machine!();
    let report = run(
        Machine::new().with_keyway(),
        r#"
        for uuid in "" LVM-0123456789abcdef; do
            dmsetup create others ${uuid:+--uuid $uuid} --table '0 8 error'
            key=${uuid%%-*}
            keyway close others >/tmp/said 2>&1 && code=0 || code=$?
            echo "CLOSE_$key=$code $(cat /tmp/said)"
            keyway close --deferred others >/dev/null 2>&1 && code=0 || code=$?
            echo "DEFERRED_$key=$code"
            dmsetup info others >/dev/null && echo "KEPT_$key=yes"
            dmsetup remove others
        done
        dmsetup create plain --uuid CRYPT-PLAIN-plain --table '0 8 error'
        keyway close plain && echo OURS=closed
        dmsetup info plain >/dev/null 2>&1 || echo GONE=yes
        dmsetup create by_hand --table "0 8 crypt cipher_null-ecb - 0 /dev/vda 0"
        keyway close by_hand && echo BY_HAND=closed
        dmsetup info by_hand >/dev/null 2>&1 || echo BY_HAND_GONE=yes
        for program in cryptsetup keyway; do
            dmsetup create by_hand --table "0 8 crypt cipher_null-ecb - 0 /dev/vda 0"
            $program close --deferred by_hand && echo DEFERRED_BY_HAND_$program=closed
            ! dmsetup info by_hand >/dev/null 2>&1 || dmsetup remove by_hand
        done
        "#,
    );
    let line = |whose: &str| {
        format!(
            "1 Device others is not a mapping of Keyway's or cryptsetup's (it has {whose}, its table is error): dmsetup \
             removes it."
        )
    };
    report.has("CLOSE_", &line("no UUID"));
    report.has("CLOSE_LVM", &line("the UUID LVM-0123456789abcdef"));
    for key in ["", "LVM"] {
        report.has(&format!("DEFERRED_{key}"), "1");
        report.has(&format!("KEPT_{key}"), "yes");
    }
    report.has("OURS", "closed");
    report.has("GONE", "yes");
    report.has("BY_HAND", "closed");
    for program in ["cryptsetup", "keyway"] {
        report.has(&format!("DEFERRED_BY_HAND_{program}"), "closed");
    }
    report.has("BY_HAND_GONE", "yes");
}

#[test]
fn mappings_are_suspended_exchanged_and_removed_when_closed() {
    need_machine!();
    let report = run(
        Machine::new(),
        r#"
        format --type luks1 -c aes-cbc-essiv:sha256
        cryptsetup open --key-file /key /dev/vda volume
        head -c 1000000 /random >/dev/mapper/volume
        mapper suspend volume
        mapper wipe volume
        echo WIPED=$(dmsetup table --showkeys volume | cut -d' ' -f5)
        echo SUSPENDED=$(dmsetup info -c --noheadings -o suspended volume)
        cryptsetup luksResume --key-file /key volume
        head -c 1000000 /dev/mapper/volume | cmp - /random && echo RESUMED=same
        cryptsetup luksSuspend volume
        mapper set-key volume /vk
        mapper resume volume
        head -c 1000000 /dev/mapper/volume | cmp - /random && echo KEY_SET=same

        mapper reload volume 8 error
        echo WAITING=$(mapper info volume | grep -o 'has_waiting_table: [a-z]*')
        mapper clear volume
        mapper reload volume 8 linear $vda 0
        mapper resume volume
        echo SIZE=$(blockdev --getsize64 /dev/mapper/volume)

        exec 3</dev/mapper/volume
        echo OPEN=$(mapper info volume | grep -o 'open_count: [0-9]*')
        echo BUSY=$(mapper remove volume)
        mapper defer volume
        echo DEFERRED=$(dmsetup info volume | grep -c 'DEFERRED REMOVE')
        mapper cancel volume
        echo CANCELLED=$(mapper info volume | grep -o 'removed_on_close: [a-z]*')
        mapper defer volume
        exec 3<&-
        echo GONE=$(mapper info volume)

        head -c 1048576 /dev/zero >/tmp/file
        echo BACKING=$(mapper loop /tmp/file looped)
        losetup -a | grep -q /tmp/file && echo LOOP=attached
        mapper remove looped
        losetup -a | grep -q /tmp/file || echo LOOP_AFTER=detached
        "#,
    );
    report.has("WIPED", &"0".repeat(64));
    report.has("SUSPENDED", "Suspended");
    for key in ["RESUMED", "KEY_SET"] {
        report.has(key, "same");
    }
    report.has("WAITING", "has_waiting_table: true");
    report.has("SIZE", "4096");
    report.has("OPEN", "open_count: 1");
    report.has("BUSY", "Busy: the mapping volume is in use");
    report.has("DEFERRED", "1");
    report.has("CANCELLED", "removed_on_close: false");
    report.has("GONE", "NotFound: there is no mapping volume");
    report.has("BACKING", "/tmp/file");
    report.has("LOOP", "attached");
    report.has("LOOP_AFTER", "detached");
}

#[test]
fn refusals_carry_the_kernels_reason() {
    need_machine!();
    let report = run(
        Machine::new(),
        r#"
        mapper create there "" 8 error
        echo EXISTS=$(mapper create there "" 8 error)
        echo SHORT=$(mapper create short "" 1000000 linear $vda 0)
        echo CIPHER=$(mapper create cipher "" 8 crypt aes-foo-plain64 00112233445566778899aabbccddeeff 0 $vda 0)
        echo IV=$(mapper create iv "" 8 crypt aes-cbc-foo 00112233445566778899aabbccddeeff 0 $vda 0)
        echo TARGET=$(mapper create target "" 8 nonsense)
        echo NO_KEY=$(mapper create nokey "" 8 crypt aes-xts-plain64 :64:logon:cryptsetup:none 0 $vda 0)
        echo NONE=$(mapper suspend none)
        echo SLASH=$(mapper create a/b "" 8 error)
        mapper remove there
        echo LEFT=$(dmsetup ls)
        rm /dev/mapper/control
        mapper create again "" 8 error
        [ -c /dev/mapper/control ] && [ -b /dev/mapper/again ] && echo NODES=made
        "#,
    );
    report.has("EXISTS", "Busy: a mapping there already exists");
    report.has("NONE", "NotFound: there is no mapping none");
    report.has("SLASH", "Refused: \"a/b\" is not a valid name for a mapping");
    for (key, kind, reason) in [
        ("SHORT", "Refused", "too small for target"),
        ("CIPHER", "Unavailable", "crypt: Error allocating crypto tfm"),
        ("IV", "Refused", "crypt: Invalid IV mode"),
        ("TARGET", "Unavailable", "nonsense: unknown target type"),
        ("NO_KEY", "NotFound", "is not in the keyring"),
    ] {
        let said = report.value(key);
        assert!(said.starts_with(&format!("{kind}: ")) && said.contains(reason), "{key}: {said}");
    }
    report.has("LEFT", "No devices found");
    report.has("NODES", "made");
}

#[test]
fn beside_udev_its_links_are_there_when_a_mapping_is() {
    need_machine!();
    need_that!(has_udev(), "there is no udev for the machine: ./dev test vm fetches it");
    let report = run(
        Machine::new().with_udev(),
        r#"
        for turn in 1 2 3 4 5; do
            mapper create volume CRYPT-PLAIN-volume 8 linear $vda 0
            [ -L /dev/mapper/volume ] && [ -L /dev/disk/by-id/dm-uuid-CRYPT-PLAIN-volume ] && echo LINKS_$turn=there
            mapper reload volume 16 linear $vda 0
            mapper resume volume
            mapper remove volume
            [ ! -e /dev/mapper/volume ] && [ ! -e /dev/disk/by-id/dm-uuid-CRYPT-PLAIN-volume ] && echo GONE_$turn=gone
        done
        mapper create private volume CRYPT-TEMP-volume 8 linear $vda 0
        [ -b /dev/mapper/volume ] && [ ! -e /dev/disk/by-id/dm-uuid-CRYPT-TEMP-volume ] && echo PRIVATE=private
        echo FAILED=$(mapper create failing "" 8 linear $vda 1000000)
        mapper remove volume
        echo SEMAPHORES=$(grep -vc semid /proc/sysvipc/sem)
        "#,
    );
    for turn in 1..=5 {
        report.has(&format!("LINKS_{turn}"), "there");
        report.has(&format!("GONE_{turn}"), "gone");
    }
    report.has("PRIVATE", "private");
    assert!(report.value("FAILED").starts_with("Refused: "), "{report:?}");
    report.has("SEMAPHORES", "0");
}

/// Linear and striped volumes of LVM are brought up by "keyway unlock"; whatever else lies below, the kernel's tables tell.
#[test]
fn an_image_is_refused_for_logical_volumes_of_other_kinds() {
    need_machine!();
    let report = run(
        Machine::new().with_keyway(),
        r#"
        mkdir -p /lib/modules/1
        for name in alias dep softdep builtin builtin.modinfo; do : >/lib/modules/1/modules.$name; done
        make() { dmsetup create "$1" --uuid "$2" --table "$3" && dmsetup mknodes; }
        make vg-linear LVM-linear '0 64 linear /dev/vda 0'
        make vg-striped LVM-striped '0 64 striped 2 8 /dev/vda 0 /dev/vda 64'
        make vg-thin_tdata LVM-tdata '0 64 error'
        make vg-thin LVM-thin '0 64 linear /dev/mapper/vg-thin_tdata 0'
        make other OTHER '0 64 error'
        make vg-beside LVM-beside '0 64 linear /dev/mapper/other 0'
        for name in linear striped thin beside; do
            keyway boot initramfs --program /bin/keyway --force --modules / --rootfstype ext4 --cipher aes-xts-plain64 \
                --volume /dev/mapper/vg-$name -o /tmp/out >/tmp/said 2>&1 || true
            echo "SAID_$name=$(cat /tmp/said)"
        done
        "#,
    );
    for name in ["linear", "striped", "beside"] {
        let said = report.value(&format!("SAID_{name}"));
        assert!(said.starts_with("The modules of Linux 1 lack"), "{name}: {said}");
    }
    let said = report.value("SAID_thin");
    assert!(
        said.starts_with(
            "On this machine /dev/mapper/vg-thin is on the logical volume vg-thin_tdata of the kind error:"
        ),
        "{said}"
    );
}

/// Runs a scenario with `mapper`, an empty disk, a passphrase in
/// `/key`, a volume key in `/vk` and data in `/random`.
#[track_caller]
fn run(machine: Machine, script: &str) -> Report {
    let scratch = Scratch::new();
    let disk = scratch.sized("disk", 24 << 20);
    let mapper = fs::read(env!("CARGO_BIN_EXE_mapper")).expect("the mapper can be read");
    let machine = machine.disk(&disk).file("bin/mapper", mapper);
    let machine =
        machine.file("key", "secret").file("vk", random(81, 64)).file("random", random(82, 1_000_000));
    machine.run(&(PRELUDE.to_owned() + script))
}

/// `format OPTION…` formats the disk as a volume; `see NAME` prints everything that distinguishes
/// one mapping from another.
const PRELUDE: &str = r#"
    uuid=6f2a0a4c-7d7c-4a3f-9c11-0f35a1b5f1aa
    vda=$(cat /sys/block/vda/dev)
    format() {
        bytes=64
        case "$*" in *cbc*) bytes=32 ;; esac
        head -c $bytes /vk >/tmp/vk && mv /tmp/vk /vk
        cryptsetup luksFormat -q "$@" -s $((bytes * 8)) --pbkdf pbkdf2 --pbkdf-force-iterations 1000 \
            --volume-key-file /vk --uuid $uuid /dev/vda /key
    }
    see() {
        dmsetup table --showkeys "$1"
        dmsetup info -c --noheadings -o mangled_name,mangled_uuid,attr,segments,open,devno "$1"
        ls /dev/mapper
        grep cryptsetup /proc/keys || true
    }
"#;
