//! The kernel's command line: every text is read, and each volume that it names is a line of crypttab.
#![no_main]

use keyway_boot::cmdline::CommandLine;
use keyway_boot::crypttab::parse;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    for entry in CommandLine::parse(text).entries {
        let line = entry.line();
        let [again] = &parse(&line)[..] else { panic!("{entry} is not one line") };
        assert_eq!(again.line(), line);
    }
});
