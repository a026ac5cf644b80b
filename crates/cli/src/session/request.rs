//! What a background process is asked to do. The process that the user started hands the request
//! over; the background process carries it out.

use super::{background, signals};
use crate::device::{Target, explain, sessions};
use crate::output::failure::Result;
use crate::process::encoding::Encoded;
use keyway_attach::fuse;
use keyway_attach::local::Directory;
use keyway_attach::session::{self, Answer, Control, Life, Name, Opened};
use std::path::Path;

/// What a command opens.
pub(crate) struct Shown {
    /// The open front end, and the volume behind it. Of the facts, name, place and process are filled in
    /// here.
    pub(crate) opened: Opened,
    /// The message for the user on standard output once the front end is open.
    pub(crate) message: String,
}

/// What a background process is asked to do.
pub(crate) trait BackgroundRequest: Encoded {
    /// Distinguishes kinds of requests on the pipe.
    const KIND: u8;

    /// The session's name.
    fn name(&self) -> Name;

    /// The volume, which failure messages name.
    fn target(&self) -> &Target;

    /// Asks for what is needed, unlocks and opens the front end; runs in the background process.
    /// `directory` is the session's private one, where a front end may put a socket.
    fn open(&self, directory: &Directory) -> Result<Shown>;
}

/// Opens a session in the background, and returns when it is open.
pub(crate) fn start<E: BackgroundRequest>(request: &E) -> Result<()> {
    // Before the user is asked for anything.
    sessions::registry().check_place().map_err(explain::session)?;
    let mut bytes = vec![E::KIND];
    request.put(&mut bytes);
    background::start(&bytes)
}

/// Opens the session in this background process, and returns when it has been closed.
pub(crate) fn live<E: BackgroundRequest>(request: &E) -> Result<()> {
    let place = request.target().header_path();
    serve(request).map_err(|failure| explain::placed(failure, Some(place)))
}

fn serve<E: BackgroundRequest>(request: &E) -> Result<()> {
    let claim = sessions::registry().claim(&request.name()).map_err(explain::session)?;
    let Shown { mut opened, message } = request.open(claim.directory())?;
    opened.facts.name = claim.name().to_owned();
    opened.facts.place = opened.front_end.place();
    opened.facts.pid = std::process::id();
    let mount = Path::new(&opened.facts.place).parent().filter(|_| opened.facts.backend == "fuse");
    opened.facts.mount = mount.and_then(fuse::device_at).unwrap_or_default();
    let control = Control::listen(claim.directory(), in_words).map_err(explain::session)?;
    claim.publish(&opened.facts).map_err(explain::session)?;
    background::leave_terminal(&message)?;
    let ended = signals::live_until_stopped(&Life::new(opened), control);
    // The key was wiped together with the `Life`: once the name is free, the key is gone.
    drop(claim);
    ended
}

/// How the process that asks reports a refusal.
fn in_words(refusal: session::Error) -> Answer {
    let failure = explain::session(refusal);
    Answer { code: failure.exit() as u8, sentence: failure.message().to_owned() }
}
