//! Asks a header's tokens for a passphrase.

use super::table::{self, TYPES};
use crate::{Error, ErrorKind, Header, Result};
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

/// What is told of tokens while they are asked (features `keyring` and `parts`).
#[cfg_attr(
    not(all(feature = "keyring", feature = "parts")),
    expect(unreachable_pub, reason = "public with the features `keyring` and `parts`")
)]
pub trait Watch {
    /// A token is passed over: its type is not known here.
    fn unknown(&mut self, _number: u32, _kind: &str) {}

    /// A token is passed over: it is not as its type has it.
    fn malformed(&mut self, _number: u32, _why: Error) {}

    /// A token leads to no passphrase.
    fn missed(&mut self, _number: u32, _why: Error) {}

    /// Tries a token's passphrase on the keyslot that `options` name.
    ///
    /// # Errors
    /// Those of [`keyway_volume::unlock`].
    fn open(
        &mut self,
        luks: &Luks,
        _number: u32,
        passphrase: &Secret,
        options: &UnlockOptions,
    ) -> keyway_volume::Result<Unlocked> {
        keyway_volume::unlock(luks, passphrase, options)
    }
}

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

    /// The types that can be asked.
    ///
    /// ```
    /// assert_eq!(keyway::Token::types().collect::<Vec<_>>(), ["luks2-keyring"]);
    /// ```
    pub fn types() -> impl Iterator<Item = &'static str> {
        TYPES.iter().map(|it| it.name())
    }

    /// Unlocks with the first token that opens a keyslot, and returns its passphrase too.
    ///
    /// # Errors
    /// The most useful of the reasons why none does.
    pub(crate) fn search(
        &self,
        luks: &Luks,
        options: &UnlockOptions,
        watch: &mut dyn Watch,
    ) -> Result<(Unlocked, Secret), Miss> {
        let choice = TokenChoice { keyslot: options.keyslot, ..self.0.clone() };
        let mut asking = Asking { watch, passphrase: None };
        let unlocked = unlock_by_token(luks, &choice, options, &mut asking)?;
        let passphrase = asking.passphrase.expect("a keyslot was opened by a passphrase");
        Ok((unlocked, passphrase))
    }

    pub(crate) fn unlock(&self, luks: &Luks, options: &UnlockOptions) -> Result<Unlocked> {
        if luks.version() == 1 {
            return Err(Error::unsupported("tokens, in LUKS1"));
        }
        let mut seen = Seen::default();
        self.search(luks, options, &mut seen).map(|(unlocked, _)| unlocked).map_err(|miss| {
            match (miss, seen.trouble) {
                (Miss::Trouble(error), _) => error.into(),
                (_, Some(trouble)) => trouble,
                (Miss::Wrong, None) if seen.tried => Error::new(ErrorKind::WrongPassphrase),
                (Miss::Wrong | Miss::Unusable, None) => Error::new(ErrorKind::NotFound),
            }
        })
    }
}

impl Header {
    /// The passphrase that a token leads to (feature `keyring`).
    ///
    /// ```no_run
    /// # use keyway::*;
    /// let header = Device::open("disk.luks")?.header()?;
    /// let key = Key::Passphrase(header.token_passphrase(3)?);
    /// # drop(key);
    /// # Ok::<(), keyway::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Refused`]: there is no token of that number, or its type cannot be asked; those of
    /// the place where the passphrase should be.
    pub fn token_passphrase(&self, number: u32) -> Result<Secret> {
        let stored = match self.luks.header() {
            keyway_volume::Header::Luks2 { metadata, .. } => metadata.tokens.get(&number),
            keyway_volume::Header::Luks1(_) => return Err(Error::unsupported("tokens, in LUKS1")),
        };
        let token = stored.and_then(|token| Some((table::find(&token.kind)?, &token.members)));
        match token.filter(|(kind, members)| kind.check(members).is_ok()) {
            Some((kind, members)) => kind.passphrase(members),
            None => Err(Error::refused(format!("Token {number} cannot be asked."))),
        }
    }
}

/// The tokens of the types that are known, and the passphrase that opened a keyslot.
struct Asking<'a> {
    watch: &'a mut dyn Watch,
    passphrase: Option<Secret>,
}

impl Passphrases for Asking<'_> {
    fn knows(&mut self, number: u32, token: &luks2::Token) -> bool {
        let Some(kind) = table::find(&token.kind) else {
            self.watch.unknown(number, &token.kind);
            return false;
        };
        match kind.check(&token.members) {
            Ok(()) => true,
            Err(wrong) => {
                self.watch.malformed(number, wrong.in_token(number).into());
                false
            }
        }
    }

    fn passphrase(&mut self, number: u32, token: &luks2::Token) -> Result<Secret, Miss> {
        let kind = table::find(&token.kind).ok_or(Miss::Unusable)?;
        kind.passphrase(&token.members).map_err(|why| {
            let miss = match why.kind() {
                ErrorKind::Unsupported { .. } => Miss::Unusable,
                _ => Miss::Wrong,
            };
            self.watch.missed(number, why);
            miss
        })
    }

    fn open(
        &mut self,
        luks: &Luks,
        number: u32,
        passphrase: &Secret,
        options: &UnlockOptions,
    ) -> keyway_volume::Result<Unlocked> {
        let unlocked = self.watch.open(luks, number, passphrase, options)?;
        self.passphrase = Some(Secret::copy_from(passphrase.expose()));
        Ok(unlocked)
    }
}

/// What decides on the error.
#[derive(Default)]
struct Seen {
    tried: bool,
    trouble: Option<Error>,
}

impl Watch for Seen {
    fn missed(&mut self, _: u32, why: Error) {
        if *why.kind() != ErrorKind::NotFound {
            self.trouble = Some(why);
        }
    }

    fn open(
        &mut self,
        luks: &Luks,
        _: u32,
        passphrase: &Secret,
        options: &UnlockOptions,
    ) -> keyway_volume::Result<Unlocked> {
        self.tried = true;
        keyway_volume::unlock(luks, passphrase, options)
    }
}
