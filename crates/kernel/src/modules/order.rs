//! Modules in an order in which they can be loaded.

use super::{Inventory, normal};
use std::collections::{BTreeSet, btree_set};

impl Inventory {
    /// These modules and all their dependencies, each after its own dependencies: name and file.
    /// Modules without a file are omitted: they are built in, or missing.
    pub fn in_order<'a>(&self, names: impl IntoIterator<Item = &'a str>) -> Vec<(&str, &str)> {
        let (mut ordered, mut seen) = (Vec::new(), BTreeSet::new());
        for name in names {
            self.add_in_order(&normal(name), &mut ordered, &mut seen);
        }
        ordered
    }

    /// Without recursion: the dependencies come from a file, and a chain may be arbitrarily long.
    fn add_in_order<'a>(
        &'a self,
        name: &str,
        ordered: &mut Vec<(&'a str, &'a str)>,
        seen: &mut BTreeSet<&'a str>,
    ) {
        let mut open = Vec::new();
        self.enter(name, &mut open, seen);
        while let Some((name, file, before)) = open.last_mut() {
            match before.next() {
                Some(next) => self.enter(next, &mut open, seen),
                None => {
                    ordered.push((name, file));
                    open.pop();
                }
            }
        }
    }

    /// Enters a module that was not seen before, with its dependencies.
    fn enter<'a>(&'a self, name: &str, open: &mut Vec<Entered<'a>>, seen: &mut BTreeSet<&'a str>) {
        let Some((name, file)) = self.files.get_key_value(name) else { return };
        if seen.insert(name) {
            let before = self.depends.get(name).unwrap_or(&NOTHING);
            open.push((name, file, before.iter()));
        }
    }
}

/// A module, its file, and the dependencies that have not been processed yet.
type Entered<'a> = (&'a str, &'a str, btree_set::Iter<'a, String>);

static NOTHING: BTreeSet<String> = BTreeSet::new();

#[cfg(test)]
mod tests {
    use super::*;

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
