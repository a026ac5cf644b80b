//! Tokens (LUKS2): the keyring kind is made here, any other is kept as it came.

use crate::{Error, Luks, Random, Result};

/// Adds a `luks2-keyring` token for the key named `description`; returns its number (the first free one when
/// `token` is `None`). `keyslots` empty: bound to none.
pub fn token_add_keyring(
    luks: &mut Luks,
    token: Option<u32>,
    description: &str,
    keyslots: &[u32],
    replace: bool,
    rng: &mut dyn Random,
) -> Result<u32> {
    let _ = (luks, token, description, keyslots, replace, rng);
    Err(Error::Refused("not built yet".into()))
}

/// Imports a token from its JSON text, binds it to `keyslot` too when given, and returns its number.
pub fn token_import(
    luks: &mut Luks,
    token: Option<u32>,
    json: &[u8],
    keyslot: Option<u32>,
    replace: bool,
    rng: &mut dyn Random,
) -> Result<u32> {
    let _ = (luks, token, json, keyslot, replace, rng);
    Err(Error::Refused("not built yet".into()))
}

/// A token's JSON text.
pub fn token_export(luks: &Luks, token: u32) -> Result<Vec<u8>> {
    let _ = (luks, token);
    Err(Error::Refused("not built yet".into()))
}

/// Removes a token.
pub fn token_remove(luks: &mut Luks, token: u32, rng: &mut dyn Random) -> Result<()> {
    let _ = (luks, token, rng);
    Err(Error::Refused("not built yet".into()))
}

/// Binds a token to a keyslot.
pub fn token_assign(luks: &mut Luks, token: u32, keyslot: u32, rng: &mut dyn Random) -> Result<()> {
    let _ = (luks, token, keyslot, rng);
    Err(Error::Refused("not built yet".into()))
}

/// Unbinds a token from a keyslot.
pub fn token_unassign(luks: &mut Luks, token: u32, keyslot: u32, rng: &mut dyn Random) -> Result<()> {
    let _ = (luks, token, keyslot, rng);
    Err(Error::Refused("not built yet".into()))
}
