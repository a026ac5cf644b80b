//! What an inner crate makes public is named outside of it: by another crate, by tests, fuzz targets, the benches or
//! the freestanding program. Otherwise it is `pub(crate)`, and the compiler says when nobody uses it any more.
//!
//! By names in the sources: of two items that are called the same, one may hide the other. Methods that traits declare
//! are not looked at, nor are fields and variants.

use crate::imports;
use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::path::Path;

/// Crates that others are made of. The library `keyway` promises what `crates/keyway/api.txt` says.
const INNER: [&str; 9] =
    ["attach", "boot", "crypto", "format", "kernel", "measure", "remote", "resolve", "volume"];

/// Who else names their items.
const OUTER: [&str; 6] = ["crates/cli", "crates/keyway", "tests", "fuzz", "bench", "bare"];

/// Types of public fields, parameters and results that nobody names: the compiler wants them as public as these.
const REACHED: [(&str, &[&str]); 5] = [
    ("attach", &["KeyReference", "NameFault", "Replacement", "Tell"]),
    ("boot", &["Appended", "Lacking", "NotElf", "Section"]),
    ("format", &["Entries", "SyntaxError", "Wrapped", "WrappedVolumeKey"]),
    ("measure", &["Corrupt", "Figure", "Filled", "Latencies", "Model", "NoTime"]),
    ("volume", &["Temporary", "Unflushed", "Unwiped"]),
];

/// Others, and why they are public.
const EXCEPTIONS: [(&str, &str, &str); 1] =
    [("crypto", "is_locked", "programs may ask it of a Secret, which the library passes on")];

#[test]
fn what_is_public_is_named_outside() {
    let known = || {
        let reached = REACHED.iter().flat_map(|(package, names)| names.iter().map(|name| (*package, *name)));
        reached.chain(EXCEPTIONS.iter().map(|(package, name, _)| (*package, *name)))
    };
    let found = unnamed();
    let found: BTreeSet<(&str, &str)> =
        found.iter().map(|(package, name)| (*package, name.as_str())).collect();
    let new: Vec<_> = found.iter().filter(|item| !known().any(|known| known == **item)).collect();
    assert!(new.is_empty(), "nobody else names these, so that pub(crate) is enough: {new:#?}");
    let gone: Vec<_> = known().filter(|item| !found.contains(item)).collect();
    assert!(gone.is_empty(), "no longer there, or named by others: {gone:?}");
}

/// The public items of inner crates that nobody else names.
fn unnamed() -> Vec<(&'static str, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut public: Vec<(&str, String)> = Vec::new();
    for package in INNER {
        let texts = imports::sources(&root.join(format!("crates/{package}/src")));
        for line in texts.values().flat_map(|text| text.lines()) {
            public.extend(item(line).map(|name| (package, name.to_owned())));
        }
    }
    // For each name a bit for every place that has it.
    let mut places: HashMap<&str, u32> = public.iter().map(|(_, name)| (name.as_str(), 0)).collect();
    for (number, package) in INNER.iter().enumerate() {
        note(&root.join(format!("crates/{package}/src")), 1 << number, &mut places);
        note(&root.join(format!("crates/{package}/tests")), OUTSIDE, &mut places);
    }
    for folder in OUTER {
        note(&root.join(folder), OUTSIDE, &mut places);
    }
    let own =
        |package: &str| INNER.iter().position(|inner| *inner == package).map_or(0, |number| 1 << number);
    let is_unnamed = |(package, name): &(&str, String)| places[name.as_str()] & !own(package) == 0;
    let unnamed: Vec<_> = public.iter().filter(|item| is_unnamed(item)).cloned().collect();
    assert!(public.len() > 1000, "{} public items are too few to be all", public.len());
    unnamed
}

/// Named by somebody who is no inner crate.
const OUTSIDE: u32 = 1 << INNER.len();

/// The item that a line makes public: its name comes after these words.
fn item(line: &str) -> Option<&str> {
    const BEFORE: [&str; 13] = [
        "const", "unsafe", "async", "extern", "\"C\"", "fn", "struct", "enum", "static", "mut", "trait",
        "type", "union",
    ];
    let words = line.trim_start().strip_prefix("pub ")?.split(' ');
    let mut after = words.clone().skip_while(|word| BEFORE.contains(word));
    let has_kind = words.clone().next().is_some_and(|first| BEFORE.contains(&first));
    after.next().filter(|_| has_kind)?.split(|c: char| !is_of_name(c as u32)).next()
}

/// Sets the place's bit for every known name in the sources below a folder.
fn note(folder: &Path, place: u32, places: &mut HashMap<&str, u32>) {
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            note(&path, place, places);
        } else if path.extension().is_some_and(|it| it == "rs") && !path.ends_with("rooms/public.rs") {
            for line in fs::read_to_string(&path).unwrap().lines() {
                let code = line.split_once("//").map_or(line, |(code, _)| code);
                for word in code.as_bytes().split(|byte| !is_of_name((*byte).into())) {
                    let known = std::str::from_utf8(word).ok().and_then(|word| places.get_mut(word));
                    known.into_iter().for_each(|known| *known |= place);
                }
            }
        }
    }
}

fn is_of_name(c: u32) -> bool {
    u8::try_from(c).is_ok_and(|c| c.is_ascii_alphanumeric() || c == b'_')
}

#[test]
fn items_are_found_by_their_lines() {
    let lines = [
        ("pub const fn of(number: u8) -> Self {", Some("of")),
        ("    pub(crate) fn inner() {", None),
        ("pub struct Name(pub u8);", Some("Name")),
        ("    pub const MOST: usize = 8;", Some("MOST")),
        ("pub trait Storage: Send {", Some("Storage")),
        ("    pub size: usize,", None),
        ("pub mod place;", None),
        ("pub use place::Place;", None),
    ];
    for (line, name) in lines {
        assert_eq!(item(line), name, "{line}");
    }
}
