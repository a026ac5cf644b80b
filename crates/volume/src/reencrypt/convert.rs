//! A volume of another kind becomes LUKS2 where it is: its cipher and key are those of the volume as it was.

use super::amid::{self, Amid, Described};
use super::draft::{draft, only_segment};
use super::terms::{NewSlot, Terms};
use crate::error::unaligned;
use crate::{Error, Layout, MappedSegment, Mapping, Random, Refusal, Result, Storage};
use keyway_crypto::Secret;
use keyway_format::Bytes;
use keyway_format::luks2::reencryption::{Backup, Direction, END, Mode, State};
use keyway_format::luks2::{DigestId, Metadata, Reencryption, Segment, SegmentKind, SegmentSize};

/// How a volume of another kind is encrypted, with its key.
pub struct Foreign {
    shape: Shape,
    key: Secret,
}

/// How the data of such a volume is encrypted, and where it is.
pub(super) struct Shape {
    cipher: String,
    sector_size: u32,
    /// The number of its first sector.
    first: u64,
    /// Where its data starts on the device, in bytes.
    offset: u64,
    /// How many bytes it has; `None`: to the device's end.
    len: Option<u64>,
    /// Its metadata are amid its data.
    amid: Option<Amid>,
}

impl Foreign {
    /// The volume with this layout and key, on a device of `device_len` bytes.
    ///
    /// # Errors
    /// [`Refusal::NotConvertible`] where it is neither one segment behind its headers nor, but for its first sectors, where
    /// a LUKS2 segment would have it.
    pub fn new(layout: &Layout, key: Secret, device_len: u64) -> Result<Self> {
        Ok(Self { shape: Shape::new(layout, device_len)?, key })
    }

    /// The checks of [`Foreign::new`].
    ///
    /// # Errors
    /// Its errors.
    pub fn check(layout: &Layout, device_len: u64) -> Result<()> {
        Shape::new(layout, device_len).map(drop)
    }

    /// What it keeps for itself amid its data becomes zeros. To be called once a conversion has begun, before the first step
    /// of the [`Job`](super::Job) that holds it: without it, this is noise in the end.
    ///
    /// # Errors
    /// The device's.
    pub fn clear(&self, data: &dyn Storage) -> Result<()> {
        self.shape.amid.as_ref().map_or(Ok(()), |amid| amid.clear(&amid::cipher(self.encryption())?, data))
    }

    /// Puts what is not where LUKS2 would have it into the journal of a conversion that begins.
    pub(super) fn keep_start(
        &self,
        what: &Reencryption,
        data: &dyn Storage,
        header: &dyn Storage,
    ) -> Result<()> {
        let Some(amid) = &self.shape.amid else { return Ok(()) };
        amid.keep_start(&amid::cipher(self.encryption())?, data, (header, what.area.offset.0))
    }

    /// Cipher, sector size in bytes, key.
    pub(super) fn encryption(&self) -> (&str, u32, &Secret) {
        (&self.shape.cipher, self.shape.sector_size, &self.key)
    }

    pub(super) fn shape(&self) -> &Shape {
        &self.shape
    }
}

impl Shape {
    /// # Errors
    /// Those of [`Foreign::new`].
    pub(super) fn new(layout: &Layout, device_len: u64) -> Result<Self> {
        let Described { spec, sector_size, first, offset, len, amid } = described(layout, device_len)?;
        let (cipher, sector_size) = (spec.to_string(), sector_size.bytes() as u32);
        Ok(Self { cipher, sector_size, first, offset, len, amid })
    }

    /// The terms on which it is converted: what is not in its place is recovered from a journal.
    pub(super) fn terms(&self, terms: &Terms) -> Terms {
        match &self.amid {
            Some(_) => Terms { resilience: "journal".into(), ..terms.clone() },
            None => terms.clone(),
        }
    }

    pub(super) fn cipher(&self) -> &str {
        &self.cipher
    }

