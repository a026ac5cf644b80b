//! What a crate says, it says in one place: no sentence stands word for word in two of its files.

use super::CRATES;
use keyway_tests::texts::{Text, of_crate};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// From this many words on a text is a sentence. Shorter ones are names of things ("size of the hidden volume").
const SENTENCE: usize = 6;

#[test]
fn no_sentence_stands_in_two_files_of_a_crate() {
    let mut found = Vec::new();
    for package in CRATES {
        let src = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../crates/{package}/src"));
        let texts = of_crate(&src).unwrap();
        assert!(!texts.is_empty(), "{package} says something");
        found.extend(copies(&texts));
    }
    assert_eq!(found, [] as [String; 0]);
}

fn copies(files: &[(PathBuf, Vec<Text>)]) -> Vec<String> {
    let mut places: BTreeMap<&str, BTreeSet<&Path>> = BTreeMap::new();
    for (path, text) in files.iter().flat_map(|(path, texts)| texts.iter().map(move |text| (path, text))) {
        places.entry(&text.says).or_default().insert(path);
    }
    places.retain(|says, places| places.len() > 1 && words(says) >= SENTENCE);
    places.iter().map(|(says, places)| format!("{says:?} in {places:?}")).collect()
}

fn words(text: &str) -> usize {
    text.split_whitespace().filter(|word| word.chars().any(char::is_alphabetic)).count()
}

#[test]
fn copies_are_found() {
    let says = |file: &str, text: &str| (PathBuf::from(file), vec![Text { line: 1, says: text.to_owned() }]);
    let long = "the device is in use by others";
    assert_eq!(
        copies(&[
            says("a.rs", long),
            says("b.rs", long),
            says("c.rs", "it is in use"),
            says("d.rs", "it is in use")
        ]),
        [format!("{long:?} in {{\"a.rs\", \"b.rs\"}}")]
    );
    assert_eq!(copies(&[says("a.rs", long), says("a.rs", long)]), [] as [String; 0]);
}
