//! The modules in a system, a directory or an initramfs, and what they provide to the crypto API.
//!
//! A module declares by aliases what it implements ("crypto-xts"). depmod collects them in
//! `modules.alias`, the kernel's build those of built-in code in `modules.builtin.modinfo`. If such
//! a list is missing, the modules' own `.modinfo` is read.

mod file_systems;
mod lists;
mod object;
mod order;
mod tree;

pub use file_systems::{asked_by_file_system, cannot_mount_without};
pub use object::firmware;

use std::collections::{BTreeMap, BTreeSet};
use std::io;

/// The modules of one kernel in one place.
#[derive(Debug, Clone, Default)]
pub struct Inventory {
    /// "6.1.0-48-amd64"; empty if unknown.
    pub release: String,
    /// Module name (with underscores) → its file's path.
    pub files: BTreeMap<String, String>,
    /// "xts" (of crypto-xts) → modules.
    crypto: BTreeMap<String, BTreeSet<String>>,
    /// Module → the modules that must be loaded before it.
    depends: BTreeMap<String, BTreeSet<String>>,
    /// Module → what it asks for by name once it runs.
    soft: BTreeMap<String, Soft>,
    /// "fs-xfs" → modules: aliases that are plain names, other than crypto's.
    aliases: BTreeMap<String, BTreeSet<String>>,
    built_in: BTreeSet<String>,
    /// "aes" → the built-in module.
    built_in_crypto: BTreeMap<String, String>,
    /// "fs-ext4" → the built-in module.
    built_in_aliases: BTreeMap<String, String>,
    /// Whether there was a list of built-in modules.
    pub knows_built_in: bool,
    /// How many aliases, dependencies and built-in modules were read.
    facts: usize,
}

/// Soft dependencies (modprobe.d(5)): modules, aliases, or names of the crypto API.
#[derive(Debug, Clone, Default)]
struct Soft {
    /// To be loaded before the module.
    before: Vec<String>,
    /// To be loaded after it.
    after: Vec<String>,
}

/// Where something was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// In the kernel itself; the module's name if it is known.
    BuiltIn(String),
    /// In a module, which is present with all its dependencies.
    Module(String),
    /// Loaded, or registered, in the running kernel.
    Loaded,
    /// In a module with a missing dependency.
    Incomplete {
        /// The module.
        module: String,
        /// The missing dependency.
        without: String,
    },
    /// Nowhere.
    Missing,
    /// Not among the modules; it is unknown whether it is built in.
    Unknown,
}

/// Why a place cannot be read.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The directory or file cannot be read.
    Io {
        /// Its path.
        path: String,
        /// Why.
        source: io::Error,
    },
    /// The image cannot be read.
    Image(keyway_boot::initramfs::Error),
    /// There are no modules and no lists of them.
    NoModules,
}

impl Found {
    /// Whether it is available.
    pub const fn is_there(&self) -> bool {
        matches!(self, Self::BuiltIn(_) | Self::Module(_) | Self::Loaded)
    }
}

impl Inventory {
    /// A kernel whose modules cannot be seen.
    pub fn unseen(release: &str) -> Self {
        Self { release: release.to_owned(), ..Self::default() }
    }

    /// Looks up a module by name, with dashes or underscores.
    pub fn module(&self, name: &str) -> Found {
        let name = normal(name);
        match () {
            () if self.built_in.contains(&name) => Found::BuiltIn(name),
            () if self.files.contains_key(&name) => self.complete(name),
            () if self.knows_built_in => Found::Missing,
            () => Found::Unknown,
        }
    }

    /// Looks up what implements a template, cipher or hash of the crypto API.
    pub fn algorithm(&self, name: &str) -> Found {
        let named = [normal(name), format!("{}_generic", normal(name))];
        self.among(self.built_in_crypto.get(name), self.crypto.get(name).into_iter().flatten().chain(&named))
    }

