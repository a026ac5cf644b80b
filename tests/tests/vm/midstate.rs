//! A volume in the middle of its re-encryption, mapped by the kernel: a line per segment, each with its
//! key, as cryptsetup loads it; the bytes are the plaintext's on both sides.

use crate::need_machine;
use keyway_tests::peers::CHEAP_LUKS2_PBKDF2;
use keyway_tests::vm::Machine;
use keyway_tests::{Run, Scratch, assert_same_bytes, cryptsetup, keyway, need, random};
use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

const DATA: usize = 40 << 20;

/// Begun by cryptsetup, which is killed with a zone under its hands: half of it is written.
fn killed(scratch: &Scratch, name: &str, key: &Path, encrypts: bool) -> std::path::PathBuf {
    let (plaintext, path) = (random(9, DATA), scratch.sized(name, DATA as u64 + (16 << 20)));
    let on = |run: Run| run.arg("--key-file").arg(key).arg(&path);
    if encrypts {
        let mut disk = plaintext;
        disk.resize(DATA + (16 << 20), 0);
        fs::write(&path, disk).unwrap();
        let begin = "reencrypt -q --encrypt --init-only --reduce-device-size 16M";
        on(cryptsetup(begin).args(CHEAP_LUKS2_PBKDF2)).ok();
    } else {
        on(cryptsetup("luksFormat -q --type luks2 --sector-size 512").args(CHEAP_LUKS2_PBKDF2)).ok();
        on(keyway("write")).stdin(&plaintext).ok();
        on(cryptsetup("reencrypt -q --init-only --force-offline-reencrypt --sector-size 4096")
            .args(CHEAP_LUKS2_PBKDF2))
        .ok();
    }
    // Encrypting begins at the end.
    let cut = if encrypts { 44 << 20 } else { (30 << 20) + (300 << 10) };
    let run = on(cryptsetup("reencrypt -q --resume-only --force-offline-reencrypt --hotzone-size 1M"));
    let ended = run.files_up_to(cut).outcome();
    assert!(ended.code.is_none() && metadata(&path).contains("in-reencryption"), "{ended}");
    path
}

fn metadata(path: &Path) -> String {
    let mut header = vec![0; 16384];
    File::open(path).unwrap().read_exact(&mut header).unwrap();
    String::from_utf8_lossy(&header[4096..]).into_owned()
}

#[test]
fn the_kernel_maps_every_segment_with_its_key() {
    need_machine!();
    need!("cryptsetup", "prlimit");
    let scratch = Scratch::new();
    let key = scratch.file("key", "correct horse battery staple");
    let disks = [("replaced", false), ("encrypted", true)]
        .map(|(name, encrypts)| killed(&scratch, name, &key, encrypts));
    let machine = disks.iter().fold(Machine::new(), |machine, disk| machine.disk(disk));
    let report = machine
        .with_keyway()
        .file("key", fs::read(&key).unwrap())
        .file("plaintext", random(9, DATA))
        .file("new", random(10, 300_000))
        .run(
            r#"
        see() { dmsetup table $1 | sed 's/:logon:[^ ]*-d/:logon:-d/'; dmsetup info -c --noheadings -o uuid $1; }
        for disk in vda vdb; do
            n=0; keyway open --backend kernel --readonly --key-file /key /dev/$disk mid >/tmp/said 2>&1 || n=$?; echo ${disk}_HOT=$n
            grep -q 'completed when the volume is opened for writing' /tmp/said && echo ${disk}_SAYS=so || cat /tmp/said
            keyway open --backend kernel --key-file /key /dev/$disk mid && see mid >/tmp/ours
            head -c 41943040 /dev/mapper/mid | cmp - /plaintext && echo ${disk}_OURS=same
            dd if=/new of=/dev/mapper/mid bs=4096 seek=200 conv=notrunc,fsync 2>/dev/null
            keyway close mid
            cryptsetup open --key-file /key /dev/$disk mid && see mid >/tmp/theirs
            cmp /tmp/ours /tmp/theirs && echo ${disk}_TABLE=same || diff /tmp/ours /tmp/theirs
            echo ${disk}_LINES=$(dmsetup table mid | wc -l)
            dd if=/dev/mapper/mid bs=4096 skip=200 count=74 2>/dev/null | head -c 300000 | cmp - /new && echo ${disk}_NEW=same
            cryptsetup close mid
            keyway open --backend kernel --readonly --key-file /key /dev/$disk mid && echo ${disk}_READ=only
            keyway close mid
        done
        "#,
        );
    for disk in ["vda", "vdb"] {
        report.has(&format!("{disk}_HOT"), "1");
        for (what, value) in
            [("SAYS", "so"), ("OURS", "same"), ("TABLE", "same"), ("NEW", "same"), ("READ", "only")]
        {
            report.has(&format!("{disk}_{what}"), value);
        }
        assert!(report.value(&format!("{disk}_LINES")).parse::<u32>().unwrap() > 1);
    }
    let mut expected = random(9, DATA);
    expected[200 * 4096..][..300_000].copy_from_slice(&random(10, 300_000));
    for disk in &disks {
        let found = keyway("read --key-file").arg(&key).arg(disk).ok().stdout;
        assert_same_bytes("keyway read", &found, "what the kernel wrote", &expected);
        cryptsetup("reencrypt -q --resume-only --force-offline-reencrypt --key-file")
            .arg(&key)
            .arg(disk)
            .ok();
        let found = keyway("read --key-file").arg(&key).arg(disk).ok().stdout;
        assert_same_bytes("at the end", &found[..DATA], "what the kernel wrote", &expected);
    }
}
