//! Between power-on and the root file system: the images that a machine boots
//! from, as bytes, and what a boot loader will do with a volume. Pure: bytes in,
//! bytes out; no device, no clock, no randomness.
#![forbid(unsafe_code)]

pub mod advice;
pub mod architecture;
pub mod attack;
pub mod crypttab;
pub mod elf;
pub mod fdt;
pub mod fit;
pub mod initramfs;
pub mod loader;
pub mod pe;
pub mod uboot;
pub mod unlock_time;
