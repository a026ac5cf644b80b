//! Selects the tokens of a header that are asked for a passphrase, and the keyslots on which it is
//! tried, in cryptsetup's order (lib/luks2/luks2_token.c).

use crate::unlock;
use crate::{Error, Header, Luks, Result, UnlockOptions, Unlocked};
use keyway_crypto::Secret;
use keyway_format::luks2::{Metadata, Priority, Token};
use std::collections::BTreeMap;

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

/// Where tokens get their passphrases from.
pub trait Passphrases {
    /// Whether tokens of this kind can be asked at all.
    fn knows(&mut self, number: u32, token: &Token) -> bool;

    /// The passphrase that the token leads to.
    ///
    /// # Errors
    /// [`Miss::Unusable`] where there is no such source here; [`Miss::Wrong`] where the key that
    /// the token names is not in it.
    fn passphrase(&mut self, number: u32, token: &Token) -> Result<Secret, Miss>;

    /// Tries a keyslot with a token's passphrase; for callers that take a lock or keep a record.
    ///
    /// # Errors
    /// As [`unlock()`].
    fn open(
        &mut self,
        luks: &Luks,
        _number: u32,
        passphrase: &Secret,
        options: &UnlockOptions,
    ) -> Result<Unlocked> {
        unlock(luks, passphrase, options)
    }
}

/// Why no token opened a keyslot. Later variants are the more useful to report.
#[derive(Debug)]
pub enum Miss {
    /// There is no usable token.
    Unusable,
    /// The passphrase does not exist, or opens no keyslot.
    Wrong,
    /// A keyslot could not even be tried.
    Trouble(Error),
}

impl Miss {
    fn worse(self, other: Self) -> Self {
        match (&self, &other) {
            (Self::Trouble(_), _) | (Self::Wrong, Self::Unusable) => self,
            _ => other,
        }
    }
}

impl From<Error> for Miss {
    fn from(error: Error) -> Self {
        match error {
            Error::WrongPassphrase => Self::Wrong,
            Error::NoUsableKeyslot => Self::Unusable,
            error => Self::Trouble(error),
        }
    }
}

/// Unlocks with the first token that opens a keyslot.
///
/// # Errors
/// The most useful of the reasons why none does.
pub fn unlock_by_token(
    luks: &Luks,
    choice: &TokenChoice,
    options: &UnlockOptions,
    passphrases: &mut dyn Passphrases,
) -> Result<Unlocked, Miss> {
    let Header::Luks2 { metadata, .. } = luks.header() else { return Err(Miss::Unusable) };
    luks.check_readable().map_err(Miss::Trouble)?;
    let (mut miss, mut found) = (Miss::Unusable, BTreeMap::new());
    for (number, token) in choice.tokens(metadata) {
        // cryptsetup 2.6 would open another keyslot than the requested one.
        let is_assigned = choice.keyslot.is_none_or(|wanted| token.keyslots.contains(&wanted));
        let passphrase = match passphrases.knows(number, token) {
            false => Err(Miss::Unusable),
            true if !is_assigned => Err(Miss::Wrong),
            true => passphrases.passphrase(number, token),
        };
        match passphrase {
            Ok(passphrase) => drop(found.insert(number, passphrase)),
            Err(why) => miss = miss.worse(why),
        }
    }
    let tokens: Vec<u32> = found.keys().copied().collect();
    for (number, keyslot) in choice.attempts(metadata, &tokens) {
        let options = UnlockOptions { keyslot: Some(keyslot), ..options.clone() };
        match passphrases.open(luks, number, &found[&number], &options) {
            Ok(unlocked) => return Ok(unlocked),
            Err(error) => miss = miss.worse(error.into()),
        }
    }
    Err(miss)
}

