//! Predicts what boot loaders will do with a volume.

pub mod grub;
