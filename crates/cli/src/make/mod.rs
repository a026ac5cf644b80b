//! New volumes and files: what their headers contain, where they go, and what they must not
//! replace.

pub(crate) mod calibration;
pub(crate) mod comparison;
pub(crate) mod directory;
pub(crate) mod first_boot;
pub(crate) mod header;
pub(crate) mod kdf;
#[cfg(feature = "tools")]
mod kernel;
pub(crate) mod label;
pub(crate) mod new_volume;
pub(crate) mod output_file;
pub(crate) mod replacing;
pub(crate) mod seal;
pub(crate) mod slow_kdf;
