//! LUKS2 tokens: what leads to a passphrase without asking anybody. They are tried
//! first, in cryptsetup's order and with its words.
//!
//! A token of type "luks2-keyring" names a key of type "user" in the kernel's keyring,
//! which is searched for as request_key(2) does it: in the thread's, the process's and
//! the session's keyring, to which the user's is linked. Tokens of other types are
//! passed over. Their order, and that of their keyslots, is [`TokenChoice`]'s.
//! (cryptsetup: cryptsetup-open(8), lib/luks2/luks2_token.c.)

use crate::door::{Args, shared};
use crate::say::failure::{Exit, Failure, Result};
use crate::say::paint::printable;
use crate::say::{explain, output};
use crate::unlock::argon2_lock;
use keyway_attach::dm::keyring::{Key, Kind};
use keyway_crypto::Secret;
use keyway_format::luks2::{Metadata, Token};
use keyway_volume::{Error, Header, Luks, TokenChoice, UnlockOptions, Unlocked};
use std::collections::BTreeMap;

/// Opens by the first token that opens a keyslot; `None` when none does and somebody may be asked.
pub(crate) fn unlock(args: &Args, luks: &Luks, options: &UnlockOptions) -> Result<Option<Unlocked>> {
    let miss = match luks.header() {
        Header::Luks2 { metadata, .. } => match (Search { args, luks, metadata, options }).run()? {
            Ok(unlocked) => return Ok(Some(unlocked)),
            Err(miss) => miss,
        },
        // Nothing is said of what LUKS1 cannot have.
        Header::Luks1(_) if !args.given(&shared::TOKEN_ONLY) => return Ok(None),
        Header::Luks1(_) => Miss::Unusable,
    };
    if args.given(&shared::TOKEN_ONLY) {
        return Err(miss.failure(args));
    }
    if let Some(line) = miss.line(args) {
        say(args, &line)?;
    }
    Ok(None)
}

/// With `-v`, by the commands that can be told about tokens.
fn say(args: &Args, line: &str) -> Result<()> {
    if args.takes(&shared::TOKEN_ID) { output::verbose(args.manner(), line) } else { Ok(()) }
}

/// Why no token opened anything; what comes later is worth more to know.
enum Miss {
    /// There is none that could.
    Unusable,
    /// The passphrase is not there, or opens nothing.
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
    fn line(&self, args: &Args) -> Option<String> {
        let (token, kind) = (args.number(&shared::TOKEN_ID), args.text(&shared::TOKEN_TYPE));
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

    /// For those who want nothing but tokens.
    fn failure(&self, args: &Args) -> Failure {
        match self {
            Self::Unusable => Failure::new(Exit::Parameters, self.line(args).unwrap_or_default()),
            Self::Wrong => {
                let usual = "No token opens a keyslot: the keys that they name are not in the keyring, or are others.";
                Failure::new(Exit::Permission, self.line(args).unwrap_or_else(|| usual.to_owned()))
            }
            Self::Trouble(error) => explain::plain(error),
        }
    }
}

type Found = std::result::Result<Unlocked, Miss>;

struct Search<'a> {
    args: &'a Args,
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
            output::debug(self.args.manner(), &format!("Token {number} is tried on keyslot {keyslot}."))?;
            match self.open(keyslot, &keys[&number])? {
                Ok(unlocked) => return Ok(Ok(unlocked)),
                Err(why) => miss = miss.worse(why),
            }
        }
        Ok(Err(miss))
    }

    fn choice(&self) -> TokenChoice {
        TokenChoice {
            number: self.args.number32(&shared::TOKEN_ID),
            kind: self.args.text(&shared::TOKEN_TYPE).map(str::to_owned),
            keyslot: self.options.keyslot,
        }
    }

    /// What the token leads to.
    fn passphrase(&self, number: u32, token: &Token) -> Result<std::result::Result<Secret, Miss>> {
        if token.kind != Token::KEYRING {
            // Beside cryptsetup's words on standard output, which scripts read.
            if self.args.manner().verbose {
                say!("Token {number} is passed over: type {} is not known here.", printable(&token.kind));
            }
            return Ok(Err(Miss::Unusable));
        }
        let Some(description) = token.key_description.as_deref().filter(|text| !text.is_empty()) else {
            output::debug(self.args.manner(), &format!("Token {number} names no key."))?;
            return Ok(Err(Miss::Unusable));
        };
        // cryptsetup 2.6 would open another keyslot than the one that is asked for.
        if self.options.keyslot.is_some_and(|wanted| !token.keyslots.contains(&wanted)) {
            return Ok(Err(Miss::Wrong));
        }
        let error = match Key::find(Kind::User, description).and_then(Key::read) {
            Ok(passphrase) => return Ok(Ok(passphrase)),
            Err(error) => error,
        };
        output::debug(self.args.manner(), &format!("Token {number}: {error}."))?;
        Ok(Err(match error {
            keyway_attach::Error::Unavailable(_) => Miss::Unusable,
            _ => Miss::Wrong,
        }))
    }

    fn open(&self, keyslot: u32, passphrase: &Secret) -> Result<Found> {
        let _turn = argon2_lock::turn(self.args)?;
        let options = UnlockOptions { keyslot: Some(keyslot), ..self.options.clone() };
        match keyway_volume::unlock(self.luks, passphrase, &options) {
            Ok(unlocked) => Ok(Ok(unlocked)),
            Err(Error::WrongPassphrase) => Ok(Err(Miss::Wrong)),
            Err(Error::NoUsableKeyslot) => Ok(Err(Miss::Unusable)),
            Err(error) => {
                output::debug(self.args.manner(), &format!("Keyslot {keyslot}: {error}."))?;
                Ok(Err(Miss::Trouble(error)))
            }
        }
    }
}
