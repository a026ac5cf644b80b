//! Where a passphrase comes from: a terminal, standard input, a key file or a command. It is read straight
//! into a [`Secret`].
//!
//! The rules are those of cryptsetup's man page. On a terminal, the passphrase is read without
//! echo. Standard input that is not a terminal is read byte by byte up to the first newline, so
//! that what follows is left for the next reader. `--key-file -` reads standard input to its end
//! and keeps newlines. A key file is read whole, unless offset and size select a part of it.

mod command;
mod keyfile;
mod new;
mod remembered;
mod terminal;

use crate::args::{Args, shared};
use crate::output::failure::{Cause, Exit, Failure, Result};
use crate::process::encoding::encoded;
use crate::unlock::keyring;
use crate::unlock::passphrase::new::Manners;
use keyway::key_file::{End, Part};
use keyway::{Key, KeyFile};
use keyway_crypto::Secret;
pub(crate) use remembered::{Heard, Known};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Where existing and new passphrases come from.
#[derive(Debug, Clone, Default)]
pub(crate) struct PassphraseOptions {
    /// `--key-file`.
    pub(crate) key_file: Option<PathBuf>,
    /// `--keyfile-offset` and `--keyfile-size`.
    pub(crate) part: Part,
    new_part: Part,
    /// `--password-command`.
    command: Option<String>,
    /// `--key-description`: takes precedence over a key file.
    key_description: Option<String>,
    /// `--new-key-description`.
    new_key_description: Option<String>,
    /// `--verify-passphrase` was given.
    pub(crate) asked_to_verify: bool,
    /// New passphrases are asked for only once (`--batch-mode`).
    trusted: bool,
    /// What is said of new passphrases.
    manners: Manners,
    /// How long to wait for the user's input.
    pub(crate) timeout: Option<Duration>,
    /// One that was read before, for the same volume.
    pub(crate) known: Option<Known>,
    /// Where what the user types is kept, for other volumes.
    pub(crate) heard: Option<Heard>,
}

encoded!(PassphraseOptions {
    key_file,
    part,
    new_part,
    command,
    key_description,
    new_key_description,
    asked_to_verify,
    trusted,
    manners,
    timeout,
    known,
    heard
});
encoded!(Part { offset, size });

impl PassphraseOptions {
    /// For every command that asks for a passphrase.
    pub(crate) fn from_args(args: &Args) -> Self {
        let part = |offset, size| Part {
            offset: args.number(offset).unwrap_or(0),
            size: args.number(size).filter(|n| *n > 0),
        };
        Self {
            key_file: args.path(&shared::KEY_FILE).map(Path::to_owned),
            part: part(&shared::KEYFILE_OFFSET, &shared::KEYFILE_SIZE),
            new_part: part(&shared::NEW_KEYFILE_OFFSET, &shared::NEW_KEYFILE_SIZE),
            command: args.text(&shared::PASSWORD_COMMAND).map(str::to_owned),
            key_description: args.text(&shared::KEY_DESCRIPTION).map(str::to_owned),
            new_key_description: args.text(&shared::NEW_KEY_DESCRIPTION).map(str::to_owned),
            asked_to_verify: args.given(&shared::VERIFY_PASSPHRASE),
            trusted: args.manner().batch_mode,
            manners: Manners::from_args(args),
            timeout: args.number(&shared::TIMEOUT).filter(|s| *s > 0).map(Duration::from_secs),
            known: None,
            heard: None,
        }
    }

    /// The same, but from another file than `--key-file`, or from none.
    pub(crate) fn by_file(&self, key_file: Option<PathBuf>) -> Self {
        Self { key_file, ..self.clone() }
    }

    /// The same, but a new one may be empty.
    pub(crate) fn or_empty(self) -> Self {
        Self { manners: Manners::EmptyIsFine, ..self }
    }

    /// The same for something else that is asked for, and comes from nowhere else.
    pub(crate) fn asked(&self) -> Self {
        let (key_file, command, key_description, known, heard) = (None, None, None, None, None);
        Self { key_file, command, key_description, known, heard, ..self.clone() }
    }

    /// The key file, or its part, for the library to read.
    pub(crate) fn as_key_file(&self) -> Option<KeyFile> {
        let file = KeyFile::new(self.key_file.as_ref()?).offset(self.part.offset);
        Some(self.part.size.map_or(file.clone(), |size| file.size(size)))
    }

