//! LUKS2 tokens, which lead to a passphrase without asking the user. They are tried first, in
//! cryptsetup's order and with its messages.
//!
//! A token of type "luks2-keyring" names a key of type "user" in the kernel's keyring, which is
//! searched for as request_key(2) does: in the keyrings of the thread, the process and the session,
//! which links to the user's. Tokens of other types are passed over. [`TokenChoice`] determines the
//! order of tokens and of their keyslots. (cryptsetup: cryptsetup-open(8),
//! lib/luks2/luks2_token.c.)

use crate::device::explain;
use crate::door::{Args, shared};
use crate::process::handed::handed;
use crate::say::failure::{Cause, Exit, Failure, Result};
use crate::say::output;
use crate::say::paint::printable;
use crate::unlock::{KeyOptions, argon2_lock};
use keyway_attach::dm::keyring::{Key, Kind};
use keyway_crypto::Secret;
use keyway_format::luks2::{Metadata, Token};
use keyway_volume::{Error, Header, Luks, TokenChoice, UnlockOptions, Unlocked};
use std::collections::BTreeMap;

/// Which tokens are tried, and whether the user may be asked if none of them opens a keyslot.
#[derive(Debug, Clone, Default)]
pub(crate) struct TokenOptions {
    /// `--token-id`.
    pub(crate) number: Option<u32>,
    /// `--token-type`.
    pub(crate) kind: Option<String>,
    /// `--token-only`.
    pub(crate) only: bool,
    /// The command has these options; `-v` then says why no token opened the volume.
    pub(crate) are_offered: bool,
}

handed!(TokenOptions { number, kind, only, are_offered });

impl TokenOptions {
    /// For every command that opens a volume.
    pub(crate) fn from_args(args: &Args) -> Self {
        Self {
            number: args.number32(&shared::TOKEN_ID),
            kind: args.text(&shared::TOKEN_TYPE).map(str::to_owned),
            only: args.given(&shared::TOKEN_ONLY),
            are_offered: args.takes(&shared::TOKEN_ID),
        }
    }
}

/// Unlocks with the first token that opens a keyslot; `None` if none does and the user may be
/// asked.
pub(super) fn unlock(key: &KeyOptions, luks: &Luks, options: &UnlockOptions) -> Result<Option<Unlocked>> {
    let miss = match luks.header() {
        Header::Luks2 { metadata, .. } => match (Search { key, luks, metadata, options }).run()? {
            Ok(unlocked) => return Ok(Some(unlocked)),
            Err(miss) => miss,
        },
        // LUKS1 has no tokens, so nothing is said about them.
        Header::Luks1(_) if !key.tokens.only => return Ok(None),
        Header::Luks1(_) => Miss::Unusable,
    };
    if key.tokens.only {
        return Err(miss.failure(&key.tokens));
    }
    // With -v, in commands that have token options.
    if let Some(line) = miss.line(&key.tokens).filter(|_| key.tokens.are_offered) {
        output::verbose(key.manner, &line)?;
    }
    Ok(None)
}

/// Why no token opened a keyslot. Later variants are the more useful to report.
enum Miss {
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

    /// What cryptsetup says with `-v`.
    fn line(&self, tokens: &TokenOptions) -> Option<String> {
        let (token, kind) = (tokens.number, tokens.kind.as_deref());
        let which = match (token, kind) {
            (Some(token), _) => token.to_string(),
            (None, Some(kind)) => format!("(type {kind})"),
            (None, None) => String::new(),
        };
        match (self, kind) {
            (Self::Unusable, Some(kind)) => Some(format!("No usable token (type {kind}) is available.")),
            (Self::Unusable, None) => Some("No usable token is available.".to_owned()),
            (Self::Wrong, _) if !which.is_empty() => {
                Some(format!("Token {which} cannot unlock assigned keyslot(s) (wrong keyslot passphrase)."))
            }
            (Self::Wrong | Self::Trouble(_), _) => None,
        }
    }

