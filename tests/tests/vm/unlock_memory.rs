//! What `keyway unlock` holds in memory: no key when it exits or executes the next init, and little
//! besides Argon2's memory.

use crate::need_machine;
use keyway_tests::vm::{Machine, Report};
use keyway_tests::{Scratch, keyway, random};
use std::fs;

/// None of its words occurs in the program itself.
const PASSPHRASE: &str = "zK7-quartz-Vole!Bn3~hedge.owl";

/// The Argon2 memory of the volume's only keyslot.
const ARGON2_KIB: u64 = 32 << 10;
/// The limit for everything else.
const REST_KIB: u64 = 16 << 10;

/// Runs a scenario with a volume on /dev/vda whose key is in /vk; /key holds the passphrase.
#[track_caller]
fn run(memory_kib: u64, lanes: u32, script: &str) -> Report {
    let scratch = Scratch::new();
    let image = scratch.sized("volume", 24 << 20);
    let (key, vk) = (scratch.file("key", PASSPHRASE), scratch.file("vk", random(611, 64)));
    let cost = format!(
        "--pbkdf argon2id --pbkdf-force-iterations 4 --pbkdf-memory {memory_kib} --pbkdf-parallel {lanes}"
    );
    keyway("luksFormat -q --type luks2 --volume-key-file").arg(&vk).args(&cost).arg(&image).arg(&key).ok();
    let helper = fs::read(env!("CARGO_BIN_EXE_last-moment")).unwrap();
    let machine = Machine::new().with_keyway().file("bin/last-moment", helper).disk(&image);
    let machine = machine.file("key", PASSPHRASE).file("vk", random(611, 64)).file("nothing", "");
    // The next init has nothing to do.
    let machine = machine.directory("keyway").file("keyway/original-init", "#!/bin/sh\nexit 7\n");
    machine.file("typed", format!("{PASSPHRASE}\n")).run(script)
}

/// All pieces of the volume key are in memory while it works, which shows that the search finds
/// them; none is left when it ends.
#[track_caller]
fn assert_forgotten(report: &Report, moment: &str, code: &str) {
    let at_work = report.value("AT_WORK");
    assert!(at_work.starts_with("4 "), "the volume key is not where it is at work: {report:?}");
    report.has("AT_END", "0 0");
    report.has("MOMENT", moment);
    report.has("CODE", code);
    let read: u64 = report.value("READ").parse().unwrap();
    assert!(read > 1 << 20, "{read} bytes of memory are no process");
}

#[test]
fn nothing_is_left_of_a_typed_passphrase_and_its_key() {
    need_machine!();
    let script = "last-moment /typed /vk /key -- keyway unlock --cmdline keyway.device=/dev/vda; test -b /dev/mapper/root";
    assert_forgotten(&run(32, 1, script), "exit_group", "0");
}

/// As the first process (of a PID namespace created by unshare), up to the moment at which the
/// image's own /init takes its place.
#[test]
fn nothing_is_left_of_a_key_file_and_its_key_at_the_hand_over() {
    need_machine!();
    let script = "busybox unshare -p last-moment /nothing /vk /key -- keyway unlock --init --cmdline 'keyway.device=/dev/vda keyway.key=/key'
                  test -b /dev/mapper/root; test ! -e /keyway";
    assert_forgotten(&run(32, 1, script), "execve", "7");
}

#[test]
fn it_takes_argon2s_own_memory_and_little_more() {
    need_machine!();
    for lanes in [1, 4] {
        let script = "last-moment /typed /vk /key -- keyway unlock --cmdline keyway.device=/dev/vda; test -b /dev/mapper/root";
        let report = run(ARGON2_KIB, lanes, script);
        let peak: u64 = report.value("PEAK_KIB").parse().unwrap();
        eprintln!("{lanes} lanes: {peak} KiB at most, Argon2's own are {ARGON2_KIB}");
        assert!(peak >= ARGON2_KIB, "it was not derived: {report:?}");
        assert!(
            peak <= ARGON2_KIB + REST_KIB,
            "{lanes} lanes: {} KiB beside Argon2's own",
            peak - ARGON2_KIB
        );
        report.has("CODE", "0");
    }
}
