//! Preconditioning: every byte is written before anything is measured. A disk that never held data
//! answers reads without reading, a file system allocates at the first write, and more devices
//! compress or skip zeros than document it.

use super::engine::Aligned;
use crate::Clock;
use crate::memory::pattern;
use keyway_volume::Storage;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

/// What was filled.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Filled {
    /// The number of bytes filled, from the start: fewer than requested if that would have taken
    /// too long.
    pub bytes: u64,
    /// Bytes per second, including the flush.
    pub speed: f64,
}

/// Fills the first `region` bytes with random bytes, for at most `seconds`, but at least the
/// smallest size.
///
/// # Errors
/// The storage's error; [`io::ErrorKind::Interrupted`] if filling was stopped.
pub fn fill(
    storage: &dyn Storage,
    region: u64,
    seconds: f64,
    clock: &dyn Clock,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(u64),
) -> io::Result<Filled> {
    let mut memory = Aligned::new(PIECE as usize);
    let start = clock.now();
    let took = || (clock.now() - start).as_secs_f64();
    let mut bytes = 0;
    while bytes < region && (bytes < LEAST || took() < seconds) {
        if stop.load(Ordering::Relaxed) {
            return Err(io::ErrorKind::Interrupted.into());
        }
        pattern(bytes ^ SEED, memory.bytes());
        let len = (region - bytes).min(PIECE);
        storage.write_at(&memory.bytes()[..len as usize], bytes)?;
        bytes += len;
        progress(bytes);
    }
    storage.flush()?;
    Ok(Filled { bytes, speed: bytes as f64 / took().max(1e-9) })
}

const PIECE: u64 = 1 << 20;
/// The smallest size.
const LEAST: u64 = 10 << 20;
const SEED: u64 = 0x6b65_7977_6179;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Scripted;
    use keyway_volume::device::storage::Memory;
    use std::time::Duration;

    #[test]
    fn no_block_stays_as_it_was_and_none_is_like_another() {
        let storage = Memory::zeroed(12 << 20);
        let clock = Scripted::new(0, &[Duration::from_millis(1)]);
        let filled = fill(&storage, 12 << 20, 60.0, &clock, &AtomicBool::new(false), &mut |_| {}).unwrap();
        assert_eq!(filled.bytes, 12 << 20);
        let mut blocks = std::collections::HashSet::new();
        for offset in (0..12 << 20).step_by(4096) {
            let mut block = vec![0; 4096];
            storage.read_at(&mut block, offset).unwrap();
            assert!(blocks.insert(block), "at {offset}");
        }
    }

    #[test]
    fn time_ends_it_and_so_does_a_stop() {
        let storage = Memory::zeroed(64 << 20);
        let slow = Scripted::new(0, &[Duration::from_secs(1)]);
        let stop = AtomicBool::new(false);
        let filled = fill(&storage, 64 << 20, 20.0, &slow, &stop, &mut |_| {}).unwrap();
        assert!((10 << 20..40 << 20).contains(&filled.bytes), "{filled:?}");
        let error = fill(&storage, 64 << 20, 20.0, &slow, &AtomicBool::new(true), &mut |_| {}).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::Interrupted);
    }
}
