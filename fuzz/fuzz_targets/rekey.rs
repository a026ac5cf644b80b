//! Marks of volumes that wait for their first boot: any token is read or refused, and what is read of it
//! is written as a token that reads the same.
#![no_main]

use keyway_volume::reencrypt::rekey::Mark;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|token: &[u8]| {
    let Ok(text) = str::from_utf8(token) else { return };
    if let Ok(mark) = Mark::parse(text) {
        assert_eq!(Mark::parse(&mark.to_json()), Ok(mark));
    }
});
