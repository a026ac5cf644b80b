//! TrueCrypt's and VeraCrypt's chains of ciphers through the kernel: a mapping for each cipher, the same as cryptsetup's
//! to the byte, opened and closed by either program, and nothing left of one that cannot be made.

use crate::need_machine;
use keyway_crypto::CascadeMode::{self, Cbc, Lrw, Xts};
use keyway_format::tcrypt::Program::{TrueCrypt, VeraCrypt};
use keyway_tests::vm::{Machine, Report, has_udev};
use keyway_tests::{Scratch, assert_same_bytes, keyway, need_that, random, tcrypt};
use std::path::{Path, PathBuf};

/// What both programs map: two and three ciphers.
const MAPPED: [(&str, CascadeMode); 4] =
    [("twofish-aes", Xts), ("serpent-twofish-aes", Xts), ("aes-serpent", Lrw), ("aes-twofish-serpent", Lrw)];

#[test]
fn every_mapping_of_a_chain_is_cryptsetups() {
    need_machine!();
    let scratch = Scratch::new();
    let disks: Vec<PathBuf> = MAPPED
        .iter()
        .enumerate()
        .map(|(number, &(chain, mode))| {
            scratch.file(&format!("disk-{number}"), tcrypt::chained(TrueCrypt, chain, mode))
        })
        .collect();
    let script = r#"
        for disk in a b c d; do
            for options in "" --readonly --allow-discards; do
                key=$disk$options
                open cryptsetup /dev/vd$disk $options
                see >/tmp/theirs
                cryptsetup status home >/tmp/status-theirs
                keyway status home >/tmp/status-seen
                close keyway home && nothing && echo CLOSE_THEIRS_$key=all
                open keyway /dev/vd$disk $options
                see >/tmp/ours
                cryptsetup status home >/tmp/status-ours
                [ "$(keyway list | grep -c /dev/mapper/)" = 1 ] && echo LIST_$key=one
                same TABLES_$key theirs ours
                same STATUS_$key status-theirs status-ours
                same SEEN_$key status-theirs status-seen
                echo COUNT_$key=$(dmsetup ls | wc -l)
                [ -n "$options" ] || dd if=/random of=/dev/mapper/home bs=4096 seek=3 conv=fsync 2>/dev/null
                sum=$(sha256sum </dev/mapper/home)
                close cryptsetup home && nothing && echo CLOSE_OURS_$key=all
                [ "$sum" = "$(read_plain /dev/vd$disk | sha256sum)" ] && echo READ_$key=same
            done
        done
        open keyway /dev/vdb
        keyway list --json home | tr -d ' \n' | grep -o '"device":.*"key_bits":[0-9]*' | tr -d '"' | sed 's/^/JSON=/'
        "#;
    let written = random(9, 8192);
    let report = run(
        disks.iter().fold(Machine::new(), |machine, disk| machine.disk(disk)).file("random", &written),
        script,
    );
    for (letter, (chain, mode)) in ["a", "b", "c", "d"].iter().zip(MAPPED) {
        for options in ["", "--readonly", "--allow-discards"] {
            let key = format!("{letter}{options}");
            for what in ["TABLES", "STATUS", "SEEN", "READ"] {
                report.has(&format!("{what}_{key}"), "same");
            }
            report.has(&format!("COUNT_{key}"), &chain.split('-').count().to_string());
            report.has(&format!("LIST_{key}"), "one");
            report.has(&format!("CLOSE_THEIRS_{key}"), "all");
            report.has(&format!("CLOSE_OURS_{key}"), "all");
        }
        eprintln!("{chain} {mode:?}");
    }
    report.has(
        "JSON",
        "device:/dev/vdb,header:null,format:TCRYPT,uuid:null,cipher:serpent-twofish-aes-xts-plain64,key_bits:1536",
    );
    for disk in &disks {
        let read = plain(disk);
        assert_same_bytes("keyway read", &read[12288..][..8192], "written through the mapping", &written);
    }
}

