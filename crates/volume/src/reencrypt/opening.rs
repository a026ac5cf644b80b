//! The data device of a volume that is opened in the middle of its re-encryption: completed first where
//! it is written to, recovered in memory where it is only read.

use super::held::{Held, Hold};
use super::transform::Transform;
use super::{Job, Options, UnderWay, VolumeKeys};
use crate::device::in_use;
use crate::device::lock::LockMode;
use crate::error::shared;
use crate::{Access, InUse, Luks, Random, Result, Storage};
use keyway_crypto::Cpu;
use std::sync::Arc;

/// What is done with the volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// It is only read: nothing is written to either device.
    Read,
    /// It is written to; the data device is claimed.
    Write,
    /// As [`Purpose::Write`], but the data device is claimed later, by the kernel.
    WriteLater,
}

/// What a volume is opened with.
pub(crate) struct Ready {
    /// The header as it is now.
    pub(crate) luks: Luks,
    /// The data device, with the lock that keeps others from going on.
    pub(crate) data: Arc<dyn Storage>,
    /// That lock, if it lets this process go on.
    pub(crate) hold: Option<Arc<Hold>>,
}

/// The volume as it is to be used while nobody goes on with its re-encryption.
pub(crate) fn open(
    luks: Luks,
    data: Arc<dyn Storage>,
    under_way: &UnderWay,
    keys: &VolumeKeys,
    holds_header: bool,
    purpose: Purpose,
    rng: &mut dyn Random,
) -> Result<Ready> {
    match under_way.hot_zone() {
        Some(zone) if purpose == Purpose::Read => {
            let lock = Hold::acquire(&luks, LockMode::Shared)?;
            luks.check_unchanged()?;
            let transform = Transform::new(under_way.what(), keys, Cpu::detect())?;
            let header = Arc::clone(luks.storage());
            let held = Held::recovering(data, lock, header, (under_way.what(), zone), transform)?;
            Ok(Ready { luks, data: Arc::new(held), hold: None })
        }
        Some(_) => {
            let _mark = match purpose {
                Purpose::WriteLater => Some(InUse::acquire(&*data, in_use::Access::Write, false)?),
                _ => None,
            };
            // The header was opened for reading: no other part of this volume may edit it.
            let header = Luks::open_with(Arc::clone(luks.storage()), Access::Write, luks.locking())?;
            if !header.is_same(&luks) {
                return Err(shared::changed_while_opening());
            }
            // Nothing but the zone is written: it does not matter whether the device ends inside a sector.
            let data_len = under_way.len_on(data.len());
            let options = Options { data_len, holds_header, only_recovers: true, ..Options::default() };
            let job = Job::resume(header, Arc::clone(&data), keys, &options, rng)?;
            let (luks, lock) = job.into_parts();
            let data = Arc::new(Held::new(data, lock.clone()));
            Ok(Ready { luks: luks.reading(), data, hold: lock })
        }
        None => {
            let mode = if purpose == Purpose::Read { LockMode::Shared } else { LockMode::Exclusive };
            let lock = Hold::acquire(&luks, mode)?;
            luks.check_unchanged()?;
            let hold = lock.clone().filter(|_| mode == LockMode::Exclusive);
            Ok(Ready { luks, data: Arc::new(Held::new(data, lock)), hold })
        }
    }
}
