//! What a type of token is.

use crate::Result;
use keyway_format::json::{Object, Value};

/// A type of token.
pub(crate) trait TokenType: Sync {
    /// Its name, which tokens of it have as their member "type".
    fn name(&self) -> &'static str;

    /// Refuses a token that is not as the type has it: it is not stored, and not asked.
    fn check(&self, token: &Object) -> Result<(), Wrong>;

    /// What the dump of a header says of a token, as pairs of a label and a text.
    fn details(&self, token: &Object) -> Vec<(&'static str, String)>;

    /// The passphrase that a token leads to, once it has passed [`TokenType::check`].
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) where this machine lacks what it would
    /// come from; others, such as [`ErrorKind::NotFound`](crate::ErrorKind::NotFound), where it is not there.
    #[cfg(feature = "keyring")]
    fn passphrase(&self, token: &Object) -> Result<keyway_crypto::Secret>;
}

/// A member of a token, and what is wrong with it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Wrong(pub(crate) &'static str, pub(crate) &'static str);

impl Wrong {
    /// The error, of the token of this number.
    pub(crate) fn in_token(self, number: u32) -> keyway_volume::Error {
        keyway_format::Error::invalid(format!("tokens.{number}.{}", self.0), self.1).into()
    }
}

/// A member that is a text; empty if there is none.
pub(crate) fn text<'a>(token: &'a Object, name: &str) -> &'a str {
    token.get(name).and_then(Value::as_str).unwrap_or_default()
}