    /// The data as a segment.
    fn segment(&self) -> Segment {
        let (encryption, sector_size) = (self.cipher.clone(), self.sector_size);
        Segment {
            offset: Bytes(self.offset),
            size: self.len.map_or(SegmentSize::Dynamic, |len| SegmentSize::Fixed(Bytes(len))),
            flags: Vec::new(),
            kind: SegmentKind::Crypt { iv_tweak: self.first, encryption, sector_size, integrity: None },
        }
    }
}

/// What becomes LUKS2, with the keyslot that keeps its key until that is done.
pub struct Conversion<'a> {
    /// The volume as it is.
    pub old: &'a Foreign,
    /// The keyslot for its key.
    pub slot: NewSlot<'a>,
}

/// What is to be done: `metadata` is that of the new volume alone, and `digest` verifies the old key.
pub(super) fn convert(
    metadata: &Metadata,
    old: &Shape,
    digest: DigestId,
    device_len: u64,
) -> Result<(Reencryption, State)> {
    let (segment, new) = only_segment(metadata)?;
    if segment.offset.0 != 0 {
        return Err(Refusal::Geometry.because("A conversion needs data that starts where its device does."));
    }
    let hot = old.amid.as_ref().map(Amid::start);
    if let SegmentKind::Crypt { sector_size, .. } = segment.kind {
        let ends = [device_len, hot.as_ref().map_or(0, |hot| hot.end)];
        if let Some(end) = ends.into_iter().find(|end| !end.is_multiple_of(sector_size.into())) {
            return Err(unaligned(end, sector_size.into()));
        }
    }
    let total = old.len.unwrap_or(END);
    let state = State { done: 0..0, hot, total };
    let new = Backup { segment: segment.clone(), digest: Some(new) };
    let old = Backup { segment: old.segment(), digest: Some(digest) };
    Ok((draft(Mode::Reencrypt, Direction::Forward, old, new, None), state))
}

fn described(layout: &Layout, device_len: u64) -> Result<Described<'_>> {
    let described = match &layout.segments[..] {
        [segment] => behind_headers(segment, device_len)?,
        segments => amid::described(segments)?,
    };
    let spec = described.spec;
    if spec.weakness().is_some() {
        let why = format!("It is encrypted with {spec}, a weak cipher, and could not be opened meanwhile.");
        return Err(Refusal::NotConvertible.because(why));
    }
    Ok(described)
}

/// A volume that is one segment behind its headers.
fn behind_headers(segment: &MappedSegment, device_len: u64) -> Result<Described<'_>> {
    let refuse = |why: String| Err(Refusal::NotConvertible.because(why));
    let Mapping::Crypt { spec, sector_size, iv_tweak, iv_large_sectors: false } = &segment.mapping else {
        return refuse(match &segment.mapping {
            Mapping::Chain { ciphers, .. } => {
                format!("It is encrypted by a chain of ciphers ({ciphers}), and LUKS2 describes one.")
            }
            _ => "LUKS2 has no name for its encryption.".into(),
        });
    };
    let offset = segment.storage_offset;
    if *iv_tweak != offset / 512 || !HEADERS.contains(&offset) {
        return refuse(format!(
            "Its data begins at byte {offset} with sector {iv_tweak}: only an outer volume in XTS can be converted, as a whole."
        ));
    }
    check_end(segment, device_len)?;
    let (first, sector_size, len) = (*iv_tweak, *sector_size, segment.length);
    Ok(Described { spec, sector_size, first, offset, len, amid: None })
}

/// A LUKS2 volume reaches to the end of its device: what another one keeps there becomes a part of it.
fn check_end(segment: &MappedSegment, device_len: u64) -> Result<()> {
    let Some(length) = segment.length else { return Ok(()) };
    let end = segment.storage_offset.saturating_add(length);
    match device_len.checked_sub(end) {
        Some(0..=COPIES) => Ok(()),
        Some(behind) => Err(Refusal::NotConvertible.because(format!(
            "Behind its data are {behind} bytes that are not its own: LUKS2 volumes reach to the end of their device."
        ))),
        None => Err(Error::TooShort { needs: end, has: device_len }),
    }
}

