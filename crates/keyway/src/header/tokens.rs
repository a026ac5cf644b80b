//! A header's tokens (LUKS2), which lead to a passphrase without asking the user.

use super::Header;
use crate::Result;
use crate::error::At;
use crate::token::{self, Keyring};
use keyway_format::json::{self, Value};
use keyway_format::luks2::Metadata;
use keyway_volume::OsRandom;
use keyway_volume::change::edit;

/// A token that is stored in a header. See [`Header::tokens`] for an example.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoredToken {
    /// Its number.
    pub number: u32,
    /// Its type, such as "luks2-keyring" or "systemd-tpm2".
    pub kind: String,
    /// The keyslots that its passphrase opens.
    pub keyslots: Vec<u32>,
    /// What else is known of it, as pairs of a label and a text: "Key description", "backup".
    pub details: Vec<(&'static str, String)>,
}

impl StoredToken {
    pub(crate) fn of(metadata: &Metadata) -> Vec<Self> {
        let stored = metadata.tokens.iter().map(|(&number, token)| Self {
            number,
            kind: token.kind.clone(),
            keyslots: token.keyslots.clone(),
            details: token::details(&token.members),
        });
        stored.collect()
    }
}

/// Where a new token goes. See [`Header::add_keyring_token`] for an example.
#[derive(Debug, Clone, Default)]
pub struct NewToken {
    number: Option<u32>,
    replace: bool,
    keyslots: Vec<u32>,
}

impl NewToken {
    /// The first free number, assigned to no keyslot. See [`Header::add_keyring_token`] for an
    /// example.
    pub fn new() -> Self {
        Self::default()
    }

    /// Its number. See [`Header::import_token`] for an example.
    #[must_use]
    pub fn number(mut self, number: u32) -> Self {
        self.number = Some(number);
        self
    }

    /// Replaces the token that has this number. See [`Header::import_token`] for an example.
    #[must_use]
    pub fn replace(mut self) -> Self {
        self.replace = true;
        self
    }

    /// A keyslot that its passphrase opens; may be called for several. See
    /// [`Header::add_keyring_token`] for an example.
    #[must_use]
    pub fn keyslot(mut self, number: u32) -> Self {
        self.keyslots.push(number);
        self
    }
}

impl Header {
    /// Its tokens, in the order of their numbers.
    ///
    /// ```
    /// # use keyway::*;
    /// # let key = Key::passphrase("correct horse");
    /// # let device = Create::luks2().kdf(NewKdf::pbkdf2(1000)).in_memory(1 << 20, &key)?;
    /// for token in device.header()?.tokens() {
    ///     println!("{}: {}, for keyslots {:?}", token.number, token.kind, token.keyslots);
    /// }
    /// # Ok::<(), keyway::Error>(())
    /// ```
    pub fn tokens(&self) -> Vec<StoredToken> {
        let keyway_volume::Header::Luks2 { metadata, .. } = self.luks.header() else { return Vec::new() };
        StoredToken::of(metadata)
    }

    /// Adds a token of type "luks2-keyring", which names a key in the kernel's keyring, and returns
    /// its number.
    ///
    /// ```
    /// # use keyway::*;
    /// # let key = Key::passphrase("correct horse");
    /// # let device = Create::luks2().kdf(NewKdf::pbkdf2(1000)).in_memory(1 << 20, &key)?;
    /// let mut header = device.header()?;
    /// let number = header.add_keyring_token("backup", &NewToken::new().keyslot(0))?;
    /// let tokens = header.tokens();
    /// assert_eq!((tokens[0].number, &*tokens[0].kind), (number, "luks2-keyring"));
    /// assert_eq!(tokens[0].keyslots, [0]);
    /// # Ok::<(), keyway::Error>(())
    /// ```
    ///
    /// # Errors
    /// The number is taken or impossible, there is no such keyslot, or the header is LUKS1;
    /// [`ErrorKind::ReadOnly`](crate::ErrorKind::ReadOnly).
    pub fn add_keyring_token(&mut self, description: &str, options: &NewToken) -> Result<u32> {
        let token = Value::from(Keyring::token(description));
        self.import_token(token.to_compact(), options)
    }

