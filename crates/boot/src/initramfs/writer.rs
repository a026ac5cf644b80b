//! Writes reproducible "newc" cpio archives (see [`super::cpio`]), which depend on their content
//! only: sorted, owned by root, without timestamps, with consecutive inode numbers.

use super::newc::{CHARACTER, DIRECTORY, FILE, HEADER, LINK, TRAILER, TYPE};
use std::collections::BTreeMap;

/// The content of an archive: names, each with a file, a directory, a link or a device node.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tree {
    nodes: BTreeMap<String, Node>,
}

/// The file, directory, link or device node with a certain name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// Type and permissions, as in stat.
    pub mode: u32,
    /// A file's content or a link's target.
    pub content: Vec<u8>,
    /// A device node's numbers.
    pub device: (u32, u32),
}

impl Node {
    /// A regular file with these permissions.
    pub fn file(permissions: u32, content: impl Into<Vec<u8>>) -> Self {
        Self { mode: FILE | permissions & 0o7777, content: content.into(), device: (0, 0) }
    }

    /// A directory with these permissions.
    pub const fn directory(permissions: u32) -> Self {
        Self { mode: DIRECTORY | permissions & 0o7777, content: Vec::new(), device: (0, 0) }
    }

    /// A symbolic link.
    pub fn link(target: &str) -> Self {
        Self { mode: LINK | 0o777, content: target.into(), device: (0, 0) }
    }

    /// A character device.
    pub const fn character(permissions: u32, major: u32, minor: u32) -> Self {
        Self { mode: CHARACTER | permissions & 0o7777, content: Vec::new(), device: (major, minor) }
    }
}

impl Tree {
    /// Adds a node, replacing any with the same name. Missing parent directories are added, too.
    pub fn add(&mut self, name: &str, node: Node) {
        let name = name.trim_start_matches("./").trim_matches('/');
        for (at, _) in name.match_indices('/') {
            self.nodes.entry(name[..at].to_owned()).or_insert(Node::directory(0o755));
        }
        self.nodes.insert(name.to_owned(), node);
    }

    /// The archive, with its trailer. `None` if a file has 4 GiB or more, which the format does not
    /// allow.
    pub fn archive(&self) -> Option<Vec<u8>> {
        let mut archive = Vec::new();
        // Parents sort before their content, as the kernel requires.
        for (number, (name, node)) in (1..).zip(&self.nodes) {
            let size = u32::try_from(node.content.len()).ok()?;
            let links = if node.mode & TYPE == DIRECTORY { 2 } else { 1 };
            let (major, minor) = node.device;
            let name_length = u32::try_from(name.len()).ok()? + 1;
            let fields = [number, node.mode, 0, 0, links, 0, size, 0, 0, major, minor, name_length, 0];
            entry(&mut archive, &fields, name.as_bytes(), &node.content);
        }
        let fields = [0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, TRAILER.len() as u32 + 1, 0];
        entry(&mut archive, &fields, TRAILER, &[]);
        Some(archive)
    }
}

/// Appends one encoded entry.
fn entry(archive: &mut Vec<u8>, fields: &[u32; 13], name: &[u8], content: &[u8]) {
    let start = archive.len();
    archive.extend_from_slice(b"070701");
    for field in fields {
        archive.extend_from_slice(format!("{field:08X}").as_bytes());
    }
    debug_assert_eq!(archive.len() - start, HEADER);
    archive.extend_from_slice(name);
    archive.push(0);
    archive.resize(archive.len().next_multiple_of(4), 0);
    archive.extend_from_slice(content);
    archive.resize(archive.len().next_multiple_of(4), 0);
}

#[cfg(test)]
mod tests {
    use super::super::cpio::Archive;
    use super::*;
    use std::io::Read;

    #[test]
    fn what_is_written_is_read_again_in_order() {
        let mut tree = Tree::default();
        tree.add("keyway/deep/file", Node::file(0o400, *b"content"));
        tree.add("/init", Node::link("/keyway/keyway"));
        tree.add("./dev/console", Node::character(0o600, 5, 1));
        let archive = tree.archive().unwrap();
        assert_eq!(archive.len() % 4, 0);
        let mut reader = Archive::new(&archive[..]);
        let mut found = Vec::new();
        while let Some(entry) = reader.next_entry().unwrap() {
            let mut content = String::new();
            reader.read_to_string(&mut content).unwrap();
            found.push(format!("{} {:o} {:?} {content}", entry.name, entry.mode, entry.special));
        }
        assert_eq!(
            found,
            [
                "dev 40755 (0, 0) ",
                "dev/console 20600 (5, 1) ",
                "init 120777 (0, 0) /keyway/keyway",
                "keyway 40755 (0, 0) ",
                "keyway/deep 40755 (0, 0) ",
                "keyway/deep/file 100400 (0, 0) content",
            ]
        );
    }

    #[test]
    fn the_order_of_adding_leaves_no_trace() {
        let (mut one, mut other) = (Tree::default(), Tree::default());
        for name in ["b", "a/x", "a-b", "a"] {
            one.add(name, Node::file(0o644, name));
        }
        one.add("a", Node::directory(0o700));
        other.add("a", Node::directory(0o700));
        for name in ["a-b", "a/x", "b"] {
            other.add(name, Node::file(0o644, name));
        }
        assert_eq!(one.archive(), other.archive());
    }
}
