//! Policies: any text is read or refused with a line that it has.
#![no_main]

use keyway_volume::trust::policy::Policy;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &[u8]| {
    match Policy::parse(text) {
        Ok(policy) => assert_eq!(Policy::parse(text), Ok(policy)),
        Err(error) => {
            let lines = text.iter().filter(|&&byte| byte == b'\n').count() + 1;
            assert!((1..=lines).contains(&error.line), "{error}");
        }
    }
});
