//! `keyway`: Linux disk encryption without root.
//!
//! A command is a table (`args`) and a function (`command`); a
//! failure carries cryptsetup's exit code (`failure`).
#![deny(unsafe_code)]
// A program without some commands goes without what only they use.
#![cfg_attr(not(feature = "desk"), allow(dead_code, unused_imports))]

// First: its macro is for all.
#[macro_use]
mod output;

mod address;
mod admission;
mod args;
mod command;
mod creation;
mod destructive;
mod device;
mod existing_content;
mod failure;
mod harden;
mod header_params;
mod hint;
mod input;
mod interrupt;
mod kdf;
mod mapping;
mod memory_hard;
mod nbd;
mod new_volume;
mod paint;
mod passphrase;
mod plain;
mod plaintext;
mod policy;
mod progress;
mod question;
mod remote;
mod session;
mod sources;
#[allow(unsafe_code)]
mod sys;
mod tls;
mod tokens;
mod unlocking;
mod whole_file;

use std::ffi::OsString;
use std::process::ExitCode;

fn main() -> ExitCode {
    // Before anything else: until then lists of processes show it as it was typed.
    let command_line = command_line();
    session::name_process();
    harden::process();
    interrupt::survive_file_limit();
    // A panic has had its line; its code is one of cryptsetup's.
    let code = std::panic::catch_unwind(|| run(command_line))
        .unwrap_or_else(|_| ExitCode::from(failure::Exit::Parameters as u8));
    // Threads that still run may hold keys.
    keyway_crypto::secret::wipe_all();
    code
}

/// The kernel gives the first process what it did not understand
/// itself, which is no command of ours.
fn command_line() -> &'static [OsString] {
    session::learn_secrets();
    let argv: Vec<OsString> = match command::unlock::is_first_process() {
        true => ["keyway", "unlock", "--init"].map(Into::into).into(),
        false => std::env::args_os().collect(),
    };
    address::take_secrets(&argv)
}

fn run(command_line: &[OsString]) -> ExitCode {
    match args::parse(command_line.iter().cloned()) {
        Ok(args::Invocation::Run(args)) => failure::run(&args),
        Ok(args::Invocation::Print(text)) => match output::print(&text) {
            Ok(()) => ExitCode::SUCCESS,
            Err(failure) => failure.report(),
        },
        Err(failure) => failure.report(),
    }
}