#[test]
fn a_chain_that_cannot_be_mapped_leaves_nothing() {
    need_machine!();
    let scratch = Scratch::new();
    let three = scratch.file("three", tcrypt::chained(TrueCrypt, "serpent-twofish-aes", Xts));
    let cbc = scratch.file("cbc", tcrypt::chained(TrueCrypt, "twofish-aes", Cbc));
    let unknown = scratch.file("unknown", tcrypt::chained(VeraCrypt, "kuznyechik-camellia", Xts));
    let script = r#"
        refused() {
            what=$1 && shift
            "$@" >/tmp/said 2>&1 </key && code=0 || code=$?
            echo "$what=$code $(cat /tmp/said)"
        }
        for taken in home_1 home_2; do
            dmsetup create $taken --table '0 8 error'
            refused TAKEN_$taken keyway open --type tcrypt --key-file - /dev/vda home
            dmsetup remove $taken
            nothing && echo AFTER_$taken=nothing
        done
        refused CBC keyway open --type tcrypt --key-file - /dev/vdb home
        nothing && echo AFTER_CBC=nothing
        refused UNKNOWN keyway open --type tcrypt --veracrypt-pim 1 --hash sha512 --key-file - /dev/vdc home
        nothing && echo AFTER_UNKNOWN=nothing

        # A signal finds all of it mapped, or nothing.
        for wait in 0.2 0.4 0.6 0.8 1.0 1.2 1.4 1.6; do
            keyway open --type tcrypt --key-file - /dev/vda home </key & opening=$!
            sleep $wait
            kill $opening 2>/dev/null || true
            wait $opening || true
            case $(dmsetup ls | grep -c ^home || true) in
                0) echo "KILLED_$wait=whole" ;;
                3) echo "KILLED_$wait=whole" && close keyway home ;;
            esac
        done

        # What a power cut or kill -9 between two mappings would leave has a way out.
        open keyway /dev/vda
        dmsetup remove home
        refused LEFTOVER keyway open --type tcrypt --key-file - /dev/vda home
        close keyway home_1
        close keyway home_2
        nothing && echo AFTER_LEFTOVER=nothing

        # A volume of its own that only has such a name stays.
        keyway open --type tcrypt --key-file - /dev/vdd home_1 </key
        open keyway /dev/vde
        close keyway home
        dmsetup ls | cut -f1 | sed 's/^/LEFT=/'
        close keyway home_1

        open keyway /dev/vda
        sleep 60 </dev/mapper/home & user=$!
        sleep 1
        refused BUSY keyway close home
        refused BELOW keyway close home_1
        refused DEFERRED keyway close --deferred home
        echo WAITING=$(dmsetup ls | wc -l)
        refused CANCELLED keyway close --cancel-deferred home
        refused AGAIN keyway close --deferred home
        refused SUSPEND keyway luksSuspend home
        refused RESIZE keyway resize --size 8 home
        kill $user; wait $user || true
        for try in $(seq 50); do nothing || sleep 0.2; done
        nothing && echo AFTER_DEFERRED=nothing
        "#;
    let single = tcrypt::made(TrueCrypt, "sha512", None);
    let (one, other) = (scratch.file("one", &single), scratch.file("other", &single));
    let machine = Machine::new().disk(&three).disk(&cbc).disk(&unknown).disk(&one).disk(&other);
    let report = run(machine, script);
    for taken in ["home_1", "home_2"] {
        report.has(
            &format!("TAKEN_{taken}"),
            &format!("5 A mapping {taken} already exists, and home needs that name for a cipher below it."),
        );
    }
    report.has("LEFTOVER", "5 Cannot use device /dev/vda which is in use (mapped as home_2).");
    report.has(
        "CBC",
        "1 The kernel has no target for this TCRYPT legacy mode, twofish-aes-cbc-tcw: --backend nbd, fuse or ublk opens it.",
    );
    report.has(
        "UNKNOWN",
        "1 The chain's kuznyechik-xts-plain64 cannot be mapped (the kernel lacks the cipher of the mapping home: crypt: \
         Error allocating crypto tfm (-ENOENT)): --backend nbd, fuse or ublk opens it.",
    );
    for what in ["home_1", "home_2", "CBC", "UNKNOWN", "LEFTOVER", "DEFERRED"] {
        report.has(&format!("AFTER_{what}"), "nothing");
    }
    for wait in ["0.2", "0.4", "0.6", "0.8", "1.0", "1.2", "1.4", "1.6"] {
        report.has(&format!("KILLED_{wait}"), "whole");
    }
    report.has("LEFT", "home_1");
    report.has("BUSY", "5 Device home is still in use.");
    report.has("BELOW", "5 Device home_1 is still in use.");
    for what in ["DEFERRED", "AGAIN"] {
        report.has(what, "0 Device home is still active and scheduled for deferred removal.");
    }
    report.has("WAITING", "3");
    report.has("CANCELLED", "0 ");
    report.has("SUSPEND", "1 This operation is supported only for LUKS device.");
    report.has("RESIZE", "1 Resize is not supported for device type TCRYPT.");
}

