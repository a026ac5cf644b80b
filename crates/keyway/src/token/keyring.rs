//! "luks2-keyring": the passphrase is a key of type "user" in the kernel's keyring, under the token's
//! description. (cryptsetup: lib/luks2/luks2_token_keyring.c.)
//!
//! The kernel searches as request_key(2) does: in the keyrings of the thread, the process and the
//! session, which links to the user's.

use super::types::{TokenType, Wrong, text};
use crate::Result;
use keyway_format::json::{Object, Value};

/// The type.
pub(crate) struct Keyring;

impl Keyring {
    /// A token that names a key by its description.
    pub(crate) fn token(description: &str) -> Object {
        Object::new()
            .with("type", Self.name())
            .with("keyslots", Vec::<Value>::new())
            .with(DESCRIPTION, description)
    }
}

impl TokenType for Keyring {
    fn name(&self) -> &'static str {
        "luks2-keyring"
    }

    fn check(&self, token: &Object) -> Result<(), Wrong> {
        match text(token, DESCRIPTION) {
            "" => Err(Wrong(DESCRIPTION, "is not the description of a key")),
            _ if token.len() != 3 => {
                Err(Wrong("type", "has type, keyslots and key_description, nothing else"))
            }
            _ => Ok(()),
        }
    }

    fn details(&self, token: &Object) -> Vec<(&'static str, String)> {
        vec![("Key description", text(token, DESCRIPTION).to_owned())]
    }

    #[cfg(feature = "keyring")]
    fn passphrase(&self, token: &Object) -> Result<keyway_crypto::Secret> {
        use keyway_attach::dm::keyring::{Key, Kind};
        Ok(Key::find(Kind::User, text(token, DESCRIPTION)).and_then(Key::read)?)
    }
}

const DESCRIPTION: &str = "key_description";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_has_a_description_and_nothing_else() {
        let good = Keyring::token("a \"key\"");
        let json = r#"{"type":"luks2-keyring","keyslots":[],"key_description":"a \"key\""}"#;
        assert_eq!(Value::from(good.clone()).to_compact(), json);
        assert_eq!(Keyring.check(&good), Ok(()));
        assert_eq!(Keyring.details(&good), [("Key description", "a \"key\"".to_owned())]);
        let none = Wrong(DESCRIPTION, "is not the description of a key");
        assert_eq!(Keyring.check(&Keyring::token("")), Err(none));
        let mut number = good.clone();
        number.set(DESCRIPTION, Value::Number("1".into()));
        assert_eq!(Keyring.check(&number), Err(Wrong(DESCRIPTION, "is not the description of a key")));
        let why = "has type, keyslots and key_description, nothing else";
        assert_eq!(Keyring.check(&good.with("n", "1")), Err(Wrong("type", why)));
    }
}
