//! Volumes opened without root: a background process of the user
//! holds the key and keeps the front end open.
//!
//! What is to be opened is an [`BackgroundRequest`]. [`start`], in the process that the user started, runs
//! this program once more, hands it the request through a pipe and waits for it. [`live`], in that
//! background process, claims the name, asks on the inherited terminal, unlocks, opens the front end,
//! reports that and leaves the terminal. A key never leaves the process that derived it.
//!
//! What is not this program's own is [`keyway_attach::session`]: registry, protocol, suspendable device and life.
//!
//! | module       | what it does                                                       |
//! |--------------|--------------------------------------------------------------------|
//! | `background` | starts the background process, and detaches it from the terminal   |
//! | `request`     | what the background process is asked to do                         |
//! | `signals`    | ends what is served when a signal says so                          |
//! | `volume`     | turns an unlocked volume into its suspendable device and its facts               |

mod background;
mod request;
mod signals;
mod volume;

pub(crate) use background::request;
pub(crate) use request::{BackgroundRequest, Shown, live, start};
pub(crate) use signals::serve_until_stopped;
pub(crate) use volume::{keys_under_way, suspendable};

use crate::device::{explain, sessions};
use crate::output::failure::Result;
use keyway_attach::session::{Session, Waiting};
use std::time::Duration;

/// Closes the session as soon as its file is no longer in use, waiting at most `limit`. Returns
/// when its process has ended, with the message to show.
pub(crate) fn close_when_unused(session: &Session, limit: Duration) -> Result<String> {
    session.close_when_unused(sessions::registry(), limit, say_waiting).map_err(explain::session)
}

/// Says which programs are waited for.
pub(crate) fn say_waiting(waiting: &Waiting) {
    let (mount, limit) = (waiting.mount.display(), waiting.limit.as_secs());
    let users = match waiting.users.is_empty() {
        true => "by unknown processes".to_owned(),
        false => format!("by {}", waiting.users.join(", ")),
    };
    say!("{mount} is still used {users}: waiting, {limit} s at most.");
}
