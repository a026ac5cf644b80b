//! Serving until a signal says stop, or the front end is closed by `keyway close` or from outside
//! (`umount`).

use crate::device::explain;
use crate::output::failure::Result;
use crate::output::sentence;
use crate::process::interrupt;
use keyway::storage::Storage;
use keyway_attach::FrontEnd;
use keyway_attach::session::{self, Control, Life};
use signal_hook::consts::SIGHUP;
use std::sync::Arc;

/// Serves in the foreground until SIGINT, SIGTERM or SIGHUP closes the front end, or it is closed from
/// outside. Signals take effect from the moment `announce` runs.
pub(crate) fn serve_until_stopped(
    front_end: &Arc<dyn FrontEnd>,
    volumes: &[Arc<dyn Storage>],
    announce: impl FnOnce() -> Result<()>,
) -> Result<()> {
    let (stopping, behind) = (Arc::clone(front_end), volumes.to_vec());
    let _watch = interrupt::stop_by(move |_| {
        if let Err(why) = stopping.stop() {
            // The front end stays open; at least what was written so far is safe.
            behind.iter().for_each(|volume| drop(volume.flush()));
            sentence::attaching(&why).report();
        }
    });
    if let Err(failure) = announce() {
        // Nobody would know where the front end is.
        let _ = front_end.stop();
        return Err(failure);
    }
    let ended = front_end.wait().map_err(|e| sentence::attaching(&e));
    let flush = |volume: &Arc<dyn Storage>| session::flush(&**volume).map_err(explain::session);
    volumes.iter().map(flush).fold(ended, Result::and)
}

/// Serves in the background until the session is closed or SIGINT or SIGTERM closes it: at once, or
/// when its last client has disconnected.
pub(super) fn live_until_stopped(life: &Arc<Life>, control: Control) -> Result<()> {
    let told = Arc::clone(life);
    // A hangup of the terminal that the session was started on does not concern it.
    let _watch = interrupt::stop_by(move |signal| {
        if signal != SIGHUP {
            told.stop_soon();
        }
    });
    control.serve(life).map_err(explain::session)
}
