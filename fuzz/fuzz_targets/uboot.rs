//! U-Boot's legacy images: what is read is written again to the same bytes.
#![no_main]

use keyway_boot::uboot::{Header, script_text};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|image: &[u8]| {
    if let Ok((header, data)) = Header::read(image) {
        let _ = script_text(data);
        if let Ok(again) = header.image(data) {
            let (second, same) = Header::read(&again).expect("made here");
            assert_eq!((second, same), (header, data));
        }
    }
});
