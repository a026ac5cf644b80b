//! Volumes opened without root: a background process of the user
//! holds the key and keeps the door open.
//!
//! What is to be opened is an [`Errand`]. [`start`], in the process that the user started, runs this
//! program once more, hands it the errand through a pipe and waits for it. [`live`], in that
//! background process, claims the name, asks on the inherited terminal, unlocks, opens the door, says
//! so and leaves the terminal. A key never leaves the process that derived it.
//!
//! | module       | what it knows                                                      |
//! |--------------|--------------------------------------------------------------------|
//! | `background` | starting the second process, and its leaving the terminal          |
//! | `registry`   | who is there: a directory a session, a lock that dies with it      |
//! | `directory`  | where such directories may be                                      |
//! | `facts`      | what may be known about a session; no keys                         |
//! | `control`    | the socket through which others ask for status and close           |
//! | `closing`    | waiting for those who use it, and saying who they are              |
//! | `holder`     | serving until told to stop; then waiting, flushing, wiping         |
//! | `gate`       | the volume behind the door, which can be taken away and put back   |
//! | `source`     | what the volume is made of again, and which key is the right one    |
//! | `volume`     | from an unlocked volume to its gate and its facts                  |

mod background;
pub(crate) mod closing;
mod control;
pub(crate) mod directory;
mod errand;
mod facts;
mod gate;
mod holder;
mod registry;
mod source;
mod volume;

pub(crate) use background::errand;
pub(crate) use errand::{Errand, live, start};
pub(crate) use facts::{Facts, Status};
pub(crate) use gate::Gate;
pub(crate) use holder::{Close, serve_until_stopped};
pub(crate) use registry::{Name, find, is_inside, list, using};
pub(crate) use volume::{Rights, behind_gate};

use keyway_attach::Door;
use keyway_attach::local::Directory;
use std::fs;
use std::sync::Arc;

/// What a command opens in the background process.
pub(crate) struct Opened {
    /// The open door; it shows `gate`.
    pub(crate) door: Arc<dyn Door>,
    /// The volume behind it.
    pub(crate) gate: Arc<Gate>,
    /// What others may know. Name, place and process are filled in here.
    pub(crate) facts: Facts,
    /// What the user is told when it is open, on standard output.
    pub(crate) message: String,
}

/// Gives the background process the name that lists of processes
/// show. Once it may not be looked into, it cannot.
pub(crate) fn name_process() {
    if background::is_inside() {
        let _ = fs::write("/proc/self/comm", background::NAME);
    }
}

/// Whether this is the background process.
fn is_background() -> bool {
    background::is_inside()
}

/// A session of this user that is alive.
#[derive(Debug)]
pub(crate) struct Session {
    directory: Directory,
    facts: Box<Facts>,
}

impl Session {
    /// What is known without asking it.
    pub(crate) fn facts(&self) -> &Facts {
        &self.facts
    }

    /// Who it is, for others that cannot have its volume: "open in
    /// keyway-session, process 77, session home".
    pub(crate) fn in_words(&self) -> String {
        let Facts { name, pid, .. } = &*self.facts;
        format!("open in {}, process {pid}, session {}", background::NAME, name.escape_debug())
    }
}
