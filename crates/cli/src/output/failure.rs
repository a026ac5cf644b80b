//! How a command fails: cryptsetup's exit codes, and one line that says what, where and what to do.

use keyway::parts::Error;
use std::io::{self, ErrorKind};
use std::process::ExitCode;

/// The result type of commands.
pub(crate) type Result<T> = std::result::Result<T, Failure>;

/// cryptsetup's exit codes, which scripts depend on, and one of Keyway's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Wrong parameters, and every error without a code of its own.
    Parameters = 1,
    /// No permission, or a wrong passphrase.
    Permission = 2,
    /// Out of memory.
    Memory = 3,
    /// Wrong device or file.
    Device = 4,
    /// The device exists already or is in use.
    Busy = 5,
    /// The volume does not match its seal or a policy: Keyway's own code.
    Unmet = 6,
}

impl Exit {
    /// All of them, in the order of their codes.
    const ALL: [Self; 6] =
        [Self::Parameters, Self::Permission, Self::Memory, Self::Device, Self::Busy, Self::Unmet];

    /// The exit code that another Keyway process returned.
    pub(crate) fn from_code(code: i32) -> Self {
        Self::ALL.into_iter().find(|exit| *exit as i32 == code).unwrap_or(Self::Parameters)
    }

    /// For a file that cannot be read or written: missing permission has a code of its own, and a content
    /// that is wrong is none of a device's.
    pub(crate) fn of_file(error: &io::Error, otherwise: Self) -> Self {
        match error.kind() {
            // (Planted links are refused with a reason, not by the system.)
            ErrorKind::PermissionDenied if error.get_ref().is_none() => Self::Permission,
            ErrorKind::OutOfMemory => Self::Memory,
            ErrorKind::FileTooLarge | ErrorKind::InvalidData => Self::Parameters,
            _ => otherwise,
        }
    }

    /// Every code and what it tells, success included: what help and man pages print.
    pub(crate) fn table() -> impl Iterator<Item = (u8, &'static str)> {
        let failures = Self::ALL.into_iter().map(|exit| (exit as u8, exit.explained()));
        std::iter::once((0, "success, or yes to a question")).chain(failures)
    }

    fn explained(self) -> &'static str {
        match self {
            Self::Parameters => "wrong parameters, no to a question, or an error without a code of its own",
            Self::Permission => "no permission, or a wrong passphrase or key",
            Self::Memory => "not enough memory, or more than --memory-budget",
            Self::Device => "no such device, file or open volume, or it cannot be reached",
            Self::Busy => "the device or name exists already, or is in use",
            Self::Unmet => "the volume does not match its seal or a policy (--require)",
        }
    }

    /// The meaning that `-v` prints with the code, as cryptsetup does.
    pub(crate) fn meaning(self) -> &'static str {
        match self {
            Self::Parameters => "wrong or missing parameters",
            Self::Permission => "no permission or bad passphrase",
            Self::Memory => "out of memory",
            Self::Device => "wrong device or file specified",
            Self::Busy => "device already exists or device is busy",
            Self::Unmet => "seal or policy not met",
        }
    }
}

/// Why a command did not succeed: its exit code and its line, unless everything has been said
/// already.
#[derive(Debug)]
pub(crate) struct Failure {
    exit: Exit,
    /// The code that cryptsetup ends with, where it is another.
    in_cryptsetup: Option<Exit>,
    message: Option<String>,
    /// A second line: what to do. The first is often cryptsetup's, word for word.
    hint: Option<String>,
    /// The library's error, until it is known which device it concerns.
    unplaced: Option<Error>,
    cause: Cause,
    /// Whether its line will begin with the program's name.
    of_command_line: bool,
}

/// The cause, for callers that need to know more than the exit code says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cause {
    /// No caller needs to know more.
    Other,
    /// Standard input was empty: nobody can be asked.
    NoInput,
    /// The key opens nothing, but another one might. (The exit code does not tell, since it also
    /// stands for missing permission.)
    WrongKey,
    /// The device has no LUKS header, or not of the version that is asked for.
    NotLuks,
}

