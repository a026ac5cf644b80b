//! Memory beyond a control group's limit: refused with the figure, instead of being killed.

use keyway_tests::{Run, Scratch, keyway, need, need_that, peer};
use nix::unistd::geteuid;
use std::fs;
use std::path::PathBuf;

/// A version 1 control group for this test.
struct Group(PathBuf);

impl Group {
    /// `None` if there is no such hierarchy, or no permission to use it.
    fn new(name: &str, limit: u64) -> Option<Self> {
        let mounts = fs::read_to_string("/proc/self/mounts").ok()?;
        let mut lines = mounts.lines().map(|line| line.split(' ').collect::<Vec<_>>());
        let is_memory =
            |words: &Vec<&str>| words[2] == "cgroup" && words[3].split(',').any(|word| word == "memory");
        let mount = PathBuf::from(lines.find(is_memory)?[1]);
        let group = Self(mount.join(format!("keyway-test-{name}-{}", std::process::id())));
        fs::create_dir(&group.0).ok()?;
        fs::write(group.0.join("memory.limit_in_bytes"), limit.to_string()).ok()?;
        Some(group)
    }

    fn runs(&self, line: &str) -> Run {
        let script = "echo $$ >\"$1/cgroup.procs\" || exit 99; shift; exec \"$@\"";
        let run = peer("sh", "-c").arg(script).arg("sh").arg(&self.0);
        run.arg(keyway_tests::peers::program()).args(line)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

#[test]
fn a_limit_of_version_1_is_known() {
    need!("sh");
    need_that!(geteuid().is_root(), "only root makes control groups");
    let group = Group::new("memory", 120 << 20);
    need_that!(group.is_some(), "there is no hierarchy of version 1 with the memory controller");
    let group = group.unwrap();
    let scratch = Scratch::new();
    let (key, image) = (scratch.file("key", "secret"), scratch.random_file("image", 1, 1 << 20));
    let heavy =
        "--pbkdf argon2id --pbkdf-memory 200000 --pbkdf-force-iterations 4 --pbkdf-parallel 1 --key-file";

    let made = scratch.path("made.luks");
    let refused = group.runs("build -q").args(heavy).arg(&key).arg(&image).arg(&made).fails(3);
    let line = refused.errors();
    let left = line.strip_prefix("Argon2 needs 200000 KiB of memory, and ").expect(&line);
    let (left, rest) = left.split_once(" KiB are left to this process; try --pbkdf-memory ").expect(&line);
    let would_do = rest.trim_end().strip_suffix(".").expect(&line);
    let (left, would_do): (u64, u64) = (left.parse().unwrap(), would_do.parse().unwrap());
    assert!((1 << 10..=120 << 10).contains(&left) && would_do == left / 2, "{line}");
    assert!(!made.exists());

    // The measured cost fits, and so does the given one.
    let cheap = "build -q --iter-time 50 --key-file";
    group.runs(cheap).arg(&key).arg(&image).arg(&made).ok();
    group.runs("open --test-passphrase --key-file").arg(&key).arg(&made).ok();

    // Created without the limit.
    let large = scratch.path("large.luks");
    keyway("build -q").args(heavy).arg(&key).arg(&image).arg(&large).ok();
    let refused = group.runs("open --test-passphrase --key-file").arg(&key).arg(&large).fails(3);
    refused.says("Keyslot 0 needs 200000 KiB of memory and the budget is ").says("--memory-budget 200000K");
}
