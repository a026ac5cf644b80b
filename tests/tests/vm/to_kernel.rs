//! Volumes that `keyway build` created from an ext4: the kernel maps them, mounts the file system,
//! reads and writes files. Keyway then reads the file system as the kernel left it.

use crate::{letter, matrix, need_machine, weak};
use keyway_tests::vm::Machine;
use keyway_tests::{Scratch, assert_same_bytes, keyway, peer, random};
use std::fs;
use std::path::{Path, PathBuf};

#[test]
fn the_kernel_mounts_what_keyway_built_and_keyway_reads_what_it_wrote() {
    need_machine!();
    let scratch = Scratch::new();
    let key = scratch.file("key", "correct horse battery staple");
    let image = ext4(&scratch);
    let volumes: Vec<PathBuf> = matrix()
        .iter()
        .enumerate()
        .map(|(number, options)| {
            let volume = scratch.path(&format!("volume-{number}"));
            keyway("build")
                .args(options)
                .args(weak(options))
                .arg("--key-file")
                .arg(&key)
                .arg(&image)
                .arg(&volume)
                .ok();
            volume
        })
        .collect();

    let machine = Machine::new().file("key", fs::read(&key).unwrap());
    let machine = machine.file("large", large()).file("small", SMALL).file("written", written());
    let machine = volumes.iter().fold(machine, |machine, volume| machine.disk(volume));
    let report = machine.run(&format!(
        "for disk in {}; do
             cryptsetup open --key-file /key /dev/vd$disk volume
             mount -t ext4 /dev/mapper/volume /mnt
             cmp /mnt/large /large && cmp /mnt/directory/small /small && echo READ_$disk=same
             cp /written /mnt/directory/written
             rm /mnt/directory/small
             umount /mnt
             cryptsetup close volume
         done",
        (0..volumes.len()).map(letter).flat_map(|c| [c, ' ']).collect::<String>()
    ));

    for (number, (volume, options)) in volumes.iter().zip(matrix()).enumerate() {
        eprintln!("{options}");
        report.has(&format!("READ_{}", letter(number)), "same");
        let decrypted = scratch.path("decrypted");
        keyway("read")
            .args(weak(&options))
            .arg("--key-file")
            .arg(&key)
            .arg(volume)
            .arg("-o")
            .arg(&decrypted)
            .ok();
        assert_eq!(fs::metadata(&decrypted).unwrap().len(), fs::metadata(&image).unwrap().len());
        peer("e2fsck", "-fn").arg(&decrypted).ok();
        assert_same_bytes("written", &file_in(&decrypted, "/directory/written"), "original", &written());
        assert_same_bytes("large", &file_in(&decrypted, "/large"), "original", &large());
        peer("debugfs", "-R").arg("ls /directory").arg(&decrypted).ok().lacks("small");
        fs::remove_file(&decrypted).unwrap();
    }
}

const SMALL: &str = "a file in a directory\n";

fn large() -> Vec<u8> {
    random(51, 1_500_001)
}

fn written() -> Vec<u8> {
    random(52, 777_777)
}

/// An ext4 with two files, created without mounting anything.
fn ext4(scratch: &Scratch) -> PathBuf {
    let files = scratch.path("files");
    fs::create_dir_all(files.join("directory")).unwrap();
    fs::write(files.join("large"), large()).unwrap();
    fs::write(files.join("directory/small"), SMALL).unwrap();
    let image = scratch.path("ext4");
    peer("mke2fs", "-q -t ext4 -b 4096 -d").arg(&files).arg(&image).arg("8M").ok();
    image
}

fn file_in(image: &Path, name: &str) -> Vec<u8> {
    peer("debugfs", "-R").arg(format!("cat {name}")).arg(image).ok().stdout
}
