//! The kernel's command line: every text is read, and each volume that it names is a line of crypttab.
#![no_main]

use keyway_boot::cmdline::CommandLine;
use keyway_boot::crypttab::parse;
use keyway_boot::plan::Plan;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let line = CommandLine::parse(text);
    let planned = Plan::new(line.clone(), Vec::new(), None).entries;
    for entry in line.entries.into_iter().chain(planned) {
        let line = entry.line();
        let [again] = &parse(&line)[..] else { panic!("{entry} is not one line") };
        assert_eq!(again.line(), line);
    }
});
