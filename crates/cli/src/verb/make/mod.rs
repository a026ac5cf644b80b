//! New volumes: on devices, in files, from images and streams.

pub(crate) mod bitlk;
pub(crate) mod build;
pub(crate) mod copy;
pub(crate) mod format;
pub(crate) mod veracrypt;
