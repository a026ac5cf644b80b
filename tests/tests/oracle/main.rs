//! What Keyway says of boot loaders beforehand, confronted with what they do: GRUB's own
//! `grub-fstest` of three releases, and GRUB itself on an emulated PC for what is not in that.
//!
//! `KEYWAY_GRUB` is where tests/grub/prepare left the newer releases;
//! this machine's own is used as it is.

mod article;
mod cli;
mod grub;
mod kit;
mod machine;
mod passport;
mod verdicts;
mod volumes;
