//! Sessions: volumes that a process of the user's holds open, without root, and how other processes
//! of the same user find it and talk to it.
//!
//! The process that opens a volume takes a name ([`Registry::claim`]), puts the volume behind a
//! [`SuspendableDevice`], shows that through a front end, and runs a [`Life`] until it is told to stop. Others find it
//! with [`Registry::find`] and ask through its [`Session`]. No module here prints anything.
//!
//! | module     | what it does                                                       |
//! |------------|--------------------------------------------------------------------|
//! | `runtime`  | finds the directories where sockets and sessions may be            |
//! | `registry` | lists sessions: one directory each, with a lock that dies with it  |
//! | `facts`    | the public facts of a session; no keys                             |
//! | `control`  | the socket through which other processes ask for status and close  |
//! | `closing`  | waits for programs that use a session, and names them              |
//! | `life`     | serves until told to stop; then waits, flushes and wipes           |
//! | `suspendable`     | the volume behind the front end, which can be taken away and put back   |
//! | `source`   | rebuilds the volume, and checks that a key is the right one        |
//! | `work`     | re-encrypts the volume in the background, giving way to its users  |

mod closing;
mod control;
mod error;
mod facts;
mod life;
mod registry;
mod runtime;
mod source;
mod suspendable;
mod work;

pub use closing::{Waiting, retry_while_busy, wait_until};
pub use control::Control;
pub use error::{Answer, Error, NameFault, Result, SizeFault};
pub use facts::{Facts, Moved, Status};
pub use life::{Close, Life, Opened, flush};
pub use registry::{Claim, Name, Registry, is_inside};
pub use runtime::Runtime;
pub use source::{KeyDigest, Origin, Source};
pub use suspendable::SuspendableDevice;
pub use work::{Throttle, Work};

use crate::local::Directory;

/// A running session of this user.
#[derive(Debug)]
pub struct Session {
    directory: Directory,
    facts: Box<Facts>,
}

impl Session {
    /// What is known without asking the session.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }
}
