//! A volume that the kernel maps with less than all of its size is re-encrypted: it keeps that size.

use crate::need_machine;
use keyway_tests::timeouts;
use keyway_tests::vm::Machine;
use keyway_tests::{Scratch, need, random};

const SCENARIO: &str = r#"
    CHEAP='--pbkdf pbkdf2 --pbkdf-force-iterations 1000'
    ln -s /bin/keyway /tmp/cryptsetup
    size=$((4 * 1024 * 1024))
    head -c $size /plain >/expected
    for tool in cryptsetup /tmp/cryptsetup keyway; do
        name=$(echo $tool | tr -d /)
        cryptsetup luksFormat -q --type luks2 --sector-size 512 --offset 16384 $CHEAP --key-file /key /dev/vda
        cryptsetup open --key-file /key /dev/vda one
        dd if=/plain of=/dev/mapper/one bs=1M oflag=direct 2>/dev/null
        cryptsetup resize --key-file /key --size 8192 one
        code=0; $tool reencrypt -q --active-name one --key-file /key $CHEAP --device-size 2M 2>/tmp/err || code=$?
        echo ${name}_OTHER=$code $(tr '\n' ' ' </tmp/err)
        cryptsetup luksDump /dev/vda | grep -q online-reencrypt && echo ${name}_BEGUN=yes
        # cryptsetup has begun by then.
        cryptsetup close one
        cryptsetup luksFormat -q --type luks2 --sector-size 512 --offset 16384 $CHEAP --key-file /key /dev/vda
        cryptsetup open --key-file /key /dev/vda one
        dd if=/plain of=/dev/mapper/one bs=1M oflag=direct 2>/dev/null
        cryptsetup resize --key-file /key --size 8192 one
        code=0; $tool reencrypt -q --active-name one --key-file /key $CHEAP 2>/tmp/err || code=$?
        echo ${name}_RESIZED=$code $(tr '\n' ' ' </tmp/err)
        if [ $tool = keyway ]; then
            cryptsetup luksDump /dev/vda | grep -q online-reencrypt && echo keyway_RESIZED_BEGUN=yes
            code=0; keyway reencrypt -q --active-name one --key-file /key $CHEAP --device-size 4M || code=$?
            echo keyway_NAMED=$code
        fi
        echo ${name}_SIZE=$(dmsetup table one | cut -d' ' -f2)
        head -c $size /dev/mapper/one | cmp - /expected && echo ${name}_OPEN=same
        cryptsetup close one
        cryptsetup luksDump /dev/vda | grep -q online-reencrypt || echo ${name}_END=none
        cryptsetup open --key-file /key /dev/vda one
        head -c $size /dev/mapper/one | cmp - /expected && echo ${name}_AGAIN=same
        cryptsetup close one
    done
"#;

/// cryptsetup, Keyway under its name, and Keyway, which is told to.
#[test]
fn a_mapping_keeps_its_size() {
    need_machine!();
    need!("cryptsetup");
    let scratch = Scratch::new();
    let machine = Machine::new().disk(&scratch.sized("disk", 24 << 20)).with_keyway();
    let machine = machine.file("key", "correct horse").file("plain", random(16, 16 << 20));
    let report = machine.limit(timeouts::LONG_MACHINE).run(SCENARIO);
    for tool in ["cryptsetup", "tmpcryptsetup", "keyway"] {
        for (key, value) in [("SIZE", "8192"), ("OPEN", "same"), ("END", "none"), ("AGAIN", "same")] {
            assert_eq!(report.value(&format!("{tool}_{key}")).trim(), value, "{tool}: {key}");
        }
        let other = report.value(&format!("{tool}_OTHER"));
        assert!(other.starts_with('1'), "{tool}: {other}");
        if tool != "cryptsetup" {
            let says = "one is open with 4194304 bytes, and keeps them: --device-size 2097152 is another size. Nothing was changed.";
            assert!(other.contains(says), "{tool}: {other}");
            assert!(!report.lines().any(|line| line.starts_with(&format!("{tool}_BEGUN="))), "{tool}");
        }
    }
    for tool in ["cryptsetup", "tmpcryptsetup"] {
        assert_eq!(report.value(&format!("{tool}_RESIZED")).trim(), "0", "{tool}");
    }
    let resized = report.value("keyway_RESIZED");
    let says = "1 one was resized: it is open with 4194304 bytes, and has 16777216. Nothing was changed.";
    assert!(resized.starts_with(says), "{resized}");
    assert!(!report.lines().any(|line| line.starts_with("keyway_RESIZED_BEGUN=")));
    report.has("keyway_NAMED", "0");
}

