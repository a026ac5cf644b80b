//! docs/THREATS.md names the tests that support its claims: each of them exists.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

#[test]
fn every_test_that_the_threats_name_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let threats = fs::read_to_string(root.join("docs/THREATS.md")).unwrap();
    let named: BTreeSet<&str> = threats.split('`').filter(|word| is_test(word)).collect();
    assert!(named.len() > 100, "only {} tests are named", named.len());
    let mut sources = String::new();
    gather(&root.join("crates"), &mut sources);
    gather(&root.join("tests"), &mut sources);
    let missing: Vec<_> = named.iter().filter(|name| !sources.contains(&format!("fn {name}("))).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

/// A name of three words and more: what it shows, and nothing else in the page is called so.
fn is_test(word: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    word.chars().all(plain) && word.matches('_').count() > 1
}

/// All Rust sources below `directory`, concatenated.
fn gather(directory: &Path, sources: &mut String) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with("target") {
            gather(&path, sources);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            sources.push_str(&fs::read_to_string(&path).unwrap());
        }
    }
}
