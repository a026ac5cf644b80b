//! Rust sources: the command lines in their strings, with `{names}` where a message puts a value.

use super::{Printed, Quoted};
use std::fs;
use std::path::{Path, PathBuf};

/// Whole strings that are command lines, and what other strings quote. Unit tests are left out.
pub fn sources(root: &Path) -> (Vec<Printed>, Vec<(String, Quoted)>) {
    let (mut lines, mut quoted) = (Vec::new(), Vec::new());
    for file in files(root) {
        let text = fs::read_to_string(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        let place = file.strip_prefix(root).unwrap_or(&file).display().to_string();
        for string in strings(code) {
            // A string may be a page with a line in it.
            let bare = |line: &'_ str| line.trim().trim_start_matches("Example:").trim().to_owned();
            for line in string.lines().map(bare).filter(|line| is_line(line)) {
                if line.starts_with("truncate ") {
                    lines.push(Printed { place: place.clone(), lines: vec![line] });
                    continue;
                }
                match Quoted::of(line.split("    ").next().unwrap_or(&line)) {
                    Some(Quoted::Line(line)) => {
                        lines.push(Printed { place: place.clone(), lines: vec![line] });
                    }
                    Some(name) => quoted.push((place.clone(), name)),
                    None => {}
                }
            }
            quoted.extend(Quoted::all(&string).map(|found| (place.clone(), found)));
        }
    }
    (lines, quoted)
}

/// Not a paragraph of a manual that begins with the program's name. One program's file may come first.
fn is_line(line: &str) -> bool {
    (line.starts_with("keyway ") || line.starts_with("truncate ") && line.contains("&& keyway "))
        && !line.ends_with(['.', ' '])
        && line.len() < 200
}

/// The library's and the program's sources.
fn files(root: &Path) -> Vec<PathBuf> {
    let mut folders = vec![root.join("crates")];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display())) {
            let path = entry.expect("an entry").path();
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            if path.is_dir() && !["tests", "examples", "target"].contains(&name) {
                folders.push(path);
            } else if name.ends_with(".rs") && name != "tests.rs" {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

/// The string literals of a source, as the program sees them.
fn strings(code: &str) -> Vec<String> {
    let mut strings = Vec::new();
    let mut rest = code;
    while let Some(at) = rest.find(['"', '/', '\'']) {
        let (before, from) = rest.split_at(at);
        rest = if from.starts_with("//") {
            from.split_once('\n').map_or("", |(_, after)| after)
        } else if let Some(after) = from.strip_prefix('\'') {
            // A character, not a lifetime: '"' and '\'' do not begin a string.
            let character =
                ["\"'", "\\\"'", "\\''", "/'", "\\\\'"].into_iter().find(|it| after.starts_with(it));
            &after[character.map_or(0, str::len)..]
        } else if let Some(after) = from.strip_prefix('/') {
            after
        } else if let Some(hashes) = raw(before) {
            let end = format!("\"{}", "#".repeat(hashes));
            let (string, after) = from[1..].split_once(&end).unwrap_or((&from[1..], ""));
            strings.push(string.to_owned());
            after
        } else {
            let (string, after) = cooked(&from[1..]);
            strings.push(string);
            after
        };
    }
    strings
}

/// The number of hashes before a raw string's first quotation mark.
fn raw(before: &str) -> Option<usize> {
    let stem = before.trim_end_matches('#');
    let letters = stem.chars().rev().take_while(|c| c.is_alphanumeric() || *c == '_').count();
    let prefix = &stem[stem.len() - letters..];
    ["r", "br"].contains(&prefix).then(|| before.len() - stem.len())
}

/// A string's text up to its closing quotation mark, and what follows.
fn cooked(text: &str) -> (String, &str) {
    let mut string = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return (string, &text[at + 1..]),
            '\\' => match chars.next().map(|(_, c)| c) {
                Some('n') => string.push('\n'),
                // A line that goes on: the white space before what follows is not part of it.
                Some('\n') => {
                    let blank = chars.as_str().len() - chars.as_str().trim_start().len();
                    chars.by_ref().take(blank).for_each(|_| ());
                }
                Some(c) => string.push(c),
                None => {}
            },
            c => string.push(c),
        }
    }
    (string, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_what_the_program_sees() {
        let code = r##"// "no" 'comment
            let a = "one \"two\"\n"; let b: &'static str = r#"raw "x" \n"#; let c = '"';
            let d = "goes \
                     on"; let e = b"bytes"; let f = 1 / 2; let g = "\\";"##;
        assert_eq!(strings(code), ["one \"two\"\n", "raw \"x\" \\n", "goes on", "bytes", "\\"]);
    }
}
