//! The string that a seal is bound to: from an option, or from where no list of processes shows it.

use crate::args::{Args, shared};
use crate::output::failure::{Exit, Failure, Result};
use std::env;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// The string, and the option that named it.
pub(crate) struct SealContext {
    /// The string.
    pub(crate) text: Option<String>,
    /// The option; `None` for the environment.
    pub(crate) option: Option<&'static str>,
}

impl SealContext {
    /// Of `--seal-context`, `--seal-context-file` or, without either, of the environment.
    pub(crate) fn from_args(args: &Args) -> Result<Self> {
        let options = [&shared::SEAL_CONTEXT, &shared::SEAL_CONTEXT_FILE];
        let option = options.into_iter().find(|option| args.given(option)).map(|option| option.long);
        let text = match (args.text(&shared::SEAL_CONTEXT), args.path(&shared::SEAL_CONTEXT_FILE)) {
            (Some(text), _) => Some(text.to_owned()),
            (None, Some(path)) => Some(from_file(path)?),
            (None, None) => from_environment()?,
        };
        Ok(Self { text, option })
    }

    /// Where it is from, in words.
    pub(crate) fn source(&self) -> String {
        self.option
            .map_or_else(|| format!("the environment variable {VARIABLE}"), |option| format!("--{option}"))
    }
}

fn from_environment() -> Result<Option<String>> {
    match env::var_os(VARIABLE).filter(|value| !value.is_empty()).map(|value| value.into_string()) {
        None => Ok(None),
        Some(Ok(text)) => Ok(Some(text)),
        Some(Err(_)) => refuse(format!("The environment variable {VARIABLE} is not UTF-8.")),
    }
}

/// The string that a file holds.
pub(crate) fn from_file(path: &Path) -> Result<String> {
    let failed = |why: &io::Error| format!("The seal context in {} cannot be read: {why}.", path.display());
    let read = || -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        File::open(path)?.take(LONGEST + 1).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let bytes = read().map_err(|error| Failure::new(Exit::of_file(&error, Exit::Device), failed(&error)))?;
    of_file(path, bytes)
}

/// The string that the file at `path` holds, which has this content.
pub(crate) fn of_file(path: &Path, mut bytes: Vec<u8>) -> Result<String> {
    let failed = |why: &str| format!("The seal context in {} cannot be read: {why}.", path.display());
    if bytes.len() as u64 > LONGEST {
        return refuse(failed("it is longer than 64 KiB"));
    }
    bytes.pop_if(|last| *last == b'\n');
    String::from_utf8(bytes).or_else(|_| refuse(failed("it is not UTF-8")))
}

fn refuse<T>(why: String) -> Result<T> {
    Err(Failure::new(Exit::Parameters, why))
}

const VARIABLE: &str = "KEYWAY_SEAL_CONTEXT";
const LONGEST: u64 = 64 << 10;