    /// Whether it comes from a key file or a command, so that nobody needs to be asked.
    pub(crate) fn is_given(&self) -> bool {
        self.key_file.is_some() || self.command.is_some()
    }

    /// Whether it is a key in the kernel's keyring.
    pub(crate) fn is_in_keyring(&self) -> bool {
        self.key_description.is_some()
    }

    /// An existing passphrase, by `--key-file`, `--keyfile-offset` and `--keyfile-size`; asked for
    /// once.
    pub(crate) fn existing(&self, prompt: impl Into<String>) -> PassphraseSource {
        self.source(prompt.into(), self.key_file.as_deref(), self.part, false)
            .or_command(self.command.as_deref())
            .or_keyring(self.key_description.as_deref())
            .or_known(self.known.clone())
            .heard_in(self.heard.clone())
    }

    /// A new passphrase from `key_file` (an operand or option), with `--new-keyfile-offset` and
    /// `--new-keyfile-size`; asked for twice on a terminal, unless `--batch-mode` says otherwise.
    /// `way` says how to name that file, for a user who cannot be asked.
    pub(crate) fn replacement(
        &self,
        prompt: impl Into<String>,
        key_file: Option<&Path>,
        way: &'static str,
    ) -> PassphraseSource {
        let source = self.source(prompt.into(), key_file, self.new_part, true);
        PassphraseSource { way, ..source }.or_keyring(self.new_key_description.as_deref())
    }

    /// The first passphrase of a new volume: `--key-file` and the selected part of it, else asked
    /// for twice.
    pub(crate) fn first(&self, prompt: impl Into<String>, key_file: Option<&Path>) -> PassphraseSource {
        self.source(prompt.into(), self.key_file.as_deref().or(key_file), self.part, true)
            .or_command(self.command.as_deref())
            .or_keyring(self.key_description.as_deref())
    }

    fn source(&self, prompt: String, key_file: Option<&Path>, part: Part, is_new: bool) -> PassphraseSource {
        PassphraseSource {
            prompt,
            key_file: key_file.map(Path::to_owned),
            part,
            verify: self.asked_to_verify || (is_new && !self.trusted),
            is_set: is_new.then_some(self.manners),
            quiet: self.trusted,
            asked_to_verify: self.asked_to_verify,
            timeout: self.timeout,
            stdin_holds_data: false,
            command: None,
            in_keyring: None,
            known: None,
            heard: None,
            way: WAY,
        }
    }
}

/// How an existing or first passphrase is given where nobody can be asked.
const WAY: &str = "Give the passphrase in a file with --key-file FILE, or on standard input.";

/// Where one passphrase is to be read from.
#[derive(Debug)]
pub(crate) struct PassphraseSource {
    prompt: String,
    key_file: Option<PathBuf>,
    part: Part,
    verify: bool,
    /// It is set, not only used: what is said of that.
    is_set: Option<Manners>,
    /// Nothing is said but what must be (`--batch-mode`).
    quiet: bool,
    /// `--verify-passphrase` was given; it is not just the default.
    asked_to_verify: bool,
    timeout: Option<Duration>,
    stdin_holds_data: bool,
    /// The command that prints it.
    command: Option<String>,
    /// The description of the key in the kernel's keyring that it is read from instead.
    in_keyring: Option<String>,
    /// It was read before.
    known: Option<Known>,
    /// Where what is typed is kept.
    heard: Option<Heard>,
    /// How to give it where nobody can be asked.
    way: &'static str,
}

impl PassphraseSource {
    /// For commands whose data comes through standard input: the
    /// passphrase is asked for on /dev/tty.
    pub(crate) fn stdin_holds_data(mut self) -> Self {
        self.stdin_holds_data = true;
        self
    }

    /// Takes the passphrase from this key in the kernel's keyring, if one is named.
    fn or_keyring(mut self, description: Option<&str>) -> Self {
        self.in_keyring = description.map(str::to_owned);
        self
    }

    /// Takes the passphrase that was read before, if one was.
    fn or_known(mut self, known: Option<Known>) -> Self {
        self.known = known;
        self
    }

    /// Keeps what the user types there.
    fn heard_in(mut self, heard: Option<Heard>) -> Self {
        self.heard = heard;
        self
    }

