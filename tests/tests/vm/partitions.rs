//! Partitions of images as the kernel maps them: through a loop device of that part of the file. Those
//! of a disk are the kernel's own devices.

use crate::need_machine;
use keyway_tests::peers::CHEAP_LUKS2_PBKDF2;
use keyway_tests::vm::Machine;
use keyway_tests::{Scratch, keyway, need, peer};
use std::fs;
use std::path::PathBuf;

/// An image with the same volume in partitions 1 and 2.
fn image(scratch: &Scratch, key: &PathBuf, plaintext: &PathBuf) -> PathBuf {
    let volume = scratch.sized("volume", 2 << 20);
    let small = "--luks2-metadata-size 16k --luks2-keyslots-size 256k --offset 1024 --sector-size 4096";
    keyway("luksFormat -q --type luks2").args(small).args(CHEAP_LUKS2_PBKDF2).arg(&volume).arg(key).ok();
    keyway("write --key-file").arg(key).arg(&volume).arg(plaintext).ok();
    let path = scratch.sized("disk.img", 8 << 20);
    peer("sfdisk", "-q").arg(&path).stdin("label: gpt\nstart=2048,size=4096\nstart=8192,size=4096\n").ok();
    let (mut disk, bytes) = (fs::read(&path).unwrap(), fs::read(volume).unwrap());
    for start in [1 << 20, 4 << 20] {
        disk[start..start + bytes.len()].copy_from_slice(&bytes);
    }
    fs::write(&path, disk).unwrap();
    path
}

#[test]
fn the_kernel_maps_the_partitions_of_an_image_where_they_are() {
    need!("sfdisk");
    need_machine!();
    let scratch = Scratch::new();
    let key = scratch.file("key", "correct horse battery staple");
    let plaintext = scratch.random_file("plaintext", 61, (2 << 20) - (512 << 10));
    let image = image(&scratch, &key, &plaintext);
    let machine = Machine::new().disk(&image).with_keyway().file("key", fs::read(&key).unwrap());
    let machine = machine.file("plaintext", fs::read(&plaintext).unwrap());
    let report = machine.file("disk.img", fs::read(&image).unwrap()).run(
        r#"
        cp /disk.img /taken.img
        code() { key=$1; shift; "$@" >/tmp/said 2>&1 && n=0 || n=$?; echo "$key=$n $(tail -n 1 /tmp/said)"; }
        keyway open --backend kernel -d /key '/disk.img#2' two
        keyway open --backend kernel -d /key '/disk.img#1' one
        for name in one two; do cmp /dev/mapper/$name /plaintext && echo PLAIN_$name=same; done
        for name in one two; do
            echo STATUS_$name=$(keyway status $name | grep loop:)
            echo LIST_$name=$(keyway list | grep "^$name ")
            echo JSON_$name=$(keyway list --json $name | grep device)
        done
        code AGAIN keyway open --backend kernel -d /key '/disk.img#2' again
        code WHOLE keyway open --backend kernel --type plain -c aes-xts-plain64 -s 512 -d /key /disk.img whole
        dd if=/dev/zero of=/dev/mapper/two bs=64k count=1 conv=fsync 2>/dev/null
        keyway resize -d /key two
        echo SIZE=$(dmsetup table two | cut -d' ' -f2)
        mv /disk.img /moved.img
        cp /taken.img /disk.img
        echo REPLACED=$(keyway status two | grep loop:)
        rm /disk.img
        mkfifo /disk.img
        code WAITS timeout 20 keyway status two
        echo LISTED=$(timeout 20 keyway list | grep "^two ")
        rm /disk.img
        mv /moved.img /disk.img
        echo AGAIN_THERE=$(keyway status two | grep loop:)
        keyway close one
        keyway close two
        dd if=/disk.img of=/taken bs=1M skip=4 count=2 2>/dev/null
        cryptsetup open -d /key /taken taken
        echo ZEROS=$(dd if=/dev/mapper/taken bs=64k count=1 2>/dev/null | tr -d '\0' | wc -c)
        cryptsetup close taken
        keyway read -d /key '/disk.img#1' | cmp - /plaintext && echo ONE=same
        echo NODE=$(keyway open --backend kernel -d /key '/dev/vda#2' node; dmsetup deps node)
        echo NUMBER=$(tr : , </sys/class/block/vda2/dev)
        "#,
    );
    for name in ["one", "two"] {
        report.has(&format!("PLAIN_{name}"), "same");
    }
    for (name, image) in [("one", "/disk.img#1"), ("two", "/disk.img#2")] {
        assert_eq!(report.value(&format!("STATUS_{name}")).trim(), format!("loop: {image}"));
        let listed = report.value(&format!("LIST_{name}"));
        assert!(listed.ends_with(&format!(" /dev/mapper/{name} {image}")), "{listed}");
        assert_eq!(report.value(&format!("JSON_{name}")).trim(), format!("\"device\":\"{image}\","));
    }
    // The kernel names the file by its place now; neither another file nor a FIFO in its old one is asked.
    assert_eq!(report.value("REPLACED").trim(), "loop: /moved.img#2");
    assert!(report.value("WAITS").starts_with("0 "), "{}", report.value("WAITS"));
    let listed = report.value("LISTED");
    assert!(listed.ends_with(" /dev/mapper/two /moved.img#2"), "{listed}");
    assert_eq!(report.value("AGAIN_THERE").trim(), "loop: /disk.img#2");
    for key in ["AGAIN", "WHOLE"] {
        let said = report.value(key);
        assert!(said.starts_with("5 ") && said.contains("in use"), "{key}: {said}");
    }
    report.has("SIZE", "3072");
    report.has("ZEROS", "0");
    report.has("ONE", "same");
    let number = report.value("NUMBER").replace(',', ", ");
    assert!(report.value("NODE").contains(&format!("({number})")), "{}", report.value("NODE"));
}
