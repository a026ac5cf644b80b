//! The users of a device's data in this process: many readers, or one writer.

use crate::{Error, ErrorKind, Result};
use keyway_volume::Storage;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// All users that were admitted and have not released the data.
#[derive(Default)]
pub(crate) struct Users(Mutex<Vec<User>>);

struct User {
    data: Weak<dyn Storage>,
    writes: bool,
}

impl Users {
    /// Admits one more user, whose claim on the data `claim` makes, if no other user conflicts with
    /// it or all have agreed to share.
    pub(crate) fn admit(
        &self,
        writes: bool,
        shared: bool,
        claim: impl FnOnce() -> Result<Arc<dyn Storage>>,
    ) -> Result<Arc<dyn Storage>> {
        let mut users = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        users.retain(|user| user.data.strong_count() > 0);
        if !shared && users.iter().any(|user| writes || user.writes) {
            return Err(Error::new(ErrorKind::InUse { by: "unlocked by this program".to_owned() }));
        }
        let data = claim()?;
        users.push(User { data: Arc::downgrade(&data), writes });
        Ok(data)
    }
}
