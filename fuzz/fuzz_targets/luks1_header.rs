//! LUKS1 headers: what is accepted is written back to the byte and
//! keeps its promises; repair gives a valid header.
#![no_main]

use keyway_format::luks1::Header;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(header) = Header::parse(bytes) {
        assert_eq!(header.to_bytes()[..], bytes[..592]);
        assert!(header.payload_offset.0 == 0 || header.end_of_areas() <= header.payload_offset);
        let mut starts: Vec<u64> = header.slots.iter().map(|slot| slot.offset.0).collect();
        starts.sort_unstable();
        for (before, after) in starts.iter().zip(&starts[1..]) {
            assert!(before + header.area_sectors().0 <= *after);
        }
        let mut edited = header.clone();
        edited.enable_slot(5, 1, [1; 32]).unwrap();
        edited.disable_slot(5).unwrap();
        edited.set_uuid("0be2b1c4-6a47-4f0e-8d3f-0f1d1b1a1c01").unwrap();
        assert_eq!(edited.to_bytes()[..168], bytes[..168]);
    }
    if let Ok((header, _)) = Header::repair(bytes) {
        assert_eq!(Header::parse(&header.to_bytes()), Ok(header));
    }
});
