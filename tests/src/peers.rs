//! The program under test and the programs it is measured against.

use crate::run::Run;
use crate::skip::{self, find};
use crate::timeouts;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

/// Cheapest costs that cryptsetup accepts: so that a LUKS1 test spends its time on what it tests.
pub const CHEAP_PBKDF2: &str = "--pbkdf-force-iterations 1000";
/// The same for LUKS2 with PBKDF2 keyslots.
pub const CHEAP_LUKS2_PBKDF2: &str = "--pbkdf pbkdf2 --pbkdf-force-iterations 1000";
/// The same for Argon2id: four passes over 32 KiB in one lane.
pub const CHEAP_ARGON2: &str =
    "--pbkdf argon2id --pbkdf-force-iterations 4 --pbkdf-memory 32 --pbkdf-parallel 1";

/// Keyway, with the arguments of `line`.
pub fn keyway(line: &str) -> Run {
    Run::new(program(), line)
}

/// Debian's cryptsetup, with the arguments of `line`.
pub fn cryptsetup(line: &str) -> Run {
    peer("cryptsetup", line)
}

/// Any other program, with the arguments of `line`. Call `need!` for it first.
pub fn peer(name: &str, line: &str) -> Run {
    let path =
        find(name).unwrap_or_else(|| panic!("{name} is not installed: the test lacks a need!({name:?})"));
    Run::new(path, line).env("PATH", skip::path())
}

/// The binary under test: `KEYWAY_BIN`, or the workspace's debug build, built once if out of date.
pub fn program() -> PathBuf {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| std::env::var_os("KEYWAY_BIN").map_or_else(build, PathBuf::from)).clone()
}

fn build() -> PathBuf {
    let workspace = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    let status = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "-p", "keyway-cli"])
        .current_dir(workspace)
        .status();
    assert!(status.is_ok_and(|s| s.success()), "cargo build -p keyway-cli failed");
    // Test executables are in target/PROFILE/deps.
    let test = std::env::current_exe().expect("this executable has a path");
    test.ancestors().nth(3).expect("a target directory").join("debug/keyway")
}

/// The libraries that a program loads, with its loader: none of one that is static. Call `need!("ldd")` first.
pub fn libraries(program: &Path) -> Vec<PathBuf> {
    let named = peer("ldd", "").arg(program).outcome().text();
    named
        .split_whitespace()
        .filter(|word| word.starts_with('/') && !word.ends_with(':'))
        .map(PathBuf::from)
        .collect()
}

/// Unmounts a FUSE directory. A program that another test is just starting has our open files until
/// it runs: the directory is busy as long.
#[track_caller]
pub fn fusermount(directory: &Path) {
    let deadline = timeouts::within(timeouts::EVENT);
    loop {
        let outcome = peer("fusermount3", "-u").arg(directory).outcome();
        if outcome.code == Some(0) {
            return;
        }
        let is_busy = outcome.errors().contains("busy") && Instant::now() < deadline;
        assert!(is_busy, "{outcome}");
        thread::sleep(Duration::from_millis(20));
    }
}
