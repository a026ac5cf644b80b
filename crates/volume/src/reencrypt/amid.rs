//! A volume that keeps its metadata amid its data, and its first sectors elsewhere (BitLocker). All else is where LUKS2
//! would have it.
//!
//! ```text
//! as it was      its header    │ data │ metadata │ data │ first sectors │ data
//! begun          the same; the header's journal has the first sectors, encrypted as if they stood at the start
//! recovered      first sectors │ data │ metadata │ data │ first sectors │ data     the first of all by the new key
//! cleared        first sectors │ data │ zeros    │ data │ zeros         │ data     by the old key
//! ```
//!
//! It begins with a hot zone whose writing was cut off, so to say. What recovers one needs nothing but the journal, so
//! that nobody has to find the first sectors again, and cryptsetup can go on from there. Its header, by which its own
//! program would open it, goes before anything that it leads to.

use crate::{Error, MappedSegment, Mapping, Refusal, Result, Storage};
use keyway_crypto::{CipherSpec, Cpu, Secret, SectorCipher, SectorSize};
use std::io;
use std::ops::Range;

/// A volume as LUKS2 could describe it.
pub(super) struct Described<'a> {
    pub(super) spec: &'a CipherSpec,
    pub(super) sector_size: SectorSize,
    pub(super) first: u64,
    pub(super) offset: u64,
    pub(super) len: Option<u64>,
    pub(super) amid: Option<Amid>,
}

/// Where it keeps what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Amid {
    /// Where the first sectors are on the device.
    first: Range<u64>,
    /// What is read as zeros: its metadata, and where the first sectors are.
    own: Vec<Range<u64>>,
}

impl Amid {
    /// The bytes of the volume that are elsewhere.
    pub(super) fn start(&self) -> Range<u64> {
        0..self.first.end - self.first.start
    }

    /// Writes the first sectors to `journal`, a place in `header`, as a journal has them that was kept of the volume's
    /// start.
    pub(super) fn keep_start(
        &self,
        cipher: &SectorCipher,
        data: &dyn Storage,
        (header, journal): (&dyn Storage, u64),
    ) -> Result<()> {
        let mut sectors = Secret::zeroed((self.first.end - self.first.start) as usize);
        let keep = || {
            data.read_at(sectors.expose_mut(), self.first.start)?;
            cipher.decrypt(self.first.start / 512, sectors.expose_mut());
            cipher.encrypt(0, sectors.expose_mut());
            header.write_at(sectors.expose(), journal)?;
            header.flush()
        };
        io(keep, "keeping the first sectors")
    }

    /// Puts encrypted zeros where the metadata and the first sectors are.
    pub(super) fn clear(&self, cipher: &SectorCipher, data: &dyn Storage) -> Result<()> {
        let clear = |range: &Range<u64>| {
            let mut zeros = vec![0; (range.end - range.start) as usize];
            cipher.encrypt(range.start / 512, &mut zeros);
            data.write_at(&zeros, range.start)
        };
        // What fails leaves the others to do all the same.
        let written = self.own.iter().map(clear).fold(Ok(()), io::Result::and);
        io(|| data.flush().and(written), "writing zeros over the old metadata")
    }
}

/// A volume of these segments.
///
/// # Errors
/// [`Refusal::NotConvertible`]: it is put together in another way.
pub(super) fn described(segments: &[MappedSegment]) -> Result<Described<'_>> {
    let refuse = |why: &str| Err(Refusal::NotConvertible.because(why));
    let is = |what: fn(&Mapping) -> bool| segments.iter().any(|segment| what(&segment.mapping));
    if is(|mapping| matches!(mapping, Mapping::Linear)) {
        return refuse("A part of it is not encrypted.");
    }
    if is(|mapping| matches!(mapping, Mapping::Crypt { iv_large_sectors: true, .. })) {
        return refuse("Its IVs count sectors of more than 512 bytes, which LUKS2 does not describe.");
    }
    match in_its_place(segments) {
        Some(described) => Ok(described),
        None => refuse("It keeps its own metadata amid the data, where LUKS2 has no room for them."),
    }
}

fn in_its_place(segments: &[MappedSegment]) -> Option<Described<'_>> {
    let (first, others) = segments.split_first()?;
    let (spec, sector_size) = encrypted(first)?;
    let is_here = |segment: &MappedSegment| {
        let is_of_it =
            matches!(segment.mapping, Mapping::Zero) || encrypted(segment) == Some((spec, sector_size));
        is_of_it && segment.storage_offset == segment.plaintext_start
    };
    let range = |segment: &MappedSegment| {
        let at = segment.storage_offset;
        Some(at..at.checked_add(segment.length?)?)
    };
    let zeros = others.iter().filter(|segment| matches!(segment.mapping, Mapping::Zero));
    let amid = Amid { first: range(first)?, own: zeros.map(range).collect::<Option<_>>()? };
    let is_hidden = amid.own.iter().any(|own| own.start <= amid.first.start && amid.first.end <= own.end);
    let is_behind = amid.own.iter().all(|own| own.start >= amid.start().end);
    let is_whole = is_hidden && is_behind && others.iter().all(is_here);
    is_whole.then_some(Described { spec, sector_size, first: 0, offset: 0, len: None, amid: Some(amid) })
}

/// The cipher of a segment whose sectors are numbered by their places on the device.
fn encrypted(segment: &MappedSegment) -> Option<(&CipherSpec, SectorSize)> {
    match &segment.mapping {
        Mapping::Crypt { spec, sector_size, iv_tweak, iv_large_sectors: false }
            if *iv_tweak == segment.storage_offset / 512 =>
        {
            Some((spec, *sector_size))
        }
        _ => None,
    }
}

/// The cipher of what it was.
pub(super) fn cipher((encryption, sector_size, key): (&str, u32, &Secret)) -> Result<SectorCipher> {
    let spec = CipherSpec::parse(encryption)?;
    Ok(SectorCipher::new(&spec, key, SectorSize::new(sector_size)?, Cpu::detect())?)
}

fn io(work: impl FnOnce() -> io::Result<()>, what: &str) -> Result<()> {
    work().map_err(|source| Error::Io { what: what.into(), source })
}
