//! Flattened device trees (Devicetree Specification v0.4, chapter 5): the format in which boot
//! loaders and kernels receive a hardware description, and in which FIT images are packed.
//! Big-endian.
//!
//! ```text
//! 0   d0 0d fe ed            20  version (17)
//! 4   bytes in all           24  oldest compatible version (16)
//! 8   offset of structure    28  boot CPU
//! 12  offset of strings      32  bytes of strings
//! 16  offset of reserved     36  bytes of structure
//!     memory
//! ```
//!
//! Reserved memory: pairs of 64-bit address and length, the last 0, 0. Structure: words; 1 begins a
//! node (its name, a zero, padding to a multiple of four), 2 ends it, 3 is a property (length,
//! offset of its name in the strings, value, padding), 4 is a no-op, 9 the end.

//! A parsed tree borrows names and values from its blob: many properties may share one name without
//! copies.

mod reader;
mod writer;

pub use reader::Error;
pub(crate) use reader::{DEEPEST, LONGEST_NAME, MOST_THINGS, NAME_TOO_LONG, TOO_DEEP};
use std::borrow::Cow;

/// A tree.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tree<'a> {
    /// Address and length of memory that must not be used.
    pub reserved: Vec<(u64, u64)>,
    /// The CPU that boots.
    pub boot_cpu: u32,
    /// The root node, which has no name.
    pub root: Node<'a>,
}

/// A node.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Node<'a> {
    /// "memory@80000000"; empty for the root.
    pub name: Cow<'a, str>,
    /// Names and values, in order.
    pub properties: Vec<(Cow<'a, str>, Cow<'a, [u8]>)>,
    /// The child nodes, in order.
    pub children: Vec<Self>,
}

impl<'a> Tree<'a> {
    /// Parses a blob.
    pub fn parse(blob: &'a [u8]) -> Result<Self, Error> {
        reader::parse(blob)
    }

    /// Encodes the tree as a blob; `None` if it would be longer than 4 GiB.
    pub fn to_blob(&self) -> Option<Vec<u8>> {
        writer::blob(self)
    }

    /// The length of a blob according to its header.
    pub fn length(blob: &[u8]) -> Option<usize> {
        let is_one = blob.starts_with(&MAGIC.to_be_bytes());
        let length = blob.get(4..8).filter(|_| is_one)?;
        usize::try_from(u32::from_be_bytes(length.try_into().ok()?)).ok()
    }
}

