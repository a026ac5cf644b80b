//! The body of a response.

use crate::error::Cause;
use http_body_util::BodyExt;
use hyper::body::{Body as _, Bytes, Incoming};
use std::time::Duration;
use tokio::time::timeout;

/// A response's bytes. After the last of them has been received, the connection is free for other
/// requests.
pub(crate) struct Body {
    bytes: Incoming,
    /// If a server sends nothing for this long, the request is repeated.
    limit: Duration,
    give_back: Option<Box<dyn FnOnce() + Send + Sync>>,
}

impl Body {
    pub(super) fn new(
        bytes: Incoming,
        limit: Duration,
        give_back: impl FnOnce() + Send + Sync + 'static,
    ) -> Self {
        let mut body = Self { bytes, limit, give_back: Some(Box::new(give_back)) };
        if body.bytes.is_end_stream() {
            body.end();
        }
        body
    }

    /// The next piece.
    pub(crate) async fn chunk(&mut self) -> Result<Option<Bytes>, Cause> {
        loop {
            match timeout(self.limit, self.bytes.frame()).await {
                // Frames that are not data come after it and are not needed.
                Ok(Some(Ok(frame))) => {
                    if let Ok(bytes) = frame.into_data() {
                        return Ok(Some(bytes));
                    }
                }
                Ok(Some(Err(error))) => return Err(super::broken(&error)),
                Ok(None) => {
                    self.end();
                    return Ok(None);
                }
                Err(_) => return Err(super::silent()),
            }
        }
    }

    fn end(&mut self) {
        if let Some(give_back) = self.give_back.take() {
            give_back();
        }
    }
}