const UNDER_WAY: &str = r#"
    CHEAP='--pbkdf pbkdf2 --pbkdf-force-iterations 1000'
    ln -s /bin/keyway /tmp/cryptsetup
    cryptsetup luksFormat -q --type luks2 --sector-size 512 --offset 16384 $CHEAP --key-file /key /dev/vda
    cryptsetup open --disable-keyring --key-file /key /dev/vda one
    dd if=/plain of=/dev/mapper/one bs=1M oflag=direct 2>/dev/null
    keyway reencrypt -q --init-only --active-name one --key-file /key $CHEAP 2>/dev/null && echo BEGUN=yes
    dmsetup table --showkeys one >/tmp/whole
    sed 's/^0 [0-9]*/0 8192/' /tmp/whole >/tmp/part
    dmsetup load one /tmp/part && dmsetup suspend one && dmsetup resume one
    before=$(sha256sum </dev/vda)
    for tool in /tmp/cryptsetup keyway; do
        name=$(echo $tool | tr -d /)
        code=0; $tool reencrypt -q --active-name one --resume-only --key-file /key 2>/tmp/err || code=$?
        echo ${name}=$code $(tr '\n' ' ' </tmp/err)
    done
    test "$before" = "$(sha256sum </dev/vda)" && echo DISK=same
    echo SIZE=$(dmsetup table one | cut -d' ' -f2)
    code=0; keyway resize --key-file /key one 2>/tmp/err || code=$?
    echo RESIZE=$code $(tr '\n' ' ' </tmp/err)
    echo SIZE_AFTER=$(dmsetup table one | cut -d' ' -f2)
    code=0; keyway reencrypt -q --active-name one --resume-only --key-file /key 2>/tmp/err || code=$?
    echo RESUMED=$code $(tr '\n' ' ' </tmp/err)
    cmp /plain /dev/mapper/one && echo OPEN=same
    cryptsetup close one
    cryptsetup luksDump /dev/vda | grep -q online-reencrypt || echo LEFT=none
    cryptsetup open --key-file /key /dev/vda one
    cmp /plain /dev/mapper/one && echo AGAIN=same
    cryptsetup close one
"#;

/// A mapping that was made smaller meanwhile: going on would leave out what it does not have. Nothing is changed before
/// it has all of its size again.
#[test]
fn a_mapping_that_was_resized_on_the_way_is_refused() {
    need_machine!();
    need!("cryptsetup");
    let scratch = Scratch::new();
    let machine = Machine::new().disk(&scratch.sized("disk", 24 << 20)).with_keyway();
    let machine = machine.file("key", "correct horse").file("plain", random(16, 16 << 20));
    let report = machine.limit(timeouts::LONG_MACHINE).run(UNDER_WAY);
    report.has("BEGUN", "yes");
    let says = "1 one was resized: it is open with 4194304 bytes, and has 16777216. Nothing was changed.";
    for tool in ["tmpcryptsetup", "keyway"] {
        let refused = report.value(tool);
        assert!(refused.starts_with(says), "{tool}: {refused}");
    }
    assert!(report.value("keyway").contains("\"keyway resize one\" gives it all of them."));
    for (key, value) in [("DISK", "same"), ("SIZE", "8192"), ("SIZE_AFTER", "32768")] {
        assert_eq!(report.value(key).trim(), value, "{key}: {}", report.value("RESIZE"));
    }
    assert!(report.value("RESUMED").starts_with("0 "), "{}", report.value("RESUMED"));
    for (key, value) in [("OPEN", "same"), ("LEFT", "none"), ("AGAIN", "same")] {
        report.has(key, value);
    }
}
