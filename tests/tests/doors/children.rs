//! What child programs inherit from a process that holds keys: no descriptors that it was given,
//! and none of the limits that it set for itself.

use crate::served::Volume;
use crate::session::Runtime;
use keyway_tests::{Scratch, need, need_that, peer, programs};
use nix::unistd::geteuid;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};

/// A session does not keep the caller's pipes open; it reads what it needs from them beforehand.
#[test]
fn a_session_lets_go_of_what_it_was_given() {
    need!("sh");
    let runtime = Runtime::new();
    let volume = Volume::new(&runtime.0, "disk.luks", 1);
    let other = runtime.0.file("other", "");
    let script = format!(
        "exec '{}' open --backend nbd --volume-key-file /dev/fd/7 '{}' home 7<'{}' 8<'{}'",
        keyway_tests::peers::program().display(),
        volume.path().display(),
        volume.key_file().display(),
        other.display()
    );
    peer("sh", "-c").arg(script).env("XDG_RUNTIME_DIR", runtime.0.root()).ok().says("home is open");
    let pid = runtime.pid("home");
    let entries = fs::read_dir(format!("/proc/{pid}/fd"));
    need_that!(entries.is_ok(), "the descriptors of a process that holds keys are shown to root alone");
    let open: Vec<_> = entries.unwrap().flatten().filter_map(|fd| fs::read_link(fd.path()).ok()).collect();
    assert!(open.iter().any(|path| path == volume.path()), "{open:?}");
    for given in [volume.key_file(), &other] {
        assert!(!open.iter().any(|path| path == given), "{open:?}");
    }
    let comm = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap();
    assert_eq!(comm, "keyway-session\n");
    runtime.keyway("close home").ok();
}

/// fusermount3 is replaced by a program that reports what it inherited.
#[test]
fn a_program_that_is_started_gets_limits_and_descriptors_as_they_were() {
    need!("setpriv", "sh", "ls");
    need_that!(geteuid().is_root(), "only root becomes another user");
    let scratch = Scratch::new();
    fs::set_permissions(scratch.root(), Permissions::from_mode(0o755)).unwrap();
    let public = scratch.path("public");
    fs::create_dir_all(public.join("mnt")).unwrap();
    let program = scratch.copy(&keyway_tests::peers::program(), "keyway");
    let volume = Volume::new(&scratch, "disk.luks", 1);
    let told = public.join("told");
    let helper = public.join("fusermount3");
    let script = format!(
        "#!/bin/sh\n{{ ulimit -S -c; ulimit -H -c; ls -l /proc/self/fd; }} >'{}'\nexit 1\n",
        told.display()
    );
    programs::script(&helper, &script);
    for path in [&public, &public.join("mnt"), volume.path(), volume.key_file()] {
        chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
    }
    let as_nobody = format!("--reuid={NOBODY} --regid={NOBODY} --clear-groups");
    let can = peer("setpriv", &as_nobody).args("sh -c").arg("exec 3<>/dev/fuse").outcome();
    need_that!(can.code == Some(0), "/dev/fuse cannot be opened by an ordinary user");
    let script = format!(
        "ulimit -S -c 1234; ulimit -H -c 5678; exec '{}' mount --foreground --volume-key-file '{}' '{}' '{}' 7</etc/hostname",
        program.display(),
        volume.key_file().display(),
        volume.path().display(),
        public.join("mnt").display()
    );
    let path = format!("{}:{}", public.display(), std::env::var("PATH").unwrap());
    let run = peer("setpriv", &as_nobody).args("sh -c").arg(script).env("PATH", path);
    run.env("XDG_RUNTIME_DIR", &public).fails(2).says("fusermount3 refuses");
    let told = fs::read_to_string(told).unwrap();
    let mut lines = told.lines();
    assert_eq!((lines.next(), lines.next()), (Some("1234"), Some("5678")), "{told}");
    assert!(
        !told.contains("hostname") && !told.contains("disk.luks") && !told.contains("/dev/fuse"),
        "{told}"
    );
}

const NOBODY: u32 = 65534;