    /// Looks up what is built in, or else the first of these modules that can be loaded.
    fn among<'a>(&self, built_in: Option<&String>, modules: impl Iterator<Item = &'a String>) -> Found {
        if let Some(module) = built_in {
            return Found::BuiltIn(module.clone());
        }
        let mut incomplete = None;
        for module in modules {
            match self.module(module) {
                found if found.is_there() => return found,
                found @ Found::Incomplete { .. } => incomplete = Some(found),
                _ => {}
            }
        }
        let absent = if self.knows_built_in { Found::Missing } else { Found::Unknown };
        incomplete.unwrap_or(absent)
    }

    /// All available modules that implement it.
    pub fn implementations(&self, name: &str) -> Vec<&str> {
        let modules = self.crypto.get(name).into_iter().flatten();
        modules.filter(|module| self.files.contains_key(*module)).map(String::as_str).collect()
    }

    /// Adds the built-in modules of the same kernel from another inventory that has them.
    pub fn learn_built_in(&mut self, other: &Self) {
        self.built_in.extend(other.built_in.iter().cloned());
        self.built_in_crypto.extend(other.built_in_crypto.iter().map(|(a, b)| (a.clone(), b.clone())));
        self.built_in_aliases.extend(other.built_in_aliases.iter().map(|(a, b)| (a.clone(), b.clone())));
        self.knows_built_in |= other.knows_built_in;
    }

    /// Whether what is not found does not exist: the lists name what modules implement, and
    /// what built-in code does (from Linux 5.2 on).
    pub(crate) fn tells_of_all(&self) -> bool {
        self.knows_built_in && !self.crypto.is_empty() && !self.built_in_crypto.is_empty()
    }

    /// The number of modules.
    pub fn len(&self) -> usize {
        self.files.len()
    }

    /// Whether there are no modules.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Records that a module implements something.
    fn implemented(&mut self, name: &str, module: &str) {
        if self.takes(&[name, module]) {
            self.crypto.entry(name.to_owned()).or_default().insert(normal(module));
        }
    }

    /// Records what has to be loaded before a module.
    fn depend<'a>(&mut self, module: &str, before: impl Iterator<Item = &'a str>) {
        if !self.takes(&[module]) {
            return;
        }
        let known: Vec<String> = before.filter(|name| self.takes(&[name])).map(normal).collect();
        self.depends.entry(module.to_owned()).or_default().extend(known);
    }

    /// Records what a module asks for by name: "pre: crc32c post: x". Words before the first of the
    /// two mean nothing.
    fn depend_softly(&mut self, module: &str, text: &str) {
        let mut is_before = None;
        for word in text.split_ascii_whitespace() {
            match word {
                "pre:" => is_before = Some(true),
                "post:" => is_before = Some(false),
                name if is_before.is_some() && self.takes(&[module, name]) => {
                    let soft = self.soft.entry(normal(module)).or_default();
                    let list = if is_before == Some(true) { &mut soft.before } else { &mut soft.after };
                    list.push(name.to_owned());
                }
                _ => {}
            }
        }
    }

    /// Records another name of a module; patterns for devices are not kept.
    fn is_also(&mut self, alias: &str, module: &str) {
        if !alias.contains([':', '*', '?', '[']) && self.takes(&[alias, module]) {
            self.aliases.entry(alias.to_owned()).or_default().insert(normal(module));
        }
    }

    /// Records a built-in module, and another name of it.
    fn is_built_in(&mut self, module: &str, alias: Option<&str>) {
        if !self.takes(&[module]) {
            return;
        }
        self.built_in.insert(normal(module));
        if let Some(alias) = alias.filter(|alias| self.takes(&[alias])) {
            let (names, name) = match alias.strip_prefix("crypto-") {
                Some(name) => (&mut self.built_in_crypto, name),
                None => (&mut self.built_in_aliases, alias),
            };
            names.insert(name.to_owned(), normal(module));
        }
    }

    /// Counts one more entry, if there is room for it and all of its names could be the kernel's.
    fn takes(&mut self, names: &[&str]) -> bool {
        let fits = |name: &&str| !name.is_empty() && name.len() <= LONGEST_NAME;
        let takes = names.iter().all(fits) && self.facts < MOST_FACTS;
        self.facts += usize::from(takes);
        takes
    }

    fn complete(&self, module: String) -> Found {
        let (mut wanted, mut seen) = (vec![&module], BTreeSet::new());
        let is_there = |name| self.files.contains_key(name) || self.built_in.contains(name);
        while let Some(next) = wanted.pop() {
            let before = self.depends.get(next).filter(|_| seen.insert(next));
            for before in before.into_iter().flatten() {
                if self.knows_built_in && !is_there(before) {
                    return Found::Incomplete { without: before.clone(), module };
                }
                wanted.push(before);
            }
        }
        Found::Module(module)
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Io { path, source } => write!(f, "{path}: {source}"),
            Self::Image(why) => why.fmt(f),
            Self::NoModules => write!(f, "it contains no kernel modules and no lists of them"),
        }
    }
}

impl std::error::Error for Error {}

/// A module's name in the kernel's spelling.
pub(super) fn normal(name: &str) -> String {
    name.replace('-', "_")
}

/// The module name for a file name: "xts" for "kernel/crypto/xts.ko.zst".
fn module_of(path: &str) -> Option<String> {
    let file = path.rsplit('/').next()?;
    let (name, packed) = file.split_once(".ko")?;
    (matches!(packed, "" | ".gz" | ".xz" | ".zst") && !name.is_empty()).then(|| normal(name))
}

/// The limit for file names; the kernel's own names are shorter: 55 bytes for modules, 127 for
/// algorithms. Longer ones are ignored.
const LONGEST_NAME: usize = 256;
/// The kernels of the largest distributions have some fifty thousand. Each takes up to 400 bytes;
/// any beyond the limit are ignored.
const MOST_FACTS: usize = 1 << 18;

#[cfg(test)]
mod tests;
