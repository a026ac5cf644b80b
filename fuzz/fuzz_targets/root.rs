//! What a kernel's command line says of the root: whatever it holds is read, and what is left for the file
//! system holds nothing that is mount(8)'s.
#![no_main]

use keyway_boot::root::{MountOptions, Root, Waits};
use libfuzzer_sys::fuzz_target;
use std::time::Duration;

fuzz_target!(|line: &str| {
    let root = Root::parse(line);
    let usual = Duration::from_secs(30);
    assert!(Waits::new(None, line, usual).optional <= usual);
    for options in [root.options, MountOptions::parse(line)] {
        let again = MountOptions::parse(&options.data);
        assert_eq!((again.flags, again.data), (0, options.data));
    }
});
