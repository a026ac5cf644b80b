//! Volumes on block devices (loop devices): their size, their sectors, write protection, and access
//! that bypasses the page cache.

use keyway_tests::peers::CHEAP_LUKS2_PBKDF2;
use keyway_tests::{Scratch, keyway, need, need_that, peer, random};
use std::fs;
use std::path::{Path, PathBuf};

/// A loop device, detached on drop.
struct Loop(PathBuf);

impl Loop {
    /// `None` if this user or machine has no loop devices.
    fn over(file: &Path, options: &str) -> Option<Self> {
        let attached = peer("losetup", "--find --show").args(options).arg(file).outcome();
        let device = Self(PathBuf::from(attached.text().trim()));
        (attached.code == Some(0)).then_some(device)
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        if self.0.exists() {
            peer("losetup", "--detach").arg(&self.0).outcome();
        }
    }
}

#[test]
fn a_volume_on_a_block_device_past_the_page_cache() {
    need!("losetup");
    for sector in ["512", "4096"] {
        let scratch = Scratch::new();
        let file = scratch.sized("disk", 24 << 20);
        let device = Loop::over(&file, &format!("--sector-size {sector}"));
        need_that!(device.is_some(), "loop devices cannot be had here");
        let device = &device.unwrap().0;
        let key = scratch.file("key", "secret");
        keyway("luksFormat -q").args(CHEAP_LUKS2_PBKDF2).arg(device).arg(&key).ok();
        let mut plain = keyway("read -d").arg(&key).arg(device).ok().stdout;
        assert_eq!(plain.len(), 8 << 20);
        for (direct, at, len) in
            [("--direct-io", 1000, 1_300_001), ("", 1_000_001, 4096), ("--direct-io", 4096, 1 << 20)]
        {
            let new = random(at as u64, len);
            let write = keyway("write").args(direct).arg("--offset").arg(at.to_string()).arg("-d").arg(&key);
            write.arg(device).stdin(&new).ok().quiet();
            plain[at..at + len].copy_from_slice(&new);
            for direct in ["--direct-io", ""] {
                let read = keyway("read").args(direct).arg("-d").arg(&key).arg(device).ok().quiet();
                assert!(read.stdout == plain, "sectors of {sector}, {len} bytes at {at}, read {direct}");
            }
        }
    }
}

#[test]
fn a_write_protected_device_is_refused_before_the_passphrase() {
    need!("losetup");
    let scratch = Scratch::new();
    let file = scratch.sized("disk", 20 << 20);
    let key = scratch.file("key", "secret");
    keyway("luksFormat -q").args(CHEAP_LUKS2_PBKDF2).arg(&file).arg(&key).ok();
    let before = fs::read(&file).unwrap();
    let device = Loop::over(&file, "--read-only");
    need_that!(device.is_some(), "loop devices cannot be had here");
    let device = &device.unwrap().0;
    keyway("read --length 4096 -d").arg(&key).arg(device).ok().quiet();
    for command in ["luksAddKey", "write --offset 5"] {
        let run = keyway(command).arg(device).stdin("secret").fails(2);
        run.says("Cannot write to device").says("read-only").lacks("passphrase");
    }
    assert!(fs::read(&file).unwrap() == before);
}

#[test]
fn direct_is_for_files_and_block_devices() {
    let scratch = Scratch::new();
    let key = scratch.file("key", "secret");
    let odd = scratch.sized("odd", (20 << 20) + 7);
    keyway("luksFormat -q").args(CHEAP_LUKS2_PBKDF2).arg(&odd).arg(&key).ok();
    let read = keyway("read --direct-io -d").arg(&key).arg(&odd).fails(4);
    read.says("cannot be used without the page cache").says("omit --direct-io");
    keyway("read --direct-io http://127.0.0.1:1/x").fails(4).says("it is not a file or block device");
}
