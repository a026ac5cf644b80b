//! Re-encryption in place: a volume gets another key or cipher, plaintext becomes a volume, a volume
//! becomes plaintext (LUKS2 on-disk format 1.1.4, sections 3.2.2 and 4.9), a volume of another kind becomes LUKS2.
//!
//! ```text
//! begin    the header says what will be, and how the hot zone is protected; not a sector has changed
//! Job      a re-encryption whose metadata the volume keys vouch for, recovered where it was cut off
//! step     one hot zone: protect it → header: hot → write it → header: done
//! end      the header forgets the old key
//! Plan     what one would do, and Rates: how long it would take, measured without a write
//! UnderWay (room `header`) the volume in between, opened as it is: Held keeps the re-encryption where it is meanwhile
//! Online   the volume in use while a Job goes on; Mapped, where the kernel has it in use
//! ```
//!
//! Each arrow is a flush. Whatever is cut, the header names the only zone whose bytes are in doubt,
//! and what protects it tells, for each of its blocks, what it was. cryptsetup goes on with what
//! this module began, and the other way.

mod amid;
mod begin;
mod blocks;
mod buffers;
mod convert;
mod draft;
mod estimate;
mod held;
mod hot_zone;
mod job;
mod keys;
pub mod luks1;
mod mapped;
mod moving;
mod online;
mod opening;
mod plan;
pub mod rekey;
mod terms;
mod transform;
mod unused;
mod zone_size;

pub use crate::UnderWay;
pub use begin::{Begin, begin};
pub use blocks::{smaller_blocks, smaller_blocks_of_plaintext};
pub use convert::{Conversion, Foreign};
pub use estimate::{Rates, Setting, WRITE, measure, seconds, zone};
pub use held::Hold;
pub use job::{Job, Options, Progress, Sizes};
pub(crate) use keys::metadata;
pub use keys::{VolumeKeys, limited_to, protect, unlock};
pub use mapped::Mapped;
pub use moving::install;
pub use online::Online;
pub use opening::Purpose;
pub(crate) use opening::{Ready, open};
pub use plan::{Amounts, Plan, Planned};
pub use terms::{NewSlot, Terms};
pub use unused::{Unused, check_unused, check_unused_plaintext};

/// The part of a zone that one thread works on at a time, in bytes: with its buffers in every core's
/// cache. A multiple of every sector size and block.
const CHUNK: u64 = 512 << 10;
