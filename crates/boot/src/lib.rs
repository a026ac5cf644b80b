//! The boot process from power-on to the root file system: boot images as bytes, and how a boot
//! loader handles a volume. Pure functions: bytes in, bytes out; no device, no clock, no
//! randomness.
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
