//! What boot loaders will do with a volume, before they do it.

pub mod grub;
