//! A volume's header and its plaintext: showing, checking, and copying them out and in.

pub(crate) mod backup;
pub(crate) mod compare;
pub(crate) mod convert;
pub(crate) mod dump;
pub(crate) mod inspect;
pub(crate) mod read;
pub(crate) mod repair;
pub(crate) mod seal;
pub(crate) mod tcrypt_header;
pub(crate) mod to_luks;
pub(crate) mod uuid;
pub(crate) mod write;
