//! Partition tables: whatever bytes claim, every partition lies within the disk, and they are few.
#![no_main]

use keyway_volume::device::partitions::Partitions;
use keyway_volume::device::storage::Memory;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let len = bytes.len() as u64;
    let disk = Memory::from(bytes.to_vec());
    let Some(table) = Partitions::of(&disk).expect("memory can be read") else { return };
    assert!(table.all.len() <= 1024);
    for partition in &table.all {
        assert!(partition.bytes.start < partition.bytes.end && partition.bytes.end <= len);
        assert_eq!(table.find(partition.number), Some(partition));
        partition.content(&disk).expect("memory can be read");
    }
});
