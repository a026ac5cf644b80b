//! Which module of a crate names which other module, from the source text: `use` trees and paths
//! that start with `crate` or `super`. Unit tests may name what they like.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// A crate's modules (`verb::key::add`; the root is empty).
pub(crate) struct Imports {
    /// For each, those that it names.
    named: BTreeMap<String, BTreeSet<String>>,
    /// Their sources, without comments and tests.
    texts: BTreeMap<String, String>,
}

impl Imports {
    /// Reads all sources below `src`.
    pub(crate) fn of(src: &Path) -> Self {
        let texts = sources(src);
        let modules: BTreeSet<String> = texts.keys().cloned().collect();
        let exported = exports(texts.get("").map_or("", String::as_str));
        let named = |(module, text): (&String, &String)| {
            let mut named = BTreeSet::new();
            for path in paths(text, &["crate::", "super::"]) {
                let path = absolute(module, &path).map(|path| origin(&exported, &path));
                let module = path.map(|path| longest(&modules, &path));
                named.extend(module);
            }
            named.remove(module);
            (module.clone(), named)
        };
        let named = texts.iter().map(named).collect();
        Self { named, texts }
    }

    /// Functions with a parameter of the type, and their modules.
    pub(crate) fn functions_with(&self, kind: &str) -> impl Iterator<Item = (&str, &str)> {
        self.texts.iter().flat_map(move |(module, text)| {
            let heads = text.split("fn ").skip(1).map(|rest| rest.split(['{', ';']).next().unwrap());
            let takes = heads.filter(move |head| head.contains(kind));
            takes.map(move |head| (module.as_str(), head.split(['(', '<']).next().unwrap()))
        })
    }

    /// What modules name of another crate: the module, and the path.
    pub(crate) fn named_of(&self, other: &str) -> BTreeSet<(&str, String)> {
        let start = format!("{other}::");
        let mut named = BTreeSet::new();
        for (module, text) in &self.texts {
            let of_other = |path: &String| path.strip_prefix(&start).map(str::to_owned);
            named.extend(
                paths(text, &[&start]).iter().filter_map(of_other).map(|path| (module.as_str(), path)),
            );
        }
        named
    }

    /// All modules.
    pub(crate) fn modules(&self) -> impl Iterator<Item = &str> {
        self.named.keys().map(String::as_str)
    }

    /// All pairs of a module and a module that it names.
    pub(crate) fn edges(&self) -> impl Iterator<Item = (&str, &str)> {
        self.named.iter().flat_map(|(from, to)| to.iter().map(move |to| (from.as_str(), to.as_str())))
    }

    /// Modules that can be reached from themselves, each set once.
    pub(crate) fn circles(&self) -> Vec<BTreeSet<&str>> {
        let mut circles: Vec<BTreeSet<&str>> = Vec::new();
        for module in self.modules() {
            if circles.iter().any(|circle| circle.contains(module)) {
                continue;
            }
            let ahead = self.reachable(module);
            if ahead.contains(module) {
                let back = ahead.into_iter().filter(|it| self.reachable(it).contains(module));
                circles.push(back.collect());
            }
        }
        circles
    }

    fn reachable<'a>(&'a self, from: &str) -> BTreeSet<&'a str> {
        let (mut found, mut next) = (BTreeSet::new(), vec![from.to_owned()]);
        while let Some(module) = next.pop() {
            for to in &self.named[&module] {
                if found.insert(to.as_str()) {
                    next.push(to.clone());
                }
            }
        }
        found
    }
}

/// The modules below `src` with their texts, without comments and tests.
pub(crate) fn sources(src: &Path) -> BTreeMap<String, String> {
    let mut texts = BTreeMap::new();
    gather(src, "", &mut texts);
    texts.values_mut().for_each(|text| *text = without_tests(text));
    texts
}

