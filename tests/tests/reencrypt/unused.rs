//! `--skip-unused` on file systems of the real mke2fs: judged by e2fsck and by the files in them.

use crate::{Fixture, Tool};
use keyway_tests::peers::CHEAP_LUKS2_PBKDF2;
use keyway_tests::{Run, cryptsetup, keyway, killed, need, need_cryptsetup_to_reencrypt, peer, random};
use std::path::Path;
use std::time::Duration;

const LEN: u64 = 96 << 20;

/// A volume that holds a file system with a few files, and the bytes of a deleted one.
struct Inhabited {
    f: Fixture,
    /// The directory that the files came from.
    tree: std::path::PathBuf,
    /// Its plaintext at the start.
    image: std::path::PathBuf,
}

impl Inhabited {
    fn new(options: &str) -> Self {
        let f = Fixture::plaintext(0);
        let tree = f.scratch.path("tree");
        std::fs::create_dir_all(tree.join("below")).unwrap();
        for (name, seed, len) in
            [("small", 1, 700), ("below/odd", 2, 77_777), ("large", 3, 9 << 20), ("gone", 4, 5 << 20)]
        {
            std::fs::write(tree.join(name), random(seed, len)).unwrap();
        }
        let image = f.scratch.sized("image", LEN);
        peer("mke2fs", &format!("-q -F {options} -d")).arg(&tree).arg(&image).ok();
        peer("debugfs", "-w -R").arg("rm gone").arg(&image).ok();
        std::fs::remove_file(tree.join("gone")).unwrap();
        peer("e2fsck", "-fn").arg(&image).ok();
        std::fs::remove_file(&f.device).unwrap();
        Self { f, tree, image }
    }

    fn built(self) -> Self {
        let build = keyway("build -q --fill").args(CHEAP_LUKS2_PBKDF2).arg("--key-file").arg(&self.f.key);
        build.arg(&self.image).arg(&self.f.device).ok();
        self
    }

    fn plaintext(&self, detached: bool) -> std::path::PathBuf {
        let out = self.f.scratch.path("out");
        let _ = std::fs::remove_file(&out);
        let run = keyway("read --key-file").arg(&self.f.key).arg("-o").arg(&out).arg(&self.f.device);
        let run = if detached { run.arg("--header").arg(self.f.header()) } else { run };
        run.ok();
        out
    }

    /// The file system is whole, and so is each file.
    #[track_caller]
    fn is_whole(&self, detached: bool) {
        let out = self.plaintext(detached);
        peer("e2fsck", "-fn").arg(&out).ok();
        let files = self.f.scratch.path("files");
        let _ = std::fs::remove_dir_all(&files);
        std::fs::create_dir(&files).unwrap();
        peer("debugfs", "-R").arg(format!("rdump / {}", files.display())).arg(&out).ok();
        for name in ["small", "below/odd", "large"] {
            let (old, new) =
                (std::fs::read(self.tree.join(name)).unwrap(), std::fs::read(files.join(name)).unwrap());
            assert!(old == new, "{name} differs");
        }
    }

    /// Whether the deleted file can still be found.
    fn has_deleted_file(&self, detached: bool) -> bool {
        contains(&std::fs::read(self.plaintext(detached)).unwrap(), &inside(4))
    }
}

/// Bytes of a file, but not its first: less than a page beside a used block counts as used.
fn inside(seed: u64) -> Vec<u8> {
    random(seed, (1 << 20) + 64).split_off(1 << 20)
}

fn contains(bytes: &[u8], wanted: &[u8]) -> bool {
    bytes.chunks_exact(1024).any(|block| block.starts_with(wanted))
}

const SYSTEMS: [&str; 4] = ["-t ext4", "-t ext4 -b 1024 -O ^64bit", "-t ext3", "-t ext2"];

#[test]
fn the_files_stay_and_deleted_ones_go() {
    need!("mke2fs", "debugfs", "e2fsck", "cryptsetup");
    for (system, options) in SYSTEMS.into_iter().zip([
        "--skip-unused",
        "--skip-unused --sector-size 512 --resilience journal",
        "--skip-unused --discard-unused",
        "--skip-unused --resilience none --cipher serpent-xts-plain64",
    ]) {
        let v = Inhabited::new(system).built();
        assert!(v.has_deleted_file(false), "{system}: it was there");
        let run = v.f.reencrypt(keyway, options).ok();
        let warning = if options.contains("discard") {
            "are discarded, not reencrypted"
        } else {
            "deleted files are lost"
        };
        assert!(run.errors().contains(warning), "{system}, {options}: {run}");
        v.is_whole(false);
        assert!(!v.has_deleted_file(false), "{system}, {options}: it is still there");
        cryptsetup("open --test-passphrase --key-file").arg(&v.f.key).arg(&v.f.device).ok();
        let compared = keyway("compare --key-file").arg(&v.f.key).arg(&v.image).arg(&v.f.device);
        compared.ok();
    }
}

/// Every page of the data is another one afterwards, used or not: what is unused is more than is filled at
/// a time.
#[test]
fn no_page_stays_as_it_was() {
    need!("mke2fs", "debugfs", "e2fsck");
    let v = Inhabited::new("-t ext4").built();
    let data = |v: &Inhabited| std::fs::read(&v.f.device).unwrap().split_off(16 << 20);
    let before = data(&v);
    v.f.reencrypt(keyway, "--skip-unused").ok();
    let after = data(&v);
    assert!(before.len() == after.len() && before.len() as u64 == LEN);
    let same = before.chunks(4096).zip(after.chunks(4096)).position(|(old, new)| old == new);
    assert_eq!(same, None, "a page that was neither re-encrypted nor filled");
}

