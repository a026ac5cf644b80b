//! `./dev texts [CRATE…]`: the texts of crates, file by file, for one reader to review.

use keyway_tests::texts::{self, Text};
use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() -> Result<(), Box<dyn Error>> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates").canonicalize()?;
    let mut names: Vec<String> = env::args().skip(1).collect();
    if names.is_empty() {
        for entry in fs::read_dir(&crates)? {
            names.push(entry?.file_name().to_string_lossy().into_owned());
        }
        names.sort();
    }
    let mut all = Vec::new();
    for name in names {
        let found =
            texts::of_crate(&crates.join(&name).join("src")).map_err(|why| format!("{name}: {why}"))?;
        print(&crates, &found);
        all.extend(found);
    }
    print_copies(&crates, &all);
    Ok(())
}

fn print(crates: &Path, files: &[(PathBuf, Vec<Text>)]) {
    for (path, texts) in files {
        println!("\n== {}", shown(crates, path));
        for text in texts {
            println!("{:4}  {}", text.line, text.says.replace('\n', "\n      "));
        }
    }
}

/// Texts that stand in more than one file: one decision is coded once.
fn print_copies(crates: &Path, files: &[(PathBuf, Vec<Text>)]) {
    let mut places: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for (path, texts) in files {
        for text in texts {
            places.entry(&text.says).or_default().insert(shown(crates, path));
        }
    }
    let all = || files.iter().flat_map(|(_, texts)| texts);
    let words: usize = all().map(|it| it.says.split_whitespace().count()).sum();
    println!("\n== {} texts of {words} words in {} files; in more than one:", all().count(), files.len());
    for (says, places) in places.iter().filter(|(_, places)| places.len() > 1) {
        println!("      {says}\n        {}", Vec::from_iter(places.iter().map(String::as_str)).join(", "));
    }
}

fn shown(crates: &Path, path: &Path) -> String {
    path.strip_prefix(crates).unwrap_or(path).display().to_string()
}
