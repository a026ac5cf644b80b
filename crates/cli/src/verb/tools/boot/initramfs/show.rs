//! `--list` and `--diff`: show the content of an image.

use crate::output::failure::Result;
use crate::output::paint::printable;
use crate::output::stdio;
use crate::verb::tools::boot::files::{self, unusable};
use keyway_boot::initramfs::{Difference, Item, Listing};
use std::path::Path;

/// One name per line, in the format of `ls -l`.
pub(super) fn list(path: &Path) -> Result<()> {
    let listing = Listing::of(&files::read(path)?, false).map_err(|why| unusable(path, &why))?;
    stdio::print(&listing.items.iter().map(|(name, item)| line("", name, item)).collect::<String>())
}

/// What is added, missing or different in the second image.
pub(super) fn difference(original: &Path, path: &Path) -> Result<()> {
    let (before, after) = (files::read(original)?, files::read(path)?);
    let of = |path, image| Listing::of(image, true).map_err(|why| unusable(path, &why));
    let (old, new) = (of(original, &before[..])?, of(path, &after[..])?);
    let mut text = String::new();
    for (name, difference) in old.differences(&new) {
        text += &match difference {
            Difference::Added(item) => line("+ ", name, item),
            Difference::Removed(item) => line("- ", name, item),
            Difference::Changed(_, item) => line("~ ", name, item),
        };
    }
    text += &match () {
        () if before == after => "They are the same, byte for byte.\n".to_owned(),
        () if after.starts_with(&before) => {
            format!("It begins with {}, byte for byte.\n", original.display())
        }
        () => String::new(),
    };
    stdio::print(&text)
}

fn line(mark: &str, name: &str, item: &Item) -> String {
    match &item.target {
        Some(target) => format!("{mark}{item} {} -> {}\n", printable(name), printable(target)),
        None => format!("{mark}{item} {}\n", printable(name)),
    }
}
