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

    /// What a module, or those that it depends on, ask for by name when they start, and is nowhere: the
    /// modules and the names. Empty also where the lists do not tell of everything.
    pub fn unmet(&self, module: &str) -> Vec<(&str, &str)> {
        let (mut wanted, mut seen, mut unmet) = (vec![module], BTreeSet::new(), Vec::new());
        while let Some(next) = wanted.pop().filter(|_| self.tells_of_all()) {
            if !seen.insert(next) {
                continue;
            }
            if let Some((module, soft)) = self.soft.get_key_value(next) {
                let missing = soft.before.iter().filter(|name| !self.is_met(name));
                unmet.extend(missing.map(|name| (module.as_str(), name.as_str())));
            }
            wanted.extend(self.depends.get(next).into_iter().flatten().map(String::as_str));
        }
        unmet
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

/// Whether a file system cannot be mounted without what its modules ask for by this name: what they need
/// of the crypto API. All else is optional (modprobe.d(5), softdep).
pub fn cannot_mount_without(kind: &str, name: &str) -> bool {
    name.starts_with("crypto-") || asked_by_file_system(kind).contains(&name)
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
        for (files, built_in, module, unmet) in [
            (files, "", "xfs", &[("libcrc32c", "crc32c")][..]),
            (files, "crc32c_generic.alias=crypto-crc32c\0", "xfs", &[]),
            // By its file's name.
            ("xfs libcrc32c crc32c_generic", "", "xfs", &[]),
            (files, "", "f2fs", &[("f2fs", "crc32")]),
            // A built-in library.
            (files, "crc32.license=GPL\0", "f2fs", &[]),
            (
                files,
                "f2fs.softdep=pre: lz4 crypto-x\0",
                "f2fs",
                &[("f2fs", "crc32"), ("f2fs", "lz4"), ("f2fs", "crypto-x")],
            ),
        ] {
            assert_eq!(inventory(files, built_in).unmet(module), unmet, "{files}; {built_in}");
        }
        assert!(Inventory::default().unmet("xfs").is_empty(), "nothing is known");
    }

    #[test]
    fn only_what_is_of_the_crypto_api_cannot_be_missing() {
        for (kind, name, cannot) in [
            ("f2fs", "crc32", true),
            ("xfs", "crypto-crc32c", true),
            ("ext4", "crypto-nowhere", true),
            ("ext4", "crc32", false),
            ("overlay", "vfio", false),
        ] {
            assert_eq!(cannot_mount_without(kind, name), cannot, "{kind} {name}");
        }
    }
}
