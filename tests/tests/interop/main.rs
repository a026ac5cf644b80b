//! Keyway beside Debian's cryptsetup, QEMU, nbdkit, GRUB and OpenSSL, on the same files, both ways.
//!
//! Whatever is tested with one program as the maker is tested with the other one too. Costs of KDFs
//! are the lowest that cryptsetup takes; data is random.

mod blkid;
mod ciphers;
mod dump;
mod facade;
mod formats;
mod grub;
mod keyslots;
mod library;
mod locking;
mod metadata;
mod nbdkit;
mod openssl;
mod qemu;
mod recovery;
mod seal;
mod tokens;
mod typed;
mod volume;
