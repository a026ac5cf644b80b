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
use crate::output::failure::{Cause, Exit, Failure, Result};
use crate::output::paint::printable;
use crate::output::stdio;
use crate::process::encoding::encoded;
use crate::unlock::{KeyOptions, keyring};
use keyway_attach::dm::keyring::{Key, Kind};
use keyway_crypto::Secret;
use keyway_format::luks2::Token;
use keyway_volume::keyslot::tokens::{Miss, Passphrases, unlock_by_token};
use keyway_volume::{Header, Luks, TokenChoice, UnlockOptions, Unlocked};

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

encoded!(TokenOptions { number, kind, only, are_offered });

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
    // LUKS1 has no tokens, so nothing is said about them.
    if luks.version() == 1 && !key.tokens.only {
        return Ok(None);
    }
    let miss = match try_all(key, luks, options) {
        Ok(unlocked) => return Ok(Some(unlocked)),
        Err(miss) => miss,
    };
    if key.tokens.only {
        return Err(failure(luks, &miss, &key.tokens));
    }
    // With -v, in commands that have token options.
    if let Some(line) = line(&miss, &key.tokens).filter(|_| key.tokens.are_offered) {
        stdio::verbose(key.manner, &line)?;
    }
    Ok(None)
}

/// Unlocks with a token, and with nothing else.
pub(crate) fn unlock_only(key: &KeyOptions, luks: &Luks, options: &UnlockOptions) -> Result<Unlocked> {
    try_all(key, luks, options).map_err(|miss| failure(luks, &miss, &key.tokens))
}

/// As [`unlock`], with the passphrase: for commands that seal another keyslot with it.
pub(crate) fn unlock_keeping_passphrase(
    key: &KeyOptions,
    luks: &Luks,
    options: &UnlockOptions,
) -> Result<Option<(Unlocked, Secret)>> {
    let mut keeping = Keeping { keyring: Keyring { key }, kept: None };
    let miss = match unlock_by_token(luks, &choice(key, options), options, &mut keeping) {
        Ok(unlocked) => return Ok(keeping.kept.map(|passphrase| (unlocked, passphrase))),
        Err(miss) => miss,
    };
    if key.tokens.only {
        return Err(failure(luks, &miss, &key.tokens));
    }
    line(&miss, &key.tokens).map_or(Ok(()), |line| stdio::verbose(key.manner, &line))?;
    Ok(None)
}

fn choice(key: &KeyOptions, options: &UnlockOptions) -> TokenChoice {
    let (number, kind) = (key.tokens.number, key.tokens.kind.clone());
    TokenChoice { number, kind, keyslot: options.keyslot }
}

fn try_all(key: &KeyOptions, luks: &Luks, options: &UnlockOptions) -> std::result::Result<Unlocked, Miss> {
    unlock_by_token(luks, &choice(key, options), options, &mut Keyring { key })
}

/// The passphrase that token `number` leads to.
pub(crate) fn passphrase_of(luks: &Luks, number: u32) -> Result<Secret> {
    let token = match luks.header() {
        Header::Luks2 { metadata, .. } => metadata.tokens.get(&number),
        Header::Luks1(_) => {
            return Err(Failure::new(Exit::Parameters, UNUSABLE).hinting(NONE_IN_LUKS1));
        }
    };
    let named = token.filter(|token| token.kind == Token::KEYRING);
    let Some(description) = named.and_then(|token| token.key_description.as_deref()) else {
        let line = format!("No usable token is available: {number} is none of type {}.", Token::KEYRING);
        return Err(Failure::new(Exit::Parameters, line));
    };
    keyring::passphrase(description)
}

/// What cryptsetup says with `-v`.
fn line(miss: &Miss, tokens: &TokenOptions) -> Option<String> {
    let (token, kind) = (tokens.number, tokens.kind.as_deref());
    let which = match (token, kind) {
        (Some(token), _) => token.to_string(),
        (None, Some(kind)) => format!("(type {kind})"),
        (None, None) => String::new(),
    };
    match (miss, kind) {
        (Miss::Unusable, Some(kind)) => Some(format!("No usable token (type {kind}) is available.")),
        (Miss::Unusable, None) => Some(UNUSABLE.to_owned()),
        (Miss::Wrong, _) if !which.is_empty() => {
            Some(format!("Token {which} cannot unlock assigned keyslot(s) (wrong keyslot passphrase)."))
        }
        (Miss::Wrong | Miss::Trouble(_), _) => None,
    }
}