    /// Takes the passphrase from what this command prints, if one is named.
    fn or_command(mut self, command: Option<&str>) -> Self {
        self.command = command.map(str::to_owned);
        self
    }

    /// Not from the kernel's keyring: cryptsetup ignores `--key-description` for plain volumes.
    pub(crate) fn without_keyring(mut self) -> Self {
        self.in_keyring = None;
        self
    }

    /// Reads exactly `bytes` bytes, whatever `--keyfile-size` says.
    pub(crate) fn exactly(mut self, bytes: usize) -> Self {
        self.part.size = Some(bytes as u64);
        self
    }

    /// Takes the passphrase from this file (an operand) if `--key-file` was not given.
    pub(crate) fn or_key_file(mut self, file: Option<&Path>) -> Self {
        self.key_file = self.key_file.or_else(|| file.map(Path::to_owned));
        self
    }

    /// Whether it is what a command prints.
    pub(crate) fn is_printed(&self) -> bool {
        self.command.is_some()
    }

    /// Whether it comes from standard input or a terminal, not from a key file or a command.
    pub(crate) fn uses_stdin(&self) -> bool {
        self.known.is_none()
            && self.in_keyring.is_none()
            && self.command.is_none()
            && self.key_file.as_deref().is_none_or(|f| f == Path::new("-"))
    }

    /// Whether a user will be asked (and may be asked again).
    pub(crate) fn is_interactive(&self) -> bool {
        self.uses_stdin() && (self.stdin_holds_data || terminal::stdin_is_terminal())
    }

    /// Reads the passphrase.
    pub(crate) fn read(&self) -> Result<Secret> {
        let nothing = || Failure::new(Exit::Parameters, "Nothing to read on input.").hinting(self.way);
        self.read_if_any()?.ok_or_else(|| nothing().because(Cause::NoInput))
    }

    /// Reads the passphrase, as the library takes it.
    pub(crate) fn read_key(&self) -> Result<Key> {
        self.read().map(Key::Passphrase)
    }

    /// Reads the passphrase; `None` if standard input was empty.
    pub(crate) fn read_if_any(&self) -> Result<Option<Secret>> {
        let secret = self.read_any()?;
        if let (Some(heard), Some(typed)) = (&self.heard, &secret)
            && self.uses_stdin()
            && self.key_file.is_none()
        {
            heard.keep(typed);
        }
        let file = self.key_file.as_deref().filter(|_| self.in_keyring.is_none());
        if let (Some(manners), Some(secret)) = (self.is_set, &secret) {
            manners.check(secret, file, self.quiet)?;
        }
        Ok(secret)
    }

    fn read_any(&self) -> Result<Option<Secret>> {
        if let Some(Known(known)) = &self.known {
            return Ok(Some(Secret::copy_from(known.expose())));
        }
        if let Some(description) = &self.in_keyring {
            return keyring::passphrase(description).map(Some);
        }
        if let Some(line) = &self.command {
            return match &self.key_file {
                None => command::output(line).map(Some),
                Some(_) => Err(Failure::new(
                    Exit::Parameters,
                    "--password-command cannot be combined with a key file; omit one of them.",
                )),
            };
        }
        if self.stdin_holds_data && self.key_file.as_deref().is_some_and(keyfile::is_stdin) {
            let message =
                "Standard input is the data, so the passphrase cannot come from it too; use --key-file.";
            return Err(Failure::new(Exit::Parameters, message));
        }
        if self.is_interactive() {
            if self.part.offset > 0 {
                return Err(Failure::new(Exit::Parameters, "Cannot use offset with terminal input."));
            }
            return terminal::ask(&self.prompt, self.verify, self.timeout, self.stdin_holds_data).map(Some);
        }
        if self.asked_to_verify {
            say!("Can't do passphrase verification on non-tty inputs.");
        }
        match &self.key_file {
            None => keyfile::read_stdin(self.part, End::Newline),
            Some(file) if file == Path::new("-") => keyfile::read_stdin(self.part, End::Eof),
            Some(file) => keyfile::read_file(file, self.part).map(Some),
        }
    }
}

/// Reads a volume key of exactly `len` bytes from a file.
pub(crate) fn volume_key(file: &Path, len: usize) -> Result<Secret> {
    keyfile::read_exact(file, len)
}
