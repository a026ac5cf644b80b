//! LUKS2 tokens, which lead to a passphrase without asking the user. They are tried first, in
//! cryptsetup's order and with its messages.
//!
//! The library knows the types of tokens, and the order in which they are tried; tokens of other types
//! are passed over. (cryptsetup: cryptsetup-open(8), lib/luks2/luks2_token.c.)

use crate::args::{Args, shared};
use crate::device::explain;
use crate::output::failure::{Cause, Exit, Failure, Result};
use crate::output::paint::printable;
use crate::output::stdio;
use crate::process::encoding::encoded;
use crate::unlock::{KeyOptions, keyring};
use keyway::parts::{Luks, Miss, UnlockOptions, Unlocked};
use keyway::{ErrorKind, Header, Token, Version, Watch};
use keyway_crypto::Secret;

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

    fn selected(&self) -> Token {
        let by_kind = || self.kind.as_deref().map_or_else(Token::any, Token::kind);
        self.number.map_or_else(by_kind, Token::number)
    }
}

/// Unlocks with the first token that opens a keyslot; `None` if none does and the user may be
/// asked.
pub(super) fn unlock(key: &KeyOptions, luks: &Luks, options: &UnlockOptions) -> Result<Option<Unlocked>> {
    // LUKS1 has no tokens, so nothing is said about them.
    if luks.version() == 1 && !key.tokens.only {
        return Ok(None);
    }
    let miss = match search(key, luks, options) {
        Ok((unlocked, _)) => return Ok(Some(unlocked)),
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
    let found = search(key, luks, options).map_err(|miss| failure(luks, &miss, &key.tokens))?;
    Ok(found.0)
}

/// As [`unlock`], with the passphrase: for commands that seal another keyslot with it.
pub(crate) fn unlock_keeping_passphrase(
    key: &KeyOptions,
    luks: &Luks,
    options: &UnlockOptions,
) -> Result<Option<(Unlocked, Secret)>> {
    let miss = match search(key, luks, options) {
        Ok(found) => return Ok(Some(found)),
        Err(miss) => miss,
    };
    if key.tokens.only {
        return Err(failure(luks, &miss, &key.tokens));
    }
    line(&miss, &key.tokens).map_or(Ok(()), |line| stdio::verbose(key.manner, &line))?;
    Ok(None)
}

fn search(
    key: &KeyOptions,
    luks: &Luks,
    options: &UnlockOptions,
) -> std::result::Result<(Unlocked, Secret), Miss> {
    key.tokens.selected().find_in(luks, options, &mut Told { key })
}

/// The passphrase that token `number` leads to.
pub(crate) fn passphrase_of(header: &Header, number: u32) -> Result<Secret> {
    if header.version() == Version::Luks1 {
        return Err(Failure::new(Exit::Parameters, UNUSABLE).hinting(NONE_IN_LUKS1));
    }
    header.token_passphrase(number).map_err(|error| match error.kind() {
        ErrorKind::Refused { .. } => {
            let types = Token::types().collect::<Vec<_>>().join(", ");
            let line = format!("No usable token is available: token {number} is not of type {types}.");
            Failure::new(Exit::Parameters, line)
        }
        _ => Failure::new(Exit::Parameters, keyring::unreadable(&error)),
    })
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
            let usual = "No token opens a keyslot: the keys that the tokens name are missing from the \
                         keyring, or wrong.";
            let line = line(miss, tokens).unwrap_or_else(|| usual.to_owned());
            Failure::new(Exit::Permission, line).because(Cause::WrongKey)
        }
        Miss::Trouble(error) => explain::plain(error),
    }
}

const UNUSABLE: &str = "No usable token is available.";
const NONE_IN_LUKS1: &str = "The header is LUKS1, which has no tokens.";

/// Says what becomes of each token, with `-v` and `--debug`.
struct Told<'a> {
    key: &'a KeyOptions,
}

impl Told<'_> {
    fn debug(&self, line: &str) {
        // If this cannot be written, neither can what follows, which ends the command.
        let _ = stdio::debug(self.key.manner, line);
    }
}

impl Watch for Told<'_> {
    fn unknown(&mut self, number: u32, kind: &str) {
        // In addition to cryptsetup's message on standard output, which scripts read.
        if self.key.manner.verbose {
            say!("Token {number} is skipped: type {} is not supported.", printable(kind));
        }
    }

    fn malformed(&mut self, _: u32, why: keyway::Error) {
        self.debug(&format!("{why}."));
    }

    fn missed(&mut self, number: u32, why: keyway::Error) {
        self.debug(&format!("Token {number}: {why}."));
    }

    fn open(
        &mut self,
        luks: &Luks,
        number: u32,
        passphrase: &Secret,
        options: &UnlockOptions,
    ) -> std::result::Result<Unlocked, keyway::parts::Error> {
        let keyslot = options.keyslot.unwrap_or_default();
        self.debug(&format!("Trying token {number} on keyslot {keyslot}."));
        let turn = self.key.turn();
        let result = keyway::parts::unlock(luks, passphrase, options);
        drop(turn);
        if let Err(error) = &result {
            self.debug(&format!("Keyslot {keyslot}: {error}."));
        }
        result
    }
}
