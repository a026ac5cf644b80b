//! dm-crypt's table lines, as kernels newer than this program may write them:
//! what parses is written again so that it means the same, and what the
//! kernel itself would write comes back byte for byte.
#![no_main]

use keyway_attach::dm::crypt::Line;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &[u8]| {
    if let Ok(line) = Line::parse(text) {
        let written = line.format();
        let again = Line::parse(written.expose()).expect("what was written parses");
        assert_eq!(again.options, line.options);
        assert_eq!(again.key.len(), line.key.len());
        assert!(again.format().ct_eq(written.expose()), "writing is stable");
    }
});