    /// The failure for commands that may use tokens only.
    fn failure(&self, tokens: &TokenOptions) -> Failure {
        match self {
            Self::Unusable => Failure::new(Exit::Parameters, self.line(tokens).unwrap_or_default()),
            Self::Wrong => {
                let usual = "No token opens a keyslot: the keys that they name are not in the keyring, or are others.";
                let line = self.line(tokens).unwrap_or_else(|| usual.to_owned());
                Failure::new(Exit::Permission, line).because(Cause::WrongKey)
            }
            Self::Trouble(error) => explain::plain(error),
        }
    }
}

type Found = std::result::Result<Unlocked, Miss>;

struct Search<'a> {
    key: &'a KeyOptions,
    luks: &'a Luks,
    metadata: &'a Metadata,
    options: &'a UnlockOptions,
}

impl Search<'_> {
    fn run(&self) -> Result<Found> {
        self.luks.check_requirements()?;
        let choice = self.choice();
        let (mut miss, mut keys) = (Miss::Unusable, BTreeMap::new());
        for (number, token) in choice.tokens(self.metadata) {
            match self.passphrase(number, token)? {
                Ok(passphrase) => drop(keys.insert(number, passphrase)),
                Err(why) => miss = miss.worse(why),
            }
        }
        let tokens: Vec<u32> = keys.keys().copied().collect();
        for (number, keyslot) in choice.attempts(self.metadata, &tokens) {
            output::debug(self.key.manner, &format!("Token {number} is tried on keyslot {keyslot}."))?;
            match self.open(keyslot, &keys[&number])? {
                Ok(unlocked) => return Ok(Ok(unlocked)),
                Err(why) => miss = miss.worse(why),
            }
        }
        Ok(Err(miss))
    }

    fn choice(&self) -> TokenChoice {
        TokenChoice {
            number: self.key.tokens.number,
            kind: self.key.tokens.kind.clone(),
            keyslot: self.options.keyslot,
        }
    }

    /// The passphrase that the token leads to.
    fn passphrase(&self, number: u32, token: &Token) -> Result<std::result::Result<Secret, Miss>> {
        if token.kind != Token::KEYRING {
            // In addition to cryptsetup's message on standard output, which scripts read.
            if self.key.manner.verbose {
                say!("Token {number} is passed over: type {} is not known here.", printable(&token.kind));
            }
            return Ok(Err(Miss::Unusable));
        }
        let Some(description) = token.key_description.as_deref().filter(|text| !text.is_empty()) else {
            output::debug(self.key.manner, &format!("Token {number} names no key."))?;
            return Ok(Err(Miss::Unusable));
        };
        // cryptsetup 2.6 would open another keyslot than the requested one.
        if self.options.keyslot.is_some_and(|wanted| !token.keyslots.contains(&wanted)) {
            return Ok(Err(Miss::Wrong));
        }
        let error = match Key::find(Kind::User, description).and_then(Key::read) {
            Ok(passphrase) => return Ok(Ok(passphrase)),
            Err(error) => error,
        };
        output::debug(self.key.manner, &format!("Token {number}: {error}."))?;
        Ok(Err(match error {
            keyway_attach::Error::Unavailable(_) => Miss::Unusable,
            _ => Miss::Wrong,
        }))
    }

    fn open(&self, keyslot: u32, passphrase: &Secret) -> Result<Found> {
        let _turn = argon2_lock::turn(self.key)?;
        let options = UnlockOptions { keyslot: Some(keyslot), ..self.options.clone() };
        match keyway_volume::unlock(self.luks, passphrase, &options) {
            Ok(unlocked) => Ok(Ok(unlocked)),
            Err(Error::WrongPassphrase) => Ok(Err(Miss::Wrong)),
            Err(Error::NoUsableKeyslot) => Ok(Err(Miss::Unusable)),
            Err(error) => {
                output::debug(self.key.manner, &format!("Keyslot {keyslot}: {error}."))?;
                Ok(Err(Miss::Trouble(error)))
            }
        }
    }
}
