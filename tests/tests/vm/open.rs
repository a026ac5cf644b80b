//! The kernel's front end through the usual commands, compared with cryptsetup: each program shows
//! exactly what the other opened, and resizes, suspends and closes it.

use crate::need_machine;
use keyway_tests::vm::{Machine, Report};
use keyway_tests::{Scratch, random};

/// Functions for the scenarios. `same NAME` compares both programs' reports on a mapping, `code KEY
/// COMMAND…` records an exit code and the command's last line. cryptsetup before 2.8 gives the
/// figures of `status` without their units: `units` adds those of 2.8.
const FUNCTIONS: &str = r#"
units() { awk '/^  keysize: .* bits$/ { sub(/bits$/, "[bits]") }
               /^  sector size: .*[0-9]$/ { $0 = $0 " [bytes]" }
               /^  skipped: .* sectors$/ { sub(/sectors$/, "[512-byte units]") }
               /^  (offset|size): .* sectors$/ {
                   sub(/sectors$/, sprintf("[512-byte units] (%d [bytes])", 512 * $2)) }
               { print }' $1 >$1.units; mv $1.units $1; }
both() { cryptsetup "$@" >/tmp/theirs 2>&1 && echo 0 >>/tmp/theirs || echo $? >>/tmp/theirs; units /tmp/theirs
         keyway "$@" >/tmp/ours 2>&1 && echo 0 >>/tmp/ours || echo $? >>/tmp/ours; }
same() { key=$1; shift; both "$@"; if cmp -s /tmp/theirs /tmp/ours; then echo "$key=same"
         else echo "$key=different"; diff /tmp/theirs /tmp/ours; fi; }
code() { key=$1; shift; "$@" >/tmp/said 2>&1 && n=0 || n=$?; echo "$key=$n $(tail -n 1 /tmp/said)"; }
cheap="--pbkdf pbkdf2 --pbkdf-force-iterations 1000"
"#;

/// Debian 12's figures and defaults, asked for by the environment, beside Debian 12's program; and how a
/// refresh of a name that nobody opened ends.
#[test]
fn with_debian_12s_figures_and_defaults_both_are_equal() {
    need_machine!();
    let script = r#"
        ln -s $(command -v keyway) /tmp/cryptsetup
        alike() { if cmp -s /tmp/theirs /tmp/ours; then echo "$1=same"; else echo "$1=different"; diff /tmp/theirs /tmp/ours; fi; }
        cryptsetup luksFormat -q $cheap --sector-size 4096 /dev/vda /key
        cryptsetup open -d /key /dev/vda luks
        printf secret | cryptsetup open --type plain --skip 8 /dev/vdb plain
        for name in luks plain; do
            cryptsetup status $name >/tmp/theirs
            CRYPTSETUP_COMPAT=2.6 keyway status $name >/tmp/ours
            alike STATUS_$name
        done
        dmsetup table --showkeys plain >/tmp/theirs
        cryptsetup close plain
        printf secret | CRYPTSETUP_COMPAT=2.6 /tmp/cryptsetup open --type plain --skip 8 /dev/vdb plain
        dmsetup table --showkeys plain >/tmp/ours
        alike PLAIN
        cryptsetup refresh nobody >/tmp/theirs 2>&1 || echo $? >>/tmp/theirs
        /tmp/cryptsetup refresh nobody >/tmp/ours 2>&1 || echo $? >>/tmp/ours
        alike REFRESH
    "#;
    let report = machine(1, 2).run(&format!("{FUNCTIONS}{script}"));
    for key in ["STATUS_luks", "STATUS_plain", "PLAIN", "REFRESH"] {
        report.has(key, "same");
    }
}

/// During the passphrase prompt the path is changed to another volume: the volume that was checked
/// is the one mapped.
#[test]
fn what_was_judged_is_mapped_whatever_its_path_names_by_then() {
    need_machine!();
    let scratch = Scratch::new();
    let disks = [scratch.sized("disk-a", 20 << 20), scratch.sized("disk-b", 20 << 20)];
    let machine = disks.iter().fold(Machine::new(), |machine, disk| machine.disk(disk));
    let script = r#"
        mkfifo /tmp/fifo
        swap() {
            for volume in $2 $3; do cryptsetup luksFormat -q $cheap $volume /key; done
            ln -sfn $2 /tmp/link
            keyway open --backend kernel --key-file /tmp/fifo /tmp/link $1 & opener=$!
            exec 3>/tmp/fifo
            ln -sfn $3 /tmp/link
            cat /key >&3; exec 3>&-
            wait $opener && echo $1=open
        }
        swap device /dev/vda /dev/vdb
        dmsetup table device | grep -q " $(cat /sys/block/vda/dev) " && echo DEVICE=first
        cryptsetup close device
        truncate -s 20M /tmp/one /tmp/two
        swap file /tmp/one /tmp/two
        loop=$(dmsetup table file | sed 's/.* 7:\([0-9]*\) .*/\1/')
        echo BACKING=$(cat /sys/block/loop$loop/loop/backing_file)
        cryptsetup close file
    "#;
    let report = machine.with_keyway().file("key", "secret").run(&format!("{FUNCTIONS}{script}"));
    report.has("device", "open");
    report.has("DEVICE", "first");
    report.has("file", "open");
    report.has("BACKING", "/tmp/one");
}

/// A volume of each kind under `volume`, opened by Keyway: NAME, the preparation, and the open
/// command.
const KINDS: &[(&str, &str, &str)] = &[
    ("LUKS2", "cryptsetup luksFormat -q --type luks2 $cheap /dev/vda /key", "open /dev/vda"),
    (
        "LUKS1",
        "cryptsetup luksFormat -q --type luks1 --pbkdf-force-iterations 1000 /dev/vdb /key",
        "luksOpen /dev/vdb",
    ),
    (
        "LARGE_SECTORS",
        "cryptsetup luksFormat -q --type luks2 $cheap --sector-size 4096 /dev/vda /key",
        "open --type luks2 /dev/vda",
    ),
    ("READ_ONLY", ":", "open --readonly /dev/vda"),
    ("DISCARDS", ":", "open --allow-discards /dev/vda"),
    (
        "FLAGS",
        ":",
        "open --perf-same_cpu_crypt --perf-submit_from_crypt_cpus --perf-no_read_workqueue --perf-no_write_workqueue \
         /dev/vdb",
    ),
    ("NO_KEYRING", ":", "open --disable-keyring /dev/vda"),
    ("PERSISTENT", ":", "open --persistent --allow-discards --perf-no_read_workqueue /dev/vda"),
    ("KEPT", ":", "open /dev/vda"),
    ("READ_ONLY_DEVICE", "blockdev --setro /dev/vdb", "open /dev/vdb"),
    (
        "FILE",
        "blockdev --setrw /dev/vdb; truncate -s 20M /tmp/file; cryptsetup luksFormat -q $cheap /tmp/file /key",
        "open /tmp/file",
    ),
    (
        "DETACHED",
        "truncate -s 16M /tmp/header; cryptsetup luksFormat -q $cheap --header /tmp/header /dev/vdc /key",
        "open --header /tmp/header /dev/vdc",
    ),
    (
        "PLAIN",
        ":",
        "open -q --type plain -c aes-cbc-essiv:sha256 -s 256 --offset 8 --skip 16 --size 800 --readonly /dev/vdc",
    ),
    (
        "PLAIN_LARGE_SECTORS",
        ":",
        "plainOpen -q -c aes-xts-plain64 -s 512 --sector-size 4096 --iv-large-sectors --allow-discards --offset 8 /dev/vdc",
    ),
];

#[test]
fn cryptsetup_shows_and_closes_what_keyway_opens_and_the_reverse() {
    need_machine!();
    let steps = KINDS.iter().map(|(kind, before, line)| {
        let header = if *kind == "DETACHED" { "--header /tmp/header" } else { "" };
        format!(
            "{before}
             keyway {line} volume --key-file /key
             dmsetup table --showkeys volume >/tmp/table.ours; dmsetup info -c --noheadings -o uuid volume >>/tmp/table.ours
             same STATUS_{kind} status {header} volume
             same BARE_{kind} status volume
             same PATH_{kind} status /dev/mapper/volume
             cryptsetup close volume
             cryptsetup {line} volume --key-file /key
             dmsetup table --showkeys volume >/tmp/table.theirs; dmsetup info -c --noheadings -o uuid volume >>/tmp/table.theirs
             cmp /tmp/table.ours /tmp/table.theirs && echo TABLE_{kind}=same
             same THEIRS_{kind} status {header} volume
             keyway close volume
             same CLOSED_{kind} status volume
             test ! -e /dev/mapper/volume
             test -z \"$(losetup | grep /tmp/)\" && echo LOOPS_{kind}=gone\n"
        )
    });
    let report = machine(1, 3).run(&format!("{FUNCTIONS}\n{}", steps.collect::<String>()));
    for (kind, _, _) in KINDS {
        for key in ["STATUS", "BARE", "PATH", "TABLE", "THEIRS", "CLOSED"] {
            report.has(&format!("{key}_{kind}"), "same");
        }
        report.has(&format!("LOOPS_{kind}"), "gone");
    }
}

#[test]
fn refusals_have_cryptsetups_words_and_codes() {
    need_machine!();
    let report = machine(2, 1).run(&format!(
        "{FUNCTIONS}
         cryptsetup luksFormat -q --type luks2 $cheap /dev/vda /key
         truncate -s 16M /tmp/short; cryptsetup luksFormat -q $cheap /tmp/short /key
         same SHORT open /tmp/short short --key-file /key
         same OTHER_TYPE open --type luks1 /dev/vda volume --key-file /key
         same NO_FILE open /tmp/nowhere volume --key-file /key
         code WRONG keyway open /dev/vda volume --key-file /plaintext
         code NOWHERE keyway status volume
         keyway open /dev/vda volume --key-file /key
         same TAKEN open /dev/vda volume --key-file /key
         code MAPPED keyway open /dev/vda other --key-file /key
         code WRITE_UNDER keyway write /dev/vda /plaintext --key-file /key
         same RESUME_AWAKE luksResume volume --key-file /key
         keyway luksSuspend volume
         same SUSPENDED status volume
         same TWICE luksSuspend volume
         code RESIZE_ASLEEP keyway resize --size 800 volume --key-file /key
         code RESUME_WRONG keyway luksResume volume --key-file /plaintext
         cryptsetup luksResume volume --key-file /key
         exec 3</dev/mapper/volume
         code BUSY keyway close volume
         echo \"BUSY_FIRST=$(head -n 1 /tmp/said)\"
         same DEFERRED close --deferred volume
         code CANCELLED keyway close --cancel-deferred volume
         code AGAIN keyway close --deferred volume
         exec 3<&-
         same GONE status volume
         same NO_SUCH close volume
         same NO_SUCH_RESIZE resize volume
         same NO_SUCH_SUSPEND luksSuspend volume
         same NO_SUCH_RESUME luksResume volume
         truncate -s 20M /tmp/file; cryptsetup luksFormat -q $cheap /tmp/file /key
         keyway open /tmp/file one --key-file /key
         code SECOND keyway open /tmp/file two --key-file /key
         same LOOP status one
         keyway close one
         mkdir -p /etc; printf 'tab /tmp/file /key luks,discard\\nother /dev/vdz none\\nscripted /dev/vda none keyscript=/bin/x\\n' >/etc/crypttab
         keyway open tab && same CRYPTTAB status tab && keyway close tab
         code CRYPTTAB_OTHER keyway open /tmp/file other --key-file /key; keyway close other
         code SCRIPTED keyway open scripted\n"
    ));
    for key in [
        "TAKEN",
        "RESUME_AWAKE",
        "SUSPENDED",
        "TWICE",
        "DEFERRED",
        "GONE",
        "NO_SUCH",
        "NO_SUCH_RESIZE",
        "LOOP",
        "CRYPTTAB",
    ] {
        report.has(key, "same");
    }
    let said = |key: &str, words: &str| {
        assert!(report.value(key).contains(words), "{key} is {:?}, not {words:?}", report.value(key));
    };
    said("WRONG", "2 No key available with this passphrase.");
    said("NOWHERE", "4 /dev/mapper/volume is inactive.");
    said("MAPPED", "5 Cannot use device /dev/vda which is in use");
    said("WRITE_UNDER", "5 Cannot use device /dev/vda which is in use");
    said("RESIZE_ASLEEP", "1 Volume volume is suspended");
    said("RESUME_WRONG", "2 No key available with this passphrase.");
    said("BUSY", "5 It is open in busybox, process ");
    report.has("BUSY_FIRST", "Device volume is still in use.");
    said("CANCELLED", "0");
    said("AGAIN", "0 Device volume is still active and scheduled for deferred removal.");
    said("SECOND", "5 Cannot use device /tmp/file which is in use");
    said("CRYPTTAB_OTHER", "0 WARNING: /etc/crypttab gives the name other to /dev/vdz, not to /tmp/file.");
    said("SCRIPTED", "1 keyway: /etc/crypttab: scripted: keyscript runs a program for the key");
}

#[test]
fn a_file_system_in_use_outlives_suspending_refreshing_and_resizing() {
    need_machine!();
    let report = machine(3, 1).run(&format!(
        "{FUNCTIONS}
         cryptsetup luksFormat -q --type luks2 $cheap --sector-size 4096 /dev/vda /key
         truncate -s 24M /tmp/file; cryptsetup luksFormat -q --type luks1 --pbkdf-force-iterations 1000 /tmp/file /key
         for volume in /dev/vda /tmp/file; do
             name=$(basename $volume)
             keyway open $volume $name --key-file /key
             mkfs.ext4 -q /dev/mapper/$name && mount -t ext4 /dev/mapper/$name /mnt
             echo 0 >/tmp/rounds; rm -f /tmp/enough
             ( i=0; until test -e /tmp/enough; do
                   i=$((i+1)); cp /plaintext /mnt/$((i%6)); sync; echo $i >/tmp/next; mv /tmp/next /tmp/rounds
               done ) &
             until test $(cat /tmp/rounds) -ge 2; do sleep 0.1; done
             keyway luksSuspend $name
             dmsetup table --showkeys $name | grep -q ' 00000000000000000000000000000000' && echo WIPED_$name=yes
             sleep 0.5; held=$(cat /tmp/rounds); sleep 1; test $(cat /tmp/rounds) = $held && echo HELD_$name=yes
             cryptsetup luksResume $name --key-file /key
             cryptsetup luksSuspend $name
             keyway luksResume $name --key-file /key
             keyway refresh --allow-discards --persistent $name --key-file /key || :
             same REFRESHED_$name status $name
             until test $(cat /tmp/rounds) -ge $((held+6)); do sleep 0.1; done
             touch /tmp/enough; wait
             for i in 0 1 2 3 4 5; do cmp /plaintext /mnt/$i; done && echo CONTENT_$name=same
             umount /mnt
             e2fsck -fn /dev/mapper/$name >/tmp/fsck 2>&1 && echo FSCK_$name=clean
             [ $volume != /tmp/file ] || truncate -s 30M /tmp/file
             keyway resize --size 8192 $name --key-file /key; same SMALL_$name status $name
             both resize --size 8190 $name --key-file /key
             # (Keyway says the two sizes as well.)
             sed -i 's/requested sector size.*/requested sector size/' /tmp/ours /tmp/theirs
             cmp -s /tmp/ours /tmp/theirs && echo ODD_$name=same
             same LARGE_$name resize --size 819200 $name --key-file /key
             cryptsetup resize --size 4096 $name --key-file /key; same SMALLER_$name status $name
             keyway resize $name --key-file /key; same ALL_$name status $name
             e2fsck -fn /dev/mapper/$name >/tmp/fsck 2>&1 && echo FSCK_AGAIN_$name=clean
             keyway close $name
         done
         echo KEPT=$(cryptsetup luksDump /dev/vda | grep Flags: | tr -s '\\t ' ' ')"
    ));
    for name in ["vda", "file"] {
        let has = |key: &str, value: &str| report.has(&format!("{key}_{name}"), value);
        has("WIPED", "yes");
        has("HELD", "yes");
        has("CONTENT", "same");
        has("FSCK", "clean");
        has("FSCK_AGAIN", "clean");
        for key in ["REFRESHED", "SMALL", "ODD", "LARGE", "SMALLER", "ALL"] {
            has(key, "same");
        }
    }
    report.has("KEPT", "Flags: allow-discards");
}

/// While a passphrase is asked for, another program suspends, resumes or replaces the mapping: what it is then is what
/// counts, and no key gets into use but its own.
#[test]
fn what_happens_at_the_prompt_puts_no_other_key_into_use() {
    need_machine!();
    let script = r#"
        mkfifo /tmp/fifo
        for disk in a b; do cryptsetup luksFormat -q --type luks2 $cheap /dev/vd$disk /key; done
        # It has asked when its key file is open; then it waits for `go`.
        ask() { keyway "$@" --key-file /tmp/fifo home >/tmp/said 2>&1 & asker=$!; exec 3>/tmp/fifo; }
        go() { cat /key >&3; exec 3>&-; wait $asker && n=0 || n=$?; echo "$1=$n $(tail -n 1 /tmp/said)"; }
        is_same() { echo 3 >/proc/sys/vm/drop_caches
                    head -c 1048576 /dev/mapper/home | cmp - /plaintext && echo $1=same; }
        open() { keyway open --key-file /key $1 home; cat /plaintext >/dev/mapper/home; sync; }
        open /dev/vda
        ask resize --size 8192
        keyway luksSuspend home
        go RESIZE
        echo STATE=$(dmsetup info -c --noheadings -o suspended home)
        keyway luksResume --key-file /key home
        is_same RESUMED
        ask refresh --allow-discards
        keyway luksSuspend home
        go REFRESH
        ask luksResume
        cryptsetup luksResume --key-file /key home
        go RESUME
        is_same AGAIN
        for asked in resize\ --size\ 8192 refresh; do
            keyway close home
            open /dev/vda
            ask $asked
            keyway close home
            open /dev/vdb
            go OTHER_${asked%% *}
            is_same KEPT_${asked%% *}
        done
        dmsetup table home | grep -q " $(cat /sys/block/vdb/dev) " && echo MAPPED=other
        keyway resize --size 8192 --key-file /key home
        is_same RESIZED
    "#;
    let report = machine(4, 2).run(&format!("{FUNCTIONS}{script}"));
    for key in ["RESIZE", "REFRESH"] {
        report.has(key, "1 Volume home is suspended; luksResume resumes it.");
    }
    report.has("STATE", "Suspended");
    report.has("RESUME", "1 Volume home is not suspended.");
    for key in ["OTHER_resize", "OTHER_refresh"] {
        report.has(key, "1 Another mapping now has its name.");
    }
    for key in ["RESUMED", "AGAIN", "KEPT_resize", "KEPT_refresh", "RESIZED"] {
        report.has(key, "same");
    }
    report.has("MAPPED", "other");
}

/// Repeated, long enough to be a plain volume's key.
const KEY: &str = "secret";

/// A machine with empty disks, both programs, a key file and a plaintext.
fn machine(seed: u64, disks: usize) -> Prepared {
    let scratch = Scratch::new();
    let disks = (0..disks).map(|number| scratch.sized(&format!("disk-{number}"), 32 << 20));
    let machine = disks.fold(Machine::new(), |machine, disk| machine.disk(&disk));
    let machine = machine.with_keyway().file("key", KEY.repeat(11)).file("plaintext", random(seed, 1 << 20));
    Prepared { machine, _scratch: scratch }
}

/// A machine, and the directory with its disks.
struct Prepared {
    machine: Machine,
    _scratch: Scratch,
}

impl Prepared {
    #[track_caller]
    fn run(self, script: &str) -> Report {
        self.machine.run(script)
    }
}
