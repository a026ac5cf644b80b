//! Where a passphrase comes from: a terminal, standard input, or a
//! key file. Straight into a [`Secret`].
//!
//! The rules are those of cryptsetup's man page. A terminal is asked without echo. Standard input
//! that is no terminal is read bytewise up to the first newline, so that what follows is left for
//! the next reader. `--key-file -` reads standard input to its end and keeps newlines. A key file
//! is taken whole, unless offset and size choose a part.

mod keyfile;
mod terminal;

use crate::door::{Args, shared};
use crate::say::failure::{Exit, Failure, Result};
use keyway_crypto::Secret;
use keyway_volume::key_file::{End, Part};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// One passphrase to be had.
#[derive(Debug)]
pub(crate) struct PassphraseSource {
    prompt: String,
    key_file: Option<PathBuf>,
    offset: u64,
    size: Option<u64>,
    verify: bool,
    /// `--verify-passphrase` was given, not only meant.
    asked_to_verify: bool,
    timeout: Option<Duration>,
    stdin_holds_data: bool,
}

impl PassphraseSource {
    /// An existing passphrase: `--key-file`, `--keyfile-offset`, `--keyfile-size`; asked for once.
    pub(crate) fn existing(args: &Args, prompt: impl Into<String>) -> Result<Self> {
        let key_file = args.path(&shared::KEY_FILE).map(Path::to_owned);
        let part = (args.number(&shared::KEYFILE_OFFSET), args.number(&shared::KEYFILE_SIZE));
        Self::new(args, prompt.into(), key_file, part, false)
    }

    /// A new passphrase from `key_file` (an operand or option), with `--new-keyfile-offset` and
    /// `--new-keyfile-size`; asked for twice on a terminal, unless `--batch-mode` says otherwise.
    pub(crate) fn replacement(
        args: &Args,
        prompt: impl Into<String>,
        key_file: Option<&Path>,
    ) -> Result<Self> {
        let part = (args.number(&shared::NEW_KEYFILE_OFFSET), args.number(&shared::NEW_KEYFILE_SIZE));
        Self::new(args, prompt.into(), key_file.map(Path::to_owned), part, true)
    }

    /// The first passphrase of a new volume: `--key-file` and its parts, else asked for twice.
    pub(crate) fn first(args: &Args, prompt: impl Into<String>, key_file: Option<&Path>) -> Result<Self> {
        let key_file = args.path(&shared::KEY_FILE).or(key_file).map(Path::to_owned);
        let part = (args.number(&shared::KEYFILE_OFFSET), args.number(&shared::KEYFILE_SIZE));
        Self::new(args, prompt.into(), key_file, part, true)
    }

    /// For commands whose data comes through standard input: the
    /// passphrase is asked for on /dev/tty.
    pub(crate) fn stdin_holds_data(mut self) -> Self {
        self.stdin_holds_data = true;
        self
    }

    /// Reads exactly so many bytes, whatever `--keyfile-size` says.
    pub(crate) fn exactly(mut self, bytes: usize) -> Self {
        self.size = Some(bytes as u64);
        self
    }

    /// Takes the passphrase from this file (an operand) when `--key-file` did not name one.
    pub(crate) fn or_key_file(mut self, file: Option<&Path>) -> Self {
        self.key_file = self.key_file.or_else(|| file.map(Path::to_owned));
        self
    }

    /// Whether reading failed only because standard input held nothing at all.
    pub(crate) fn nothing_to_read(&self, failure: &Failure) -> bool {
        self.uses_stdin() && is_nothing(failure)
    }

    /// Whether it is to come from standard input or a terminal, not from a key file.
    pub(crate) fn uses_stdin(&self) -> bool {
        self.key_file.as_deref().is_none_or(|f| f == Path::new("-"))
    }

    /// Whether a person will be asked (and may be asked again).
    pub(crate) fn is_interactive(&self) -> bool {
        self.uses_stdin() && (self.stdin_holds_data || terminal::stdin_is_terminal())
    }

    /// Reads the passphrase.
    pub(crate) fn read(&self) -> Result<Secret> {
        if self.stdin_holds_data && self.key_file.as_deref().is_some_and(keyfile::is_stdin) {
            let message =
                "Standard input holds the data: the passphrase cannot come from it too; name a key file.";
            return Err(Failure::new(Exit::Parameters, message));
        }
        if self.is_interactive() {
            if self.offset > 0 {
                return Err(Failure::new(Exit::Parameters, "Cannot use offset with terminal input."));
            }
            return terminal::ask(&self.prompt, self.verify, self.timeout, self.stdin_holds_data);
        }
        if self.asked_to_verify {
            say!("Can't do passphrase verification on non-tty inputs.");
        }
        let part = Part { offset: self.offset, size: self.size };
        match &self.key_file {
            None => keyfile::read_stdin(part, End::Newline),
            Some(file) if file == Path::new("-") => keyfile::read_stdin(part, End::Eof),
            Some(file) => keyfile::read_file(file, part),
        }
    }

    fn new(
        args: &Args,
        prompt: String,
        key_file: Option<PathBuf>,
        (offset, size): (Option<u64>, Option<u64>),
        verify_by_default: bool,
    ) -> Result<Self> {
        if args.times(&shared::KEY_FILE) > 1 {
            return Err(Failure::new(Exit::Parameters, "Only one --key-file argument is allowed."));
        }
        let asked = args.given(&shared::VERIFY_PASSPHRASE);
        let timeout = args.number(&shared::TIMEOUT).filter(|s| *s > 0).map(Duration::from_secs);
        Ok(Self {
            prompt,
            key_file,
            offset: offset.unwrap_or(0),
            size: size.filter(|n| *n > 0),
            verify: asked || (verify_by_default && !args.manner().batch_mode),
            asked_to_verify: asked,
            timeout,
            stdin_holds_data: false,
        })
    }
}

/// Whether this failed only because standard input held nothing at all.
pub(crate) fn is_nothing(failure: &Failure) -> bool {
    failure.says(keyfile::NOTHING)
}

/// Reads a volume key of exactly `len` bytes from a file.
pub(crate) fn volume_key(file: &Path, len: usize) -> Result<Secret> {
    keyfile::read_exact(file, len)
}
