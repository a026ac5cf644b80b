//! Keyway's predictions about boot loaders, compared with what they do: GRUB's own `grub-fstest` of
//! three releases, and GRUB itself on an emulated PC for what `grub-fstest` lacks.
//!
//! `KEYWAY_GRUB` is the directory where tests/grub/prepare put the newer releases; this machine's
//! own GRUB is used as installed.

mod article;
mod cli;
mod efi;
mod grub;
mod kit;
mod machine;
mod passport;
mod verdicts;
mod volumes;
