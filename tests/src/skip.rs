//! Tests that cannot run here are recorded by name, in a file that `./dev test` prints at the end.

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::PathBuf;

/// Whether `KEYWAY_SLOW` asks for what takes minutes.
pub fn is_slow() -> bool {
    std::env::var_os("KEYWAY_SLOW").is_some_and(|value| !value.is_empty())
}

/// Returns from the test, recording it as skipped, if one of the named programs is not installed.
#[macro_export]
macro_rules! need {
    ($($program:expr),+ $(,)?) => {
        $(if $crate::skip::find($program).is_none() {
            $crate::skip::record($crate::test_name!(), concat!($program, " is not installed"));
            return;
        })+
    };
}

/// Returns from the test, recording it as skipped, where cryptsetup cannot re-encrypt: that takes a lock
/// in /run/cryptsetup, which is root's.
#[macro_export]
macro_rules! need_cryptsetup_to_reencrypt {
    () => {
        $crate::need!("cryptsetup");
        $crate::need_that!(
            $crate::skip::is_root(),
            "cryptsetup takes the lock of a re-encryption only as root"
        );
    };
}

/// Returns from the test, recording it as skipped for `reason`, if `condition` does not hold.
#[macro_export]
macro_rules! need_that {
    ($condition:expr, $reason:expr) => {
        if !$condition {
            $crate::skip::record($crate::test_name!(), $reason);
            return;
        }
    };
}

/// The path of the enclosing function. (The thread's name would be "main" if one thread runs all
/// tests.)
#[macro_export]
macro_rules! test_name {
    () => {{
        fn here() {}
        std::any::type_name_of_val(&here).trim_end_matches("::here")
    }};
}

/// The program's path, searched in [`directories`].
pub fn find(program: &str) -> Option<PathBuf> {
    directories().map(|directory| directory.join(program)).find(|candidate| candidate.is_file())
}

/// `PATH` with the system directories, for a script that calls peers by name.
pub fn path() -> OsString {
    std::env::join_paths(directories()).expect("they come from PATH, which has no other colons")
}

/// Those of `PATH`, and the system directories missing from an ordinary user's.
fn directories() -> impl Iterator<Item = PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path: Vec<PathBuf> = std::env::split_paths(&path).collect();
    path.into_iter().chain(["/usr/sbin", "/sbin", "/usr/local/sbin"].map(PathBuf::from))
}

/// Whether root runs the tests.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Records that `test` was skipped. [`need!`](crate::need) and [`need_that!`](crate::need_that)
/// call it.
pub fn record(test: &str, reason: &str) {
    let line = format!("{test}: {reason}\n");
    eprint!("left out: {line}");
    if let Some(path) = std::env::var_os("KEYWAY_SKIPS") {
        let file = OpenOptions::new().create(true).append(true).open(&path);
        let written = file.and_then(|mut f| f.write_all(line.as_bytes()));
        written.unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    }
}
