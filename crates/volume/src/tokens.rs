//! Selects the tokens of a header that are asked for a passphrase, and the keyslots on which it is
//! tried, in cryptsetup's order (lib/luks2/luks2_token.c).

use keyway_format::luks2::{Metadata, Priority, Token};

/// The tokens that the user selects; by default all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TokenChoice {
    /// Only this one.
    pub number: Option<u32>,
    /// Only those of this type.
    pub kind: Option<String>,
    /// Only to open this keyslot.
    pub keyslot: Option<u32>,
}

impl TokenChoice {
    /// The numbers of the tokens to ask: those that are selected and assigned to a keyslot that may
    /// be opened.
    pub fn tokens<'a>(&self, metadata: &'a Metadata) -> impl Iterator<Item = (u32, &'a Token)> {
        metadata.tokens.iter().map(|(&number, token)| (number, token)).filter(|(number, token)| {
            self.number.is_none_or(|wanted| wanted == *number)
                && self.kind.as_ref().is_none_or(|kind| *kind == token.kind)
                && ORDER.iter().any(|&priority| self.opens(metadata, token, priority).next().is_some())
        })
    }

    /// Which token's passphrase is tried on which keyslot, in order: pairs of a token and a
    /// keyslot. Keyslots of priority "prefer" come first.
    pub fn attempts(&self, metadata: &Metadata, tokens: &[u32]) -> Vec<(u32, u32)> {
        let wanted = |keyslot: &u32| self.keyslot.is_none_or(|wanted| wanted == *keyslot);
        let of = |number: u32, priority| {
            let token = metadata.tokens.get(&number).into_iter();
            let keyslots = token.flat_map(move |token| self.opens(metadata, token, priority));
            keyslots.filter(wanted).map(move |keyslot| (number, keyslot))
        };
        ORDER
            .iter()
            .flat_map(|&priority| tokens.iter().flat_map(move |&number| of(number, priority)))
            .collect()
    }

    /// The token's keyslots of this priority. Keyslots of priority "ignore" are opened only if the
    /// user names them or the token.
    fn opens<'a>(
        &self,
        metadata: &'a Metadata,
        token: &'a Token,
        priority: Priority,
    ) -> impl Iterator<Item = u32> + use<'a> {
        let named = self.keyslot.is_some() || self.number.is_some();
        let its = token.keyslots.iter().copied().filter(move |number| {
            let keyslot = metadata.keyslots.get(number);
            keyslot.is_some_and(|keyslot| keyslot.priority == priority)
        });
        its.filter(move |_| named || priority != Priority::Ignore)
    }
}

const ORDER: [Priority; 3] = [Priority::Prefer, Priority::Normal, Priority::Ignore];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::create::{Luks2Params, create_luks2};
    use crate::edit::{AddKey, add_key, set_priority, token_import};
    use crate::storage::Memory;
    use crate::{Cost, Header, KdfChoice, OsRandom};
    use keyway_crypto::Secret;
    use std::sync::Arc;

    /// Keyslots 0 (normal), 1 (prefer) and 2 (ignore); token 0 for 0 and 1, token 1 for 2, token 2
    /// for none, token 3, of another type, for 1 and 0.
    fn metadata() -> Metadata {
        let kdf = KdfChoice::Pbkdf2 { hash: "sha256".into(), cost: Cost::Forced(1000) };
        let params = Luks2Params { kdf: kdf.clone(), keyslots_size: Some(1 << 20), ..Luks2Params::default() };
        let (storage, key) = (Arc::new(Memory::zeroed(4 << 20)), Secret::copy_from(&[7; 64]));
        let passphrase = Secret::copy_from(b"pass");
        let mut luks = create_luks2(storage, &params, &key, &passphrase, &mut OsRandom).unwrap();
        let options = AddKey { kdf, ..AddKey::default() };
        for _ in 1..3 {
            add_key(&mut luks, &key, &passphrase, &options, &mut OsRandom).unwrap();
        }
        set_priority(&mut luks, 1, Priority::Prefer, &mut OsRandom).unwrap();
        set_priority(&mut luks, 2, Priority::Ignore, &mut OsRandom).unwrap();
        for (kind, keyslots) in [("a", r#""0","1""#), ("a", r#""2""#), ("a", ""), ("b", r#""1","0""#)] {
            let json = format!(r#"{{"type":"{kind}","keyslots":[{keyslots}]}}"#);
            token_import(&mut luks, None, json.as_bytes(), None, false, &mut OsRandom).unwrap();
        }
        let Header::Luks2 { metadata, .. } = luks.header() else { panic!() };
        metadata.clone()
    }

    fn numbers(choice: &TokenChoice) -> Vec<u32> {
        choice.tokens(&metadata()).map(|(number, _)| number).collect()
    }

    #[test]
    fn tokens_are_asked_that_may_open_something() {
        assert_eq!(numbers(&TokenChoice::default()), [0, 3]);
        assert_eq!(numbers(&TokenChoice { kind: Some("b".into()), ..TokenChoice::default() }), [3]);
        for (number, expected) in [(0, &[0][..]), (1, &[1]), (2, &[]), (3, &[3]), (4, &[])] {
            let named = TokenChoice { number: Some(number), ..TokenChoice::default() };
            assert_eq!(numbers(&named), expected, "token {number}");
        }
        assert_eq!(numbers(&TokenChoice { keyslot: Some(2), ..TokenChoice::default() }), [0, 1, 3]);
    }

    #[test]
    fn preferred_keyslots_come_first_and_ignored_ones_by_name() {
        let metadata = metadata();
        let any = TokenChoice::default();
        assert_eq!(any.attempts(&metadata, &[0, 3]), [(0, 1), (3, 1), (0, 0), (3, 0)]);
        assert_eq!(any.attempts(&metadata, &[1, 2, 9]), []);
        let named = TokenChoice { number: Some(1), ..TokenChoice::default() };
        assert_eq!(named.attempts(&metadata, &[1]), [(1, 2)]);
        let keyslot = TokenChoice { keyslot: Some(2), ..TokenChoice::default() };
        assert_eq!(keyslot.attempts(&metadata, &[0, 1, 3]), [(1, 2)]);
    }
}
