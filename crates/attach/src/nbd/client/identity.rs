//! Whether the volume is still the same after a connection was lost: another one of the same size
//! may be at the same address now.
//!
//! A volume with a LUKS header is recognised by it: LUKS1 by everything before the keyslots
//! (specification 1.2.3, figure 1), LUKS2 by its UUID (specification 1.1, section 2.1); others may
//! change keyslots in the meantime. A volume without a header is recognised by samples of its
//! content, which must be unchanged. The client's own writes are taken into account.

use super::connection::{Connection, Trouble};
use super::handshake::Agreed;
use crate::nbd::protocol::Request;
use crate::nbd::protocol::transmission::command;
use std::io::{self, ErrorKind};
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What is known about a volume's content.
#[derive(Debug, Default)]
pub(super) struct Identity(Mutex<Vec<Sample>>);

#[derive(Debug)]
struct Sample {
    at: u64,
    /// `None` when the content is uncertain.
    bytes: Option<Vec<u8>>,
    /// How many of the client's own changes to the sample have not been answered.
    under_way: usize,
    /// The number of changes that had been answered when the last change to this sample was
    /// answered. That change may be lost until as many changes have been flushed.
    changed: u64,
}

/// The outcome of a change.
pub(super) enum Change<'a> {
    /// These bytes have been written; the number counts the changes answered so far.
    Written(&'a [u8], u64),
    /// No part of the request was sent.
    NotSent,
    /// The outcome is unknown.
    Unknown,
}

impl Identity {
    /// Takes the samples for the first time. A sample that cannot be read is not compared later.
    ///
    /// # Errors
    /// If the server does not answer; otherwise the client would wait for each sample in turn.
    pub(super) fn take(connection: &Connection) -> io::Result<Self> {
        let agreed = connection.agreed();
        let mut samples = Vec::new();
        for range in places(agreed) {
            let bytes = match read(connection, &range) {
                Err(error) if error.kind() == ErrorKind::TimedOut && connection.is_broken() => {
                    return Err(error);
                }
                read => read.ok(),
            };
            let is_luks = bytes.as_deref().is_some_and(|bytes| header_of(bytes).is_some());
            samples.push(Sample { at: range.start, bytes, under_way: 0, changed: 0 });
            if is_luks {
                break;
            }
        }
        Ok(Self(Mutex::new(samples)))
    }

    /// Compares the samples with the volume behind `connection`; `flushed` changes are on stable
    /// storage.
    ///
    /// # Errors
    /// `InvalidData` when it is another volume; any other error means that the connection broke.
    pub(super) fn check(&self, connection: &Connection, flushed: u64) -> io::Result<()> {
        let known: Vec<(u64, Vec<u8>)> = self.samples().iter().filter_map(|s| s.certain(flushed)).collect();
        for (at, bytes) in known {
            let now = read(connection, &(at..at + bytes.len() as u64))?;
            if !are_alike(&bytes, &now) {
                let text = "this address now serves another volume than the one that was opened";
                return Err(io::Error::new(ErrorKind::InvalidData, text));
            }
        }
        Ok(())
    }

    /// Called when a change is about to be sent.
    pub(super) fn begin(&self, request: &Request) {
        for sample in self.samples().iter_mut().filter(|sample| sample.overlaps(request)) {
            // The order in which two concurrent changes take effect is unknown.
            if sample.under_way > 0 {
                sample.bytes = None;
            }
            sample.under_way += 1;
        }
    }

    /// Called when a change has ended.
    pub(super) fn end(&self, request: &Request, change: &Change<'_>) {
        for sample in self.samples().iter_mut().filter(|sample| sample.overlaps(request)) {
            sample.under_way -= 1;
            match change {
                Change::Written(payload, answered) => sample.patch(request.offset, payload, *answered),
                Change::NotSent => {}
                Change::Unknown => sample.bytes = None,
            }
        }
    }

