//! Suites and slices that really run.

use super::saved;
use keyway_tests::timeouts::{LATE, LONG_COMMAND, scaled};
use keyway_tests::{Run, Scratch, Terminal, keyway, need, peer, until};
use std::fs;
use std::path::{Path, PathBuf};

pub(super) fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)
}

/// Validates with a third-party implementation of JSON Schema.
#[track_caller]
pub(super) fn follows_the_schema(file: &Path) {
    peer("jsonschema", "-i").arg(file).arg(repository("docs/bench.schema.json")).ok();
}

/// The same for JSON lines, of which the schema describes one.
#[track_caller]
pub(super) fn lines_follow_the_schema(scratch: &Scratch, file: &Path) {
    let lines = fs::read_to_string(file).unwrap();
    let row = fs::read_to_string(repository("docs/bench-row.schema.json")).unwrap();
    let all = scratch.file("rows.json", format!("[{}]", lines.lines().collect::<Vec<_>>().join(",")));
    let schema =
        scratch.file("rows.schema.json", format!("{{\"type\":\"array\",\"minItems\":1,\"items\":{row}}}"));
    peer("jsonschema", "-i").arg(all).arg(schema).ok();
}

#[test]
fn every_suite_runs_and_follows_the_schema() {
    need!("jsonschema");
    let scratch = Scratch::new();
    for options in [
        "--suite quick --pbkdf pbkdf2",
        "--suite default --hash sha256 --threads 1",
        "--suite article --threads 1 --sector-size 512 --hash sha1",
        "--suite veracrypt --threads 1 --direction decrypt",
        "--suite all -c aes-xts-* -s 512 --direction decrypt --threads 1",
        "-c no-such-thing-* -c aes-lrw-benbi",
    ] {
        let (path, lines) = (scratch.path("results.json"), scratch.path("results.jsonl"));
        let run = keyway("bench --time 3 --force --save").arg(&path).args(options);
        let run = run.args("--json-lines").arg(&lines);
        if options.contains("no-such") {
            run.fails(1).says("no cipher is called \"no-such-thing-*\"");
            continue;
        }
        let text = run.limit(LONG_COMMAND).ok().text();
        assert!(text.contains("Every output was right."), "{text}");
        assert!(has_the_default(&text), "{text}");
        follows_the_schema(&path);
        lines_follow_the_schema(&scratch, &lines);
    }
}

/// Whether the default cipher has its line, or the words that say why this machine had no time for it.
fn has_the_default(text: &str) -> bool {
    let measured = text.contains("* aes-xts-plain64  ");
    measured || text.split_once("Not measured").is_some_and(|(_, left_out)| left_out.contains("--time "))
}

/// Six derivations over 1 GiB and their check took a minute whatever --time said.
#[test]
fn the_time_of_a_run_is_a_bound_and_what_does_not_fit_is_named() {
    let shown = keyway("bench kdf --time 3 --threads 1").ok();
    assert!(shown.elapsed < scaled(LATE), "{:?}", shown.elapsed);
    let text = shown.text();
    let (figures, left_out) = text.split_once("Not measured").expect("too much for three seconds");
    assert!(left_out.contains(" 1024 MiB, ") && left_out.contains("--time"), "{left_out}");
    assert!(figures.contains("pbkdf2-sha1"), "{text}");
    assert!(!text.contains("aes-xts"), "{text}");
}

/// What the commenters of the article found out: these combinations had figures, but cannot exist.
#[test]
fn the_article_s_impossible_rows_have_reasons_and_no_figures() {
    let scratch = Scratch::new();
    let path = scratch.path("article.json");
    let options = "--suite article -c *xts-plain -c salsa20* -c arc4* --threads 1 --direction encrypt";
    let shown = keyway("bench --time 1 --save").arg(&path).args(options).limit(LONG_COMMAND).ok();
    let text = shown.text();
    let (_, impossible) = text.split_once("Cannot exist").expect(&text);
    for what in [
        "des-xts-plain 128",
        "aes-xts-plain 128",
        "64 bits",
        "256, 384 or 512 bits",
        "\"arc4\" is not a key size",
    ] {
        assert!(impossible.contains(what), "{what} is missing in {impossible}");
    }
}

#[test]
fn derivations_and_costs_are_measured() {
    let shown = keyway("bench --time 8 --hash sha256 --hash sha512 --iter-time 50 --threads 1").ok();
    for line in ["pbkdf2-sha256, 1 at once ", "pbkdf2-sha512, 1 at once for 50 ms "] {
        assert!(shown.text().contains(line), "{}", shown.text());
    }
    let argon2 = "bench --time 4 --pbkdf argon2id --pbkdf-memory 1024 --pbkdf-parallel 4 --threads 1";
    keyway(argon2).ok().says("argon2id 1 MiB, 4 lanes ").says("passes/s");
}

#[test]
fn peers_stand_beside_or_say_that_they_are_not_there() {
    need!("openssl");
    let one = "-c aes-cbc-plain64 -s 256 --threads 1 --sector-size 4096 --message 4096 --direction decrypt";
    let line = format!("bench --time 20 --compare openssl {one}");
    let shown = keyway(&line).ok();
    assert!(shown.text().contains("aes-cbc-plain64 (openssl)"), "{}", shown.text());
    let none = keyway(&line).env("PATH", "/nonexistent").ok();
    assert!(none.text().contains("openssl cannot be run"), "{}", none.text());
    for (library, instead) in [("libgcrypt", "./dev bench engine"), ("libcrypto", "--compare openssl")] {
        let run = keyway("bench --compare").arg(library).fails(1);
        run.says(&format!("A static program cannot load {library}: ")).says(instead);
    }
    keyway("bench --compare kernl").fails(1).says("did you mean \"kernel\"?");
    keyway("bench --compare opensl").fails(1).says("did you mean \"openssl\"?");
}

