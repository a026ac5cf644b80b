//! What a background process is asked to do. The process that the user started hands the errand
//! over; the background process carries it out.

use super::holder::Life;
use super::registry::{self, Claim, Name};
use super::{Opened, background, control};
use crate::device::{Target, explain};
use crate::process::handed::Handed;
use crate::say::failure::Result;
use keyway_attach::fuse;
use keyway_attach::local::Directory;
use std::path::Path;
use std::sync::Arc;

/// What a background process is asked to do.
pub(crate) trait Errand: Handed {
    /// Distinguishes kinds of errands on the pipe.
    const KIND: u8;

    /// The session's name.
    fn name(&self) -> Name;

    /// The volume, which failure messages name.
    fn target(&self) -> &Target;

    /// Asks for what is needed, unlocks and opens the door; runs in the background process.
    /// `directory` is the session's private one, where a door may put a socket.
    fn open(&self, directory: &Directory) -> Result<Opened>;
}

/// Opens a session in the background, and returns when it is open.
pub(crate) fn start<E: Errand>(errand: &E) -> Result<()> {
    // Before the user is asked for anything.
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
    let ended = Arc::new(Life::new(opened)).last(move |life| control.answer(&life));
    // The key was wiped together with the `Life`: once the name is free, the key is gone.
    drop(claim);
    ended
}
