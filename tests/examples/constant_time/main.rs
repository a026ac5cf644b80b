//! Constant time, checked: under valgrind's memcheck, secrets are marked as uninitialised memory,
//! and memcheck reports each branch and each address that depends on one.
//!
//! The method is Adam Langley's ctgrind. Cases that must be clean run at every CPU level that
//! valgrind emulates (up to AES-NI and AVX2; AVX-512 code is the same bodies over wider
//! vectors, which valgrind cannot run). Controls, code that is known to look secrets up in
//! tables, must be reported: else the check would see nothing.
//!
//! Exit status: 0 when every clean case is clean and every control was caught.

mod cases;
mod memcheck;

use cases::{CLEAN, CONTROLS, Case};
use keyway_crypto::Cpu;
use std::process::ExitCode;

fn main() -> ExitCode {
    if !memcheck::is_running() {
        eprintln!("constant_time: to be run under valgrind (./dev test ct)");
        return ExitCode::from(2);
    }
    let mut wrong = 0;
    let mut checked = 0;
    for cpu in Cpu::levels() {
        for case in CLEAN {
            let reports = reports_of(case, cpu);
            println!("{:<38} {:<34} {}", case.name, cpu.to_string(), verdict(reports, "constant time"));
            wrong += usize::from(reports > 0);
            checked += 1;
        }
    }
    for case in CONTROLS {
        let reports = reports_of(case, Cpu::portable());
        println!("{:<38} {:<34} {}", case.name, "control", verdict(reports, "NOT CAUGHT"));
        wrong += usize::from(reports == 0);
    }
    println!("{checked} cases in constant time checked, {} controls, {wrong} wrong", CONTROLS.len());
    ExitCode::from(u8::from(wrong > 0))
}

/// What memcheck reports while the case runs.
fn reports_of(case: &Case, cpu: Cpu) -> usize {
    let before = memcheck::errors();
    (case.run)(cpu);
    memcheck::errors() - before
}

fn verdict(reports: usize, when_none: &str) -> String {
    if reports == 0 { when_none.into() } else { format!("{reports} places depend on secrets") }
}