/// The other cases run even if the kernel's ciphers are unavailable; if available, they are beside
/// Keyway's. (In the virtual machine they always are.)
#[test]
fn the_kernel_stands_beside_or_says_what_is_missing() {
    let one = "-c aes-xts-plain64 -s 512 --threads 1 --sector-size 4096 --message 4096";
    let shown = keyway("bench --time 1 --compare kernel").args(one).ok();
    let text = shown.text();
    assert!(has_the_default(&text), "{text}");
    match text.contains("aes-xts-plain64 (kernel)") {
        true => drop(shown.says("(kernel): through AF_ALG")),
        false => {
            assert!(text.contains("aes-xts-plain64 512 by kernel:"), "{text}");
            let why = [
                "could not load it when asked",
                "this kernel was built without a",
                "does not let this process use it",
            ];
            assert!(why.iter().any(|why| text.contains(why)), "{text}");
        }
    }
}

#[test]
fn names_that_nothing_has_suggest_the_nearest() {
    for (options, hint) in [
        ("-c aes-xts-plain65", "did you mean \"aes-xts-plain64\"?"),
        ("--suite artcle", "did you mean \"article\"?"),
        ("--hash sha265", "did you mean \"sha256\"?"),
        ("--pbkdf argon2idd", "did you mean \"argon2id\"?"),
        ("dif", "did you mean \"diff\"?"),
        ("--sector-size 513", "one of 512, 1024, 2048, 4096 is needed"),
        ("--threads 0", "numbers from 1 to 1024"),
        ("--message 100", "whole sectors are needed"),
        ("--csv - --json", "Only one report can go to standard output"),
    ] {
        keyway("bench").args(options).fails(1).says(hint);
    }
}

#[test]
fn ctrl_c_prints_what_there_is_and_resume_goes_on() {
    let scratch = Scratch::new();
    let path = scratch.path("stopped.json");
    // The first batch has been saved once the second is in progress.
    let run: Run = keyway("bench --suite default --threads 1 --hash sha256 --time 20 --save").arg(&path);
    let terminal = Terminal::start(&run);
    let rows = || {
        fs::read_to_string(&path).unwrap_or_default().lines().filter(|l| l.starts_with("{\"id\":")).count()
    };
    until("the first batch is saved", || rows() > 0);
    let ending = terminal.interrupt().finish();
    assert_eq!(ending.code, Some(1), "{}", ending.screen);
    assert!(ending.screen.contains("The run was stopped"), "{}", ending.screen);
    assert!(ending.screen.contains("continues it."), "{}", ending.screen);
    let before = fs::read_to_string(&path).unwrap();
    assert!(before.contains("\"complete\":false"));

    keyway("bench --suite quick --resume").arg(&path).fails(1).says("began with other options");
    // The rest in a short time: the settings come from the file.
    let shorter = before.replace("\"time_seconds\":20.0", "\"time_seconds\":2.0");
    fs::write(&path, &shorter).unwrap();
    keyway("bench --resume").arg(&path).limit(LONG_COMMAND).ok();
    let after = fs::read_to_string(&path).unwrap();
    assert!(after.contains("\"complete\":true"));
    let kept =
        before.lines().filter(|line| line.starts_with("{\"id\":")).map(|line| line.trim_end_matches(','));
    for row in kept {
        assert!(after.contains(row), "a row was measured again: {row}");
    }
    fs::write(&path, after.replace("\"keyway\":\"", "\"keyway\":\"9.")).unwrap();
    keyway("bench --resume").arg(&path).fails(1).says("another version of Keyway");
}

/// What to choose comes first on a terminal, after a sign of life; --all shows the matrix there too.
#[test]
fn a_terminal_gets_the_answer_and_everything_else_the_whole() {
    let options = "bench --time 3 -c aes-xts-plain64 -c aes-cbc-essiv:sha256 --sector-size 4096 --threads 1";
    let screen = |options: &str| Terminal::start(&keyway(options)).finish().screen;
    let answer = screen(options);
    assert!(answer.contains("0.0 %  looking at the machine"), "{answer}");
    match answer.find("Choose ") {
        Some(first) => {
            assert!(answer.find("MiB/s").is_none_or(|table| first < table), "{answer}");
            assert!(answer.contains("--all shows all "), "{answer}");
        }
        // Too busy a machine measures too little to choose from, and says so.
        None => assert!(answer.contains("--time was over"), "{answer}"),
    }
    let whole = screen(&format!("{options} --all"));
    assert!(!whole.contains("Choose ") && whole.contains("Every output was right."), "{whole}");
    let piped = keyway(options).ok().text();
    assert!(!piped.contains("Choose ") && piped.contains("Every output was right."), "{piped}");
}

#[test]
fn no_file_is_replaced_unasked_and_an_hour_is_not_lost_to_a_bad_name() {
    let scratch = Scratch::new();
    let path = saved(&scratch, "one.json", "-c aes-xts-plain64 -s 512 --threads 1");
    let again = || keyway("bench --time 1 -c aes-xts-plain64 -s 512 --threads 1 --save").arg(&path);
    again().fails(1).says("already exists; --force replaces it.");
    again().args("--force").ok();
    keyway("bench --csv /nonexistent/directory/file")
        .fails(1)
        .says("Cannot write /nonexistent/directory/file");
}
