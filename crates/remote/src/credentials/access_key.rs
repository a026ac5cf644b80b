//! An access key to an S3 store.

use keyway_crypto::Secret;

/// An access key and what belongs to it.
pub(crate) struct Keys {
    pub(crate) id: String,
    pub(crate) secret: Secret,
    token: Option<Secret>,
}

impl Keys {
    pub(crate) fn new(id: &str, secret: Secret, token: Option<&str>) -> Self {
        let token = token.map(|token| Secret::copy_from(token.as_bytes()));
        Self { id: id.to_owned(), secret, token }
    }

    pub(crate) fn token(&self) -> Option<&str> {
        std::str::from_utf8(self.token.as_ref()?.expose()).ok()
    }
}
