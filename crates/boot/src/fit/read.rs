//! A FIT image that is there: its images, what they hold, whether their hashes are right.

use super::hashes::{Verdict, verify};
use super::{CONFIGURATIONS, Error, IMAGES, NAMING};
use crate::fdt::{Node, Tree};

/// A FIT image.
#[derive(Debug, Clone)]
pub struct Fit {
    /// Of the root.
    pub description: String,
    /// Seconds since 1970.
    pub time: Option<u64>,
    /// In order.
    pub images: Vec<Image>,
    /// In order.
    pub configurations: Vec<Configuration>,
    /// The name of the configuration that boots unless another is asked for.
    pub default: Option<String>,
}

/// A kernel, a ramdisk, a device tree.
#[derive(Debug, Clone)]
pub struct Image {
    /// "kernel-1".
    pub name: String,
    /// Description, type, arch, os, compression: what the node says.
    pub facts: Vec<(&'static str, String)>,
    /// Load and entry address.
    pub addresses: Vec<(&'static str, u64)>,
    /// The data.
    pub data: Vec<u8>,
    /// Each hash with its verdict.
    pub hashes: Vec<(String, Verdict)>,
}

/// What boots together.
#[derive(Debug, Clone)]
pub struct Configuration {
    /// "conf-1".
    pub name: String,
    /// Of it.
    pub description: String,
    /// ("kernel", "kernel-1").
    pub images: Vec<(&'static str, String)>,
}

impl Fit {
    /// Reads an image, whoever made it.
    pub fn read(file: &[u8]) -> Result<Self, Error> {
        let tree = Tree::parse(file).map_err(Error::Tree)?;
        let end = Tree::length(file).unwrap_or_default().next_multiple_of(4);
        let Some(images) = tree.root.child(IMAGES) else {
            let why = "it is not there: this is a device tree, but no FIT image".to_owned();
            return Err(Error::Node { path: format!("/{IMAGES}"), why });
        };
        let images = images.children.iter().map(|node| image(node, file, end)).collect::<Result<_, _>>()?;
        let configurations = tree.root.child(CONFIGURATIONS);
        Ok(Self {
            description: tree.root.text("description").unwrap_or_default().to_owned(),
            time: tree.root.number("timestamp"),
            images,
            default: configurations.and_then(|all| all.text("default")).map(str::to_owned),
            configurations: configurations.iter().flat_map(|all| &all.children).map(configuration).collect(),
        })
    }

    /// Whether some hash is wrong.
    pub fn is_damaged(&self) -> bool {
        self.images.iter().any(|image| image.hashes.iter().any(|(_, verdict)| *verdict == Verdict::Wrong))
    }
}

fn image(node: &Node, file: &[u8], end: usize) -> Result<Image, Error> {
    let data = data(node, file, end).ok_or_else(|| Error::Node {
        path: format!("/{IMAGES}/{}", node.name),
        why: "its data is not there, or reaches beyond the end".to_owned(),
    })?;
    let facts = ["description", "type", "arch", "os", "compression"];
    let facts = facts.into_iter().filter_map(|name| Some((name, node.text(name)?.to_owned()))).collect();
    let addresses =
        ["load", "entry"].into_iter().filter_map(|name| Some((name, node.number(name)?))).collect();
    let hashes = verify(node, data);
    Ok(Image { name: node.name.clone(), facts, addresses, data: data.to_vec(), hashes })
}

/// In the tree, behind it, or at a place in the file.
fn data<'a>(node: &'a Node, file: &'a [u8], end: usize) -> Option<&'a [u8]> {
    if let Some(data) = node.property("data") {
        return Some(data);
    }
    let number = |name| node.number(name).and_then(|number| usize::try_from(number).ok());
    let start = match number("data-position") {
        Some(position) => position,
        None => end.checked_add(number("data-offset")?)?,
    };
    file.get(start..)?.get(..number("data-size")?)
}

fn configuration(node: &Node) -> Configuration {
    let named = NAMING
        .into_iter()
        .flat_map(|property| node.texts(property).into_iter().map(move |name| (property, name.to_owned())));
    Configuration {
        name: node.name.clone(),
        description: node.text("description").unwrap_or_default().to_owned(),
        images: named.collect(),
    }
}