/// Does the same with each: if it fails for some, it is done for the others. The last failure is
/// returned, those before it are reported.
pub(crate) fn each<T>(items: &[T], mut work: impl FnMut(&T) -> Result<()>) -> Result<()> {
    let mut failed: Option<Failure> = None;
    for item in items {
        if let Err(failure) = work(item)
            && let Some(earlier) = failed.replace(failure)
        {
            earlier.report();
        }
    }
    failed.map_or(Ok(()), Err)
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

    /// A failure without a line, such as `isLuks` saying no.
    pub(crate) fn silent(exit: Exit) -> Self {
        let (in_cryptsetup, message, hint, unplaced) = (None, None, None, None);
        Self { exit, in_cryptsetup, message, hint, unplaced, cause: Cause::Other, of_command_line: false }
    }

    /// The library's error, if no line has been made of it yet.
    pub(crate) fn into_unplaced(mut self) -> std::result::Result<Error, Self> {
        self.unplaced.take().ok_or(self)
    }

    /// A command line that is wrong: the line begins with the program's name, as cryptsetup's does.
    /// Called as cryptsetup, the program has put it there where cryptsetup does.
    pub(crate) fn of_command_line(mut self, program: &str) -> Self {
        let is_ours = program != "cryptsetup" && self.exit == Exit::Parameters;
        self.of_command_line = is_ours;
        let prefix = format!("{program}: ");
        self.message = self.message.map(|message| match is_ours && !message.starts_with(&prefix) {
            true => prefix + &message,
            false => message,
        });
        self
    }

    /// Puts the thing that the failure is about in front of its line.
    pub(crate) fn about(mut self, what: &str) -> Self {
        self.message = self.message.map(|message| format!("{what}: {message}"));
        self
    }

    /// A failure for want of permission, with the code that cryptsetup has for it at this place.
    pub(crate) fn denied(in_cryptsetup: Exit, message: impl Into<String>) -> Self {
        Self::new(Exit::Permission, message).in_cryptsetup(in_cryptsetup)
    }

    /// The same failure; called as cryptsetup, the program ends with this code.
    pub(crate) fn in_cryptsetup(mut self, exit: Exit) -> Self {
        self.in_cryptsetup = Some(exit);
        self
    }

    /// With the exit code of the name that the program was called by.
    pub(crate) fn called_as(mut self, is_cryptsetup: bool) -> Self {
        let theirs = self.in_cryptsetup.take().filter(|_| is_cryptsetup);
        self.exit = theirs.unwrap_or(self.exit);
        self
    }

    /// Puts lines in front of its line.
    pub(crate) fn after(mut self, lines: &str) -> Self {
        self.message = self.message.map(|message| format!("{lines}{message}"));
        self
    }

    /// Appends a sentence to its line.
    pub(crate) fn adding(mut self, sentence: &str) -> Self {
        self.message = self.message.map(|message| format!("{message} {sentence}"));
        self
    }

    /// Adds a second line that says what to do.
    pub(crate) fn hinting(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Whether it has one.
    pub(crate) fn has_hint(&self) -> bool {
        self.hint.is_some()
    }

    /// Without that line: the user has no command line to add an option to.
    pub(crate) fn without_hint(mut self) -> Self {
        self.hint = None;
        self
    }

    /// Whether [`Failure::of_command_line`] was asked for.
    pub(crate) fn is_of_command_line(&self) -> bool {
        self.of_command_line
    }

    /// The exit code.
    pub(crate) fn exit(&self) -> Exit {
        self.exit
    }

    /// The cause, for callers that need to know more than the exit code says.
    pub(crate) fn cause(&self) -> Cause {
        match self.unplaced {
            Some(Error::WrongPassphrase | Error::WrongVolumeKey) => Cause::WrongKey,
            _ => self.cause,
        }
    }

    /// The same failure with a cause.
    pub(crate) fn because(mut self, cause: Cause) -> Self {
        self.cause = cause;
        self
    }

    /// The line; empty if there is none.
    pub(crate) fn message(&self) -> &str {
        self.message.as_deref().unwrap_or_default()
    }

    /// Prints the line and returns the exit code.
    pub(crate) fn report(&self) -> ExitCode {
        match (&self.message, &self.hint) {
            (Some(message), Some(hint)) => say!("{message}\n{hint}"),
            (Some(message), None) => say!("{message}"),
            (None, _) => {}
        }
        ExitCode::from(self.exit as u8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_command_line_is_reported_with_the_programs_name_once() {
        let line = |message: &str, program| Failure::new(Exit::Parameters, message).of_command_line(program);
        assert_eq!(line("boot: unknown verb.", "keyway").message(), "keyway: boot: unknown verb.");
        assert_eq!(line("keyway: unknown command.", "keyway").message(), "keyway: unknown command.");
        assert_eq!(line("Key size must be.", "cryptsetup").message(), "Key size must be.");
        let missing = Failure::new(Exit::Device, "Device x does not exist.").of_command_line("keyway");
        assert_eq!(missing.message(), "Device x does not exist.");
        assert_eq!(Failure::silent(Exit::Parameters).of_command_line("keyway").message(), "");
    }
}
