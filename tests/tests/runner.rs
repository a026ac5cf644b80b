//! `./dev test` itself, with a cargo that says what tests say: what a failure's last lines are, what runs once more, and
//! when a test that fails and then passes is forgiven.

use keyway_tests::{Run, Scratch, need, peer, programs};
use std::path::Path;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
/// What `cargo test --quiet` printed of one good and two bad tests, a line of a backtrace among it.
const TWO_FAIL: &str = "\n\
    running 3 tests\n\
    doors::slow --- FAILED\n. 2/3\ntests::bad --- FAILED\n\n\
    failures:\n\n\
    ---- doors::slow stdout ----\n\
    a line of the program's\n\n\
    thread 'doors::slow' (24624) panicked at tests/doors.rs:10:54:\n\
    assertion `left == right` failed: the time is up\n  left: 1\n right: 2\n\
    stack backtrace:\n   0: __rustc::rust_begin_unwind\n\n\
    ---- tests::bad stdout ----\nError: \"no such volume\"\n\n\n\
    failures:\n    doors::slow\n    tests::bad\n\n\
    test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.12s\n\n\
    error: test failed, to rerun pass `--lib`\n";
const ONE_FAILS: &str = "\nfailures:\n\n---- doors::slow stdout ----\n\n\
    thread 'doors::slow' (7) panicked at tests/doors.rs:10:54:\nagain\n\n\nfailures:\n    doors::slow\n\n\
    test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 3 filtered out; finished in 0.12s\n\n\
    error: test failed, to rerun pass `--lib`\n";
const TWO_PASS: &str =
    "test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 1 filtered out; finished in 0.01s\n";
const NONE: &str =
    "test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 1 filtered out; finished in 0.01s\n";
const KILLED: &str = "\nrunning 1 test\nerror: test failed, to rerun pass `--test two`\n\nCaused by:\n  \
    process didn't exit successfully: `two --quiet` (signal: 6, SIGABRT: process abort signal)\n";

/// How often the layer `unit` calls cargo.
const UNIT: usize = 11;

/// `./dev test ARGS` where cargo's n-th run says the n-th of these and fails if one of its tests does; later ones say the
/// last.
fn dev_test(scratch: &Scratch, args: &str, says: &[&str]) -> Run {
    for (run, text) in says.iter().enumerate() {
        scratch.file(&format!("says.{}", run + 1), text);
    }
    let cargo = "#!/bin/bash\n\
        echo \"$@\" >>asked; n=$(wc -l <asked); [ -e says.$n ] || n=LAST\n\
        cat says.$n; ! grep -q 'FAILED\\|^error' says.$n\n";
    let cargo = cargo.replace("LAST", &says.len().to_string());
    for (name, script) in [("cargo", &*cargo), ("rustc", "#!/bin/sh\necho rustc 999.0.0 '(a fake)'\n")] {
        programs::script(scratch.path(name), script);
    }
    for part in ["dev", "dev.d", "Cargo.toml"] {
        peer("cp", "-r").arg(Path::new(ROOT).join(part)).arg(scratch.root()).ok();
    }
    let _ = std::fs::remove_file(scratch.path("asked"));
    let path = format!("{}:{}", scratch.root().display(), std::env::var("PATH").unwrap_or_default());
    peer("bash", "./dev test")
        .args(args)
        .directory(scratch.root())
        .env("PATH", path)
        .env("KEYWAY_FLAKY", "")
        .env("KEYWAY_LOAD", "0")
        .env("KEYWAY_AT_ONCE", "1")
}

