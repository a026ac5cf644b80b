//! Boot images: built by Keyway and read by the tools that boot loaders' authors ship, and the
//! other way round.

mod aarch64;
mod clevis;
mod fit;
mod images;
mod kernel;
mod keyboard;
mod lies;
mod lvm;
mod raid;
mod ramdisk;
mod resume;
mod root;
mod roots;
mod stopped;
mod uboot;
mod uki;
mod unlock;
mod verbs;
mod wrapped;