/// The failure for commands that may use tokens only.
fn failure(luks: &Luks, miss: &Miss, tokens: &TokenOptions) -> Failure {
    match miss {
        Miss::Unusable if luks.version() == 1 => {
            let line = line(miss, tokens).unwrap_or_default();
            Failure::new(Exit::Parameters, line).hinting(NONE_IN_LUKS1)
        }
        Miss::Unusable => Failure::new(Exit::Parameters, line(miss, tokens).unwrap_or_default()),
        Miss::Wrong => {
            let usual = "No token opens a keyslot: the keys that they name are missing from the keyring, or are wrong.";
            let line = line(miss, tokens).unwrap_or_else(|| usual.to_owned());
            Failure::new(Exit::Permission, line).because(Cause::WrongKey)
        }
        Miss::Trouble(error) => explain::plain(error),
    }
}

const UNUSABLE: &str = "No usable token is available.";
const NONE_IN_LUKS1: &str = "The header is LUKS1, which has no tokens.";

/// The kernel's keyring, with what is said of each token with `-v` and `--debug`.
struct Keyring<'a> {
    key: &'a KeyOptions,
}

impl Keyring<'_> {
    fn debug(&self, line: &str) {
        // If this cannot be written, neither can what follows, which ends the command.
        let _ = stdio::debug(self.key.manner, line);
    }
}

impl Passphrases for Keyring<'_> {
    fn knows(&mut self, number: u32, token: &Token) -> bool {
        if token.kind != Token::KEYRING {
            // In addition to cryptsetup's message on standard output, which scripts read.
            if self.key.manner.verbose {
                say!("Token {number} is skipped: type {} is not supported.", printable(&token.kind));
            }
            return false;
        }
        let names_a_key = token.key_description.as_deref().is_some_and(|text| !text.is_empty());
        if !names_a_key {
            self.debug(&format!("Token {number} names no key."));
        }
        names_a_key
    }

    fn passphrase(&mut self, number: u32, token: &Token) -> std::result::Result<Secret, Miss> {
        let description = token.key_description.as_deref().unwrap_or_default();
        Key::find(Kind::User, description).and_then(Key::read).map_err(|error| {
            self.debug(&format!("Token {number}: {error}."));
            match error {
                keyway_attach::Error::Unavailable(_) => Miss::Unusable,
                _ => Miss::Wrong,
            }
        })
    }

    fn open(
        &mut self,
        luks: &Luks,
        number: u32,
        passphrase: &Secret,
        options: &UnlockOptions,
    ) -> keyway_volume::Result<Unlocked> {
        let keyslot = options.keyslot.unwrap_or_default();
        self.debug(&format!("Trying token {number} on keyslot {keyslot}."));
        let turn = self.key.turn();
        let result = keyway_volume::unlock(luks, passphrase, options);
        drop(turn);
        if let Err(error) = &result {
            self.debug(&format!("Keyslot {keyslot}: {error}."));
        }
        result
    }
}

/// The keyring, with the passphrase that opened a keyslot.
struct Keeping<'a> {
    keyring: Keyring<'a>,
    kept: Option<Secret>,
}

impl Passphrases for Keeping<'_> {
    fn knows(&mut self, number: u32, token: &Token) -> bool {
        self.keyring.knows(number, token)
    }

    fn passphrase(&mut self, number: u32, token: &Token) -> std::result::Result<Secret, Miss> {
        self.keyring.passphrase(number, token)
    }

    fn open(
        &mut self,
        luks: &Luks,
        number: u32,
        passphrase: &Secret,
        options: &UnlockOptions,
    ) -> keyway_volume::Result<Unlocked> {
        let unlocked = self.keyring.open(luks, number, passphrase, options)?;
        self.kept = Some(Secret::copy_from(passphrase.expose()));
        Ok(unlocked)
    }
}
