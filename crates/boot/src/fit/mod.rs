//! FIT images (Flattened Image Tree; U-Boot, doc/usage/fit/source_file_format.rst): a device tree
//! whose nodes hold kernels, ramdisks and device trees with their hashes, and configurations that
//! specify which of them boot together.
//!
//! ```text
//! /            description, timestamp, #address-cells
//!   images     kernel-1: data, type, arch, os, compression, load, entry; hash-1: algo, value
//!   configurations   default; conf-1: kernel, ramdisk, fdt
//! ```
//!
//! Alternatively, data may follow the tree ("external"): data-offset is relative to the tree's end,
//! rounded up to a multiple of four; data-size is the length.

mod architecture;
mod build;
pub mod dts;
mod hashes;
mod read;
mod warnings;

pub use build::{Parts, Piece};
pub use hashes::{Algorithm, Verdict};
pub use read::{Configuration, Fit, Image};
pub use warnings::warnings;

use crate::fdt::{Node, Tree};
use std::fmt;

/// Why something is not a FIT image, or not a bootable one.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// It is not a device tree.
    Tree(crate::fdt::Error),
    /// The source violates a rule.
    Source(dts::Error),
    /// The node with this path lacks something, or refers to something that does not exist.
    Node {
        /// "/configurations/conf-1".
        path: String,
        /// What is wrong.
        why: String,
    },
    /// More than 4 GiB.
    TooLarge,
}

/// The layout of an image.
#[derive(Debug, Clone, Copy, Default)]
pub struct Layout {
    /// Seconds since 1970, for the property "timestamp".
    pub time: u32,
    /// The alignment of data placed after the tree; `None` to place data inside it.
    pub external: Option<usize>,
}

/// Encodes the image described by a tree: computes hashes, checks references.
pub fn image(mut tree: Tree<'_>, layout: Layout) -> Result<Vec<u8>, Error> {
    check(&tree.root)?;
    tree.root.set_cell("timestamp", layout.time);
    let images = tree.root.children.iter_mut().find(|child| child.name == IMAGES);
    let mut external = Vec::new();
    for image in images.into_iter().flat_map(|images| &mut images.children) {
        architecture::check(image)?;
        hashes::fill_in(image)?;
        if let Some(alignment) = layout.external {
            move_out(image, &mut external, alignment.max(4))?;
        }
    }
    let mut blob = tree.to_blob().ok_or(Error::TooLarge)?;
    if layout.external.is_some() {
        // Offsets relative to the tree's end count from the next multiple of four.
        let padded = blob.len().next_multiple_of(layout.external.unwrap_or(4).max(4));
        let length = u32::try_from(padded).map_err(|_| Error::TooLarge)?;
        blob.resize(padded, 0);
        blob[4..8].copy_from_slice(&length.to_be_bytes());
        blob.extend(external);
    }
    Ok(blob)
}

/// The tree described by a source, without the values of its hashes.
pub fn tree_of(source: &str, include: &mut dts::Include<'_>) -> Result<Tree<'static>, Error> {
    dts::parse(source, include).map_err(Error::Source)
}

fn move_out(image: &mut Node<'_>, external: &mut Vec<u8>, alignment: usize) -> Result<(), Error> {
    let Some(place) = image.properties.iter().position(|(name, _)| name == "data") else { return Ok(()) };
    let (_, data) = image.properties.remove(place);
    external.resize(external.len().next_multiple_of(alignment), 0);
    let number = |number: usize| u32::try_from(number).map_err(|_| Error::TooLarge);
    image.set_cell("data-size", number(data.len())?);
    image.set_cell("data-offset", number(external.len())?);
    external.extend_from_slice(&data);
    Ok(())
}

/// Checks that configurations refer to existing images, and that images have data.
fn check(root: &Node<'_>) -> Result<(), Error> {
    let wrong = |path: String, why: String| Err(Error::Node { path, why });
    let Some(images) = root.child(IMAGES).filter(|images| !images.children.is_empty()) else {
        return wrong(format!("/{IMAGES}"), "there are no images".to_owned());
    };
    for image in &images.children {
        let path = format!("/{IMAGES}/{}", image.name);
        for property in ["data", "type"] {
            if image.property(property).is_none() {
                return wrong(path, format!("it has no property \"{property}\""));
            }
        }
    }
    let Some(configurations) = root.child(CONFIGURATIONS) else { return Ok(()) };
    if let Some(default) = configurations.text("default")
        && configurations.child(default).is_none()
    {
        return wrong(format!("/{CONFIGURATIONS}"), format!("the default, {default}, does not exist"));
    }
    for configuration in &configurations.children {
        for property in NAMING {
            let names = configuration.texts(property);
            if let Some(name) = names.into_iter().find(|name| images.child(name).is_none()) {
                let path = format!("/{CONFIGURATIONS}/{}", configuration.name);
                return wrong(path, format!("{property} is {name}, but there is no such image"));
            }
        }
    }
    Ok(())
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tree(why) => why.fmt(f),
            Self::Source(why) => why.fmt(f),
            Self::Node { path, why } => write!(f, "{path}: {why}"),
            Self::TooLarge => write!(f, "a FIT image has at most 4 GiB"),
        }
    }
}

impl std::error::Error for Error {}

const IMAGES: &str = "images";
const CONFIGURATIONS: &str = "configurations";
/// Properties of a configuration that refer to images.
const NAMING: [&str; 6] = ["kernel", "ramdisk", "fdt", "loadables", "firmware", "fpga"];

#[cfg(test)]
mod tests;
