//! Modules in an order in which they can be loaded: that of modprobe(8), in which what a module asks
//! for by name (its soft dependencies) comes before what it depends on, and both before itself.

use super::{Inventory, normal};
use std::collections::BTreeSet;
use std::vec;

impl Inventory {
    /// These modules and all their dependencies, each after its own dependencies: name and file.
    /// Modules without a file are omitted: they are built in, or missing.
    pub fn in_order<'a>(&self, names: impl IntoIterator<Item = &'a str>) -> Vec<(&str, &str)> {
        let mut order = Order::default();
        for name in names {
            self.add_in_order(&normal(name), &mut order);
            // Not earlier: what depends on the module may be among what comes after it.
            while let Some(next) = order.after.pop() {
                self.add_in_order(next, &mut order);
            }
        }
        order.done
    }

    /// Without recursion: the dependencies come from a file, and a chain may be arbitrarily long.
    fn add_in_order<'a>(&'a self, name: &str, order: &mut Order<'a>) {
        let mut open = Vec::new();
        self.enter(name, &mut open, order);
        while let Some(Entered { name, file, before }) = open.last_mut() {
            match before.next() {
                Some(next) => self.enter(next, &mut open, order),
                None => {
                    order.done.extend(file.map(|file| (*name, file)));
                    open.pop();
                }
            }
        }
    }

    /// Enters a module that was not seen before, with its dependencies. Built-in code has no file, but
    /// may ask for modules.
    fn enter<'a>(&'a self, name: &str, open: &mut Vec<Entered<'a>>, order: &mut Order<'a>) {
        let file = self.files.get_key_value(name);
        let soft = self.soft.get_key_value(name);
        let Some(name) = file.map(|(name, _)| name).or(soft.map(|(name, _)| name)) else { return };
        if !order.seen.insert(name) {
            return;
        }
        let named = |names: &'a Vec<String>| names.iter().flat_map(move |name| self.meant(name));
        let mut before: Vec<&str> = soft.into_iter().flat_map(|(_, soft)| named(&soft.before)).collect();
        before.extend(self.depends.get(name).into_iter().flatten().map(String::as_str));
        order.after.extend(soft.into_iter().flat_map(|(_, soft)| named(&soft.after)));
        open.push(Entered { name, file: file.map(|(_, file)| &**file), before: before.into_iter() });
    }

    /// The modules that a name stands for in a soft dependency: the module so called, else all that
    /// have the name as an alias.
    pub(super) fn meant(&self, name: &str) -> Vec<&str> {
        if let Some((module, _)) = self.files.get_key_value(&normal(name)) {
            return vec![module];
        }
        let of_crypto = self.crypto.get(name.strip_prefix("crypto-").unwrap_or(name));
        let aliased = of_crypto.into_iter().chain(self.aliases.get(name)).flatten();
        aliased.filter(|module| self.files.contains_key(*module)).map(String::as_str).collect()
    }
}

#[derive(Default)]
struct Order<'a> {
    done: Vec<(&'a str, &'a str)>,
    seen: BTreeSet<&'a str>,
    /// To be loaded after what is being entered.
    after: Vec<&'a str>,
}

/// A module, its file, and the dependencies that have not been processed yet.
struct Entered<'a> {
    name: &'a str,
    file: Option<&'a str>,
    before: vec::IntoIter<&'a str>,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As in Debian's 6.1: libcrc32c asks for crc32c when it starts, and fails without.
    #[test]
    fn what_is_asked_for_by_name_comes_first_too() {
        let mut inventory = Inventory::default();
        let dependencies = "k/xfs.ko: k/libcrc32c.ko\nk/btrfs.ko: k/xor.ko k/libcrc32c.ko\n";
        let aliases = "alias crypto-crc32c crc32c_intel\nalias crypto-crc32c crc32c_generic\n\
            alias crypto-blake2b-256 blake2b_generic\nalias sound-1 snd\nalias pci:v*d* snd\n";
        let soft = "# made by depmod\nsoftdep libcrc32c pre: crc32c\nsoftdep btrfs pre: blake2b-256\n\
            softdep btrfs pre: crypto-crc32c\nsoftdep vfio post: vfio-iommu nowhere pre: snd\nsoftdep cifs gcm\n";
        inventory.add_list("modules.dep", dependencies.as_bytes());
        inventory.add_list("modules.alias", aliases.as_bytes());
        inventory.add_list("modules.softdep", soft.as_bytes());
        inventory
            .add_list("modules.builtin.modinfo", b"ext4.alias=fs-ext4\0ext4.softdep=pre: crypto-crc32c\0");
        let files = "xfs btrfs xor libcrc32c crc32c_intel crc32c_generic blake2b_generic vfio vfio_iommu snd cifs gcm";
        inventory.files = files.split(' ').map(|name| (name.to_owned(), format!("/{name}.ko"))).collect();
        inventory.depend("vfio_iommu", ["vfio"].into_iter());
        let order = |names: &[&'static str]| {
            let ordered = inventory.in_order(names.iter().copied());
            ordered.into_iter().map(|(name, _)| name).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(order(&["xfs"]), "crc32c_generic crc32c_intel libcrc32c xfs");
        assert_eq!(order(&["btrfs"]), "blake2b_generic crc32c_generic crc32c_intel libcrc32c xor btrfs");
        assert_eq!(order(&["ext4"]), "crc32c_generic crc32c_intel", "built in, and asks all the same");
        assert_eq!(order(&["vfio"]), "snd vfio vfio_iommu");
        assert_eq!(order(&["cifs"]), "cifs", "neither before nor after");
    }

    #[test]
    fn what_is_needed_comes_first_and_once() {
        let mut inventory = Inventory::default();
        let lists = "k/a.ko: k/b.ko k/c.ko\nk/b.ko: k/c.ko\nk/c.ko:\nk/dm-crypt.ko: k/c.ko k/built-in.ko\nk/x.ko: k/y.ko\nk/y.ko: k/x.ko\n";
        inventory.add_list("modules.dep", lists.as_bytes());
        inventory.files =
            ["a", "b", "c", "dm_crypt", "x", "y"].map(|name| (name.to_owned(), format!("/{name}.ko"))).into();
        let order = |names: &[&'static str]| {
            let ordered = inventory.in_order(names.iter().copied());
            ordered.into_iter().map(|(name, _)| name).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(order(&["dm-crypt", "a"]), "c dm_crypt b a");
        assert_eq!(order(&["nowhere"]), "");
        assert_eq!(order(&["x"]), "y x", "a circle ends");
        let names = |count: u32| (0..count).map(|number| format!("m{number:06}"));
        let mut long = Inventory {
            files: names(100_000).map(|name| (name, String::new())).collect(),
            ..Inventory::default()
        };
        names(99_999)
            .zip(names(100_000).skip(1))
            .for_each(|(name, next)| long.depend(&name, [&*next].into_iter()));
        let ordered = long.in_order(["m000000"]);
        assert_eq!((ordered.len(), ordered[0].0), (100_000, "m099999"), "a chain of any length ends");
    }
}