/// The text of every module below `folder`, whose own path is `module`.
fn gather(folder: &Path, module: &str, texts: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let inner = if module.is_empty() { name.clone() } else { format!("{module}::{name}") };
        if path.is_dir() && name != "tests" {
            gather(&path, &inner, texts);
        } else if path.extension().is_some_and(|it| it == "rs") && name != "tests" {
            let own = if ["mod", "main", "lib"].contains(&name.as_str()) { module.to_owned() } else { inner };
            texts.insert(own, fs::read_to_string(&path).unwrap());
        }
    }
}

/// Without comments, and without code compiled for tests only.
fn without_tests(text: &str) -> String {
    let text = text.split("#[cfg(test)]\nmod tests").next().unwrap();
    let mut kept = String::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if line.trim() == "#[cfg(test)]" || line.starts_with("#[cfg(all(test, ") {
            // One item, up to its closing brace or semicolon in the first column.
            lines
                .by_ref()
                .find(|line| line.starts_with('}') || !line.starts_with(' ') && line.ends_with(';'));
            continue;
        }
        kept.push_str(line.split("//").next().unwrap());
        kept.push('\n');
    }
    kept
}

/// What the root passes on (`pub use cpu::Cpu;`): the name, and the path behind it.
fn exports(root: &str) -> BTreeMap<String, String> {
    let mut found = Vec::new();
    for (at, head) in root.match_indices("pub use ") {
        expand(&root[at + head.len()..], "", &mut found);
    }
    found.into_iter().filter_map(|path| Some((path.rsplit_once("::")?.1.to_owned(), path))).collect()
}

/// A path from the root, with a name that the root passes on replaced by what is behind it.
fn origin(exports: &BTreeMap<String, String>, path: &str) -> String {
    let (name, rest) = path.split_at(path.find("::").unwrap_or(path.len()));
    format!("{}{rest}", exports.get(name).map_or(name, String::as_str))
}

/// Every path that starts in one of these ways, with trees expanded.
fn paths(text: &str, starts: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for start in starts {
        for (at, _) in text.match_indices(*start) {
            let before = text[..at].chars().next_back();
            let is_path = before.is_none_or(|c| !(c.is_alphanumeric() || c == '_' || c == ':' || c == '$'));
            if is_path {
                expand(&text[at..], "", &mut found);
            }
        }
    }
    found
}

/// Expands one path or tree at the start of `text`; returns the text after it.
fn expand<'a>(text: &'a str, prefix: &str, found: &mut Vec<String>) -> &'a str {
    let end = text.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':')).unwrap_or(text.len());
    let (head, rest) = text.split_at(end);
    let path = format!("{prefix}{head}");
    if !head.ends_with("::") || !rest.starts_with('{') {
        found.push(path);
        return rest;
    }
    let mut rest = rest[1..].trim_start();
    while !rest.starts_with('}') {
        rest = expand(rest, &path, found);
        let next = rest.find([',', '}', '{']).unwrap();
        rest = rest[next..].trim_start_matches(',').trim_start();
    }
    &rest[1..]
}

/// The same path from the crate's root.
fn absolute(module: &str, path: &str) -> Option<String> {
    if let Some(path) = path.strip_prefix("crate::") {
        return Some(path.to_owned());
    }
    let (mut base, mut path) = (module, path);
    while let Some(rest) = path.strip_prefix("super::") {
        base = base.rsplit_once("::").map_or("", |(parent, _)| parent);
        path = rest;
    }
    Some(if base.is_empty() { path.to_owned() } else { format!("{base}::{path}") })
}

/// The module that contains the item named by `path`.
fn longest(modules: &BTreeSet<String>, path: &str) -> String {
    let mut path = path.trim_end_matches("::self").trim_end_matches("::");
    loop {
        if modules.contains(path) {
            return path.to_owned();
        }
        match path.rsplit_once("::") {
            Some((parent, _)) => path = parent,
            None => return String::new(),
        }
    }
}
