//! What this library promises: everything public in its sources stands in `api.txt`, so that a
//! change of it shows in review.
//!
//! By text, since rustdoc's own list needs a compiler that is not released: sources are as rustfmt
//! leaves them, and what is public in them can be reached from outside.

use std::fs;
use std::path::{Path, PathBuf};

/// The sources whose re-exports can be reached from outside.
const PASSED_ON: [&str; 10] = [
    "lib.rs",
    "storage.rs",
    "estimate/mod.rs",
    "facts.rs",
    "devices/mod.rs",
    "kdf_cost.rs",
    "key_file.rs",
    "parts/mod.rs",
    "stream.rs",
    "trust.rs",
];

#[test]
fn the_public_interface_is_the_one_that_is_written_down() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut items = Vec::new();
    for (path, source) in sources(&root.join("src")) {
        collect(&source, PASSED_ON.iter().any(|file| path.ends_with(file)), &mut items);
    }
    let public: Vec<_> = items.iter().filter_map(|item| type_name(item)).map(str::to_owned).collect();
    items.retain(|item| implementor(item).is_none_or(|owner| public.iter().any(|name| name == owner)));
    items.sort();
    let now = items.join("\n") + "\n";
    let file = root.join("api.txt");
    if std::env::var_os("KEYWAY_RENEW").is_some() {
        fs::write(&file, &now).unwrap();
    }
    let written = fs::read_to_string(&file).unwrap_or_default();
    let lacks = |these: &str, line: &&str| !these.lines().any(|known| known == *line);
    let gone: Vec<_> = written.lines().filter(|line| lacks(&now, line)).collect();
    let new: Vec<_> = now.lines().filter(|line| lacks(&written, line)).collect();
    assert!(
        gone.is_empty() && new.is_empty(),
        "api.txt is of another interface; if that is meant, KEYWAY_RENEW=1 cargo test --release -p keyway --test api renews it\n\
         gone: {gone:#?}\nnew: {new:#?}"
    );
    assert!(written == now, "api.txt is out of order");
}

#[test]
fn what_is_collected_is_what_is_public() {
    let source = "#[derive(Debug)]\n#[cfg(feature = \"x\")]\npub struct A {\n    /// Doc.\n    pub a: u8,\n    b: u8,\n}\n\
                  impl A {\n    pub fn long(\n        &self,\n        at: u64,\n    ) -> u8 {\n        pub_fn()\n    }\n\
                  \x20   pub(crate) fn not(&self) {}\n}\nimpl fmt::Display for A {\n}\n\
                  pub enum B {\n    One,\n    #[non_exhaustive]\n    Two {\n        /// Doc.\n        two: u8,\n    },\n}\n\
                  pub use a::{\n    A, B,\n};\nfn private() {}\n";
    let mut items = Vec::new();
    collect(source, true, &mut items);
    let expected = [
        "pub struct A #[derive(Debug)] #[cfg(feature = \"x\")]",
        "A { pub a: u8 }",
        "A::pub fn long(&self, at: u64) -> u8",
        "impl fmt::Display for A",
        "pub enum B",
        "B { One }",
        "B { #[non_exhaustive] Two { two: u8 } }",
        "pub use a::{A, B}",
    ];
    assert_eq!(items, expected);
}

/// What a public struct or enum is called.
fn type_name(item: &str) -> Option<&str> {
    let name = item.strip_prefix("pub struct ").or_else(|| item.strip_prefix("pub enum "))?;
    name.split(|c: char| !c.is_alphanumeric()).next()
}

/// For which type an `impl` of a trait is; `None` for any other item, and for foreign types.
fn implementor(item: &str) -> Option<&str> {
    let (_, owner) = item.strip_prefix("impl")?.split_once(" for ")?;
    owner.split(|c: char| !c.is_alphanumeric()).next().filter(|name| *name != "io")
}

/// Every source, in any order.
fn sources(directory: &Path) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => found.extend(sources(&path)),
            false => {
                let text = fs::read_to_string(&path).unwrap();
                found.push((path, text));
            }
        }
    }
    found
}

/// The public items of a source, a line each; `is_root`: what it re-exports too.
fn collect(source: &str, is_root: bool, items: &mut Vec<String>) {
    let (mut lines, mut owner, mut attributes) = (source.lines(), String::new(), String::new());
    while let Some(line) = lines.next() {
        let text = line.trim();
        if text.starts_with("#[") {
            attributes += &(" ".to_owned() + text);
            continue;
        }
        if line.starts_with("impl") {
            let head = head_of(line, &mut lines);
            let last = head.rsplit(' ').next().unwrap_or_default();
            owner = last.split('<').next().unwrap_or_default().to_owned() + "::";
            if head.contains(" for ") {
                items.push(head + &attributes);
            }
        } else if text.starts_with("pub ") {
            let head = head_of(text, &mut lines);
            let (is_use, is_inner) = (head.starts_with("pub use"), line.starts_with(' '));
            let is_type = type_name(&head).filter(|_| text.ends_with('{'));
            if !is_use || is_root {
                items.push(if is_inner { owner.clone() } else { String::new() } + &head + &attributes);
            }
            if let Some(name) = is_type {
                members(name, head.starts_with("pub enum"), &mut lines, items);
            }
        }
        if !text.starts_with("//") {
            attributes.clear();
        }
    }
}

/// An item up to its body, on one line.
fn head_of<'a>(first: &str, lines: &mut impl Iterator<Item = &'a str>) -> String {
    let mut head = first.trim().to_owned();
    let is_use = head.starts_with("pub use");
    while !head.ends_with(';') && (is_use || !(head.ends_with('{') || head.ends_with('}'))) {
        let Some(line) = lines.next() else { break };
        let glue = if head.ends_with(['(', '{']) || line.trim().starts_with([')', '}']) { "" } else { " " };
        head += &(glue.to_owned() + line.trim());
    }
    let head = head.replace(",)", ")").replace(",}", "}");
    let head = head.trim_end_matches(';').trim_end();
    let head = if head.starts_with("pub struct") { head.split('(').next().unwrap_or(head) } else { head };
    let private = head.starts_with("pub struct").then(|| head.find('(')).flatten();
    let head = &head[..private.unwrap_or(head.len())];
    let head =
        if is_use { head } else { head.split(" { ").next().unwrap_or(head).trim_end_matches(['{', '}']) };
    head.trim_end().to_owned()
}

/// Public fields, or all variants with their fields.
fn members<'a>(name: &str, all: bool, lines: &mut impl Iterator<Item = &'a str>, items: &mut Vec<String>) {
    let (mut member, mut depth) = (String::new(), 0);
    for line in lines.take_while(|line| *line != "}") {
        let text = line.trim();
        if text.starts_with("//") || (!all && !text.starts_with("pub ")) {
            continue;
        }
        member += text;
        depth += text.matches(['{', '(']).count();
        depth -= text.matches(['}', ')']).count();
        if depth > 0 || text.starts_with("#[") {
            member.push(' ');
        } else {
            let whole = member.trim_end_matches(',').replace(", }", " }").replace(",}", " }");
            items.push(format!("{name} {{ {whole} }}"));
            member.clear();
        }
    }
}