/// The lower mappings are nobody's but the upper one's: udev makes no links to them. A file's loop device goes with them.
#[test]
fn links_and_loop_devices_are_cryptsetups() {
    need_machine!();
    need_that!(has_udev(), "there is no udev for the machine: ./dev test vm fetches it");
    let scratch = Scratch::new();
    let three = scratch.file("three", tcrypt::chained(TrueCrypt, "serpent-twofish-aes", Xts));
    let script = r#"
        links() { find /dev/mapper /dev/disk ! -type d | sort; }
        loops() { ls -d /sys/block/loop*/loop 2>/dev/null | wc -l; }
        cp /dev/vda /tmp/file
        links >/tmp/before
        for program in cryptsetup keyway; do
            open $program /tmp/file
            links >/tmp/$program
            cryptsetup status home >/tmp/status-$program
            echo LOOPS_$program=$(loops)
            close keyway home
            links | cmp -s - /tmp/before && echo LINKS_AFTER_$program=none
            for try in $(seq 50); do [ $(loops) = 0 ] || sleep 0.2; done
            echo LOOPS_AFTER_$program=$(loops)
        done
        same LINKS cryptsetup keyway
        same STATUS status-cryptsetup status-keyway
        echo BY_ID=$(grep -c dm-uuid /tmp/keyway)
        "#;
    let report = run(Machine::new().with_udev().disk(&three), script);
    for program in ["cryptsetup", "keyway"] {
        report.has(&format!("LOOPS_{program}"), "1");
        report.has(&format!("LINKS_AFTER_{program}"), "none");
        report.has(&format!("LOOPS_AFTER_{program}"), "0");
    }
    report.has("LINKS", "same");
    report.has("STATUS", "same");
    report.has("BY_ID", "1");
}

fn run(machine: Machine, script: &str) -> Report {
    let functions = r#"
        export CRYPTSETUP_COMPAT=2.6
        open() { program=$1 && shift && $program open --type tcrypt --key-file - "$@" home </key || echo "OPEN=$program $?"; }
        close() { $1 close $2 || echo "CLOSE=$1 $?"; }
        nothing() { [ -z "$(dmsetup ls | grep -v '^No devices')" ]; }
        read_plain() { keyway read --type tcrypt --key-file - $1 </key; }
        same() { cmp -s /tmp/$2 /tmp/$3 && echo $1=same || { echo "$1=different"; cat /tmp/$2 /tmp/$3; }; }
        see() {
            for name in home home_1 home_2; do
                dmsetup info -c --noheadings -o name,uuid,attr,segments,open $name 2>/dev/null || continue
                dmsetup table --showkeys $name
            done
        }
    "#;
    machine.with_keyway().file("key", "secret").run(&format!("{functions}{script}"))
}

fn plain(disk: &Path) -> Vec<u8> {
    keyway("read").args("--type tcrypt --key-file -").arg(disk).stdin("secret").ok().stdout
}
