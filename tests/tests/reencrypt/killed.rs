//! Killed at random moments, by SIGKILL, and gone on with by either program.

use crate::{Fixture, Tool};
use keyway_tests::{cryptsetup, keyway, killed, need, until};
use std::time::Duration;

/// Kills either program at moments that spread over its way through the zones, until `kills` have hit.
fn goes_on_after_kills(make: fn() -> Fixture, options: &str, resume: &str, kills: u32, ended: fn(&Fixture)) {
    // The last says whether it recovers by another command than it resumes with.
    for (name, begins, ends, repairs) in [
        ("keyway by keyway", keyway as Tool, keyway as Tool, false),
        ("keyway by cryptsetup", keyway, cryptsetup, true),
        ("cryptsetup by keyway", cryptsetup, keyway, false),
    ] {
        let (mut hits, mut kill) = (0, 0);
        while hits < kills && kill < 4 * kills {
            let f = make();
            let is_begun = || f.says("\"in-reencryption\"");
            // A machine that is busy comes late more often.
            let after = Duration::from_millis(u64::from(5 * (kill % kills)));
            killed(&f.reencrypt(begins, options), is_begun, after);
            let hit = f.says("\"online-reencrypt");
            hits += u32::from(hit);
            kill += 1;
            let context = format!("{name}, {options}, kill {kill}");
            eprintln!("{context}, {}", if hit { "hit" } else { "too late" });
            if repairs {
                let repair = cryptsetup("repair -q --key-file").arg(&f.key);
                let _ = repair.arg(&f.device).outcome();
            }
            let resumed = f.reencrypt(ends, resume).outcome();
            let over = !hit && resumed.errors().contains("not in progress");
            assert!(resumed.code == Some(0) || over, "{context}\n{resumed}");
            ended(&f);
        }
        assert!(hits > 0, "{name}, {options}: no kill of {kill} came in time");
    }
}

#[test]
fn checksum() {
    need!("cryptsetup");
    goes_on_after_kills(
        Fixture::volume,
        "--resilience checksum --hotzone-size 64K",
        "--resume-only",
        5,
        |f| f.reads(false),
    );
}

#[test]
fn journal() {
    need!("cryptsetup");
    goes_on_after_kills(
        Fixture::volume,
        "--resilience journal --hotzone-size 64K",
        "--resume-only",
        5,
        |f| f.reads(false),
    );
}

/// Ctrl-C stops where the data is whole, and says how to go on.
#[test]
fn a_signal_stops_it_where_the_data_is_whole() {
    let f = Fixture::volume();
    let child = f.reencrypt(keyway, "--hotzone-size 4K").spawn().unwrap();
    until("it is at it", || f.says("\"in-reencryption\""));
    let pid = rustix::process::Pid::from_raw(child.id() as i32).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    let device = f.device.display();
    assert!(said.contains("Reencryption interrupted."), "{said}");
    assert!(said.contains(&format!("\"keyway reencrypt --resume-only {device}\" goes on.")), "{said}");
    f.reencrypt(keyway, "--resume-only").ok();
    f.reads(false);
}

/// A machine that is suspended, or a process that is stopped: nobody else gets in between, and it goes on.
#[test]
fn a_stopped_process_goes_on_where_it_was() {
    let f = Fixture::volume();
    let mut child = f.reencrypt(keyway, "--hotzone-size 16K").spawn().unwrap();
    until("it is at it", || f.says("\"in-reencryption\""));
    let pid = rustix::process::Pid::from_raw(child.id() as i32).unwrap();
    let signal = |signal| rustix::process::kill_process(pid, signal).unwrap();
    signal(rustix::process::Signal::STOP);
    let busy = f.reencrypt(keyway, "--resume-only").fails(5);
    busy.says("in use");
    signal(rustix::process::Signal::CONT);
    assert!(child.wait().unwrap().success());
    f.reads(false);
}
