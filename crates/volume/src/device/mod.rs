//! What a volume stands on, before anybody knows that there is one: storage and what it holds, who
//! else uses it, and streams over it.
//!
//! ```text
//! storage        trait Storage (read, write, flush, discard, length, what to lock); File, Memory,
//!                Faulty; NewFile, readable for nobody who could not read its source, at a Place
//! range_lock     writers of overlapping ranges, one after the other
//! stream spread  whole devices through all cores in constant memory; the cores for one request
//! lock           the header's lock, as cryptsetup takes it
//! in_use         who else has the image open: QEMU's locks, the kernel's holders, processes
//! probe          what a device holds: one table of signatures, a row per format, for luksFormat's
//!                warnings and wiping, LUKS2's recovery, build, bench and the ramdisk's mounts
//! partitions     GPT and MBR: where the partitions of a disk or its image are
//! layers         what a block device is built of: dm-crypt, LVM, md …
//! block_devices mounts   what the kernel knows
//! address        a URL that prints without password, signature and query
//! ```

pub mod address;
pub mod block_devices;
pub mod in_use;
pub mod layers;
pub mod lock;
pub mod mounts;
pub mod partitions;
pub mod probe;
pub(crate) mod range_lock;
pub(crate) mod spread;
pub mod storage;
pub mod stream;
