//! The input of a command: a file, a device, a pipe or standard input.

use crate::device;
use crate::output::failure::{Exit, Failure, Result};
use keyway::Access;
use keyway::parts::Source;
use keyway::storage::{File, PartitionName, Storage};
use std::fmt;
use std::fs;
use std::io::{self, ErrorKind};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// An opened input.
pub(crate) struct Input {
    name: Name,
    kind: Kind,
}

enum Kind {
    /// A file, a block device or an export, from this offset on.
    Storage(Arc<dyn Storage>, u64),
    Pipe(fs::File),
}

#[derive(Debug, Clone)]
enum Name {
    Path(PathBuf),
    Stdin,
}

impl Input {
    /// Opens `path`; standard input if it is `None` or "-".
    pub(crate) fn open(path: Option<&Path>) -> Result<Self> {
        match path {
            Some(path) if device::is_url(path) || PartitionName::of(path).is_some() => {
                let kind = Kind::Storage(device::storage(path, Access::Probe)?, 0);
                Ok(Self { name: Name::Path(path.to_owned()), kind })
            }
            Some(path) if path != Path::new("-") => {
                let file = fs::File::open(path).map_err(|e| cannot_open(path, &e))?;
                Self::new(file, Name::Path(path.to_owned()), 0)
            }
            _ => Self::stdin(),
        }
    }

    fn stdin() -> Result<Self> {
        let fd = io::stdin().as_fd().try_clone_to_owned().map_err(|e| cannot_open(Path::new("-"), &e))?;
        let file = fs::File::from(fd);
        if rustix::termios::isatty(&file) {
            let message = "Standard input is a terminal: name a file, or redirect one.";
            return Err(Failure::new(Exit::Parameters, message));
        }
        // `< file` may have been partly read already; a pipe has no position.
        let start = rustix::fs::tell(&file).unwrap_or(0);
        Self::new(file, Name::Stdin, start)
    }

    fn new(file: fs::File, name: Name, start: u64) -> Result<Self> {
        let path = match &name {
            Name::Path(path) => path.clone(),
            Name::Stdin => PathBuf::from("-"),
        };
        let copy = file.try_clone().map_err(|e| cannot_open(&path, &e))?;
        let kind = match File::from_file(copy, &path) {
            Ok(storage) => Kind::Storage(Arc::new(storage), start),
            Err(_) if file.metadata().is_ok_and(|m| m.is_dir()) => {
                return Err(cannot_open(&path, &ErrorKind::IsADirectory.into()));
            }
            Err(_) => Kind::Pipe(file),
        };
        Ok(Self { name, kind })
    }

    /// Whether it is standard input, from which no passphrase can be read then.
    pub(crate) fn is_stdin(&self) -> bool {
        matches!(self.name, Name::Stdin)
    }

    /// Its length in bytes; `None` for a pipe.
    pub(crate) fn len(&self) -> Option<u64> {
        match &self.kind {
            Kind::Storage(file, start) => Some(file.len().saturating_sub(*start)),
            Kind::Pipe(_) => None,
        }
    }

    /// All of its bytes, readable once.
    pub(crate) fn source(&mut self) -> Source<'_> {
        match &mut self.kind {
            Kind::Storage(file, start) => Source::Storage(&**file, *start..file.len().max(*start)),
            Kind::Pipe(file) => Source::Pipe(file),
        }
    }

    /// The file or device, to be read from its start; `None` for a pipe.
    pub(crate) fn storage(&self) -> Option<&dyn Storage> {
        match &self.kind {
            Kind::Storage(file, 0) => Some(&**file),
            _ => None,
        }
    }
}

impl fmt::Display for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            Name::Path(path) => path.display().fmt(f),
            Name::Stdin => f.write_str("standard input"),
        }
    }
}

fn cannot_open(path: &Path, error: &io::Error) -> Failure {
    let path = path.display();
    let message = match error.kind() {
        ErrorKind::NotFound => format!("{path} does not exist."),
        ErrorKind::PermissionDenied => format!("{path} cannot be read: permission denied."),
        ErrorKind::IsADirectory => format!("{path} is a directory; a file, a device or a pipe is needed."),
        _ => format!("{path} cannot be opened: {error}."),
    };
    Failure::new(Exit::of_file(error, Exit::Device), message)
}
