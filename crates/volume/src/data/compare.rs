//! Compares an image with the plaintext of a volume, in one pass on every core: whether a volume
//! holds what it was made from.
//!
//! The image is streamed into a sink that reads the volume at the same place and counts the bytes
//! that differ, so that holes are stepped over and progress is counted as in a copy.

use crate::Storage;
use crate::device::stream::{self, Failure, Holes, Meter, Options, Sink, Source};
use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// The outcome, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Comparison {
    /// The image's length.
    pub length: u64,
    /// The part of it that was not compared.
    pub skipped: u64,
    /// What differs, if anything.
    pub difference: Option<Difference>,
}

/// The bytes that differ. Those of the image beyond the volume's end do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Difference {
    /// The first of them.
    pub first: u64,
    /// How many they are.
    pub bytes: u64,
}

/// Compares the image with the plaintext from its first byte on. The plaintext may be longer. With
/// [`Holes::Keep`] holes of the image are not compared: [`Unneeded::used`](crate::Unneeded::used)
/// makes holes of the space that the image's file system leaves free.
///
/// # Errors
/// [`Failure::Read`] for the image, [`Failure::Write`] for the volume, where reading it fails.
pub fn compare(
    image: Source<'_>,
    holes: Holes,
    volume: &dyn Storage,
    meter: &Meter,
) -> Result<Comparison, Failure> {
    let beside = Beside { volume, first: AtomicU64::new(u64::MAX), bytes: AtomicU64::new(0) };
    let options = Options { holes, ..Options::default() };
    let moved = stream::transfer(image, Sink::Storage(&beside, 0), &options, meter)?;
    let (first, bytes) = (beside.first.into_inner(), beside.bytes.into_inner());
    let difference = (bytes > 0).then_some(Difference { first, bytes });
    Ok(Comparison { length: moved.length, skipped: moved.holes, difference })
}

/// A sink that compares what is written to it with what a volume holds there.
struct Beside<'a> {
    volume: &'a dyn Storage,
    first: AtomicU64,
    bytes: AtomicU64,
}

impl Beside<'_> {
    /// Counts the bytes of `image` that differ from `held`; what `held` is too short for differs.
    fn count(&self, image: &[u8], held: &[u8], offset: u64) {
        if image == held {
            return;
        }
        let differs = |at: &usize| held.get(*at) != Some(&image[*at]);
        let mut differing = (0..image.len()).filter(differs);
        let Some(first) = differing.next() else { return };
        self.first.fetch_min(offset + first as u64, Ordering::Relaxed);
        self.bytes.fetch_add(1 + differing.count() as u64, Ordering::Relaxed);
    }
}

impl Storage for Beside<'_> {
    fn len(&self) -> u64 {
        self.volume.len()
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        self.volume.read_at(buf, offset)
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        let mut held = vec![0; PIECE.min(buf.len())];
        for (image, at) in buf.chunks(PIECE).zip((offset..).step_by(PIECE)) {
            let within = self.volume.len().saturating_sub(at).min(image.len() as u64) as usize;
            // Beyond its end even nothing cannot be read.
            if within > 0 {
                self.volume.read_at(&mut held[..within], at)?;
            }
            self.count(image, &held[..within], at);
        }
        Ok(())
    }

    fn flush(&self) -> io::Result<()> {
        Ok(())
    }

    fn discard(&self, _: Range<u64>) -> io::Result<()> {
        Err(io::ErrorKind::ReadOnlyFilesystem.into())
    }

    fn unit(&self) -> u64 {
        self.volume.unit()
    }

    fn is_distant(&self) -> bool {
        self.volume.is_distant()
    }
}

/// What is decrypted at a time: stays in the first-level cache and in the allocator's own memory.
const PIECE: usize = 64 << 10;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::storage::Memory;

    const LEN: u64 = 3 << 20;

    fn noise() -> Memory {
        let bytes: Vec<u8> = (0..LEN).map(|at| (at * 7 + at / 251) as u8).collect();
        bytes.into()
    }

    fn compared(image: &dyn Storage, volume: &dyn Storage) -> Comparison {
        let source = Source::Storage(image, 0..image.len());
        compare(source, Holes::Keep, volume, &Meter::new()).unwrap()
    }

    #[test]
    fn equal_bytes_do_not_differ() {
        let expected = Comparison { length: LEN, skipped: 0, difference: None };
        assert_eq!(compared(&noise(), &noise()), expected);
    }

    #[test]
    fn every_byte_that_differs_is_counted_and_the_first_is_named() {
        for places in [vec![0], vec![65535, 65536], vec![LEN - 1], vec![2 << 20, 700_000, 700_001]] {
            let volume = noise();
            for at in &places {
                let mut byte = [0];
                volume.read_at(&mut byte, *at).unwrap();
                volume.write_at(&[!byte[0]], *at).unwrap();
            }
            let first = *places.iter().min().unwrap();
            let difference = Some(Difference { first, bytes: places.len() as u64 });
            assert_eq!(compared(&noise(), &volume).difference, difference, "{places:?}");
        }
    }

    #[test]
    fn what_the_volume_has_no_room_for_differs() {
        let volume = noise();
        volume.set_len(LEN as usize - 5000);
        let difference = Some(Difference { first: LEN - 5000, bytes: 5000 });
        assert_eq!(compared(&noise(), &volume).difference, difference);
        assert_eq!(compared(&volume, &noise()).difference, None, "a longer volume");
    }

    #[test]
    fn holes_are_compared_only_when_they_are_filled() {
        let (image, volume) = (noise(), noise());
        image.write_at(&[0; 8192], 65536).unwrap();
        let expected = Comparison { length: LEN, skipped: 8192, difference: None };
        assert_eq!(compared(&image, &volume), expected);
        let source = Source::Storage(&image, 0..LEN);
        let whole = compare(source, Holes::Fill, &volume, &Meter::new()).unwrap();
        assert_eq!((whole.skipped, whole.difference.unwrap().first), (0, 65536));
    }
}
