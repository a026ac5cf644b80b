//! The harness itself: tests are only as good as their tools.

use keyway_tests::{Scratch, peer, skip, test_name};
use std::time::Duration;

#[test]
fn a_scratch_directory_goes_with_its_test() {
    let root = {
        let scratch = Scratch::new();
        scratch.random_file("volume", 1, 4096);
        scratch.root().to_owned()
    };
    assert!(!root.exists());
}

#[test]
fn standard_input_larger_than_a_pipe_reaches_the_program() {
    let data = keyway_tests::random(3, 1 << 20);
    assert_eq!(peer("cat", "").stdin(&data).ok().stdout, data);
}

#[test]
fn exit_codes_and_messages_are_checked() {
    peer("sh", "-c").arg("echo no key >&2; exit 2").fails(2).says("no key");
}

#[test]
#[should_panic(expected = "expected exit code 0")]
fn a_failure_is_not_taken_for_success() {
    peer("false", "").ok();
}

#[test]
#[should_panic(expected = "killed after")]
fn a_program_that_hangs_is_killed() {
    peer("sleep", "60").limit(Duration::from_millis(50)).ok();
}

#[test]
fn a_test_knows_its_name_and_a_program_that_is_not_there() {
    assert_eq!(test_name!(), "harness::a_test_knows_its_name_and_a_program_that_is_not_there");
    assert!(skip::find("a program that nobody has").is_none());
}
