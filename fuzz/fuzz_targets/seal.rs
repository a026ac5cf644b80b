//! Seals: any token is read or refused, and what is read of it is
//! written as a token that reads the same.
#![no_main]

use keyway_volume::header::seal::Seal;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|token: &[u8]| {
    let Ok(text) = str::from_utf8(token) else { return };
    if let Ok(seal) = Seal::parse(text) {
        assert_eq!(Seal::parse(&seal.to_json()), Ok(seal));
    }
});
