//! Tests that cannot run here are recorded by name, in a file that `./dev test` prints at the end.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::PathBuf;

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

/// The program's path, searched in `PATH` and in the system directories missing from an ordinary
/// user's `PATH`.
pub fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(["/usr/sbin", "/sbin", "/usr/local/sbin"].map(PathBuf::from))
        .map(|directory| directory.join(program))
        .find(|candidate| candidate.is_file())
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
