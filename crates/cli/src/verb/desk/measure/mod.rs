//! How fast, how strong, by whose driver: ciphers, KDFs, devices, volumes.

pub(crate) mod bench;
pub(crate) mod benchmark;
pub(crate) mod ciphers;
pub(crate) mod passport;
pub(crate) mod xray;
