//! Volumes opened without root: a background process of the user
//! holds the key and keeps the door open.
//!
//! What is to be opened is an [`Errand`]. [`start`], in the process that the user started, runs
//! this program once more, hands it the errand through a pipe and waits for it. [`live`], in that
//! background process, claims the name, asks on the inherited terminal, unlocks, opens the door,
//! reports that and leaves the terminal. A key never leaves the process that derived it.
//!
//! | module       | what it does                                                       |
//! |--------------|--------------------------------------------------------------------|
//! | `background` | starts the background process, and detaches it from the terminal   |
//! | `registry`   | lists sessions: one directory each, with a lock that dies with it  |
//! | `directory`  | finds the places where such directories may be                     |
//! | `facts`      | the public facts of a session; no keys                             |
//! | `control`    | the socket through which other processes ask for status and close  |
//! | `closing`    | waits for programs that use a session, and names them              |
//! | `holder`     | serves until told to stop; then waits, flushes and wipes           |
//! | `gate`       | the volume behind the door, which can be taken away and put back   |
//! | `source`     | rebuilds the volume, and checks that a key is the right one        |
//! | `volume`     | turns an unlocked volume into its gate and its facts               |

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
    /// The open door, which shows `gate`.
    pub(crate) door: Arc<dyn Door>,
    /// The volume behind it.
    pub(crate) gate: Arc<Gate>,
    /// The public facts. Name, place and process are filled in here.
    pub(crate) facts: Facts,
    /// The message for the user on standard output once the door is open.
    pub(crate) message: String,
}

/// Gives the background process the name that process lists show. This is no longer possible once
/// the process is not dumpable.
pub(crate) fn name_process() {
    if background::is_inside() {
        let _ = fs::write("/proc/self/comm", background::NAME);
    }
}

/// Whether this is the background process.
fn is_background() -> bool {
    background::is_inside()
}

/// A running session of this user.
#[derive(Debug)]
pub(crate) struct Session {
    directory: Directory,
    facts: Box<Facts>,
}

impl Session {
    /// What is known without asking the session.
    pub(crate) fn facts(&self) -> &Facts {
        &self.facts
    }

    /// The session in words, for messages about a volume that it has in use: "open in
    /// keyway-session, process 77, session home".
    pub(crate) fn in_words(&self) -> String {
        let Facts { name, pid, .. } = &*self.facts;
        format!("open in {}, process {pid}, session {}", background::NAME, name.escape_debug())
    }
}
