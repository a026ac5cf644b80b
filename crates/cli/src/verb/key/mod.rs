//! Keyslots and tokens: the keys that open a volume.

pub(crate) mod add;
pub(crate) mod bitlk;
pub(crate) mod change;
pub(crate) mod config;
pub(crate) mod convert;
mod keyslot;
pub(crate) mod kill;
pub(crate) mod reencrypt;
pub(crate) mod tcrypt;
pub(crate) mod token;
