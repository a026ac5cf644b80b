//! What is left when a volume is not finished: nothing. And how much memory it takes to finish one.

use crate::{CHEAP, names};
use keyway_tests::peers::program;
use keyway_tests::{Scratch, need, peer, random};
use std::io::Write;
use std::thread;
use std::time::Duration;

#[test]
fn signals_leave_no_trace() {
    let scratch = Scratch::new();
    let key = scratch.file("key", "secret");
    for signal in ["INT", "TERM", "KILL"] {
        // Tests started in the background may ignore SIGINT.
        let build = peer("env", "--default-signal=INT,TERM").arg(program()).args("build -");
        let build = build.arg(scratch.path("volume")).args(CHEAP).arg("-d").arg(&key);
        let mut child = build.spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        // Once this input is consumed, the volume is being written, and the end of the input never
        // comes.
        stdin.write_all(&random(1, 4 << 20)).unwrap();
        thread::sleep(Duration::from_millis(100));
        peer("kill", &format!("-{signal} {}", child.id())).ok();
        let status = child.wait().unwrap();
        assert!(!status.success(), "{signal}: {status}");
        assert_eq!(names(&scratch), ["key"], "{signal}");
    }
}

/// `nohup keyway build …` goes on without its terminal.
#[test]
fn a_signal_that_was_ignored_stays_ignored() {
    need!("bash");
    let scratch = Scratch::new();
    let key = scratch.file("key", "secret");
    let script = format!("trap '' HUP; exec \"$0\" build - \"$1\" {CHEAP} -d \"$2\"");
    let bash = peer("bash", "-c").arg(script).arg(program());
    let mut child = bash.arg(scratch.path("volume")).arg(&key).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(&random(1, 4 << 20)).unwrap();
    thread::sleep(Duration::from_millis(100));
    peer("kill", &format!("-HUP {}", child.id())).ok();
    thread::sleep(Duration::from_millis(100));
    drop(stdin);
    let status = child.wait().unwrap();
    assert!(status.success(), "{status}");
    assert_eq!(names(&scratch), ["key", "volume"]);
}

#[test]
fn a_full_disk_is_one_line_and_leaves_no_trace() {
    need!("bash");
    let scratch = Scratch::new();
    scratch.file("key", "secret");
    scratch.random_file("source", 2, 8 << 20);
    // A limit on the size of files stands in for a full disk: writes past it fail.
    let script = format!("ulimit -f 20480; exec \"$0\" build source volume {CHEAP} -d key");
    let program = program();
    let run = peer("bash", "-c").arg(script).arg(program).directory(scratch.root());
    let outcome = run.fails(1);
    assert_eq!(outcome.errors().lines().count(), 1, "{outcome}");
    outcome.says("Cannot write volume at byte").says("no space is left; free some and try again.");
    assert_eq!(names(&scratch), ["key", "source"]);
}

#[test]
fn memory_does_not_grow_with_the_volume() {
    need!("time");
    let scratch = Scratch::new();
    scratch.file("key", "secret");
    scratch.sized("source", 300 << 20);
    let program = program().display().to_string();
    for command in [
        format!("build --fill source volume {CHEAP} -d key"),
        "read volume -d key -o copy".to_owned(),
        "write volume -d key copy".to_owned(),
    ] {
        let run = peer("time", &format!("-f %M {program} {command}")).directory(scratch.root());
        let peak: u64 = run.ok().errors().trim().parse().unwrap();
        assert!(peak < 64 << 10, "{command}: {peak} KiB");
    }
}
