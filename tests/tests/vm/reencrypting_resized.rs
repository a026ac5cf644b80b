//! A volume that the kernel maps with less than all of its size is re-encrypted: it keeps that size.

use crate::need_machine;
use keyway_tests::vm::Machine;
use keyway_tests::{Scratch, need, random};
use std::time::Duration;

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
    let report = machine.limit(Duration::from_secs(600)).run(SCENARIO);
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
