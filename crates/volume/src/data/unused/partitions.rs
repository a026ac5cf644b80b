//! Which parts of an image may hold file systems: its partitions.

use crate::Storage;
use crate::device::partitions::Partitions;
use std::io;
use std::ops::Range;

/// Byte ranges of the partitions; `None` when there is no partition table. None at all when two
/// overlap (a hybrid or forged table), because it is unclear which partition owns which bytes.
pub(super) fn extents(image: &dyn Storage) -> io::Result<Option<Vec<Range<u64>>>> {
    let Some(table) = Partitions::of(image)? else { return Ok(None) };
    let all = if table.overlap() { Vec::new() } else { table.all };
    let mut ranges: Vec<_> = all.into_iter().map(|partition| partition.bytes).collect();
    ranges.sort_unstable_by_key(|range| range.start);
    Ok(Some(ranges))
}
