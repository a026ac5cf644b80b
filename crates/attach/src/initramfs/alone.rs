//! Support for tests that need to be process 1 with mounts of their own: they re-execute themselves
//! in new namespaces.

use std::io::Write;
use std::process::Command;

/// Runs `body` as process 1 of new namespaces, with private mounts; `name` is the test's name.
pub(super) fn alone(name: &str, body: impl FnOnce()) {
    if std::env::var_os(INSIDE).is_some() {
        return body();
    }
    let namespaces = ["--user", "--map-root-user", "--mount", "--pid", "--fork", "--mount-proc"];
    let possible = Command::new("unshare").args(namespaces).arg("true").output();
    if !possible.is_ok_and(|it| it.status.success()) {
        return left_out(name);
    }
    let mut inside = Command::new("unshare");
    inside.args(namespaces).arg(std::env::current_exe().unwrap()).args(["--exact", name, "--nocapture"]);
    let outcome = inside.env(INSIDE, "1").output().unwrap();
    let said =
        String::from_utf8_lossy(&outcome.stdout).into_owned() + &String::from_utf8_lossy(&outcome.stderr);
    assert!(outcome.status.success() && said.contains("1 passed"), "{said}");
}

/// Containers forbid namespaces; the test is then listed among those left out.
fn left_out(name: &str) {
    let Some(list) = std::env::var_os("KEYWAY_SKIPS") else { return };
    let file = std::fs::OpenOptions::new().create(true).append(true).open(list);
    file.and_then(|mut file| writeln!(file, "{name}: no user makes namespaces here")).unwrap();
}

const INSIDE: &str = "KEYWAY_TEST_ALONE";
