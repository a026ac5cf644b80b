//! `./dev bench doors`: an opened volume as other programs use it,
//! beside nbdkit, QEMU and FUSE's own pass-through.

mod fio;
mod fuse;
mod nbd;
mod server;

use crate::options::Options;
use crate::rounds::Case;

/// What is measured, in the order of the table. A section's servers
/// and volumes are gone before the next one begins.
pub(crate) const SECTIONS: [fn(&Options) -> Vec<Case>; 5] =
    [nbd::cases, nbd::connections, nbd::memory, nbd::beside, fuse::cases];
