//! Keyway beside Debian's cryptsetup, QEMU, nbdkit, GRUB and OpenSSL, on the same files, both ways.
//!
//! Everything tested with volumes created by one program is tested with the other too. KDF costs
//! are the lowest that cryptsetup accepts; data is random.

mod blkid;
mod ciphers;
mod dump;
mod facade;
mod formats;
mod grub;
mod keyring;
mod keyslots;
mod last_id;
mod lengths;
mod library;
mod locking;
mod metadata;
mod midstate;
mod nbdkit;
mod null_cipher;
mod openssl;
mod partition_volumes;
mod partitions;
mod qemu;
mod recovery;
mod seal;
mod tokens;
mod typed;
mod volume;