/// What cargo was asked, run by run.
fn asked(scratch: &Scratch) -> Vec<String> {
    let text = std::fs::read_to_string(scratch.path("asked")).unwrap();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn a_failure_ends_in_what_to_do_about_it() {
    need!("bash");
    let scratch = Scratch::new();
    let run = dev_test(&scratch, "unit", &[TWO_FAIL, ONE_FAILS]).fails(1);
    let text = run.text();
    let (_, last) = text.split_once("1 passed, 2 failed, 0 skipped\n\n").unwrap_or_else(|| panic!("{run}"));
    assert_eq!(
        last,
        "FAILED: unit, doors::slow\n    \
         thread 'doors::slow' (24624) panicked at tests/doors.rs:10:54:\n    \
         assertion `left == right` failed: the time is up\n      left: 1\n     right: 2\n  \
         again: ./dev test unit -- doors::slow\n  \
         log:   target/dev/unit-1.log\n"
    );
    assert!(run.errors().ends_with("layer unit failed: its tests\n"), "{run}");
    // Both were tried once more, by their whole names, with the options of the run before.
    let asked = asked(&scratch);
    assert_eq!(asked.len(), 2, "{asked:?}");
    assert!(asked[0].contains(" --config profile.") && asked[0].ends_with(" keyway-attach"), "{asked:?}");
    assert_eq!(asked[1], format!("{} -- --exact doors::slow tests::bad", asked[0]));
}

#[test]
fn what_fails_and_then_passes_is_a_failure_of_the_person_at_work_only() {
    need!("bash");
    let scratch = Scratch::new();
    let outcome = dev_test(&scratch, "unit", &[TWO_FAIL, TWO_PASS]).fails(1);
    let text = outcome.text();
    // The parts of the layer: the first with two failures, the others with two passes each.
    assert!(text.contains("\n21 passed, 2 failed, 0 skipped\n"), "{outcome}");
    assert!(
        text.contains(
            "FAILED: unit, tests::bad (failed, then passed: flaky)\n    Error: \"no such volume\"\n"
        )
    );
    assert!(text.contains("  again: ./dev test unit -- tests::bad\n"), "{outcome}");
    let last = "failed, then passed: flaky. Mend these tests before anything else:\n  unit, doors::slow\n  unit, tests::bad\n";
    assert!(text.ends_with(last), "{outcome}");

    let run = || dev_test(&scratch, "unit", &[TWO_FAIL, TWO_PASS]).env("KEYWAY_FLAKY", "allow");
    let outcome = run().ok();
    assert!(outcome.text().contains("\n23 passed, 0 failed, 0 skipped\n"), "{outcome}");
    assert!(outcome.text().ends_with(last), "{outcome}");
    assert_eq!(asked(&scratch).len(), 1 + UNIT, "one more run than the layer has");
}

#[test]
fn three_are_forgiven_in_a_run_and_not_a_fourth() {
    need!("bash");
    let scratch = Scratch::new();
    let says = [TWO_FAIL, TWO_PASS, TWO_FAIL, TWO_PASS];
    let outcome = dev_test(&scratch, "unit", &says).env("KEYWAY_FLAKY", "allow").fails(1);
    assert!(outcome.text().contains(" 4 failed, 0 skipped\n"), "{outcome}");
    let many = TWO_FAIL.replace("    tests::bad\n\n", "    tests::bad\n    tests::c\n    tests::d\n\n");
    let outcome = dev_test(&scratch, "unit", &[&many, TWO_PASS]).env("KEYWAY_FLAKY", "allow").fails(1);
    assert_eq!(asked(&scratch).len(), 1, "four that fail are no accident: {outcome}");
    assert!(outcome.text().contains("and 1 more: see the log\n"), "{outcome}");
}

#[test]
fn a_program_that_is_killed_is_named_and_nothing_is_forgiven() {
    need!("bash");
    let scratch = Scratch::new();
    let outcome = dev_test(&scratch, "unit", &[KILLED]).env("KEYWAY_FLAKY", "allow").fails(1);
    let text = outcome.text();
    assert!(text.contains("FAILED: unit, the program of `--test two`\n"), "{outcome}");
    assert!(text.contains("SIGABRT"), "{outcome}");
    let outcome = dev_test(&scratch, "unit", &["error: cannot find value `x`\n"]).fails(1);
    assert!(outcome.text().contains("FAILED: unit, compiling the tests\n    error: cannot find value `x`\n"));
    // Where nothing is captured, the message stands wherever it was printed.
    let heading = "---- doors::slow stdout ----\n";
    let outcome = dev_test(&scratch, "unit", &[&ONE_FAILS.replace(heading, "")]).fails(1);
    assert!(outcome.text().contains("panicked at tests/doors.rs:10:54:\n    again\n  again: "), "{outcome}");
    // Killed when it runs again, or not there: it has not passed.
    for again in [KILLED, NONE] {
        let outcome = dev_test(&scratch, "unit", &[ONE_FAILS, again]).env("KEYWAY_FLAKY", "allow").fails(1);
        assert!(outcome.text().contains("FAILED: unit, doors::slow\n"), "{outcome}");
    }
}

#[test]
fn layers_run_side_by_side_and_are_counted_as_one_after_another() {
    need!("bash");
    let scratch = Scratch::new();
    let counts = |at_once| {
        let outcome = dev_test(&scratch, "unit engine", &[TWO_PASS]).env("KEYWAY_AT_ONCE", at_once).ok();
        let text = outcome.text();
        for layer in ["unit      ok ", "engine    ok "] {
            assert_eq!(text.matches(layer).count(), 1, "{outcome}");
        }
        assert_eq!(asked(&scratch).len(), UNIT + 3, "{outcome}");
        text.lines().last().unwrap_or_default().to_owned()
    };
    assert_eq!(counts("2"), "27 passed, 0 failed, 0 skipped");
    assert_eq!(counts("1"), counts("2"));

    // Both that run end; a third does not begin; both are named.
    let failing = || dev_test(&scratch, "unit engine measure", &[KILLED]).env("KEYWAY_AT_ONCE", "2").fails(1);
    let outcome = failing();
    for said in ["layer unit failed: its tests", "layer engine failed: its tests"] {
        assert!(outcome.errors().contains(said), "{outcome}");
    }
    assert!(outcome.text().contains("FAILED: engine, the program of `--test two`"), "{outcome}");
    assert!(!outcome.text().contains("== measure"), "{outcome}");
}

#[test]
fn one_test_runs_alone_by_its_name_and_an_unknown_one_is_said() {
    need!("bash");
    let scratch = Scratch::new();
    dev_test(&scratch, "unit -- doors::slow", &[TWO_PASS]).ok();
    assert!(asked(&scratch).iter().all(|line| line.ends_with(" doors::slow") && line.contains(" -- ")));
    dev_test(&scratch, "unit -- no_such", &[NONE]).fails(1).says("no test of unit is called no_such");
    dev_test(&scratch, "unti", &[NONE]).fails(1).says("no such layer: unti");
}

#[test]
fn a_change_is_tested_by_the_layers_that_it_can_touch() {
    need!("bash", "git");
    let scratch = Scratch::new();
    let _ = dev_test(&scratch, "", &[TWO_PASS]);
    for part in ["crates/remote", "docs", "tests/tests/vm"] {
        std::fs::create_dir_all(scratch.path(part)).unwrap();
    }
    let git = |line: &str| {
        peer("git", "-c user.name=x -c user.email=x@example.org").args(line).directory(scratch.root())
    };
    git("init -q .").ok();
    git("add .").ok();
    git("commit -q -m first").ok();
    let since = || {
        // (Whatever the layers are, none of them has to run.)
        let script = ". ./dev help >/dev/null; run_layers() { echo \"$@\"; }; ci --since HEAD";
        let said = peer("bash", "-c").arg(script).directory(scratch.root()).ok().text();
        said.lines().last().unwrap_or_default().to_owned()
    };
    for (file, layers) in [
        ("crates/remote/lib.rs", "check unit cli doors fuzz"),
        ("docs/METHOD.md", "check unit cli"),
        ("tests/tests/vm/main.rs", "check vm"),
    ] {
        scratch.file(file, "new");
        git("add").arg(file).ok();
        assert_eq!(since(), layers, "{file}");
        git("commit -q -m next").ok();
    }
    scratch.file("dev.d/new.sh", "");
    git("add dev.d").ok();
    assert!(since().starts_with("check unit engine ct ") && since().ends_with(" fuzz"), "{}", since());
    git("commit -q -m last").ok();
    assert!(since().starts_with("nothing that a test looks at has changed"), "{}", since());
    peer("bash", "./dev ci --since no-such")
        .directory(scratch.root())
        .fails(1)
        .says("no such commit: no-such");
}
