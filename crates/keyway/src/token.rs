//! Tokens of a LUKS2 header, which lead to a passphrase without a prompt.

use crate::{Error, ErrorKind, Result};
use keyway_attach::dm::keyring::{Key, Kind};
use keyway_crypto::Secret;
use keyway_format::luks2;
use keyway_volume::keyslot::tokens::{Miss, Passphrases, unlock_by_token};
use keyway_volume::{Luks, TokenChoice, UnlockOptions, Unlocked};

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

    /// Only tokens of this type: "luks2-keyring" is the one that can be asked. See [`Token`] for an
    /// example.
    pub fn kind(kind: &str) -> Self {
        Self(TokenChoice { kind: Some(kind.to_owned()), ..TokenChoice::default() })
    }

    pub(crate) fn unlock(&self, luks: &Luks, options: &UnlockOptions) -> Result<Unlocked> {
        if luks.version() == 1 {
            return Err(Error::unsupported("tokens, in LUKS1"));
        }
        let choice = TokenChoice { keyslot: options.keyslot, ..self.0.clone() };
        let mut keyring = Keyring::default();
        unlock_by_token(luks, &choice, options, &mut keyring).map_err(|miss| match (miss, keyring.trouble) {
            (Miss::Trouble(error), _) => error.into(),
            (_, Some(trouble)) => trouble.into(),
            (Miss::Wrong, None) if keyring.found => Error::new(ErrorKind::WrongPassphrase),
            (Miss::Wrong | Miss::Unusable, None) => Error::new(ErrorKind::NotFound),
        })
    }
}

/// The kernel's keyring.
#[derive(Default)]
struct Keyring {
    found: bool,
    trouble: Option<keyway_attach::Error>,
}

impl Passphrases for Keyring {
    fn knows(&mut self, _: u32, token: &luks2::Token) -> bool {
        description(token).is_some()
    }

    fn passphrase(&mut self, _: u32, token: &luks2::Token) -> Result<Secret, Miss> {
        match Key::find(Kind::User, description(token).unwrap_or_default()).and_then(Key::read) {
            Ok(passphrase) => {
                self.found = true;
                Ok(passphrase)
            }
            Err(keyway_attach::Error::NotFound(_)) => Err(Miss::Wrong),
            Err(error) => {
                self.trouble = Some(error);
                Err(Miss::Unusable)
            }
        }
    }
}

/// The name of the key that the token leads to, for tokens of the kind that is known.
fn description(token: &luks2::Token) -> Option<&str> {
    let name = token.key_description.as_deref().filter(|text| !text.is_empty());
    name.filter(|_| token.kind == luks2::Token::KEYRING)
}
