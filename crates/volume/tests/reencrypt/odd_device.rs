//! A volume that is re-encrypted in use is what its device is.

use crate::disk::Disks;
use crate::online::{case, keys};
use crate::{Kind, seeded};
use keyway_volume::device::storage::Memory;
use keyway_volume::reencrypt::{Job, Online, Options};
use keyway_volume::{Access, Luks, Random, Storage};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A device that cannot be written, and is far away, with a hole in it.
struct Odd(Memory, AtomicUsize);

impl Storage for Odd {
    fn len(&self) -> u64 {
        self.0.len()
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> std::io::Result<()> {
        self.0.read_at(buf, offset)
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> std::io::Result<()> {
        self.0.write_at(buf, offset)
    }

    fn flush(&self) -> std::io::Result<()> {
        self.1.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }

    fn discard(&self, range: Range<u64>) -> std::io::Result<()> {
        self.0.discard(range)
    }

    fn is_read_only(&self) -> bool {
        true
    }

    fn is_distant(&self) -> bool {
        true
    }

    fn next_data(&self, offset: u64) -> std::io::Result<Option<Range<u64>>> {
        let data = 8192..self.len();
        Ok((offset < data.end).then(|| offset.max(data.start)..data.end))
    }
}

/// What the device is, the volume is, whoever else is at work on it; and each kind of request reaches it.
#[test]
fn it_is_as_its_device_is() {
    let case = case(Kind::Key { detached: true }, "checksum", (4096, 512), 64 << 10, 32 << 10);
    let rng = &mut seeded(6);
    let start = case.start(rng);
    let disks = Disks::new(start.images.clone());
    case.begin(&disks, rng).unwrap();
    let data = Arc::new(Odd(Memory::from(start.images[1].clone()), AtomicUsize::new(0)));
    let luks = Luks::open(disks.disk(0), Access::Write).unwrap();
    let options = Options { zone: case.zone, ..Options::default() };
    let job = Job::resume(luks, data.clone(), &keys(&case), &options, rng).unwrap();
    let volume = Online::new(job, keys(&case), false).unwrap();
    assert!(volume.is_read_only() && volume.is_distant());
    assert_eq!((volume.len(), volume.unit()), (64 << 10, 4096));
    assert_eq!(volume.next_data(0).unwrap(), Some(8192..64 << 10));
    assert_eq!(volume.next_data(64 << 10).unwrap(), None);
    let flushed = data.1.load(Ordering::SeqCst);
    volume.flush().unwrap();
    assert_eq!(data.1.load(Ordering::SeqCst), flushed + 1);

    let mut part = vec![0; 4096];
    rng.fill(&mut part).unwrap();
    let written = part.clone();
    volume.write_from(&mut part, 40960).unwrap();
    volume.read_at(&mut part, 40960).unwrap();
    assert!(part == written, "written from a buffer that may be changed");
    volume.discard(45056..49152).unwrap();
    data.read_at(&mut part, 45056).unwrap();
    assert!(part.iter().all(|byte| *byte == 0), "discarded");
    assert_eq!(volume.requests(), 3);

    assert_eq!(volume.progress().done, 0);
    assert!(!volume.step(rng).unwrap());
    assert_eq!((volume.progress().done, volume.progress().len), (32 << 10, 64 << 10));
    assert!(volume.step(rng).unwrap());
    assert_eq!((volume.progress().done, volume.unit()), (64 << 10, 512));
}