/// Fills the headers of another kind with noise, those before the data until it is written over, and their copies
/// behind it: they would let somebody open and write what is half converted. The volume keys have vouched for `what`.
pub(super) fn forget_headers(
    (what, state): (&Reencryption, &State),
    data: &dyn Storage,
    rng: &mut dyn Random,
) -> Result<()> {
    let start = what.old.segment.offset.0;
    if what.old.first_sector() == 0 || !HEADERS.contains(&start) {
        return Ok(());
    }
    let behind = match what.old.segment.size {
        SegmentSize::Fixed(len) => start.saturating_add(len.0)..data.len(),
        SegmentSize::Dynamic => 0..0,
    };
    let is_begun = state.hot.is_some() || !state.done.is_empty();
    let before = if is_begun { 0..0 } else { 0..start };
    for range in [before, behind] {
        let mut noise = vec![0; range.end.saturating_sub(range.start).min(COPIES) as usize];
        rng.fill(&mut noise)?;
        let failed = |source| Error::Io { what: "writing noise over the old headers".into(), source };
        data.write_at(&noise, range.start).and_then(|()| data.flush()).map_err(failed)?;
    }
    Ok(())
}

/// How long the headers before the data are, in bytes: TrueCrypt's until version 5, and what came after.
const HEADERS: [u64; 2] = [512, 128 << 10];

/// The copies of headers behind the data take this many bytes.
const COPIES: u64 = 128 << 10;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::OsRandom;
    use crate::device::storage::Memory;

    const START: u64 = HEADERS[1];
    const DATA: u64 = 64 << 10;
    const OLD: u8 = 0xaa;

    /// Which bytes of the device are noise afterwards: before the data, of the data, behind it.
    fn noisy(first: u64, (start, size): (u64, SegmentSize), done: u64) -> [bool; 3] {
        let segment = |iv_tweak, offset, size| Segment {
            offset: Bytes(offset),
            size,
            flags: Vec::new(),
            kind: SegmentKind::Crypt {
                iv_tweak,
                encryption: "aes-xts-plain64".into(),
                sector_size: 512,
                integrity: None,
            },
        };
        let backup = |segment| Backup { segment, digest: Some(0) };
        let old = backup(segment(first, start, size));
        let what = draft(
            Mode::Reencrypt,
            Direction::Forward,
            old,
            backup(segment(0, 0, SegmentSize::Dynamic)),
            None,
        );
        let state = State { done: 0..done, hot: None, total: DATA };
        let device = Memory::from(vec![OLD; (start + DATA + COPIES) as usize]);
        forget_headers((&what, &state), &device, &mut OsRandom).unwrap();
        let bytes = device.to_vec();
        let (before, rest) = bytes.split_at(start as usize);
        let (data, behind) = rest.split_at(DATA as usize);
        // Its ends, too: a part that stays would do for a header.
        let is_noise = |part: &[u8]| {
            let ends = [&part[..32], &part[part.len() - 32..]];
            assert!(
                ends[0].iter().all(|it| *it == OLD) == ends[1].iter().all(|it| *it == OLD),
                "a part of it"
            );
            part.iter().any(|it| *it != OLD)
        };
        [before, data, behind].map(is_noise)
    }

    #[test]
    fn noise_goes_where_the_headers_are_and_the_data_is_not_yet() {
        let whole = (START, SegmentSize::Fixed(Bytes(DATA)));
        assert_eq!(noisy(256, whole, 0), [true, false, true]);
        assert_eq!(noisy(256, whole, 512), [false, false, true], "the data has moved over the first");
        // TrueCrypt's until version 5 have no copies: all behind the headers is data.
        assert_eq!(noisy(1, (HEADERS[0], SegmentSize::Dynamic), 0), [true, false, false]);
        // A LUKS volume's data may lie there, too, and something else before it.
        assert_eq!(noisy(0, whole, 0), [false; 3]);
        assert_eq!(noisy(8, (4096, SegmentSize::Fixed(Bytes(DATA))), 0), [false; 3]);
    }
}
