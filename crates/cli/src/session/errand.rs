//! What a background process is asked for, from both ends: the process that the user started hands
//! it over, and the one in the background does it.

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
    let ended = Arc::new(Life::new(opened)).last(move |life| control.answer(&life));
    // The key went with the life: when the name is free, it is gone.
    drop(claim);
    ended
}
