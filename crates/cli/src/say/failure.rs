//! How a command ends: cryptsetup's exit codes, and one line that says what, where and what to do.

use keyway_volume::Error;
use std::process::ExitCode;

/// Shorthand for commands.
pub(crate) type Result<T> = std::result::Result<T, Failure>;

/// cryptsetup's exit codes, which scripts depend on, and one that it does not have.
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
    /// The volume is not what its seal or a policy says: Keyway's own code.
    Unmet = 6,
}

impl Exit {
    /// The code of another Keyway process.
    pub(crate) fn from_code(code: i32) -> Self {
        let all = [Self::Permission, Self::Memory, Self::Device, Self::Busy, Self::Unmet];
        all.into_iter().find(|exit| *exit as i32 == code).unwrap_or(Self::Parameters)
    }

    /// What `-v` prints beside the code, as cryptsetup does.
    pub(crate) fn meaning(self) -> &'static str {
        match self {
            Self::Parameters => "wrong or missing parameters",
            Self::Permission => "no permission or bad passphrase",
            Self::Memory => "out of memory",
            Self::Device => "wrong device or file specified",
            Self::Busy => "device already exists or device is busy",
            Self::Unmet => "not what its seal or a policy says",
        }
    }
}

/// Why a command did not succeed: its exit code and, unless everything was said already, its line.
#[derive(Debug)]
pub(crate) struct Failure {
    exit: Exit,
    message: Option<String>,
    /// The library's error, until it is known which device it is about.
    unplaced: Option<Error>,
    cause: Cause,
}

/// What callers decide by, where exit codes do not tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cause {
    /// Nobody needs to know more.
    Other,
    /// Standard input held nothing: there is nobody to be asked.
    NoInput,
    /// The key opens nothing, another one may. (The exit code is that of what is not permitted, too.)
    WrongKey,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self { unplaced: Some(error), ..Self::silent(Exit::Parameters) }
    }
}

impl Failure {
    /// A failure with its line (a full sentence; no newline).
    pub(crate) fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self { message: Some(message.into()), ..Self::silent(exit) }
    }

    /// A failure that needs no words, such as `isLuks` saying no.
    pub(crate) fn silent(exit: Exit) -> Self {
        Self { exit, message: None, unplaced: None, cause: Cause::Other }
    }

    /// The library's error, where nothing has been said of it yet.
    pub(crate) fn into_unplaced(mut self) -> std::result::Result<Error, Self> {
        self.unplaced.take().ok_or(self)
    }

    /// Puts the thing that it is about in front of its line.
    pub(crate) fn about(mut self, what: &str) -> Self {
        self.message = self.message.map(|message| format!("{what}: {message}"));
        self
    }

    /// Puts one more sentence behind its line.
    pub(crate) fn adding(mut self, sentence: &str) -> Self {
        self.message = self.message.map(|message| format!("{message} {sentence}"));
        self
    }

    /// The exit code.
    pub(crate) fn exit(&self) -> Exit {
        self.exit
    }

    /// What callers decide by.
    pub(crate) fn cause(&self) -> Cause {
        match self.unplaced {
            Some(Error::WrongPassphrase | Error::WrongVolumeKey) => Cause::WrongKey,
            _ => self.cause,
        }
    }

    /// The same, for a cause that callers decide by.
    pub(crate) fn because(mut self, cause: Cause) -> Self {
        self.cause = cause;
        self
    }

    /// The line, empty when there is none.
    pub(crate) fn message(&self) -> &str {
        self.message.as_deref().unwrap_or_default()
    }

    /// Prints the line and gives the code to leave with.
    pub(crate) fn report(&self) -> ExitCode {
        if let Some(message) = &self.message {
            say!("{message}");
        }
        ExitCode::from(self.exit as u8)
    }
}
