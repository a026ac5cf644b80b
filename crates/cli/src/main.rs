//! `keyway`: Linux disk encryption without root.
//!
//! A command is a table (`args`) and a function (`verb`); a failure carries cryptsetup's exit code
//! (`output::failure`).
#![deny(unsafe_code)]

// First, because all other modules use its macro.
#[macro_use]
mod output;

mod args;
mod device;
mod make;
mod mapping;
mod process;
mod session;
mod unlock;
mod verb;
mod volume;

use crate::args::{Args, shared};
use crate::device::{Target, explain};
use crate::output::manner::Manner;
use crate::verb::COMMANDS;
use std::ffi::OsString;
use std::process::ExitCode;

fn main() -> ExitCode {
    // Before anything else: until then, process lists show the command line as it was typed.
    let task = Task::of_this_process();
    process::background::name_process();
    process::harden::process();
    process::interrupt::survive_file_limit();
    // A panic has printed its line; its exit code is one of cryptsetup's.
    let code = std::panic::catch_unwind(|| task.run())
        .unwrap_or_else(|_| ExitCode::from(output::failure::Exit::Parameters as u8));
    // Threads that still run may hold keys.
    keyway_crypto::secret::wipe_all();
    if verb::boot::unlock::is_first_process() {
        // The kernel panics when this process ends, and loses what the console has not shown yet.
        let _ = rustix::termios::tcdrain(rustix::stdio::stderr());
    }
    code
}

/// What this process is for.
enum Task {
    /// Run what the user typed.
    Typed(Vec<OsString>),
    /// Open the volumes that a machine boots from. The kernel passes the parameters that it did not
    /// understand to the first process; they are no command line for this program.
    Boot,
    /// Carry out the request that the process that started this one handed over.
    BackgroundRequest(Vec<u8>),
}

impl Task {
    fn of_this_process() -> Self {
        if verb::boot::unlock::is_first_process() {
            return Self::Boot;
        }
        match session::request() {
            Some(request) => Self::BackgroundRequest(request),
            None => {
                let argv: Vec<_> = std::env::args_os().collect();
                Self::Typed(args::address::take_secrets(&COMMANDS, &argv))
            }
        }
    }

    fn run(self) -> ExitCode {
        match self {
            Self::Typed(command_line) => run(command_line),
            Self::Boot => output::ending::conclude(Manner::default(), verb::boot::unlock::boot()),
            Self::BackgroundRequest(request) => {
                let result = verb::session::run_request(&request);
                device::nbd::disconnect();
                // The process that the user started prints the closing line.
                output::ending::conclude(Manner::default(), result)
            }
        }
    }
}

fn run(command_line: Vec<OsString>) -> ExitCode {
    match args::parse(&COMMANDS, command_line.into_iter()) {
        Ok(args::Invocation::Run(args)) => run_command(&args),
        Ok(args::Invocation::Print(text)) => match output::stdio::print(&text) {
            Ok(()) => ExitCode::SUCCESS,
            Err(failure) => failure.report(),
        },
        Err(failure) => failure.report(),
    }
}

/// Runs a command, and announces it with `--debug`.
fn run_command(args: &Args) -> ExitCode {
    let (manner, command) = (args.manner(), args.command());
    device::remote::set_timeout(args.number(&shared::TIMEOUT));
    let line = format!("keyway {} runs {}.", env!("CARGO_PKG_VERSION"), command.name);
    let result = output::stdio::debug(manner, &line).and_then(|()| (command.run)(args));
    device::nbd::disconnect();
    // An error is reported for the operand that names a device.
    let operand = command.operands.iter().position(|operand| operand.name == "DEVICE");
    let target = operand.and_then(|index| Target::from_args(args, index).ok());
    let place = target.as_ref().map(Target::header_path);
    let placed = |failure| explain::placed(failure, place).called_as(args.is_cryptsetup());
    output::ending::conclude(manner, result.map_err(placed))
}