impl Node<'_> {
    /// An empty node.
    pub fn new(name: &str) -> Self {
        Self { name: name.to_owned().into(), ..Self::default() }
    }

    /// The value of a property.
    pub fn property(&self, name: &str) -> Option<&[u8]> {
        self.properties.iter().find(|(known, _)| known == name).map(|(_, value)| &**value)
    }

    /// The value of a text property, without the terminating zero.
    pub fn text(&self, name: &str) -> Option<&str> {
        let value = self.property(name)?;
        let text = value.split(|byte| *byte == 0).next().unwrap_or_default();
        std::str::from_utf8(text).ok()
    }

    /// The value of a property that is a list of texts.
    pub fn texts(&self, name: &str) -> Vec<&str> {
        let Some(value) = self.property(name).filter(|value| !value.is_empty()) else { return Vec::new() };
        let value = value.strip_suffix(&[0]).unwrap_or(value);
        value.split(|byte| *byte == 0).filter_map(|text| std::str::from_utf8(text).ok()).collect()
    }

    /// The value of a property that is one cell, or two forming one number.
    pub fn number(&self, name: &str) -> Option<u64> {
        let value = self.property(name)?;
        let is_one = matches!(value.len(), 4 | 8);
        is_one.then(|| value.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    /// The child node with this name.
    pub fn child(&self, name: &str) -> Option<&Self> {
        self.children.iter().find(|child| child.name == name)
    }

    /// Sets a property; an existing one keeps its position.
    pub fn set(&mut self, name: &str, value: impl Into<Vec<u8>>) {
        let value = Cow::Owned(value.into());
        match self.properties.iter_mut().find(|(known, _)| known == name) {
            Some((_, old)) => *old = value,
            None => self.properties.push((name.to_owned().into(), value)),
        }
    }

    /// Sets a property to a text.
    pub fn set_text(&mut self, name: &str, text: &str) {
        self.set(name, [text.as_bytes(), &[0]].concat());
    }

    /// Sets a property to one cell.
    pub fn set_cell(&mut self, name: &str, cell: u32) {
        self.set(name, cell.to_be_bytes());
    }
}

const MAGIC: u32 = 0xd00d_feed;
const BEGIN_NODE: u32 = 1;
const END_NODE: u32 = 2;
const PROPERTY: u32 = 3;
const NOP: u32 = 4;
const END: u32 = 9;

#[cfg(test)]
mod tests {
    use super::*;

    fn tree() -> Tree<'static> {
        let mut root = Node::default();
        root.set_text("description", "a tree");
        root.set_cell("#address-cells", 1);
        root.set("empty", []);
        let mut child = Node::new("images@1");
        child.set("data", *b"12345");
        child.set("list", *b"one\0two\0");
        child.children.push(Node::new("deeper"));
        root.children = vec![child, Node::new("other")];
        Tree { reserved: vec![(0x1000, 0x20)], boot_cpu: 3, root }
    }

    #[test]
    fn what_is_written_is_read_again() {
        let tree = tree();
        let blob = tree.to_blob().unwrap();
        assert_eq!(Tree::length(&blob), Some(blob.len()));
        assert_eq!(Tree::parse(&blob), Ok(tree.clone()));
        let child = tree.root.child("images@1").unwrap();
        assert_eq!(
            (child.texts("list"), tree.root.text("description")),
            (vec!["one", "two"], Some("a tree"))
        );
        assert_eq!((tree.root.number("#address-cells"), child.number("data")), (Some(1), None));
    }

    /// 40,000 properties that share a name of 500 KB: a blob of one megabyte that stands for twenty
    /// gigabytes.
    #[test]
    fn names_are_borrowed_and_short() {
        let blob = |length: usize, count: usize| {
            let properties: Vec<u8> = [3_u32, 0, 0].iter().flat_map(|word| word.to_be_bytes()).collect();
            let structure =
                [&[0, 0, 0, 1, 0, 0, 0, 0][..], &properties.repeat(count), &[0, 0, 0, 2, 0, 0, 0, 9]]
                    .concat();
            let strings = [&vec![b'n'; length][..], &[0]].concat();
            let words =
                [0xd00d_feed, 56 + structure.len() + strings.len(), 56, 56 + structure.len(), 40, 17, 16, 0];
            let words = words.into_iter().chain([strings.len(), structure.len()]);
            let header: Vec<u8> = words.flat_map(|word| (word as u32).to_be_bytes()).collect();
            [header, vec![0; 16], structure, strings].concat()
        };
        let why = |blob: &[u8]| Tree::parse(blob).unwrap_err().to_string();
        assert_eq!(
            why(&blob(500_000, 40_000)),
            "at byte 76 of the device tree: a name is longer than 256 bytes"
        );
        assert!(why(&blob(257, 1)).ends_with("a name is longer than 256 bytes"));
        let longest = blob(256, 40_000);
        let tree = Tree::parse(&longest).unwrap();
        let range = longest.as_ptr_range();
        let is_borrowed =
            |name: &Cow<'_, str>| matches!(name, Cow::Borrowed(name) if range.contains(&name.as_ptr()));
        assert!(tree.root.properties.iter().all(|(name, _)| name.len() == 256 && is_borrowed(name)));
        assert!(Tree::parse(&blob(1, (1 << 18) - 1)).is_ok());
        assert!(why(&blob(1, 1 << 18)).ends_with("it has more than 262144 nodes and properties"));
    }

    #[test]
    fn damage_is_refused_with_its_place() {
        let blob = tree().to_blob().unwrap();
        assert_eq!(
            Tree::parse(b"x").unwrap_err().to_string(),
            "it does not start with a device tree's header"
        );
        for length in 0..blob.len() {
            assert!(Tree::parse(&blob[..length]).is_err(), "{length}");
        }
        for at in 0..blob.len() {
            let mut damaged = blob.clone();
            damaged[at] ^= 0x81;
            if let Ok(tree) = Tree::parse(&damaged) {
                assert!(tree.to_blob().is_some());
            }
        }
        let mut deep = Node::default();
        for _ in 0..100 {
            deep = Node { children: vec![deep], ..Node::new("x") };
        }
        deep.name = Cow::Borrowed("");
        let blob = Tree { root: deep, ..Tree::default() }.to_blob().unwrap();
        assert!(Tree::parse(&blob).unwrap_err().to_string().contains("nodes are nested deeper than"));
    }
}
