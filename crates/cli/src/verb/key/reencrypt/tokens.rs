//! Passphrases that a token leads to (`--token-id`, `--token-type`, `--token-only`). Without one of these
//! options no token is asked, as with cryptsetup, so that a script's passphrases keep their order.
//! cryptsetup 2.6 takes the options and asks for a passphrase all the same; 2.8 drops all keyslots that these tokens
//! do not open.

use super::{Asked, What};
use crate::args::{Opt, Release, shared};
use crate::output::failure::{Exit, Failure, Result};
use crate::unlock::{self, KeyOptions, tokens};
use keyway::parts::UnlockOptions;
use keyway::{Header, Key, Version, VolumeKey};
use keyway_format::luks2::Token;

/// The options.
pub(super) static OPTIONS: &[&Opt] = &[&shared::TOKEN_ID, &shared::TOKEN_TYPE, &shared::TOKEN_ONLY];

impl Asked {
    /// What a token leads to that opens this keyslot, or any. `None` where the user is to be asked.
    pub(super) fn found_by_token(
        &self,
        header: &Header,
        keyslot: Option<u32>,
    ) -> Result<Option<(VolumeKey, Key)>> {
        if !self.by_token {
            return Ok(None);
        }
        if let Some(number) = keyslot
            && !self.leads_to(header, number)
        {
            if !self.key.tokens.only {
                return Ok(None);
            }
            let message = format!("No such token leads to keyslot {number}.");
            let way = "--key-slot names the only keyslot to keep; without it, all are kept. Nothing was \
                       written.";
            return Err(Failure::new(Exit::Parameters, message).hinting(way));
        }
        self.unlocked_by_token(&self.key, header, keyslot)
    }

    fn unlocked_by_token(
        &self,
        key: &KeyOptions,
        header: &Header,
        keyslot: Option<u32>,
    ) -> Result<Option<(VolumeKey, Key)>> {
        let options = UnlockOptions { keyslot, ..key.limits() };
        let found = tokens::unlock_keeping_passphrase(key, header.luks(), &options)?;
        let Some((unlocked, passphrase)) = found else { return Ok(None) };
        let key = Key::Passphrase(passphrase);
        let found = header.try_key_on(unlocked.keyslot, &key)?;
        unlock::note_found(self.target.manner, &found)?;
        Ok(Some((found, key)))
    }

    /// What opens the new volume where tokens were asked for and the program was called as cryptsetup, as 2.8 does it:
    /// the keyslots that these tokens open, and no other. (Keyway keeps those, and asks for their passphrases; so does
    /// the program that follows 2.6.)
    pub(super) fn by_tokens_alone(&self, header: &Header) -> Result<Option<Vec<(VolumeKey, Key)>>> {
        let drops = self.is_cryptsetup && Release::followed() != Release::V2_6;
        if !self.by_token || !drops || header.version() == Version::Luks1 {
            return Ok(None);
        }
        let bound = header.luks().bound_keyslots();
        let is_wanted = |number: &u32| self.key.keyslot.is_none_or(|wanted| wanted == *number);
        let led_to: Vec<u32> =
            bound.iter().copied().filter(|it| is_wanted(it) && self.leads_to(header, *it)).collect();
        // Nobody is asked for a passphrase then.
        let mut key = self.key.clone();
        key.tokens.only = true;
        let mut missed = Failure::new(Exit::Parameters, "No token could unlock the device.");
        let mut found = Vec::new();
        for number in led_to {
            match self.unlocked_by_token(&key, header, Some(number)) {
                Ok(one) => found.extend(one),
                Err(why) => missed = why.in_cryptsetup(Exit::Parameters),
            }
        }
        if found.is_empty() {
            return Err(missed);
        }
        let kept = |number: &u32| found.iter().any(|(key, _)| key.keyslot() == Some(*number));
        let dropped: Vec<String> = bound.iter().filter(|it| !kept(it)).map(u32::to_string).collect();
        if self.key.keyslot.is_none() && !dropped.is_empty() {
            say!(
                "WARNING: no token opens these keyslots, which will not hold the new volume key: {}.",
                dropped.join(", ")
            );
        }
        Ok(Some(found))
    }

    /// Whether a token that may be asked is assigned to the keyslot.
    fn leads_to(&self, header: &Header, keyslot: u32) -> bool {
        let tokens = &self.key.tokens;
        let asked = |number: u32, token: &Token| {
            tokens.number.is_none_or(|wanted| wanted == number)
                && tokens.kind.as_ref().is_none_or(|kind| *kind == token.kind)
        };
        match header.luks().header() {
            keyway::parts::Header::Luks1(_) => false,
            keyway::parts::Header::Luks2 { metadata, .. } => metadata
                .tokens
                .iter()
                .any(|(number, token)| asked(*number, token) && token.keyslots.contains(&keyslot)),
        }
    }

    /// The passphrase that goes on: it opens a keyslot of each volume key.
    pub(super) fn key_by_token(&self, header: &Header) -> Result<Option<Key>> {
        if !self.by_token {
            return Ok(None);
        }
        let options = self.key.of_keyslot();
        let found = tokens::unlock_keeping_passphrase(&self.key, header.luks(), &options)?;
        Ok(found.map(|(_, passphrase)| Key::Passphrase(passphrase)))
    }

    /// Plaintext has no tokens that could lead anywhere.
    pub(super) fn check_tokens(&self) -> Result<()> {
        if self.by_token && self.what == What::Encrypt && !self.is_cryptsetup {
            let message = "Options --token-id, --token-type and --token-only cannot be combined with \
                           --encrypt: the device has no tokens yet.";
            return Err(Failure::new(Exit::Parameters, message));
        }
        Ok(())
    }
}
