//! Modules in an order in which they can be loaded.

use super::{Inventory, normal};
use std::collections::BTreeSet;

impl Inventory {
    /// These modules with all that they depend on, each behind what it depends on: name and file. What has no file is left out:
    /// it is built in, or not there.
    pub fn in_order<'a>(&self, names: impl IntoIterator<Item = &'a str>) -> Vec<(&str, &str)> {
        let (mut ordered, mut seen) = (Vec::new(), BTreeSet::new());
        for name in names {
            self.add_in_order(&normal(name), &mut ordered, &mut seen);
        }
        ordered
    }

    fn add_in_order<'a>(
        &'a self,
        name: &str,
        ordered: &mut Vec<(&'a str, &'a str)>,
        seen: &mut BTreeSet<&'a str>,
    ) {
        let Some((name, file)) = self.files.get_key_value(name) else { return };
        if seen.insert(name) {
            for before in self.depends.get(name).into_iter().flatten() {
                self.add_in_order(before, ordered, seen);
            }
            ordered.push((name, file));
        }
    }
}

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
    }
}
