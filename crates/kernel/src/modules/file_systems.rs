//! What mounts a file system: its module, and what that asks of the crypto API by name.

use super::{Found, Inventory};
use std::collections::BTreeSet;

impl Inventory {
    /// Looks up what mounts a file system, by the name that mount(2) takes ("ext3" is ext4's).
    pub fn file_system(&self, kind: &str) -> Found {
        let alias = format!("fs-{kind}");
        let own = kind.to_owned();
        let modules = self.aliases.get(&alias).into_iter().flatten().chain([&own]);
        self.among(self.built_in_aliases.get(&alias), modules)
    }

    /// What a module, or one that it depends on, asks for by name when it starts, and is nowhere: the
    /// module and the name. `None` also where the lists do not tell of everything.
    pub fn unmet(&self, module: &str) -> Option<(&str, &str)> {
        let (mut wanted, mut seen) = (vec![module], BTreeSet::new());
        while let Some(next) = wanted.pop().filter(|_| self.tells_of_all()) {
            if !seen.insert(next) {
                continue;
            }
            if let Some((module, soft)) = self.soft.get_key_value(next)
                && let Some(name) = soft.before.iter().find(|name| !self.is_met(name))
            {
                return Some((module, name));
            }
            wanted.extend(self.depends.get(next).into_iter().flatten().map(String::as_str));
        }
        None
    }

    fn is_met(&self, name: &str) -> bool {
        let of_crypto = name.strip_prefix("crypto-").unwrap_or(name);
        !self.meant(name).is_empty()
            || self.module(name).is_there()
            || self.algorithm(of_crypto).is_there()
            || self.built_in_aliases.contains_key(name)
    }
}

/// What a file system asks of the crypto API when it is mounted (fs/*/super.c; btrfs: any of its four
/// checksums). What fscrypt asks for comes later, from the root's own modprobe.
pub fn asked_by_file_system(kind: &str) -> &'static [&'static str] {
    match kind {
        "ext2" | "ext3" | "ext4" | "xfs" | "erofs" => &["crc32c"],
        "btrfs" => &["crc32c", "xxhash64", "sha256", "blake2b-256"],
        "f2fs" => &["crc32"],
        "bcachefs" => &["crc32c", "chacha20", "poly1305", "sha256"],
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inventory(files: &str, built_in: &str) -> Inventory {
        let mut inventory = Inventory::default();
        inventory.add_list("modules.alias", b"alias fs-xfs xfs\nalias fs-f2fs f2fs\nalias crypto-xts xts\n");
        inventory.add_list("modules.dep", b"k/xfs.ko: k/libcrc32c.ko\n");
        inventory.add_list("modules.softdep", b"softdep libcrc32c pre: crc32c\nsoftdep f2fs pre: crc32\n");
        let texts = format!("ext4.alias=fs-ext4\0ext4.alias=fs-ext3\0xts.alias=crypto-xts\0{built_in}");
        inventory.add_list("modules.builtin.modinfo", texts.as_bytes());
        inventory.files =
            files.split_ascii_whitespace().map(|name| (name.to_owned(), format!("/{name}.ko"))).collect();
        inventory
    }

    #[test]
    fn a_file_system_is_built_in_or_a_module_or_missing() {
        let all = inventory("xfs libcrc32c", "");
        assert_eq!(all.file_system("ext3"), Found::BuiltIn("ext4".into()));
        assert_eq!(all.file_system("xfs"), Found::Module("xfs".into()));
        assert_eq!(all.file_system("f2fs"), Found::Missing, "listed, but its file is not there");
        assert_eq!(all.file_system("bcachefs"), Found::Missing);
        let without = Found::Incomplete { module: "xfs".into(), without: "libcrc32c".into() };
        assert_eq!(inventory("xfs", "").file_system("xfs"), without);
        assert_eq!(Inventory::default().file_system("xfs"), Found::Unknown);
    }

    #[test]
    fn what_it_asks_for_by_name_has_to_be_there() {
        let files = "xfs libcrc32c f2fs";
        assert_eq!(inventory(files, "").unmet("xfs"), Some(("libcrc32c", "crc32c")));
        assert_eq!(inventory(files, "crc32c_generic.alias=crypto-crc32c\0").unmet("xfs"), None);
        assert_eq!(inventory("xfs libcrc32c crc32c_generic", "").unmet("xfs"), None, "by its file's name");
        assert_eq!(inventory(files, "").unmet("f2fs"), Some(("f2fs", "crc32")));
        assert_eq!(inventory(files, "crc32.license=GPL\0").unmet("f2fs"), None, "a built-in library");
        assert_eq!(Inventory::default().unmet("xfs"), None, "nothing is known");
    }
}
