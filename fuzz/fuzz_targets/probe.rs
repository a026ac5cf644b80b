//! Signatures: whatever bytes claim, everything that is recognised stands within them.
#![no_main]

use keyway_volume::device::probe::{
    Reach, file_system, foreign, identity, largest_sector, probe, probe_range,
};
use keyway_volume::device::storage::Memory;
use keyway_volume::device::stream::Source;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let len = bytes.len() as u64;
    let content = Memory::from(bytes.to_vec());
    let found = probe(&content).expect("memory can be read");
    assert!(found.iter().all(|found| found.offset < len));
    let start = probe_range(&content, 0..len, Reach::Start).expect("memory can be read");
    assert!(start.len() <= found.len() + 1, "only a GPT's copy at the end can make less of the start");
    let sector = largest_sector(&Source::Storage(&content, 0..len));
    assert!(sector.is_none_or(|size| size.is_power_of_two() && (512..=4096).contains(&size)));
    let _ = (foreign(&content), file_system(&content, Reach::Start), identity(&content));
});
