//! The boot process from power-on to the root file system: boot images as bytes, how a boot loader
//! handles a volume, and which volumes the kernel's command line and tables name. Pure functions:
//! bytes in, bytes out; no device, no clock, no randomness.
//!
//! ```text
//! initramfs      cpio archives in all packings, read as a stream and written; what Keyway puts in
//!                an image and where (its layout is the agreement with the program that runs there)
//! architecture   which machine programs, modules and kernels are for
//! crypttab       /etc/crypttab and tables like it, read and written; cmdline: what the kernel's
//!                command line names; plan: which volumes a boot then opens; root: how the root is
//!                mounted then
//! fdt fit uboot  device trees; FIT images, from parts or from a source; U-Boot's legacy header
//! pe             sections added to an EFI program: unified kernel images
//! lvm            LVM2's metadata: from physical volumes to the tables of linear and striped volumes
//! md             RAID superblocks: from members to arrays, and whether these can run
//! keymap         the map of the keyboard at which the passphrase is typed
//! loader::grub   GRUB's cryptodisk, walked as GRUB walks it: each rule with its place in GRUB's
//!                sources, a verdict per keyslot
//! unlock_time    what is derived until a keyslot opens, at whose rates; advice: what to change
//! attack         guesses per second and dollars, on hardware with published rates (docs/COST.md)
//! ```
#![forbid(unsafe_code)]

pub mod advice;
pub mod architecture;
pub mod attack;
pub mod cmdline;
pub mod crypttab;
pub mod device_spec;
pub mod elf;
pub mod fdt;
pub mod fit;
pub mod initramfs;
pub mod keymap;
pub mod loader;
pub mod lvm;
pub mod md;
pub mod pe;
pub mod plan;
pub mod root;
pub mod uboot;
pub mod unlock_time;
