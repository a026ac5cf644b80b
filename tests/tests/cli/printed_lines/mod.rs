//! Every command line that a text of Keyway's prints is run, as typed, in a directory that holds the
//! files it names. The lines come from the texts themselves: a line that is new is run too, and
//! fails here if it does not work. What cannot run is in [`tables`], by name and with the reason.

mod files;
mod place;
mod tables;

use keyway_tests::printed::{self, Printed, Quoted};
use keyway_tests::{Scratch, keyway, need, need_that};
use place::Place;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use tables::Way;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

#[test]
fn every_printed_line_works_as_typed() {
    need!(
        "sh",
        "mke2fs",
        "debugfs",
        "fuse2fs",
        "fusermount3",
        "jq",
        "xxd",
        "file",
        "nbdcopy",
        "nbdinfo",
        "qemu-nbd",
        "qemu-img",
        "dtc",
        "sfdisk",
        "cpio",
        "gzip"
    );
    need_that!(fs::File::open("/dev/fuse").is_ok(), "/dev/fuse cannot be opened");
    let blocks = blocks();
    let place = Place::new();
    let queue: Vec<_> = blocks.iter().collect();
    let (next, failures) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some((lines, origins)) = queue.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Err(why) = try_block(&place, lines) {
                        failures.lock().unwrap().push(format!("{origins:?}\n{}\n{why}", lines.join("\n")));
                    }
                }
            });
        }
    });
    let failures = failures.into_inner().unwrap();
    assert!(failures.is_empty(), "{} of them fail:\n{}", failures.len(), failures.join("\n\n"));
    report(&blocks);
}

/// All lines with where they are printed. What stands together is tried together.
fn blocks() -> BTreeMap<Vec<String>, BTreeSet<String>> {
    let root = Path::new(ROOT);
    let (mut all, mut quoted) = printed::documents(root);
    let (lines, in_strings) = printed::sources(root);
    all.extend(lines);
    quoted.extend(in_strings);
    all.extend(pages());
    for (place, found) in quoted {
        match found {
            Quoted::Line(line) => all.push(Printed { place, lines: vec![line] }),
            Quoted::Name(name) => all.push(Printed { place, lines: vec![format!("{name} --help")] }),
        }
    }
    let mut blocks: BTreeMap<Vec<String>, BTreeSet<String>> = BTreeMap::new();
    let is_none = |line: &String| tables::NO_LINES.contains(&line.as_str());
    for block in all {
        if tables::DRAWINGS.contains(&block.place.as_str()) || block.lines.iter().all(is_none) {
            continue;
        }
        blocks.entry(block.lines).or_default().insert(block.place);
    }
    blocks
}

/// The examples of help and man pages.
fn pages() -> Vec<Printed> {
    let scratch = Scratch::new();
    keyway("man --output").arg(scratch.root()).ok();
    let mut examples = Vec::new();
    for entry in fs::read_dir(scratch.root()).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        let in_man = printed::man(name, &fs::read_to_string(&path).unwrap());
        if let Some(verb) = name.strip_prefix("keyway-") {
            let help = format!("keyway {verb} --help");
            let in_help = printed::help(&help, &keyway(verb).args("--help").ok().text());
            let lines = |page: &[Printed]| page.iter().flat_map(|e| e.lines.clone()).collect::<Vec<_>>();
            assert_eq!(lines(&in_help), lines(&in_man), "examples of {verb}: help and man page");
            examples.extend(in_help);
        }
        examples.extend(in_man);
    }
    assert!(!examples.is_empty());
    examples
}

fn try_block(place: &Place, lines: &[String]) -> Result<(), String> {
    if let Some(test) = tables::elsewhere(lines) {
        return exists(test);
    }
    for line in lines {
        match Way::of(line) {
            Way::Run => {}
            Way::Parsed(_) => place.parse(line)?,
            Way::Mentioned => place.mentioned(line)?,
            Way::Dev => is_dev(line)?,
        }
    }
    if lines.iter().any(|line| matches!(Way::of(line), Way::Run)) { place.run(lines) } else { Ok(()) }
}

/// The test that runs the lines is there.
fn exists(test: &str) -> Result<(), String> {
    let (folder, function) = test.split_once("::").expect("FILE::FUNCTION");
    let text = fs::read_to_string(format!("{ROOT}/tests/tests/{folder}.rs")).unwrap_or_default();
    let found = text.contains(&format!("fn {function}("));
    found.then_some(()).ok_or_else(|| format!("there is no test {test}"))
}

/// `./dev` knows the command, and the layers of tests or the benchmark that follow it.
fn is_dev(line: &str) -> Result<(), String> {
    // What the command does stands behind it.
    let line = line.split("  ").next().unwrap_or(line);
    let words: Vec<&str> = line.split_whitespace().skip(1).collect();
    let parts = ["dev", "dev.d/layers.sh", "dev.d/bench.sh"];
    let [dev, tests, benches] = parts.map(|part| fs::read_to_string(format!("{ROOT}/{part}")).unwrap());
    let has_case = |script: &str, name: &str| {
        let cases = script.lines().filter_map(|line| line.trim_start().split_once(')'));
        cases.into_iter().any(|(names, _)| names.split('|').any(|known| known.trim() == name))
    };
    let is_name = |word: &&&str| {
        word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
    };
    let unknown = match &words[..] {
        [] => return Err("./dev alone".to_owned()),
        [command, ..] if !has_case(&dev, command) => Some(command),
        ["test", layers @ ..] => {
            // After "--" come names of tests.
            let layers = layers.split(|word| *word == "--").next().unwrap_or_default();
            layers.iter().filter(is_name).find(|layer| !tests.contains(&format!("\nlayer_{layer}()")))
        }
        ["bench", benchmark, ..] => Some(benchmark).filter(is_name).filter(|name| !has_case(&benches, name)),
        _ => None,
    };
    unknown.map_or(Ok(()), |name| Err(format!("./dev knows no {name}")))
}

#[test]
fn what_dev_does_not_know_is_noticed() {
    assert_eq!(
        is_dev("./dev test cli oracle")
            .and(is_dev("./dev bench kernel-door"))
            .and(is_dev("./dev test LAYER")),
        Ok(())
    );
    for line in ["./dev tset", "./dev test clii", "./dev bench engines"] {
        is_dev(line).expect_err(line);
    }
}

fn report(blocks: &BTreeMap<Vec<String>, BTreeSet<String>>) {
    let (mut run, mut mentioned, mut dev) = (0, 0, 0);
    let (mut parsed, mut elsewhere) = (Vec::new(), Vec::new());
    for lines in blocks.keys() {
        let test = tables::elsewhere(lines);
        for line in lines {
            match (test, Way::of(line)) {
                (Some(test), _) => elsewhere.push(format!("  {line}\n    {test}")),
                (None, Way::Run) => run += 1,
                (None, Way::Mentioned) => mentioned += 1,
                (None, Way::Dev) => dev += 1,
                (None, Way::Parsed(why)) => parsed.push(format!("  {line}\n    {why}")),
            }
        }
    }
    let total = run + mentioned + parsed.len() + elsewhere.len() + dev;
    println!(
        "{total} command lines are printed: {run} were run as typed, {dev} are ./dev's own, {mentioned} name an option.\n{} are run by another \
         test:\n{}\n{} were parsed only:\n{}",
        elsewhere.len(),
        elsewhere.join("\n"),
        parsed.len(),
        parsed.join("\n")
    );
}
