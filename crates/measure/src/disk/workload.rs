//! The workloads: sequential sizes from 10 to 2000 MiB, 4 KiB at random, and a long run that fills
//! the disk's internal caches and warms up its controller.

use crate::results::Pattern;

/// One kind of workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Workload {
    /// Order and direction.
    pub pattern: Pattern,
    /// Bytes of one request.
    pub block: u32,
    /// Requests in flight at once.
    pub depth: u32,
    /// When the run ends.
    pub bound: Bound,
}

/// When a run ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    /// After this many bytes.
    Bytes(u64),
    /// After some time.
    Time,
    /// After a long time, every part of which is a sample.
    Sustained,
}

impl Workload {
    /// Whether it makes any writes.
    pub fn writes(&self) -> bool {
        !matches!(self.pattern, Pattern::SequentialRead | Pattern::RandomRead)
    }

    /// Whether it makes any reads.
    pub fn reads(&self) -> bool {
        !matches!(self.pattern, Pattern::SequentialWrite | Pattern::RandomWrite)
    }

    /// Whether its requests follow one another on the storage.
    pub fn is_sequential(&self) -> bool {
        self.pattern.is_sequential()
    }

    /// The total bytes read or written, if a byte count ends the run.
    pub fn total(&self) -> Option<u64> {
        match self.bound {
            Bound::Bytes(bytes) => Some(bytes),
            Bound::Time | Bound::Sustained => None,
        }
    }
}

/// All of them, in the order in which they are measured: long workloads come last, so a short run
/// leaves those out.
pub fn all() -> Vec<Workload> {
    let (small, large) = SIZES_MIB.split_at(SMALL);
    let mut all: Vec<Workload> = small.iter().flat_map(|mib| both(Bound::Bytes(mib << 20))).collect();
    for depth in [1, DEEP] {
        for pattern in [Pattern::RandomRead, Pattern::RandomWrite, Pattern::RandomMixed] {
            all.push(Workload { pattern, block: RANDOM_BLOCK, depth, bound: Bound::Time });
        }
    }
    all.extend(both(Bound::Sustained));
    all.extend(large.iter().flat_map(|mib| both(Bound::Bytes(mib << 20))));
    all
}

fn both(bound: Bound) -> [Workload; 2] {
    [Pattern::SequentialWrite, Pattern::SequentialRead].map(|pattern| Workload {
        pattern,
        block: SEQUENTIAL_BLOCK,
        depth: 1,
        bound,
    })
}

/// The sizes that are commonly measured with `dd`, in MiB.
pub const SIZES_MIB: [u64; 8] = [10, 20, 50, 100, 200, 500, 1000, 2000];
/// The number of sizes that come before everything else.
const SMALL: usize = 5;
/// `dd bs=1M`.
pub(crate) const SEQUENTIAL_BLOCK: u32 = 1 << 20;
/// A page.
pub(crate) const RANDOM_BLOCK: u32 = 4096;
/// The queue depth of a SATA disk.
const DEEP: u32 = 32;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_size_is_read_and_written_and_what_is_random_comes_before_what_is_large() {
        let all = all();
        assert_eq!(all.len(), 16 + 6 + 2);
        for mib in SIZES_MIB {
            let of_size: Vec<_> = all.iter().filter(|one| one.total() == Some(mib << 20)).collect();
            assert!(of_size.len() == 2 && of_size[0].writes() && of_size[1].reads());
        }
        let place = |wanted: &dyn Fn(&Workload) -> bool| all.iter().position(wanted).unwrap();
        assert!(place(&|one| !one.is_sequential()) < place(&|one| one.total() == Some(500 << 20)));
    }
}
