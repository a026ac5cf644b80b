//! Reads an existing FIT image: its images, their content, and whether their hashes match.

use super::hashes::{Verdict, is_hash, verify};
use super::{CONFIGURATIONS, Error, IMAGES, NAMING};
use crate::fdt::{Node, Tree};
use std::borrow::Cow;

/// A FIT image.
#[derive(Debug, Clone)]
pub struct Fit<'a> {
    /// The description of the root node.
    pub description: String,
    /// Seconds since 1970.
    pub time: Option<u64>,
    /// The images, in order.
    pub images: Vec<Image<'a>>,
    /// The configurations, in order.
    pub configurations: Vec<Configuration>,
    /// The name of the configuration that boots by default.
    pub default: Option<String>,
}

/// A kernel, a ramdisk, a device tree.
#[derive(Debug, Clone)]
pub struct Image<'a> {
    /// "kernel-1".
    pub name: String,
    /// Description, type, arch, os, compression, as the node gives them.
    pub facts: Vec<(&'static str, String)>,
    /// Load address and entry point.
    pub addresses: Vec<(&'static str, u64)>,
    /// The data, borrowed from the file: images may overlap.
    pub data: Cow<'a, [u8]>,
    /// Each hash with its verdict.
    pub hashes: Vec<(String, Verdict)>,
}

/// A configuration: the images that boot together.
#[derive(Debug, Clone)]
pub struct Configuration {
    /// "conf-1".
    pub name: String,
    /// The configuration's description.
    pub description: String,
    /// ("kernel", "kernel-1").
    pub images: Vec<(&'static str, String)>,
}

impl<'a> Fit<'a> {
    /// Reads an image from an untrusted source.
    pub fn read(file: &'a [u8]) -> Result<Self, Error> {
        let tree = Tree::parse(file).map_err(Error::Tree)?;
        let end = Tree::length(file).unwrap_or_default().next_multiple_of(4);
        let Some(images) = tree.root.child(IMAGES) else {
            return wrong(IMAGES, "", "it is missing: this is a device tree, but not a FIT image");
        };
        let mut left = file.len().saturating_mul(MOST_OVERLAP);
        let images = images.children.iter().map(|node| image(node, file, end, &mut left));
        let images = images.collect::<Result<_, _>>()?;
        let configurations = tree.root.child(CONFIGURATIONS);
        let mut names = MOST_NAMES;
        let all = configurations.iter().flat_map(|all| &all.children);
        Ok(Self {
            description: tree.root.text("description").unwrap_or_default().to_owned(),
            time: tree.root.number("timestamp"),
            images,
            default: configurations.and_then(|all| all.text("default")).map(str::to_owned),
            configurations: all.map(|node| configuration(node, &mut names)).collect::<Result<_, _>>()?,
        })
    }

    /// Whether any hash is wrong.
    pub fn is_damaged(&self) -> bool {
        self.images.iter().any(|image| image.hashes.iter().any(|(_, verdict)| *verdict == Verdict::Wrong))
    }
}

/// Reads one image, unless all images together would exceed `left` bytes.
fn image<'a>(node: &Node<'a>, file: &'a [u8], end: usize, left: &mut usize) -> Result<Image<'a>, Error> {
    let Some(data) = data(node, file, end) else {
        return wrong(IMAGES, &node.name, "its data is missing, or reaches beyond the end");
    };
    let times = 1 + node.children.iter().filter(|child| is_hash(child)).count();
    match left.checked_sub(data.len().saturating_mul(times)) {
        Some(rest) => *left = rest,
        None => {
            let why = format!(
                "overlapping images and their hashes would read the file more than {MOST_OVERLAP} times"
            );
            return wrong(IMAGES, &node.name, &why);
        }
    }
    let facts = ["description", "type", "arch", "os", "compression"];
    let facts = facts.into_iter().filter_map(|name| Some((name, node.text(name)?.to_owned()))).collect();
    let addresses =
        ["load", "entry"].into_iter().filter_map(|name| Some((name, node.number(name)?))).collect();
    let hashes = verify(node, &data);
    Ok(Image { name: node.name.clone().into_owned(), facts, addresses, data, hashes })
}

/// The data: in the tree, after it, or at some offset in the file.
fn data<'a>(node: &Node<'a>, file: &'a [u8], end: usize) -> Option<Cow<'a, [u8]>> {
    if let Some((_, data)) = node.properties.iter().find(|(name, _)| name == "data") {
        // It was borrowed from the file when the tree was parsed.
        return Some(data.clone());
    }
    let number = |name| node.number(name).and_then(|number| usize::try_from(number).ok());
    let start = match number("data-position") {
        Some(position) => position,
        None => end.checked_add(number("data-offset")?)?,
    };
    file.get(start..)?.get(..number("data-size")?).map(Cow::Borrowed)
}

fn configuration(node: &Node<'_>, names: &mut usize) -> Result<Configuration, Error> {
    let mut images = Vec::new();
    for property in NAMING {
        let Some(value) = node.property(property) else { continue };
        let named = 1 + value.iter().filter(|byte| **byte == 0).count();
        let Some(rest) = names.checked_sub(named) else {
            let why = format!("all configurations together name more than {MOST_NAMES} images");
            return wrong(CONFIGURATIONS, &node.name, &why);
        };
        *names = rest;
        images.extend(node.texts(property).into_iter().map(|name| (property, name.to_owned())));
    }
    Ok(Configuration {
        name: node.name.clone().into_owned(),
        description: node.text("description").unwrap_or_default().to_owned(),
        images,
    })
}

fn wrong<T>(parent: &str, node: &str, why: &str) -> Result<T, Error> {
    let path = if node.is_empty() { format!("/{parent}") } else { format!("/{parent}/{node}") };
    Err(Error::Node { path, why: why.to_owned() })
}

/// No tool makes images that overlap; an image with all of U-Boot's six hashes is read seven times.
const MOST_OVERLAP: usize = 16;
/// The maximum number of references to images in configurations: there are few boards, and each has
/// one image of every kind.
const MOST_NAMES: usize = 1 << 16;