const ORDER: [Priority; 3] = [Priority::Prefer, Priority::Normal, Priority::Ignore];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::change::create::{Luks2Params, create_luks2};
    use crate::change::edit::{AddKey, add_key, set_priority, token_import};
    use crate::device::storage::Memory;
    use crate::{Cost, Header, KdfChoice, OsRandom};
    use std::sync::Arc;

    /// Keyslots 0 (normal), 1 (prefer) and 2 (ignore); token 0 for 0 and 1, token 1 for 2, token 2
    /// for none, token 3, of another type, for 1 and 0.
    fn luks() -> Luks {
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
            token_import(&mut luks, None, json.as_bytes(), &[], false, &mut OsRandom).unwrap();
        }
        luks
    }

    fn metadata() -> Metadata {
        let luks = luks();
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

    /// Knows tokens of type "a", with these passphrases by number; `None`: the key is not there.
    struct Keys(Vec<Option<&'static str>>, Vec<(u32, Option<u32>)>);

    impl Passphrases for Keys {
        fn knows(&mut self, _: u32, token: &Token) -> bool {
            token.kind == "a"
        }

        fn passphrase(&mut self, number: u32, _: &Token) -> Result<Secret, Miss> {
            self.0[number as usize].map(|text| Secret::copy_from(text.as_bytes())).ok_or(Miss::Wrong)
        }

        fn open(
            &mut self,
            luks: &Luks,
            number: u32,
            passphrase: &Secret,
            options: &UnlockOptions,
        ) -> Result<Unlocked> {
            self.1.push((number, options.keyslot));
            match passphrase.expose() {
                b"trouble" => Err(Error::Busy("a test".into())),
                _ => unlock(luks, passphrase, options),
            }
        }
    }

    #[test]
    fn the_first_token_that_opens_a_keyslot_does() {
        let (luks, any) = (luks(), TokenChoice::default());
        let options = UnlockOptions::default();
        let mut keys = Keys(vec![Some("pass"), Some("pass")], Vec::new());
        let found = unlock_by_token(&luks, &any, &options, &mut keys).unwrap();
        assert_eq!((found.keyslot, found.volume_key.expose()), (1, &[7; 64][..]));
        let second = TokenChoice { number: Some(1), ..any.clone() };
        assert_eq!(unlock_by_token(&luks, &second, &options, &mut keys).unwrap().keyslot, 2);
        assert_eq!(keys.1, [(0, Some(1)), (1, Some(2))]);
    }

    #[test]
    fn the_most_useful_reason_is_reported() {
        let luks = luks();
        let why = |choice: &TokenChoice, passphrase| {
            let mut keys = Keys(vec![passphrase; 4], Vec::new());
            let miss = unlock_by_token(&luks, choice, &UnlockOptions::default(), &mut keys);
            (miss.map(|found| found.keyslot).unwrap_err(), keys.1)
        };
        let any = TokenChoice::default();
        let (miss, tried) = why(&any, Some("wrong"));
        assert!(matches!(miss, Miss::Wrong), "{miss:?}");
        assert_eq!(tried, [(0, Some(1)), (0, Some(0))]);
        assert!(matches!(why(&any, None).0, Miss::Wrong));
        assert!(matches!(why(&any, Some("trouble")).0, Miss::Trouble(Error::Busy(_))));

        let unknown = TokenChoice { kind: Some("b".into()), ..TokenChoice::default() };
        assert!(matches!(why(&unknown, Some("pass")), (Miss::Unusable, tried) if tried.is_empty()));
        let absent = TokenChoice { number: Some(9), ..TokenChoice::default() };
        assert!(matches!(why(&absent, Some("pass")).0, Miss::Unusable));

        // A token that is not assigned to the keyslot is not even asked.
        let other = TokenChoice { number: Some(1), keyslot: Some(0), ..TokenChoice::default() };
        assert!(matches!(why(&other, Some("pass")), (Miss::Wrong, tried) if tried.is_empty()));
    }

    #[test]
    fn later_reasons_are_the_more_useful() {
        let trouble = || Miss::Trouble(Error::NoUsableKeyslot);
        let rank = |miss: Miss| match miss {
            Miss::Unusable => 0,
            Miss::Wrong => 1,
            Miss::Trouble(_) => 2,
        };
        for (one, other, worse) in [
            (Miss::Unusable, Miss::Wrong, 1),
            (Miss::Wrong, Miss::Unusable, 1),
            (Miss::Wrong, trouble(), 2),
            (trouble(), Miss::Wrong, 2),
            (Miss::Unusable, Miss::Unusable, 0),
        ] {
            assert_eq!(rank(one.worse(other)), worse);
        }
        assert!(matches!(Miss::from(Error::NoUsableKeyslot), Miss::Unusable));
        assert!(matches!(Miss::from(Error::WrongPassphrase), Miss::Wrong));
    }
}