    fn samples(&self) -> MutexGuard<'_, Vec<Sample>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Sample {
    /// The content that the sample must have, if it is certain.
    fn certain(&self, flushed: u64) -> Option<(u64, Vec<u8>)> {
        let is_certain = self.under_way == 0 && self.changed <= flushed;
        self.bytes.clone().filter(|_| is_certain).map(|bytes| (self.at, bytes))
    }

    fn overlaps(&self, request: &Request) -> bool {
        let end = self.at + self.bytes.as_ref().map_or(SAMPLE, |bytes| bytes.len() as u64);
        request.offset < end && self.at < request.offset.saturating_add(request.length)
    }

    fn patch(&mut self, offset: u64, payload: &[u8], answered: u64) {
        self.changed = answered;
        let Some(bytes) = &mut self.bytes else { return };
        let end = (offset + payload.len() as u64).min(self.at + bytes.len() as u64);
        let start = offset.max(self.at);
        let from = &payload[(start - offset) as usize..(end - offset) as usize];
        bytes[(start - self.at) as usize..(end - self.at) as usize].copy_from_slice(from);
    }
}

/// Where samples are taken: at the start, at the end, and in between.
fn places(agreed: &Agreed) -> Vec<Range<u64>> {
    let len = SAMPLE.max(agreed.block).min(agreed.size);
    let last = (agreed.size - len) / agreed.block * agreed.block;
    let mut starts: Vec<u64> = (0..=4).map(|n| last / 4 * n / agreed.block * agreed.block).collect();
    starts[4] = last;
    starts.dedup();
    starts.into_iter().filter(|_| len > 0).map(|start| start..start + len).collect()
}

fn read(connection: &Connection, range: &Range<u64>) -> io::Result<Vec<u8>> {
    let length = range.end - range.start;
    let request = Request { flags: 0, kind: command::READ, cookie: 0, offset: range.start, length };
    let mut bytes = vec![0; length as usize];
    match connection.ask(request, &[], &mut bytes) {
        Ok(_) => Ok(bytes),
        Err(Trouble::Refused(error) | Trouble::NotSent(error) | Trouble::Lost(error)) => Err(error),
    }
}

fn are_alike(known: &[u8], now: &[u8]) -> bool {
    match header_of(known) {
        Some(header) => header_of(now) == Some(header),
        None => known == now,
    }
}

/// The part of a LUKS header that identifies the volume.
fn header_of(bytes: &[u8]) -> Option<&[u8]> {
    match bytes.strip_prefix(b"LUKS\xba\xbe")? {
        [0, 1, ..] => bytes.get(..LUKS1_KEYSLOTS),
        [0, 2, ..] => bytes.get(LUKS2_UUID),
        _ => None,
    }
}