#[test]
fn plaintext_that_becomes_a_volume_leaves_its_unused_blocks_out() {
    need!("mke2fs", "debugfs", "e2fsck");
    for options in ["--encrypt --skip-unused --header", "--encrypt --skip-unused --discard-unused --header"] {
        let v = Inhabited::new("-t ext4");
        std::fs::copy(&v.image, &v.f.device).unwrap();
        v.f.reencrypt(keyway, options).ok();
        v.is_whole(true);
        assert!(!v.has_deleted_file(true), "{options}: it is still there");
        let raw = std::fs::read(&v.f.device).unwrap();
        assert!(!contains(&raw, &inside(4)), "{options}: on the device in plain sight");
        assert!(!contains(&raw, &inside(3)), "{options}: a file in plain sight");
    }
}

/// Killed at several moments; cryptsetup knows nothing of what was left out, keyway is told again or not.
#[test]
fn either_program_goes_on_with_what_was_cut_off() {
    need_cryptsetup_to_reencrypt!();
    need!("mke2fs", "debugfs", "e2fsck");
    for (number, (ends, resume, resilience)) in [
        (cryptsetup as Tool, "--resume-only", "checksum"),
        (cryptsetup, "--resume-only", "journal"),
        (keyway, "--resume-only", "checksum"),
        (keyway, "--resume-only --skip-unused", "journal"),
        (keyway, "--resume-only --skip-unused --discard-unused", "checksum"),
        (cryptsetup, "--resume-only", "checksum"),
    ]
    .into_iter()
    .enumerate()
    {
        let begin = format!("--skip-unused --hotzone-size 32K --resilience {resilience}");
        let cut_off = || {
            let v = Inhabited::new("-t ext4").built();
            let is_begun = || v.f.says("\"in-reencryption\"");
            killed(&v.f.reencrypt(keyway, &begin), is_begun, Duration::from_millis(7 * number as u64));
            v.f.says("\"online-reencrypt").then_some(v)
        };
        let v = (0..20).find_map(|_| cut_off()).expect("a kill that comes in time");
        if ends as usize == cryptsetup as Tool as usize {
            let _ = cryptsetup("repair -q --key-file").arg(&v.f.key).arg(&v.f.device).outcome();
        }
        v.f.reencrypt(ends, resume).ok();
        v.is_whole(false);
        v.f.lacks_old_key();
    }
}

impl Fixture {
    #[track_caller]
    fn lacks_old_key(&self) {
        let dump = keyway("luksDump").arg(&self.device).ok().text();
        assert!(!dump.contains("  0: luks2"), "{dump}");
    }
}

fn refused(f: &Fixture, options: &str, says: &str) {
    let before = std::fs::read(&f.device).unwrap();
    f.reencrypt(keyway, options).fails(1).says(says);
    assert!(std::fs::read(&f.device).unwrap() == before, "{options} changed something");
    assert!(!f.header().exists(), "{options}: a header was made");
}

#[test]
fn what_is_not_safe_is_refused_before_anything_is_written() {
    need!("mke2fs", "debugfs", "e2fsck");
    let f = Fixture::volume();
    refused(&f, "--skip-unused", "does not hold just an ext2, ext3 or ext4 file system");
    refused(&f, "--discard-unused", "Option --discard-unused goes with --skip-unused.");
    refused(&f, "--skip-unused --init-only", "cannot be combined with --init-only");
    refused(&f, "--skip-unused --decrypt --header", "cannot be combined with --decrypt");
    refused(&f, "--skip-unused --reduce-device-size 8M", "cannot be combined with --reduce-device-size");
    let f = Fixture::plaintext(32 << 20);
    refused(
        &f,
        "--skip-unused --encrypt --reduce-device-size 32M",
        "cannot be combined with --reduce-device-size",
    );
    refused(&f, "--skip-unused --encrypt --header", "does not hold just an ext2");
    refused(&f, "--skip-unused --encrypt --type luks1 --header", "cannot be combined with LUKS1");
    for (spoil, says) in [
        ("set_super_value feature_incompat 0x2c6", "its journal has to be replayed"),
        ("set_super_value state 0", "was not unmounted cleanly"),
        ("set_super_value state 3", "has errors"),
        ("set_super_value error_count 1", "has errors"),
        ("set_super_value last_orphan 12", "was not unmounted cleanly"),
        ("freeb 9000 5", "contradicts itself"),
        ("set_bg 0 free_blocks_count 1", "contradicts itself"),
        ("set_bg 0 block_bitmap_csum 1", "contradicts itself"),
    ] {
        let v = Inhabited::new("-t ext4");
        let run: Run = peer("debugfs", "-w -R");
        run.arg(spoil).arg(&v.image).ok();
        if spoil.starts_with("freeb") {
            spoil_count(&v.image);
        }
        let v = v.built();
        refused(&v.f, "--skip-unused", says);
        refused(&v.f, "--skip-unused --discard-unused", says);
    }
}

/// The superblock's count of free blocks, with checksums as they were: debugfs keeps all in step.
fn spoil_count(image: &Path) {
    use std::os::unix::fs::FileExt;
    let file = std::fs::File::options().read(true).write(true).open(image).unwrap();
    let mut count = [0; 4];
    file.read_exact_at(&mut count, 1024 + 0x0c).unwrap();
    file.write_all_at(&(u32::from_le_bytes(count) + 1).to_le_bytes(), 1024 + 0x0c).unwrap();
}
