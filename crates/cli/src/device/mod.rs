//! What commands work on: files, devices, exports and objects, by the names that users give them.

pub(crate) mod content;
pub(crate) mod explain;
pub(crate) mod found;
pub(crate) mod hardware;
mod identity;
pub(crate) mod input;
mod inputs;
pub(crate) mod kind_hint;
mod location;
pub(crate) mod nbd;
mod open;
mod partitions;
pub(crate) mod place;
pub(crate) mod remote;
pub(crate) mod sessions;
pub(crate) mod tables;
mod target;
pub(crate) mod tls;
#[cfg(feature = "tools")]
pub(crate) mod whole_file;

pub(crate) use identity::{is_exchanged, is_same};
pub(crate) use inputs::Inputs;
pub(crate) use location::{absolute, check_exists, exists, is_given, is_read_only, is_url, readers, resolve};
pub(crate) use open::{
    check_kind, overwritten, refuse_if_attached, refuse_if_mapped, refuse_if_opened, storage, storage_direct,
};
pub(crate) use target::{Target, Versions, locking, no_device, not_luks};
