//! The types of tokens, and what is decided by them.

use super::keyring::Keyring;
use super::types::{TokenType, Wrong, text};
use keyway_format::json::Object;

/// All types that are known.
pub(crate) static TYPES: &[&dyn TokenType] = &[&Keyring];

/// The type of this name.
pub(crate) fn find(name: &str) -> Option<&'static dyn TokenType> {
    TYPES.iter().find(|it| it.name() == name).copied()
}

/// Refuses a token that is not to be stored.
pub(crate) fn check(token: &Object) -> Result<(), Wrong> {
    let name = text(token, "type");
    match find(name) {
        Some(known) => known.check(token),
        None if name.starts_with("luks2-") => {
            Err(Wrong("type", "is reserved for cryptsetup's own tokens, and is not one of them"))
        }
        None => Ok(()),
    }
}

/// What the dump of a header says of a token beside its type and keyslots.
pub(crate) fn details(token: &Object) -> Vec<(&'static str, String)> {
    find(text(token, "type")).map(|known| known.details(token)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_are_told_apart() {
        let names: BTreeSet<_> = TYPES.iter().map(|it| it.name()).collect();
        assert_eq!(names.len(), TYPES.len());
        assert!(names.iter().all(|name| find(name).is_some_and(|it| it.name() == *name)));
    }

    #[test]
    fn types_of_other_programs_are_stored_and_reserved_ones_are_not() {
        let token = |kind: &str| Object::new().with("type", kind).with("keyslots", Vec::new()).with("x", "y");
        assert_eq!(check(&token("systemd-tpm2")), Ok(()));
        let why = "is reserved for cryptsetup's own tokens, and is not one of them";
        assert_eq!(check(&token("luks2-foo")), Err(Wrong("type", why)));
    }
}
