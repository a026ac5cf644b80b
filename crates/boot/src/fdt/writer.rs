//! From a tree to a blob, as dtc lays it out: header, reserved memory, structure, strings.

use super::{BEGIN_NODE, END, END_NODE, MAGIC, Node, PROPERTY, Tree};
use std::collections::HashMap;

pub(super) fn blob(tree: &Tree<'_>) -> Option<Vec<u8>> {
    let mut writer = Writer::default();
    writer.node(&tree.root)?;
    writer.word(END);
    let reserved_at = HEADER;
    let structure_at = reserved_at + 16 * (tree.reserved.len() + 1);
    let strings_at = structure_at.checked_add(writer.structure.len())?;
    let length = strings_at.checked_add(writer.strings.len())?;
    let mut blob = Vec::new();
    for field in [
        MAGIC as usize,
        length,
        structure_at,
        strings_at,
        reserved_at,
        VERSION,
        COMPATIBLE,
        tree.boot_cpu as usize,
        writer.strings.len(),
        writer.structure.len(),
    ] {
        blob.extend(u32::try_from(field).ok()?.to_be_bytes());
    }
    for (address, length) in tree.reserved.iter().copied().chain([(0, 0)]) {
        blob.extend(address.to_be_bytes());
        blob.extend(length.to_be_bytes());
    }
    blob.extend(writer.structure);
    blob.extend(writer.strings);
    Some(blob)
}

#[derive(Default)]
struct Writer<'a> {
    structure: Vec<u8>,
    strings: Vec<u8>,
    /// The offset of each name.
    known: HashMap<&'a str, u32>,
}

impl<'a> Writer<'a> {
    fn node(&mut self, node: &'a Node<'_>) -> Option<()> {
        self.word(BEGIN_NODE);
        self.structure.extend_from_slice(node.name.as_bytes());
        self.structure.push(0);
        self.pad();
        for (name, value) in &node.properties {
            let name = self.string(name)?;
            self.word(PROPERTY);
            self.word(u32::try_from(value.len()).ok()?);
            self.word(name);
            self.structure.extend_from_slice(value);
            self.pad();
        }
        node.children.iter().try_for_each(|child| self.node(child))?;
        self.word(END_NODE);
        Some(())
    }

    fn string(&mut self, name: &'a str) -> Option<u32> {
        if let Some(at) = self.known.get(name) {
            return Some(*at);
        }
        let at = u32::try_from(self.strings.len()).ok()?;
        self.strings.extend_from_slice(name.as_bytes());
        self.strings.push(0);
        self.known.insert(name, at);
        Some(at)
    }

    fn word(&mut self, word: u32) {
        self.structure.extend(word.to_be_bytes());
    }

    fn pad(&mut self) {
        self.structure.resize(self.structure.len().next_multiple_of(4), 0);
    }
}

const HEADER: usize = 40;
const VERSION: usize = 17;
const COMPATIBLE: usize = 16;
