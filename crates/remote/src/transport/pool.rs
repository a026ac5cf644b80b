//! Idle connections, kept for the next request.

use super::connect::Connection;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Idle connections, by server: scheme, host and port.
#[derive(Clone, Default)]
pub(super) struct Pool {
    idle: Arc<Mutex<HashMap<String, Vec<Idle>>>>,
}

/// A connection, and since when it has been idle.
type Idle = (Connection, Instant);

impl Pool {
    /// A connection that is open as far as is known.
    pub(super) async fn take(&self, server: &str) -> Option<Connection> {
        loop {
            let (mut connection, since) = self.pop(server)?;
            if since.elapsed() < KEPT_FOR && connection.ready().await.is_ok() {
                return Some(connection);
            }
        }
    }

    pub(super) fn put(&self, server: String, connection: Connection) {
        if !connection.is_closed() {
            let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
            idle.entry(server).or_default().push((connection, Instant::now()));
        }
    }

    fn pop(&self, server: &str) -> Option<Idle> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).get_mut(server)?.pop()
    }
}

const KEPT_FOR: Duration = Duration::from_secs(90);
