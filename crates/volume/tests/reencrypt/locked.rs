//! Old keyslots are wiped under the header's lock: once the header has forgotten them, somebody's new
//! keyslot may be placed there.

use super::*;
use keyway_volume::device::storage::{File, LockTarget};
use rustix::fs::{FlockOperation, flock};
use std::io;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Mutex;

/// A file that notes where it is written to, and whether its lock is held meanwhile.
struct Watched {
    file: File,
    path: PathBuf,
    writes: Mutex<Vec<(Range<u64>, bool)>>,
}

impl Storage for Watched {
    fn len(&self) -> u64 {
        self.file.len()
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        self.file.read_at(buf, offset)
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        let other = std::fs::File::open(&self.path)?;
        let locked = flock(&other, FlockOperation::NonBlockingLockExclusive).is_err();
        self.writes.lock().unwrap().push((offset..offset + buf.len() as u64, locked));
        self.file.write_at(buf, offset)
    }

    fn flush(&self) -> io::Result<()> {
        self.file.flush()
    }

    fn discard(&self, range: Range<u64>) -> io::Result<()> {
        self.file.discard(range)
    }

    fn lock_target(&self) -> Option<LockTarget<'_>> {
        self.file.lock_target()
    }
}

#[test]
fn the_old_keyslot_is_wiped_under_the_lock() {
    let rng = &mut seeded(5);
    let case = cases().into_iter().find(|case| case.kind == Kind::Key { detached: false }).unwrap();
    let start = case.start(rng);
    let disks = Disks::new(start.images);
    case.begin(&disks, rng).unwrap();

    let path = std::env::temp_dir().join(format!("keyway-reencrypt-locked-{}", std::process::id()));
    std::fs::write(&path, &disks.images()[0]).unwrap();
    let file = File::open_rw(&path).unwrap();
    let watched = Arc::new(Watched { file, path: path.clone(), writes: Mutex::default() });
    let luks = Luks::open(watched.clone(), Access::Write).unwrap();
    let keyway_volume::Header::Luks2 { metadata, .. } = luks.header() else { panic!("not LUKS2") };
    let area = &metadata.keyslots[&0].area;
    let (from, to) = (area.offset.0, area.end().0);
    let limits = UnlockOptions { threads: 1, ..UnlockOptions::default() };
    let old = unlock_one(&luks, "one", 0, &limits).unwrap();
    let new = unlock_one(&luks, "two", 1, &limits).unwrap();
    let keys = VolumeKeys::new(Some(old), Some(new));
    let options = Options { zone: case.zone, holds_header: true, ..Options::default() };
    let mut job = Job::resume(luks, watched.clone(), &keys, &options, rng).unwrap();
    while !job.step(rng).unwrap() {}
    std::fs::remove_file(&path).unwrap();

    let writes = watched.writes.lock().unwrap();
    let wipes: Vec<_> = writes.iter().filter(|(at, _)| at.start < to && from < at.end).collect();
    assert!(!wipes.is_empty(), "the old keyslot is still there");
    assert!(wipes.iter().all(|(_, locked)| *locked), "{wipes:?}");
    assert!(writes.iter().any(|(_, locked)| !locked), "data is written without the header's lock");
}
