//! How an object is read.

use std::time::Duration;

/// How an object is read.
#[derive(Debug, Clone)]
pub struct Options {
    /// The size of the unit that is fetched and cached, in bytes.
    pub block_size: usize,
    /// The cache size in bytes, including data being fetched.
    pub cache_size: usize,
    /// The maximum number of simultaneous requests.
    pub requests: usize,
    /// How often a request is repeated after a temporary failure: after 0.2 s, 0.4 s, 0.8 s, …, or
    /// when the server asks for it.
    pub retries: u32,
    /// How long a request may go without receiving data, including repetitions and pauses.
    pub timeout: Duration,
    /// Called with notices that are not errors, for the user; the first argument is the object's
    /// URL without its secrets.
    pub tell: fn(&str, &Notice),
}

/// A notice to the user that is not an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Notice {
    /// The server has not answered for this long.
    Waiting(Duration),
    /// The server does not identify versions of the object, so another version of the same length
    /// cannot be detected.
    Unpinned,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            block_size: 256 << 10,
            cache_size: 32 << 20,
            requests: 32,
            retries: 5,
            timeout: Duration::from_secs(60),
            tell: |_, _| (),
        }
    }
}
