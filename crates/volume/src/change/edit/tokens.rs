//! Tokens (LUKS2), stored as given.

use super::{edit_luks2, luks2_parts};
use crate::error::shared;
use crate::{Error, Header, Luks, Random, Refusal, Result};
use keyway_format::luks2::{MAX_OBJECTS, Metadata};

/// Imports a token from its JSON text, also binds it to `keyslots`, and returns its number.
pub fn token_import(
    luks: &mut Luks,
    token: Option<u32>,
    json: &[u8],
    keyslots: &[u32],
    replace: bool,
    rng: &mut dyn Random,
) -> Result<u32> {
    let number = token_number(luks, token, replace)?;
    let (_, metadata) = luks2_parts(luks)?;
    keyslots.iter().try_for_each(|&keyslot| check_keyslot(&metadata, keyslot))?;
    edit_luks2(luks, rng, |_, metadata| {
        if metadata.tokens.contains_key(&number) {
            metadata.replace_token(number, json)?;
        } else {
            metadata.add_token(number, json)?;
        }
        Ok(keyslots.iter().try_for_each(|&keyslot| metadata.assign_token(number, keyslot))?)
    })?;
    Ok(number)
}

/// The number of a new token: that which is wanted, or the first free one.
pub fn token_number(luks: &Luks, wanted: Option<u32>, replace: bool) -> Result<u32> {
    let (_, metadata) = luks2_parts(luks)?;
    match wanted {
        Some(token) if token >= MAX_OBJECTS => {
            Err(Refusal::TokenNumber.because(format!("Token {token} is invalid (0 to {}).", MAX_OBJECTS - 1)))
        }
        Some(token) if !replace && metadata.tokens.contains_key(&token) => {
            Err(Refusal::TokenTaken.because(format!("Token {token} in use.")))
        }
        Some(token) => Ok(token),
        None => metadata.free_token().ok_or_else(|| Refusal::NoFreeToken.because("No free token slot.")),
    }
}

/// A token's JSON text.
pub fn token_export(luks: &Luks, token: u32) -> Result<String> {
    let Header::Luks2 { metadata, .. } = luks.header() else { return Err(shared::only_luks2()) };
    metadata.token_json(token).ok_or_else(|| not_in_use(token))
}

/// Removes a token.
pub fn token_remove(luks: &mut Luks, token: u32, rng: &mut dyn Random) -> Result<()> {
    edit_token(luks, token, rng, |metadata| Ok(metadata.remove_token(token)?))
}

/// Binds a token to a keyslot.
pub fn token_assign(luks: &mut Luks, token: u32, keyslot: u32, rng: &mut dyn Random) -> Result<()> {
    edit_token(luks, token, rng, |metadata| {
        check_keyslot(metadata, keyslot)?;
        Ok(metadata.assign_token(token, keyslot)?)
    })
}

/// Unbinds a token from a keyslot.
pub fn token_unassign(luks: &mut Luks, token: u32, keyslot: u32, rng: &mut dyn Random) -> Result<()> {
    edit_token(luks, token, rng, |metadata| {
        check_keyslot(metadata, keyslot)?;
        if !metadata.tokens.get(&token).is_some_and(|t| t.keyslots.contains(&keyslot)) {
            return Err(Refusal::TokenUnassigned
                .because(format!("Token {token} is not assigned to keyslot {keyslot}.")));
        }
        Ok(metadata.unassign_token(token, keyslot)?)
    })
}

fn edit_token(
    luks: &mut Luks,
    token: u32,
    rng: &mut dyn Random,
    change: impl FnOnce(&mut Metadata) -> Result<()>,
) -> Result<()> {
    edit_luks2(luks, rng, |_, metadata| match metadata.tokens.contains_key(&token) {
        true => change(metadata),
        false => Err(not_in_use(token)),
    })
}

fn check_keyslot(metadata: &Metadata, keyslot: u32) -> Result<()> {
    match metadata.keyslots.contains_key(&keyslot) {
        true => Ok(()),
        false => Err(super::keyslots::not_active(keyslot)),
    }
}

fn not_in_use(token: u32) -> Error {
    Refusal::TokenUnused.because(format!("Token {token} is not in use."))
}
