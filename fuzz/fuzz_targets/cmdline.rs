//! The kernel's command line: every text is read, and each volume that it names is a line of crypttab.
#![no_main]

use keyway_boot::cmdline::CommandLine;
use keyway_boot::crypttab::parse;
use keyway_boot::plan::Plan;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let line = CommandLine::parse(text);
    for entry in &line.entries {
        let line = entry.line();
        let [again] = &parse(&line)[..] else { panic!("{entry} is not one line") };
        assert_eq!(again.line(), line);
    }
    // With what is said of all volumes; of its options a table has so many and no more.
    for entry in Plan::new(line, Vec::new(), None).entries {
        let [again] = &parse(&entry.line())[..] else { panic!("{entry} is not one line") };
        assert_eq!(
            (&again.name, &again.device, &again.key_file),
            (&entry.name, &entry.device, &entry.key_file)
        );
    }
});