/// The size of a sample in bytes: a LUKS2 header without its JSON.
const SAMPLE: u64 = 4096;
/// The offset of the first keyslot in a LUKS1 header.
const LUKS1_KEYSLOTS: usize = 208;
/// The range of the UUID in a LUKS2 header.
const LUKS2_UUID: Range<usize> = 168..208;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nbd::protocol::Headers;

    fn luks(version: u8, at: usize, byte: u8) -> Vec<u8> {
        let mut header = vec![0; SAMPLE as usize];
        header[..8].copy_from_slice(&[b'L', b'U', b'K', b'S', 0xba, 0xbe, 0, version]);
        header[at] = byte;
        header
    }

    #[test]
    fn a_luks_volume_is_its_header_without_its_keyslots() {
        assert!(are_alike(&luks(1, 208, 1), &luks(1, 208, 2)));
        for at in [8, 112, 132, 168, 207] {
            assert!(!are_alike(&luks(1, at, 1), &luks(1, at, 2)), "{at}");
        }
        // LUKS2: the sequence number and checksum change with every edit.
        for at in [16, 167, 208, 448] {
            assert!(are_alike(&luks(2, at, 1), &luks(2, at, 2)), "{at}");
        }
        assert!(!are_alike(&luks(2, 168, 1), &luks(2, 168, 2)));
        assert!(!are_alike(&luks(2, 207, 1), &luks(2, 207, 2)));
        assert!(!are_alike(&luks(1, 300, 0), &luks(2, 300, 0)));
        assert!(!are_alike(&luks(2, 300, 0), &vec![0; 4096]));
        // Other samples are compared byte by byte.
        assert!(are_alike(&[7; 4096], &[7; 4096]));
        assert!(!are_alike(&luks(3, 300, 1), &luks(3, 300, 2)));
        assert!(!are_alike(&[7; 4096], &luks(2, 168, 1)));
    }

    #[test]
    fn samples_lie_in_the_export() {
        let agreed = |size, block| Agreed {
            size,
            flags: 0,
            block,
            longest: 1 << 20,
            headers: Headers::Simple,
            allocation: None,
        };
        let spread = [0..4096, 261_120..265_216, 522_240..526_336, 783_360..787_456, 1_044_480..1_048_576];
        assert_eq!(places(&agreed(1 << 20, 512)), spread);
        assert_eq!(places(&agreed(0, 1)), []);
        let one = |size, block| match places(&agreed(size, block)).as_slice() {
            [one] => one.clone(),
            others => panic!("{others:?}"),
        };
        assert_eq!((one(100, 1), one(65536, 65536)), (0..100, 0..65536));
        for (size, block) in [(1, 1), (4097, 1), (12345, 1), (5 << 16, 1 << 16), (u64::MAX >> 1, 1)] {
            for range in places(&agreed(size, block)) {
                assert!(range.end <= size && range.start.is_multiple_of(block) && !range.is_empty());
            }
        }
    }

    fn write(offset: u64, length: u64) -> Request {
        Request { flags: 0, kind: command::WRITE, cookie: 0, offset, length }
    }

    fn identity() -> Identity {
        let bytes = Some(vec![1; 4096]);
        Identity(Mutex::new(vec![Sample { at: 8192, bytes, under_way: 0, changed: 0 }]))
    }

    #[test]
    fn own_writes_are_followed_and_count_when_they_are_flushed() {
        let identity = identity();
        let certain = |flushed| identity.samples()[0].certain(flushed).map(|(_, bytes)| bytes);
        let mut expected = vec![1; 4096];
        for (answered, offset, len) in [(1, 8000, 200), (2, 12_000, 1000), (3, 9000, 1), (4, 0, 20_000)] {
            let payload = vec![answered as u8 + 1; len];
            let request = write(offset, len as u64);
            identity.begin(&request);
            assert_eq!(certain(99), None, "under way");
            identity.end(&request, &Change::Written(&payload, answered));
            assert_eq!(certain(answered - 1), None, "not flushed");
            for at in offset.max(8192)..(offset + len as u64).min(12288) {
                expected[(at - 8192) as usize] = answered as u8 + 1;
            }
            assert_eq!(certain(answered), Some(expected.clone()));
        }
        // Changes next to the samples do not affect them.
        for request in [write(8191, 1), write(12288, 5), write(0, 8192)] {
            identity.begin(&request);
            assert!(certain(4).is_some());
            identity.end(&request, &Change::Unknown);
        }
        assert_eq!(certain(4), Some(expected));
    }

    #[test]
    fn what_nobody_knows_is_not_compared() {
        let request = write(8192, 512);
        let cases: [(Change<'_>, bool); 2] = [(Change::NotSent, true), (Change::Unknown, false)];
        for (change, known) in cases {
            let identity = identity();
            identity.begin(&request);
            identity.end(&request, &change);
            assert_eq!(identity.samples()[0].certain(0).is_some(), known);
        }
        let identity = identity();
        identity.begin(&request);
        identity.begin(&request);
        identity.end(&request, &Change::NotSent);
        identity.end(&request, &Change::NotSent);
        assert!(identity.samples()[0].certain(9).is_none(), "two at a time");
    }
}
