//! The texts that a crate shows its users: the string literals of its sources, without comments and tests, so that
//! one reader can review all of them in one sitting (`./dev texts`).

use std::fs;
use std::path::{Path, PathBuf};

/// One literal.
#[derive(Debug, PartialEq, Eq)]
pub struct Text {
    /// Where its quotation mark stands, from 1.
    pub line: usize,
    /// What it says, with its escapes as written; a line that goes on after `\` is joined.
    pub says: String,
}

/// The texts of every source below `folder`, by path, in the order in which they stand.
///
/// # Errors
///
/// If a folder or file cannot be read.
pub fn of_crate(folder: &Path) -> std::io::Result<Vec<(PathBuf, Vec<Text>)>> {
    let (mut found, mut for_tests, mut folders) = (Vec::new(), Vec::new(), vec![folder.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|it| it == "rs") {
                let source = fs::read_to_string(&path)?;
                for_tests.extend(modules_for_tests(&source).map(|name| beside(&path, name)));
                found.push((path, of_source(&source)));
            }
        }
    }
    found.retain(|(path, texts)| {
        !texts.is_empty()
            && !for_tests.iter().any(|it| path.starts_with(it) || path.with_extension("") == *it)
    });
    found.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(found)
}

/// The modules that a source declares for tests alone (`#[cfg(test)] mod samples;`).
fn modules_for_tests(source: &str) -> impl Iterator<Item = &str> {
    let items = source.split("#[cfg(test)]\n").skip(1);
    items.filter_map(|it| it.lines().next()?.split_once("mod ")?.1.split_once(';')).map(|it| it.0)
}

/// Where the module of this name stands, without an extension: in the folder of `mod.rs`, `lib.rs` and `main.rs`, else
/// in the folder called like the file.
fn beside(path: &Path, name: &str) -> PathBuf {
    let is_root = path.file_stem().is_some_and(|it| it == "mod" || it == "lib" || it == "main");
    if is_root { path.with_file_name(name) } else { path.with_extension("").join(name) }
}

/// The texts of one source: literals of three words and more.
#[must_use]
pub fn of_source(source: &str) -> Vec<Text> {
    let (mut found, mut rest) = (Vec::new(), source);
    while let Some(at) = rest.find(['"', '/', '\'', '#']) {
        let line = 1 + source[..source.len() - rest.len() + at].matches('\n').count();
        let before = rest[..at].chars().next_back();
        rest = &rest[at..];
        rest = if rest.starts_with("//") {
            &rest[rest.find('\n').unwrap_or(rest.len())..]
        } else if rest.starts_with("#[cfg(test)]") || rest.starts_with("#[cfg(all(test") {
            after_item(rest)
        } else if rest.starts_with("#[") {
            after_attribute(rest)
        } else if rest.starts_with('"') {
            let end = end_of_literal(rest);
            let says = joined(&rest[1..end]);
            if is_text(&says) {
                found.push(Text { line, says });
            }
            &rest[(end + 1).min(rest.len())..]
        } else if rest.starts_with("#\"") && before == Some('r') {
            let end = rest.find("\"#").unwrap_or(rest.len());
            let end = rest[2..].find("\"#").map_or(end, |it| it + 2);
            let says = rest[2..end].to_owned();
            if is_text(&says) {
                found.push(Text { line, says });
            }
            &rest[(end + 2).min(rest.len())..]
        } else if let Some(rest) = after_character(rest) {
            rest
        } else {
            &rest[1..]
        };
    }
    found
}

/// A literal is something to read if it has three words.
fn is_text(says: &str) -> bool {
    let is_word = |it: &&str| it.chars().filter(|c| c.is_alphabetic()).count() >= 2;
    says.split_whitespace().filter(is_word).count() >= 3
}

/// Where the closing quotation mark stands.
fn end_of_literal(text: &str) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at,
            _ => {}
        }
    }
    text.len()
}

/// Lines that go on after `\` become one.
fn joined(text: &str) -> String {
    let mut lines = text.split("\\\n");
    let first = lines.next().unwrap_or_default().to_owned();
    lines.fold(first, |joined, line| joined + line.trim_start())
}

/// After an item compiled for tests alone: its closing brace or semicolon, as far left as the attribute stands.
fn after_item(text: &str) -> &str {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        at += line.len();
        if line.starts_with('}') || !line.starts_with([' ', '#']) && line.trim_end().ends_with(';') {
            break;
        }
    }
    &text[at..]
}

/// After `#[…]`, whose literals are reasons and names for the compiler.
fn after_attribute(text: &str) -> &str {
    &text[text.find("]\n").unwrap_or(1)..]
}

/// After a character such as `'"'`; none if a lifetime stands here.
fn after_character(text: &str) -> Option<&str> {
    let inner = text.strip_prefix('\'')?;
    let mut characters = inner.chars();
    let first = characters.next()?;
    if first == '\\' {
        return Some(&inner[inner[2..].find('\'')? + 3..]);
    }
    characters.as_str().strip_prefix('\'')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_attributes_characters_and_tests_are_left_out() {
        let source = "//! No \"words in comments\" here\n#[expect(dead_code, reason = \"not for the users\")]\nconst QUOTE: char = '\"';\n\
            fn say<'a>() -> &'a str {\n    \"one two \\\n     three {four}\\n\" // \"five six seven\"\n}\n\
            const SHORT: &str = \"two words\";\nconst RAW: &str = r#\"say \"it\" aloud twice\"#;\n\
            #[cfg(test)]\nmod tests {\n    const IT: &str = \"nothing to be read\";\n}\nconst LAST: &str = \"and the last text\";\n";
        let found = of_source(source);
        let of = |line, says: &str| Text { line, says: says.to_owned() };
        assert_eq!(
            found,
            [of(5, "one two three {four}\\n"), of(9, "say \"it\" aloud twice"), of(14, "and the last text")]
        );
    }
}
