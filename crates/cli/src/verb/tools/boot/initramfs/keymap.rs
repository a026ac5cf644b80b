//! The map of the keyboard that goes into an image: found by the machine's own configuration, or named;
//! translated by kbd's `loadkeys` and, for X's layouts, console-setup's `ckbcomp`.

use super::options::{KEYMAP, MODULES};
use crate::door::Args;
use crate::output::failure::{Exit, Failure, Result};
use crate::verb::tools::boot::files::Ingredients;
use keyway_boot::keymap::Keymap;
use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Which map goes into an image.
pub(super) enum Keyboard {
    None,
    /// A name that loadkeys or ckbcomp knows, or a file.
    Named(String),
    /// That of the machine whose root file system this is.
    OfMachine(PathBuf),
}

/// A map to be translated.
enum Source {
    /// A map of loadkeys, by its name or as a file.
    Console(String),
    /// A layout of X, as ckbcomp takes it.
    Layout(Vec<String>),
}

impl Keyboard {
    pub(super) fn from_args(args: &Args) -> Self {
        match args.text(&KEYMAP) {
            Some("none") => Self::None,
            Some(name) => Self::Named(name.to_owned()),
            None => {
                let root = args.path(&MODULES).filter(|root| *root != Path::new("none"));
                Self::OfMachine(root.unwrap_or(Path::new("/")).to_owned())
            }
        }
    }

    /// The map in its binary form. `None` for a US keyboard, which every kernel has. A machine's map that
    /// cannot be translated is a warning, one that was named an error.
    pub(super) fn gather(&self, from: &mut Ingredients) -> Result<Option<Vec<u8>>> {
        match self {
            Self::None => Ok(None),
            Self::Named(name) => {
                let translated = match is_file(name) {
                    true => of_file(name, from.read(Path::new(name))?),
                    false => of_name(name),
                };
                let why = |why| {
                    Failure::new(Exit::Parameters, format!("--keymap {name}: {why}; no image is made."))
                };
                translated.map(Some).map_err(why)
            }
            Self::OfMachine(root) => {
                let Some((source, file)) = configured(root) else { return Ok(None) };
                let (translated, file) = (source.translated(), file.display());
                match &translated {
                    Ok(_) => say!("The image gets the map of the keyboard that {file} names."),
                    Err(why) => say!(
                        "WARNING: the image gets no map of the keyboard, though {file} names one: {why}. At the prompt \
                         keys type what those of a US keyboard type. --keymap FILE names a map, --keymap none leaves \
                         it out."
                    ),
                }
                Ok(translated.ok())
            }
        }
    }
}

fn is_file(name: &str) -> bool {
    name.contains('/') || Path::new(name).is_file()
}

fn of_file(name: &str, bytes: Vec<u8>) -> Translated {
    match bytes.starts_with(b"bkeymap") {
        true => checked(bytes),
        false => Source::Console(name.to_owned()).translated(),
    }
}

/// By a name that loadkeys knows, else ckbcomp.
fn of_name(name: &str) -> Translated {
    Source::Console(name.to_owned()).translated().or_else(|why| {
        let layout = Source::Layout(vec!["-layout".to_owned(), name.to_owned()]);
        layout.translated().map_err(|other| format!("{why}; {other}"))
    })
}

/// The binary form, or why there is none.
type Translated = std::result::Result<Vec<u8>, String>;

impl Source {
    fn translated(&self) -> Translated {
        let binary = match self {
            Self::Console(name) => output("loadkeys", &["--bkeymap", "--unicode", "--", name], &[])?,
            Self::Layout(arguments) => {
                let arguments: Vec<&str> =
                    std::iter::once("-compact").chain(arguments.iter().map(String::as_str)).collect();
                let text = output("ckbcomp", &arguments, &[])?;
                output("loadkeys", &["--bkeymap", "--unicode", "-"], &text)?
            }
        };
        checked(binary)
    }
}

fn checked(binary: Vec<u8>) -> Translated {
    Keymap::parse(&binary).map(|_| binary).map_err(|why| why.to_string())
}

/// What the machine's configuration says, and the file that says it; `None` for a US keyboard.
fn configured(root: &Path) -> Option<(Source, PathBuf)> {
    let (console, layout) = (root.join("etc/vconsole.conf"), root.join("etc/default/keyboard"));
    if let Some(name) = variable(&console, "KEYMAP") {
        return (name != "us" && name != "@kernel").then(|| (Source::Console(in_root(root, name)), console));
    }
    let arguments: Vec<(&str, String)> = [
        ("-model", "XKBMODEL"),
        ("-layout", "XKBLAYOUT"),
        ("-variant", "XKBVARIANT"),
        ("-option", "XKBOPTIONS"),
    ]
    .into_iter()
    .filter_map(|(option, name)| Some((option, variable(&layout, name)?)))
    .collect();
    let of =
        |option: &str| arguments.iter().find(|(name, _)| *name == option).map(|(_, value)| value.as_str());
    if matches!((of("-layout"), of("-variant")), (None | Some("us"), None)) {
        return None;
    }
    let arguments = arguments.into_iter().flat_map(|(option, value)| [option.to_owned(), value]);
    Some((Source::Layout(arguments.collect()), layout))
}

/// A variable of a file that shells can read, if it is set to anything.
fn variable(file: &Path, name: &str) -> Option<String> {
    let text = fs::read_to_string(file).ok()?;
    let value = text.lines().rev().find_map(|line| line.trim().strip_prefix(name)?.strip_prefix('='))?;
    Some(value.trim().trim_matches(['"', '\'']).to_owned()).filter(|value| !value.is_empty())
}

/// The file with a map in another machine's root file system; in this one's, the name, which loadkeys finds.
fn in_root(root: &Path, name: String) -> String {
    let mut folders: Vec<PathBuf> = match root == Path::new("/") {
        true => Vec::new(),
        false => MAPS.iter().map(|folder| root.join(folder)).collect(),
    };
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let (path, file) = (entry.path(), entry.file_name());
            let file = file.to_string_lossy();
            match file.strip_prefix(name.as_str()) {
                Some(".map" | ".map.gz" | ".kmap" | ".kmap.gz") => {
                    return path.to_string_lossy().into_owned();
                }
                _ if entry.file_type().is_ok_and(|kind| kind.is_dir()) => folders.push(path),
                _ => {}
            }
        }
    }
    name
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

/// Where distributions have the maps that loadkeys reads.
const MAPS: &[&str] = &["usr/share/keymaps", "usr/share/kbd/keymaps", "usr/lib/kbd/keymaps"];
