//! The modules that a system, a directory or an initramfs holds, and
//! what they offer the crypto API.
//!
//! A module says by aliases what it implements ("crypto-xts"); depmod gathers them in
//! `modules.alias`, the kernel's build those of built-in code in `modules.builtin.modinfo`. Where
//! such a list is missing, the modules' own `.modinfo` is read.

mod lists;
mod object;
mod order;
mod tree;

use std::collections::{BTreeMap, BTreeSet};
use std::io;

/// The modules of one kernel in one place.
#[derive(Debug, Clone, Default)]
pub struct Inventory {
    /// "6.1.0-48-amd64"; empty when nothing names it.
    pub release: String,
    /// Module name (with underscores) → its file's path.
    pub files: BTreeMap<String, String>,
    /// "xts" (of crypto-xts) → modules.
    crypto: BTreeMap<String, BTreeSet<String>>,
    /// Module → those that must be loaded before it.
    depends: BTreeMap<String, BTreeSet<String>>,
    built_in: BTreeSet<String>,
    /// "aes" → the built-in module.
    built_in_crypto: BTreeMap<String, String>,
    /// Whether some list of built-in modules was there.
    pub knows_built_in: bool,
    /// How many aliases, dependencies and built-in modules were read.
    facts: usize,
}

/// Where something is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// In the kernel itself; the module's name where it is known.
    BuiltIn(String),
    /// In a module, which is there with all that it depends on.
    Module(String),
    /// Loaded, or registered, in the running kernel.
    Loaded,
    /// A module has it, but what it depends on is not there.
    Incomplete {
        /// The module.
        module: String,
        /// What it lacks.
        without: String,
    },
    /// Nowhere.
    Missing,
    /// Not among the modules; whether it is built in cannot be seen.
    Unknown,
}

/// Why a place cannot be read.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The directory or file.
    Io {
        /// Which.
        path: String,
        /// Why.
        source: io::Error,
    },
    /// The image.
    Image(keyway_boot::initramfs::Error),
    /// It holds no modules and no lists of them.
    NoModules,
}

impl Found {
    /// Whether it can be had.
    pub const fn is_there(&self) -> bool {
        matches!(self, Self::BuiltIn(_) | Self::Module(_) | Self::Loaded)
    }
}

impl Inventory {
    /// A kernel of which no modules can be seen.
    pub fn unseen(release: &str) -> Self {
        Self { release: release.to_owned(), ..Self::default() }
    }

    /// A module by its name, with dashes or underscores.
    pub fn module(&self, name: &str) -> Found {
        let name = normal(name);
        match () {
            () if self.built_in.contains(&name) => Found::BuiltIn(name),
            () if self.files.contains_key(&name) => self.complete(name),
            () if self.knows_built_in => Found::Missing,
            () => Found::Unknown,
        }
    }

    /// What implements a template, cipher or hash of the crypto API.
    pub fn algorithm(&self, name: &str) -> Found {
        if let Some(module) = self.built_in_crypto.get(name) {
            return Found::BuiltIn(module.clone());
        }
        let named = [normal(name), format!("{}_generic", normal(name))];
        let modules = self.crypto.get(name).into_iter().flatten().chain(&named);
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

    /// All modules that are there and implement it.
    pub fn implementations(&self, name: &str) -> Vec<&str> {
        let modules = self.crypto.get(name).into_iter().flatten();
        modules.filter(|module| self.files.contains_key(*module)).map(String::as_str).collect()
    }

    /// Takes what is built into the same kernel from another place that knows it.
    pub fn learn_built_in(&mut self, other: &Self) {
        self.built_in.extend(other.built_in.iter().cloned());
        self.built_in_crypto.extend(other.built_in_crypto.iter().map(|(a, b)| (a.clone(), b.clone())));
        self.knows_built_in |= other.knows_built_in;
    }

    /// How many modules there are.
    pub fn len(&self) -> usize {
        self.files.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Notes that a module implements something.
    fn implemented(&mut self, name: &str, module: &str) {
        if self.has_room(name) && self.has_room(module) {
            self.facts += 1;
            self.crypto.entry(name.to_owned()).or_default().insert(normal(module));
        }
    }

    /// Notes what is to be loaded before a module.
    fn depend<'a>(&mut self, module: &str, before: impl Iterator<Item = &'a str>) {
        if !self.has_room(module) {
            return;
        }
        self.facts += 1;
        let mut known = self.depends.remove(module).unwrap_or_default();
        for name in before.filter(|name| !name.is_empty()) {
            if self.has_room(name) {
                self.facts += 1;
                known.insert(normal(name));
            }
        }
        self.depends.insert(module.to_owned(), known);
    }

    /// Notes what the kernel has in itself, and what that implements.
    fn is_built_in(&mut self, module: &str, name: Option<&str>) {
        if !self.has_room(module) {
            return;
        }
        self.facts += 1;
        self.built_in.insert(normal(module));
        if let Some(name) = name.filter(|name| self.has_room(name)) {
            self.built_in_crypto.insert(name.to_owned(), normal(module));
        }
    }

    /// Whether this is a name that a kernel can have, and one more of them.
    fn has_room(&self, name: &str) -> bool {
        name.len() <= LONGEST_NAME && self.facts < MOST_FACTS
    }

    fn complete(&self, module: String) -> Found {
        let (mut wanted, mut seen) = (vec![module.clone()], BTreeSet::new());
        while let Some(next) = wanted.pop() {
            if !seen.insert(next.clone()) {
                continue;
            }
            for before in self.depends.get(&next).into_iter().flatten() {
                if !self.files.contains_key(before) && !self.built_in.contains(before) && self.knows_built_in
                {
                    return Found::Incomplete { module, without: before.clone() };
                }
                wanted.push(before.clone());
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
            Self::NoModules => write!(f, "it holds no kernel modules and no lists of them"),
        }
    }
}

impl std::error::Error for Error {}

/// A module's name as the kernel spells it.
pub(super) fn normal(name: &str) -> String {
    name.replace('-', "_")
}

/// The module in a file of this name: "xts" of "kernel/crypto/xts.ko.zst".
fn module_of(path: &str) -> Option<String> {
    let file = path.rsplit('/').next()?;
    let (name, packed) = file.split_once(".ko")?;
    (matches!(packed, "" | ".gz" | ".xz" | ".zst") && !name.is_empty()).then(|| normal(name))
}

/// Names of files; the kernel's own are shorter: 55 bytes of modules,
/// 127 of algorithms. What is longer is not read.
const LONGEST_NAME: usize = 256;
/// The largest distributions' kernels have some fifty thousand. Each
/// takes up to 400 bytes; what is more is not read.
const MOST_FACTS: usize = 1 << 18;

#[cfg(test)]
mod tests;
