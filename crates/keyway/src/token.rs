//! Tokens of a LUKS2 header, which lead to a passphrase without a prompt.

use crate::{Error, ErrorKind, Result};
use keyway_attach::dm::keyring::{Key, Kind};
use keyway_crypto::Secret;
use keyway_format::luks2;
use keyway_volume::{Header, Luks, TokenChoice, UnlockOptions, Unlocked};
use std::collections::BTreeMap;

/// The tokens of a LUKS2 header to open it with (feature `keyring`): those of type "luks2-keyring",
/// each of which names a key of type "user" in the kernel's keyring. They are tried in cryptsetup's
/// order, on the keyslots that they are assigned to.
///
/// ```no_run
/// # use keyway::*;
/// let device = Device::open("disk.luks")?;
/// let volume = match device.unlock(&Key::Token(Token::any())) {
///     Err(error) if *error.kind() == ErrorKind::NotFound => device.unlock(&Key::key_file("disk.key"))?,
///     result => result?,
/// };
/// # let _ = (volume, Token::number(3));
/// # Ok::<(), keyway::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Token(TokenChoice);

impl Token {
    /// Any token. See [`Token`] for an example.
    pub fn any() -> Self {
        Self::default()
    }

    /// This token only, which also opens keyslots of priority "ignore". See [`Token`] for an
    /// example.
    pub fn number(number: u32) -> Self {
        Self(TokenChoice { number: Some(number), ..TokenChoice::default() })
    }

    pub(crate) fn unlock(&self, luks: &Luks, options: &UnlockOptions) -> Result<Unlocked> {
        let Header::Luks2 { metadata, .. } = luks.header() else {
            return Err(Error::unsupported("tokens, in LUKS1"));
        };
        luks.check_requirements()?;
        let choice = TokenChoice { keyslot: options.keyslot, ..self.0.clone() };
        let mut passphrases = BTreeMap::new();
        for (number, token) in choice.tokens(metadata) {
            if let Some(passphrase) = passphrase(token)? {
                passphrases.insert(number, passphrase);
            }
        }
        let mut trouble = Error::new(ErrorKind::NotFound);
        let tokens: Vec<u32> = passphrases.keys().copied().collect();
        for (number, keyslot) in choice.attempts(metadata, &tokens) {
            let options = UnlockOptions { keyslot: Some(keyslot), ..options.clone() };
            match keyway_volume::unlock(luks, &passphrases[&number], &options) {
                Ok(unlocked) => return Ok(unlocked),
                Err(error) => trouble = error.into(),
            }
        }
        Err(trouble)
    }
}

/// The passphrase that the token leads to; `None` where its key is not in the keyring, or where the
/// token's type is not supported.
fn passphrase(token: &luks2::Token) -> Result<Option<Secret>> {
    let description = token.key_description.as_deref().filter(|text| !text.is_empty());
    let Some(description) = description.filter(|_| token.kind == luks2::Token::KEYRING) else {
        return Ok(None);
    };
    match Key::find(Kind::User, description).and_then(Key::read) {
        Ok(passphrase) => Ok(Some(passphrase)),
        Err(keyway_attach::Error::NotFound(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
