//! Measurements and drivers of ciphers, KDFs, devices and volumes.

pub(crate) mod bench;
pub(crate) mod benchmark;
pub(crate) mod ciphers;
pub(crate) mod passport;
pub(crate) mod xray;
