//! Markdown: fenced blocks and `code` in sentences.

use super::{Printed, Quoted, command};
use std::fs;
use std::path::Path;

/// The blocks of commands in the documents, and what their sentences quote.
pub fn documents(root: &Path) -> (Vec<Printed>, Vec<(String, Quoted)>) {
    let mut files: Vec<_> =
        ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"]
            .map(Into::into)
            .into();
    for folder in ["docs", "crates/keyway"] {
        let entries = fs::read_dir(root.join(folder)).expect("a folder of the workspace");
        let names = entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("text"));
        let mut names: Vec<String> = names.filter(|name| name.ends_with(".md")).collect();
        names.sort();
        files.extend(names.into_iter().map(|name| format!("{folder}/{name}")));
    }
    let (mut blocks, mut quoted) = (Vec::new(), Vec::new());
    for file in files {
        let text = fs::read_to_string(root.join(&file)).unwrap_or_else(|e| panic!("{file}: {e}"));
        document(&file, &text, &mut blocks, &mut quoted);
    }
    (blocks, quoted)
}

fn document(file: &str, text: &str, blocks: &mut Vec<Printed>, quoted: &mut Vec<(String, Quoted)>) {
    let mut heading = String::new();
    // Text and fenced blocks alternate.
    for (number, part) in text.split("```").enumerate() {
        if number % 2 == 0 {
            for line in part.lines() {
                if let Some(title) = line.strip_prefix('#') {
                    heading = title.trim_start_matches('#').trim().to_owned();
                }
            }
            quoted.extend(Quoted::all(part).map(|found| (file.to_owned(), found)));
            continue;
        }
        let (language, body) = part.split_once('\n').unwrap_or(("", part));
        if ["", "sh"].contains(&language) {
            let typed = body.lines().any(|line| line.starts_with("$ "));
            let lines = body.lines().filter(|line| !typed || line.starts_with("$ "));
            let place = format!("{file}: {heading}");
            blocks.push(Printed { place, lines: lines.filter_map(command).collect() });
        }
    }
}
