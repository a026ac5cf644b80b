//! How a command ends: cryptsetup's exit codes, and one line that says what, where and what to do.

use crate::args::Args;
use crate::output;
use std::process::ExitCode;

/// Shorthand for commands.
pub(crate) type Result<T> = std::result::Result<T, Failure>;

/// cryptsetup's exit codes; scripts depend on them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Wrong parameters, and everything that has no code of its own.
    Parameters = 1,
    /// No permission, or a wrong passphrase.
    Permission = 2,
    /// Out of memory.
    Memory = 3,
    /// Wrong device or file.
    Device = 4,
    /// The device exists already or is in use.
    Busy = 5,
}

impl Exit {
    /// What `-v` prints beside the code, as cryptsetup does.
    fn meaning(self) -> &'static str {
        match self {
            Self::Parameters => "wrong or missing parameters",
            Self::Permission => "no permission or bad passphrase",
            Self::Memory => "out of memory",
            Self::Device => "wrong device or file specified",
            Self::Busy => "device already exists or device is busy",
        }
    }
}

/// Why a command did not succeed: its exit code and, unless everything was said already, its line.
#[derive(Debug)]
pub(crate) struct Failure {
    exit: Exit,
    message: Option<String>,
}

impl Failure {
    /// A failure with its line (a full sentence; no newline).
    pub(crate) fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self { exit, message: Some(message.into()) }
    }

    /// A failure that needs no words, such as `isLuks` saying no.
    pub(crate) fn silent(exit: Exit) -> Self {
        Self { exit, message: None }
    }

    /// The exit code.
    pub(crate) fn exit(&self) -> Exit {
        self.exit
    }

    /// Whether this is its line.
    pub(crate) fn says(&self, line: &str) -> bool {
        self.message.as_deref() == Some(line)
    }

    /// The line, empty when there is none.
    #[cfg(test)]
    pub(crate) fn message(&self) -> &str {
        self.message.as_deref().unwrap_or_default()
    }

    /// Prints the line and gives the code to leave with.
    pub(crate) fn report(&self) -> ExitCode {
        if let Some(message) = &self.message {
            eprintln!("{message}");
        }
        ExitCode::from(self.exit as u8)
    }
}

/// Ends a command: its line on failure and, with `-v`, cryptsetup's closing line on standard output.
pub(crate) fn conclude(args: &Args, result: Result<()>) -> ExitCode {
    let (code, closing) = match &result {
        Ok(()) => (ExitCode::SUCCESS, "Command successful.".to_owned()),
        Err(failure) => {
            let exit = failure.exit();
            let closing = format!("Command failed with code -{} ({}).", exit as u8, exit.meaning());
            (failure.report(), closing)
        }
    };
    if args.verbose() {
        let _ = output::print(&format!("{closing}\n"));
    }
    code
}
