//! Random bytes over what becomes a volume.

use super::written::failed;
use crate::device::storage::Memory;
use crate::device::stream::{Failure, Holes, Meter, Options, Sink, Source, transfer};
use crate::{Error, Random, Result, Storage};
use keyway_crypto::{Cascade, CascadeMode, Cpu, Secret};
use keyway_format::tcrypt::{NEW_CIPHER, SECTOR};
use std::io;
use std::ops::Range;

/// Writes bytes of the random generator's over a short range.
pub(super) fn short(storage: &dyn Storage, range: Range<u64>, rng: &mut dyn Random) -> Result<()> {
    let mut bytes = vec![0; (range.end - range.start) as usize];
    rng.fill(&mut bytes)?;
    storage.write_at(&bytes, range.start).map_err(failed("writing random bytes for"))
}

/// The same over a long range, by all cores: zeros under a key that nobody keeps.
pub(super) fn long(
    storage: &dyn Storage,
    range: Range<u64>,
    rng: &mut dyn Random,
    meter: &Meter,
) -> Result<()> {
    let mut key = Secret::zeroed(Cascade::key_len(NEW_CIPHER, CascadeMode::Xts)?);
    rng.fill(key.expose_mut())?;
    let cascade = Cascade::new(NEW_CIPHER, CascadeMode::Xts, &key, Cpu::detect())?;
    let len = range.end - range.start;
    let noise = Noise { storage, start: range.start, len, cascade };
    let options = Options { holes: Holes::Fill, extend_to: len, ..Options::default() };
    let nothing = Memory::zeroed(0);
    let moved = transfer(Source::Storage(&nothing, 0..0), Sink::Storage(&noise, 0), &options, meter);
    moved.map(drop).map_err(|failure| match failure {
        Failure::Stopped => keyway_crypto::Error::Stopped.into(),
        Failure::Write { source, .. } | Failure::Read { source, .. } => failed("filling")(source),
        other => Error::Io { what: "filling the new volume".into(), source: io::Error::other(other) },
    })
}

/// A range of a storage; what is written there is encrypted first.
struct Noise<'a> {
    storage: &'a dyn Storage,
    start: u64,
    len: u64,
    cascade: Cascade,
}

impl Storage for Noise<'_> {
    fn len(&self) -> u64 {
        self.len
    }

    fn read_at(&self, _: &mut [u8], _: u64) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        self.write_from(&mut buf.to_vec(), offset)
    }

    fn write_from(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        self.cascade.encrypt(offset / SECTOR, buf);
        self.storage.write_from(buf, self.start + offset)
    }

    fn flush(&self) -> io::Result<()> {
        self.storage.flush()
    }

    fn discard(&self, _: Range<u64>) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn unit(&self) -> u64 {
        SECTOR
    }
}
