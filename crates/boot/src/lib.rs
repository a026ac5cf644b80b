//! Between power-on and the root file system: the images that a machine boots from, as bytes, and what a boot loader will do with
//! a volume. Pure: bytes in, bytes out; no device, no clock, no randomness.
#![forbid(unsafe_code)]
