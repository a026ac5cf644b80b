//! Maps of keyboards in their binary form: translated by kbd's `loadkeys` and, for X's layouts,
//! console-setup's `ckbcomp`.

use keyway_boot::keymap::{Keymap, Map};
use std::io::{ErrorKind, Write};
use std::process::{Command, Stdio};

/// A map to be translated.
pub(super) enum Source {
    /// A map of loadkeys, by its name or as a file.
    Console(String),
    /// A layout of X, as ckbcomp takes it.
    Layout(Vec<String>),
}

/// The binary form, or why there is none.
pub(super) type Translated = Result<Vec<u8>, String>;

impl Source {
    pub(super) fn translated(&self) -> Translated {
        let binary = match self {
            Self::Console(name) => output("loadkeys", &["--bkeymap", "--unicode", "--", name], &[])?,
            Self::Layout(arguments) => {
                let arguments: Vec<&str> =
                    std::iter::once("-compact").chain(arguments.iter().map(String::as_str)).collect();
                let text = output("ckbcomp", &arguments, &[])?;
                output("loadkeys", FROM_INPUT, &text)?
            }
        };
        checked(binary)
    }
}

pub(super) fn checked(binary: Vec<u8>) -> Translated {
    Keymap::parse(&binary).map(|_| binary).map_err(|why| why.to_string())
}

/// That of an image.
pub(super) fn of_map(map: Map) -> Translated {
    match map {
        Map::Binary(bytes) => Ok(bytes),
        Map::Text(text) => checked(output("loadkeys", FROM_INPUT, text.as_bytes())?),
    }
}

/// What a program prints. Fails with its own words.
fn output(program: &str, arguments: &[&str], input: &[u8]) -> Translated {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| match error.kind() {
        ErrorKind::NotFound => format!("{program} is not installed"),
        _ => format!("{program}: {error}"),
    })?;
    // It is read whole before anything is printed.
    let sent = child.stdin.take().map_or(Ok(()), |mut stdin| stdin.write_all(input));
    let ended = child.wait_with_output().map_err(|error| format!("{program}: {error}"))?;
    if !ended.status.success() || sent.is_err() {
        let words = String::from_utf8_lossy(&ended.stderr);
        let words = words.lines().last().unwrap_or("it failed").trim_end_matches('.');
        let words = words.strip_prefix(&format!("{program}: ")).unwrap_or(words);
        return Err(format!("{program}: {words}"));
    }
    Ok(ended.stdout)
}

const FROM_INPUT: &[&str] = &["--bkeymap", "--unicode", "-"];
