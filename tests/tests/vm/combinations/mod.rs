//! The sector engine against dm-crypt: whatever the kernel can map, Keyway encrypts to the same
//! bytes; what the kernel refuses, Keyway refuses.
//!
//! `cases` generates a question for each of Keyway's combinations, `verdict` compares the answers,
//! `report` prints the list. `KEYWAY_COMBINATIONS=all` tests every combination with every key size
//! (half an hour or more); without it a cipher of many key sizes shows each combination with a few
//! of them and sectors of one size, in rotation, and ESSIV each of its hashes with two modes.
//! `KEYWAY_COMBINATIONS=camellia-xts` tests only those whose specification contains that text.

mod cases;
mod report;
mod verdict;

use crate::need_machine;
use keyway_tests::kernel::ask;
use keyway_tests::vm::Machine;
use std::time::Duration;

#[test]
fn keyway_and_the_kernel_agree_on_every_combination() {
    need_machine!();
    let cases = cases::all();
    let questions: Vec<_> = cases.iter().map(|case| case.question.clone()).collect();
    let machine = Machine::new().limit(Duration::from_secs(3600));
    let answers = ask(machine, env!("CARGO_BIN_EXE_kernel-sectors"), &questions);
    let verdicts = verdict::judge(&cases, &answers);
    let disagreements = report::print(&cases, &verdicts);
    assert!(disagreements.is_empty(), "{}", disagreements.join("\n"));
}
