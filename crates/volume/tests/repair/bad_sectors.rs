//! Sectors that cannot be read.

use super::*;
use std::io;
use std::sync::Mutex;

/// A disk with bad sectors, which a write replaces.
struct Bad {
    memory: Memory,
    sectors: Mutex<Vec<u64>>,
}

impl Storage for Bad {
    fn len(&self) -> u64 {
        self.memory.len()
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        let end = offset + buf.len() as u64;
        match self.sectors.lock().unwrap().iter().any(|bad| *bad < end && offset < bad + 4096) {
            true => Err(io::Error::other("medium error")),
            false => self.memory.read_at(buf, offset),
        }
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        let end = offset + buf.len() as u64;
        self.sectors.lock().unwrap().retain(|bad| *bad < offset || end < bad + 4096);
        self.memory.write_at(buf, offset)
    }

    fn flush(&self) -> io::Result<()> {
        Ok(())
    }

    fn discard(&self, _: Range<u64>) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn bad_sectors_of_the_disk_are_damage() {
    let sound = volume(16 << 10);
    let sectors = Mutex::new(vec![4096, (16 << 10) + 8192, 32 << 10]);
    let storage = Arc::new(Bad { memory: Memory::from(sound.clone()), sectors });
    let repair = Repair::prepare(storage.clone(), Locking::Disabled).unwrap();
    assert_eq!(
        repair.warnings(),
        [
            "Bytes 4096 to 8192 are unreadable, and count as lost.",
            "Bytes 24576 to 28672 are unreadable, and count as lost.",
            "Bytes 32768 to 36864 are unreadable, and count as lost.",
        ]
    );
    assert_eq!(repair.keyslots()[0].unreadable, [32768..36864]);
    repair.run().unwrap();
    assert_eq!(
        *storage.sectors.lock().unwrap(),
        [32768],
        "the header's sectors are written, the keyslot's is not"
    );
    assert!(storage.memory.to_vec() == sound);
}
