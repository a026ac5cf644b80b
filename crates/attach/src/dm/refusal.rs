//! What device-mapper's error numbers mean for each request.

use super::Target;
use crate::{Error, Refusal};
use rustix::io::Errno;

/// What was requested, and for which mapping.
#[derive(Clone, Copy)]
pub(super) struct Asked<'a> {
    name: &'a str,
    doing: Doing<'a>,
}

#[derive(Clone, Copy)]
enum Doing<'a> {
    Creating,
    Loading(&'a [Target]),
    Removing,
    Telling,
    Asking,
}

impl<'a> Asked<'a> {
    pub(super) fn creating(name: &'a str) -> Self {
        Self { name, doing: Doing::Creating }
    }

    pub(super) fn loading(name: &'a str, table: &'a [Target]) -> Self {
        Self { name, doing: Doing::Loading(table) }
    }

    pub(super) fn removing(name: &'a str) -> Self {
        Self { name, doing: Doing::Removing }
    }

    pub(super) fn telling(name: &'a str) -> Self {
        Self { name, doing: Doing::Telling }
    }

    pub(super) fn of(name: &'a str) -> Self {
        Self { name, doing: Doing::Asking }
    }

    pub(super) fn refused(self, error: Errno) -> Error {
        let name = self.name;
        match (error, self.doing) {
            (Errno::ACCESS | Errno::PERM, _) => needs_root(),
            (Errno::BUSY, Doing::Creating) => Error::Busy(format!("a mapping {name} already exists")),
            (Errno::BUSY, Doing::Loading(_)) => {
                Error::Busy(format!("the device below the mapping {name} is in use"))
            }
            (Errno::BUSY, Doing::Removing) => Error::Busy(format!("the mapping {name} is in use")),
            (Errno::NXIO, Doing::Creating | Doing::Removing | Doing::Asking | Doing::Telling) => {
                Error::NotFound(format!("there is no mapping {name}"))
            }
            (Errno::NODEV | Errno::NXIO, Doing::Loading(_)) => {
                Error::NotFound(format!("the device below the mapping {name} no longer exists"))
            }
            (Errno::NOENT, Doing::Loading(_)) => {
                Error::Unavailable(format!("the kernel lacks the cipher of the mapping {name}"))
            }
            (Errno::NOKEY, _) => {
                Error::NotFound(format!("the key of the mapping {name} is not in the keyring"))
            }
            (Errno::INVAL, Doing::Loading(table)) => {
                Refusal::Table.because(format!("the kernel refuses {} for the mapping {name}", kinds(table)))
            }
            (Errno::INVAL, Doing::Telling) => {
                Refusal::Message.because(format!("the mapping {name} refuses the command"))
            }
            (error, doing) => {
                Error::Io { what: format!("{} the mapping {name}", doing.gerund()), source: error.into() }
            }
        }
    }
}

/// Only root may talk to device-mapper.
pub(super) fn needs_root() -> Error {
    Error::Permission("the kernel's device-mapper needs the rights of root (CAP_SYS_ADMIN)".to_owned())
}

impl Doing<'_> {
    fn gerund(self) -> &'static str {
        match self {
            Self::Creating => "creating",
            Self::Loading(_) => "loading the table of",
            Self::Removing => "removing",
            Self::Telling => "sending a message to",
            Self::Asking => "asking about",
        }
    }
}

fn kinds(table: &[Target]) -> String {
    let mut kinds: Vec<&str> = table.iter().map(|target| &*target.kind).collect();
    kinds.dedup();
    kinds.join(", ")
}
