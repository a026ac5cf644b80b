//! The data device of a volume in the middle of a re-encryption, while the volume is in use: nobody
//! goes on with the re-encryption, and a hot zone that was cut off reads as it is to be.

use super::buffers::Buffers;
use super::hot_zone::{HotZone, Recovery, Sums};
use super::transform::Transform;
use crate::device::lock::{LockMode, ReencryptionLock};
use crate::device::storage::LockTarget;
use crate::{Luks, Result, Storage};
use keyway_crypto::Secret;
use keyway_format::luks2::Reencryption;
use std::io;
use std::ops::Range;
use std::sync::Arc;

/// The data device, with the lock of the re-encryption.
pub(super) struct Held {
    data: Arc<dyn Storage>,
    _lock: Option<Arc<Hold>>,
    recovered: Option<Recovered>,
}

/// The lock that keeps others from going on with a re-encryption.
#[derive(Debug)]
pub struct Hold(#[allow(dead_code, reason = "it is there to be dropped")] ReencryptionLock);

impl Hold {
    /// # Errors
    /// [`crate::Error::Busy`] when another process holds it.
    pub(super) fn acquire(luks: &Luks, mode: LockMode) -> Result<Option<Arc<Self>>> {
        Ok(ReencryptionLock::acquire(&**luks.storage(), luks.uuid(), mode, luks.locking())?
            .map(|lock| Arc::new(Self(lock))))
    }
}

/// A hot zone that is recovered in memory, each time that it is read.
pub(super) struct Recovered {
    what: Reencryption,
    zone: Range<u64>,
    header: Arc<dyn Storage>,
    transform: Transform,
    buffers: Buffers,
    sums: Option<Sums>,
}

impl Held {
    pub(super) fn new(data: Arc<dyn Storage>, lock: Option<Arc<Hold>>) -> Self {
        Self { data, _lock: lock, recovered: None }
    }

    /// As [`Held::new`], with a zone that was cut off. Nothing can be written then: what is
    /// recovered is on no device.
    ///
    /// # Errors
    /// [`crate::Refusal::NotRecoverable`]; the header's device cannot be read.
    pub(super) fn recovering(
        data: Arc<dyn Storage>,
        lock: Option<Arc<Hold>>,
        header: Arc<dyn Storage>,
        (what, zone): (&Reencryption, &Range<u64>),
        transform: Transform,
    ) -> Result<Self> {
        let (what, zone, buffers) = (what.clone(), zone.clone(), Buffers::default());
        let mut recovered = Recovered { what, zone, header, transform, buffers, sums: None };
        recovered.sums = recovered.hot_zone(&*data).sums()?;
        Ok(Self { data, _lock: lock, recovered: Some(recovered) })
    }

    fn writable(&self) -> io::Result<&dyn Storage> {
        match self.recovered {
            Some(_) => Err(io::ErrorKind::ReadOnlyFilesystem.into()),
            None => Ok(&*self.data),
        }
    }
}

impl Recovered {
    fn hot_zone<'a>(&'a self, data: &'a dyn Storage) -> HotZone<'a> {
        HotZone {
            what: &self.what,
            zone: self.zone.clone(),
            data,
            header: &*self.header,
            transform: &self.transform,
            buffers: &self.buffers,
            skip: None,
        }
    }

    /// Where the zone is to be on the device.
    fn place(&self) -> Range<u64> {
        let start = self.what.new_place(&self.zone);
        start..start + (self.zone.end - self.zone.start)
    }

    /// Fills `buf` with the recovered bytes of the zone from `within` on.
    fn read(&self, data: &dyn Storage, buf: &mut [u8], within: u64) -> io::Result<()> {
        let block = self.what.resilience.checksum().map_or(0, |checksum| checksum.block);
        let unit = u64::from(block.max(self.what.sector_size()));
        let (zone, recovery) = (self.hot_zone(data), self.sums.as_ref());
        let recovery = Recovery::new(&zone, recovery);
        let len = self.zone.end - self.zone.start;
        let (mut at, end) = (within, within + buf.len() as u64);
        while at < end {
            let first = at - at % unit;
            let last = len.min((first + super::CHUNK).min(end.next_multiple_of(unit)));
            let mut whole = Secret::zeroed((last - first) as usize);
            let range = self.zone.start + first..self.zone.start + last;
            recovery.read(&range, whole.expose_mut())?;
            let until = last.min(end);
            buf[(at - within) as usize..(until - within) as usize]
                .copy_from_slice(&whole.expose()[(at - first) as usize..(until - first) as usize]);
            at = until;
        }
        Ok(())
    }
}

impl Storage for Held {
    fn len(&self) -> u64 {
        self.data.len()
    }

    fn refresh_len(&self) -> io::Result<u64> {
        self.data.refresh_len()
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        self.data.read_at(buf, offset)?;
        let Some(recovered) = &self.recovered else { return Ok(()) };
        let (place, end) = (recovered.place(), offset + buf.len() as u64);
        let (first, last) = (place.start.max(offset), place.end.min(end));
        if first < last {
            let part = &mut buf[(first - offset) as usize..(last - offset) as usize];
            recovered.read(&*self.data, part, first - place.start)?;
        }
        Ok(())
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        self.writable()?.write_at(buf, offset)
    }

    fn write_from(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        self.writable()?.write_from(buf, offset)
    }

    fn flush(&self) -> io::Result<()> {
        self.data.flush()
    }

    fn discard(&self, range: Range<u64>) -> io::Result<()> {
        self.writable()?.discard(range)
    }

    fn write_zeroes(&self, range: Range<u64>, may_discard: bool) -> io::Result<()> {
        self.writable()?.write_zeroes(range, may_discard)
    }

    fn is_read_only(&self) -> bool {
        self.recovered.is_some() || self.data.is_read_only()
    }

    /// What is recovered is data, wherever the device has a hole.
    fn next_data(&self, offset: u64) -> io::Result<Option<Range<u64>>> {
        let found = self.data.next_data(offset)?;
        let zone = self.recovered.as_ref().map(Recovered::place).filter(|zone| zone.end > offset);
        let zone = zone.map(|zone| zone.start.max(offset)..zone.end);
        Ok(match (found, zone) {
            (Some(found), Some(zone)) if zone.start < found.start => Some(zone),
            (Some(found), Some(zone)) if zone.start <= found.end => {
                Some(found.start..found.end.max(zone.end))
            }
            (found, zone) => found.or(zone),
        })
    }

    fn unit(&self) -> u64 {
        self.data.unit()
    }

    fn is_exclusive(&self) -> bool {
        self.data.is_exclusive()
    }

    fn is_cached(&self) -> bool {
        self.data.is_cached()
    }

    fn can_flush(&self) -> bool {
        self.data.can_flush()
    }

    fn is_distant(&self) -> bool {
        self.data.is_distant()
    }

    fn lock_target(&self) -> Option<LockTarget<'_>> {
        self.data.lock_target()
    }
}
