//! The sessions of this user, in the directories that this program uses for them.

use crate::process::background;
use keyway_attach::Error;
use keyway_attach::session::{Facts, Registry, Runtime, Session};
use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

/// The registry of sessions.
pub(crate) fn registry() -> Registry {
    Registry::new(runtime())
}

/// The places for this user's sockets and sessions.
pub(crate) fn runtime() -> Runtime {
    Runtime::new(say_once)
}

/// The session in words, for messages about a volume that it has in use: "open in keyway-session,
/// process 77, session home".
pub(super) fn in_words(session: &Session) -> String {
    let Facts { name, pid, .. } = session.facts();
    format!("open in {}, process {pid}, session {}", background::NAME, name.escape_debug())
}

/// Says why a place is passed over, once.
fn say_once(why: &Error) {
    static SAID: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let why = why.to_string();
    // The process that started this one has already said so.
    if background::is_inside() {
        return;
    }
    if SAID.lock().unwrap_or_else(PoisonError::into_inner).insert(why.clone()) {
        say!("A directory for private sockets is skipped: {}.", why.escape_debug());
    }
}