    /// Adds a token of any type, from its JSON, and returns its number. Keyslots that `options`
    /// name are added to those in the JSON. What json-c takes besides JSON is taken, since programs
    /// write tokens for cryptsetup: of members of one name the last counts, a comma may precede a closing
    /// bracket, text behind the object is ignored. JSON is what the header then holds.
    ///
    /// ```
    /// # use keyway::*;
    /// # let key = Key::passphrase("correct horse");
    /// # let device = Create::luks2().kdf(NewKdf::pbkdf2(1000)).in_memory(1 << 20, &key)?;
    /// let mut header = device.header()?;
    /// let json = r#"{"type":"example","keyslots":[]}"#;
    /// let number = header.import_token(json, &NewToken::new().number(3).keyslot(0))?;
    /// assert_eq!(header.export_token(number)?, r#"{"type":"example","keyslots":["0"]}"#);
    ///
    /// assert!(header.import_token(json, &NewToken::new().number(3)).is_err());
    /// header.import_token(json, &NewToken::new().number(3).replace())?;
    /// header.assign_token(3, 0)?;
    /// header.unassign_token(3, 0)?;
    /// header.remove_token(3)?;
    /// assert!(header.tokens().is_empty());
    /// # Ok::<(), keyway::Error>(())
    /// ```
    ///
    /// # Errors
    /// It is no token's JSON, and those of [`Header::add_keyring_token`].
    pub fn import_token(&mut self, json: impl AsRef<[u8]>, options: &NewToken) -> Result<u32> {
        self.check_writable()?;
        let (NewToken { number, replace, keyslots }, json) = (options, json.as_ref());
        let number = edit::token_number(&self.luks, *number, *replace).at(&self.place)?;
        if let Ok(Value::Object(token)) = json::parse_as_json_c(json) {
            token::check(&token).map_err(|wrong| wrong.in_token(number)).at(&self.place)?;
        }
        edit::token_import(&mut self.luks, Some(number), json, keyslots, *replace, &mut OsRandom)
            .at(&self.place)
    }

    /// A token's JSON, as [`Header::import_token`] takes it; see there for an example.
    ///
    /// # Errors
    /// There is no such token.
    pub fn export_token(&self, number: u32) -> Result<String> {
        edit::token_export(&self.luks, number).at(&self.place)
    }

    /// Removes a token. See [`Header::import_token`] for an example.
    ///
    /// # Errors
    /// There is no such token; [`ErrorKind::ReadOnly`](crate::ErrorKind::ReadOnly).
    pub fn remove_token(&mut self, number: u32) -> Result<()> {
        self.check_writable()?;
        edit::token_remove(&mut self.luks, number, &mut OsRandom).at(&self.place)
    }

    /// Notes that a token's passphrase opens a keyslot. See [`Header::import_token`] for an
    /// example.
    ///
    /// # Errors
    /// There is no such token or keyslot; [`ErrorKind::ReadOnly`](crate::ErrorKind::ReadOnly).
    pub fn assign_token(&mut self, number: u32, keyslot: u32) -> Result<()> {
        self.check_writable()?;
        edit::token_assign(&mut self.luks, number, keyslot, &mut OsRandom).at(&self.place)
    }

    /// Detaches a token from a keyslot. See [`Header::import_token`] for an example.
    ///
    /// # Errors
    /// There is no such token or keyslot, or the one is not assigned to the other;
    /// [`ErrorKind::ReadOnly`](crate::ErrorKind::ReadOnly).
    pub fn unassign_token(&mut self, number: u32, keyslot: u32) -> Result<()> {
        self.check_writable()?;
        edit::token_unassign(&mut self.luks, number, keyslot, &mut OsRandom).at(&self.place)
    }
}
