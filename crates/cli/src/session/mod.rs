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
mod facts;
mod gate;
mod holder;
mod registry;
mod source;
mod volume;

pub(crate) use background::errand;
pub(crate) use control::Close;
pub(crate) use facts::{Facts, Status};
pub(crate) use gate::Gate;
pub(crate) use holder::serve_until_stopped;
pub(crate) use registry::{Name, find, is_inside, list, using};
pub(crate) use volume::{Rights, behind_gate};

use crate::device::{Target, explain};
use crate::process::handed::Handed;
use crate::say::failure::Result;
use keyway_attach::local::Directory;
use keyway_attach::{Door, fuse};
use registry::Claim;
use std::fs;
use std::path::Path;
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

/// What a background process is asked for.
pub(crate) trait Errand: Handed {
    /// Tells errands apart on the pipe.
    const KIND: u8;

    /// What the session is called.
    fn name(&self) -> Name;

    /// The volume; failures are about it.
    fn target(&self) -> &Target;

    /// Asks for what it needs, unlocks and opens the door: in the background process. `directory` is the
    /// session's private one, where a door may put a socket.
    fn open(&self, directory: &Directory) -> Result<Opened>;
}

/// Opens a session in the background, and returns when it is open.
pub(crate) fn start<E: Errand>(errand: &E) -> Result<()> {
    // Before anything is asked for.
    registry::check_place()?;
    let mut bytes = vec![E::KIND];
    errand.put(&mut bytes);
    background::start(&bytes)
}

/// Opens the session in this background process, and returns when it has been closed.
pub(crate) fn live<E: Errand>(errand: &E) -> Result<()> {
    let place = errand.target().header_path();
    serve(errand).map_err(|failure| explain::placed(failure, Some(place)))
}

fn serve<E: Errand>(errand: &E) -> Result<()> {
    let claim = Claim::take(&errand.name())?;
    let mut opened = errand.open(claim.directory())?;
    opened.facts.name = claim.name().to_owned();
    opened.facts.place = opened.door.place();
    opened.facts.pid = std::process::id();
    let mount = Path::new(&opened.facts.place).parent().filter(|_| opened.facts.door == "fuse");
    opened.facts.mount = mount.and_then(fuse::device_at).unwrap_or_default();
    let control = control::listen(claim.directory())?;
    claim.publish(&opened.facts)?;
    background::leave_terminal(&opened.message)?;
    let ended = holder::live(opened, control);
    // The key went with the life: when the name is free, it is gone.
    drop(claim);
    ended
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
