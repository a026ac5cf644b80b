//! The lists that depmod and the kernel's build store beside the modules (modules.dep(5), kmod's
//! depmod.c).
//!
//! ```text
//! modules.alias            alias crypto-xts xts
//! modules.dep              kernel/crypto/xts.ko: kernel/crypto/ecb.ko
//! modules.softdep          softdep libcrc32c pre: crc32c
//! modules.builtin          kernel/crypto/xts.ko
//! modules.builtin.modinfo  xts.alias=crypto-xts\0…
//! ```

use super::{Inventory, module_of};

impl Inventory {
    /// Whether a file of this name is one of the lists.
    pub(super) fn is_list(name: &str) -> bool {
        LISTS.contains(&name)
    }

    /// Parses a list, identified by its file name.
    pub(super) fn add_list(&mut self, name: &str, content: &[u8]) {
        let text = String::from_utf8_lossy(&content[..content.len().min(LARGEST)]);
        match name {
            "modules.alias" => text.lines().for_each(|line| self.alias(line)),
            "modules.dep" => text.lines().for_each(|line| self.dependencies(line)),
            "modules.softdep" => text.lines().for_each(|line| self.soft_dependencies(line)),
            "modules.builtin" => {
                text.lines().filter_map(module_of).for_each(|module| self.is_built_in(&module, None));
            }
            "modules.builtin.modinfo" => {
                let entries = text.split('\0').filter_map(|entry| entry.split_once('.'));
                entries.for_each(|(module, rest)| self.built_in_says(module, rest));
            }
            _ => {}
        }
        self.knows_built_in |= name.starts_with("modules.builtin");
    }

    fn alias(&mut self, line: &str) {
        let words = line.strip_prefix("alias ").and_then(|rest| rest.split_once(' '));
        let Some((alias, module)) = words else { return };
        match alias.strip_prefix("crypto-") {
            Some(name) => self.implemented(name, module.trim()),
            None => self.is_also(alias, module.trim()),
        }
    }

    fn soft_dependencies(&mut self, line: &str) {
        let words = line.strip_prefix("softdep ").and_then(|rest| rest.trim_start().split_once(' '));
        if let Some((module, list)) = words {
            self.depend_softly(module, list);
        }
    }

    /// Takes a text of a built-in module: "alias=fs-ext4", "softdep=pre: crypto-crc32c".
    fn built_in_says(&mut self, module: &str, text: &str) {
        if let Some(list) = text.strip_prefix("softdep=") {
            self.depend_softly(module, list);
        }
        let plain = |alias: &&str| alias.starts_with("crypto-") || alias.starts_with("fs-");
        self.is_built_in(module, text.strip_prefix("alias=").filter(plain));
    }

    fn dependencies(&mut self, line: &str) {
        let Some((module, before)) = line.split_once(':') else { return };
        let before: Vec<String> = before.split_ascii_whitespace().filter_map(module_of).collect();
        if let Some(module) = module_of(module) {
            self.depend(&module, before.iter().map(String::as_str));
        }
    }
}

/// Distributions' lists have one or two MiB.
const LARGEST: usize = 16 << 20;
const LISTS: [&str; 5] =
    ["modules.alias", "modules.dep", "modules.softdep", "modules.builtin", "modules.builtin.modinfo"];
