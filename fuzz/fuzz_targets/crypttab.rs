//! crypttab: every table is read, and what is read of it is written as a table that reads the same.
#![no_main]

use keyway_boot::crypttab::parse;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|table: &[u8]| {
    let entries = parse(table);
    let mut written = Vec::new();
    for entry in &entries {
        written.extend(entry.line());
        written.push(b'\n');
    }
    assert_eq!(parse(&written), entries);
});
