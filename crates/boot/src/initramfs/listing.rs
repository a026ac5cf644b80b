//! The files that an image unpacks to, and how two images differ.

use super::cpio::Entry;
use super::{Error, newc, walk};
use keyway_crypto::hash::Hash;
use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Read};

/// The files that an image unpacks to; the last of several entries with the same name counts.
#[derive(Debug, Clone, Default)]
pub struct Listing {
    /// The items by name.
    pub items: BTreeMap<String, Item>,
}

/// The file, directory, link or device node with a certain name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// Type and permissions, as in stat.
    pub mode: u32,
    /// The content's length in bytes.
    pub size: u64,
    /// A device node's numbers.
    pub special: (u32, u32),
    /// A link's target.
    pub target: Option<String>,
    /// The digest of a file's content, if requested.
    digest: Vec<u8>,
}

/// How two images differ for a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Difference<'a> {
    /// Only the second image has it.
    Added(&'a Item),
    /// Only the first image has it.
    Removed(&'a Item),
    /// Both images have it, but it differs.
    Changed(&'a Item, &'a Item),
}

impl Listing {
    /// Lists an image; `with_digests` if it is to be compared with another.
    pub fn of(image: &[u8], with_digests: bool) -> Result<Self, Error> {
        let mut listing = Self::default();
        let mut visit = |entry: &Entry, content: &mut dyn Read| {
            let mut item = Item {
                mode: entry.mode,
                size: entry.size,
                special: entry.special,
                target: None,
                digest: Vec::new(),
            };
            if entry.is_link() {
                let mut target = Vec::new();
                content.read_to_end(&mut target)?;
                item.target = Some(String::from_utf8_lossy(&target).into_owned());
            } else if with_digests && entry.is_file() {
                item.digest = digest(content)?;
            }
            listing.items.insert(entry.name.clone(), item);
            Ok(())
        };
        walk(image, &mut visit)?;
        Ok(listing)
    }

    /// What `other` has in addition, lacks, or has changed, by name.
    pub fn differences<'a>(&'a self, other: &'a Self) -> BTreeMap<&'a str, Difference<'a>> {
        let mut found = BTreeMap::new();
        for (name, item) in &self.items {
            match other.items.get(name) {
                None => drop(found.insert(name.as_str(), Difference::Removed(item))),
                Some(now) if now != item => drop(found.insert(name, Difference::Changed(item, now))),
                Some(_) => {}
            }
        }
        let new = other.items.iter().filter(|(name, _)| !self.items.contains_key(*name));
        found.extend(new.map(|(name, item)| (name.as_str(), Difference::Added(item))));
        found
    }
}

/// Hashes the content piece by piece with SHA-256, each piece together with the digest so far;
/// different contents have different digests. No content has to fit into memory.
fn digest(content: &mut dyn Read) -> io::Result<Vec<u8>> {
    let (mut digest, mut piece) = (Vec::new(), Vec::new());
    while content.take(PIECE).read_to_end(&mut piece)? > 0 {
        digest = Hash::Sha256.digest(&[&digest, &piece]);
        piece.clear();
    }
    Ok(digest)
}

const PIECE: u64 = 64 << 10;

/// Like `ls -l`: "-rwxr-xr-x     5120", and a link's target.
impl fmt::Display for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.mode & newc::TYPE {
            newc::DIRECTORY => 'd',
            newc::LINK => 'l',
            newc::CHARACTER => 'c',
            0o060_000 => 'b',
            0o010_000 => 'p',
            0o140_000 => 's',
            _ => '-',
        };
        write!(f, "{kind}")?;
        for (at, letter) in "rwxrwxrwx".chars().enumerate() {
            let set = self.mode & (0o400 >> at) != 0;
            // Set-user-ID, set-group-ID, sticky, each shown in the last letter of its group of
            // three.
            let special = at % 3 == 2 && self.mode & (0o4000 >> (at / 3)) != 0;
            let shown = match (special, at / 3, set) {
                (false, _, true) => letter,
                (false, _, false) => '-',
                (true, 2, true) => 't',
                (true, 2, false) => 'T',
                (true, _, true) => 's',
                (true, _, false) => 'S',
            };
            write!(f, "{shown}")?;
        }
        match kind {
            'b' | 'c' => write!(f, " {:>10}", format!("{}, {}", self.special.0, self.special.1)),
            _ => write!(f, " {:>10}", self.size),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::writer::{Node, Tree};
    use super::*;

    #[test]
    fn two_images() {
        let mut tree = Tree::default();
        tree.add("bin/su", Node::file(0o4755, *b"root"));
        tree.add("init", Node::file(0o755, *b"first"));
        tree.add("gone", Node::link("nowhere"));
        let before = Listing::of(&tree.archive().unwrap(), true).unwrap();
        assert_eq!(before.items["bin/su"].to_string(), "-rwsr-xr-x          4");
        assert_eq!(before.items["gone"].target.as_deref(), Some("nowhere"));
        let mut tree = Tree::default();
        tree.add("bin/su", Node::file(0o4755, *b"root"));
        tree.add("init", Node::file(0o755, *b"other"));
        tree.add("dev/console", Node::character(0o600, 5, 1));
        let after = Listing::of(&tree.archive().unwrap(), true).unwrap();
        assert_eq!(after.items["dev/console"].to_string(), "crw-------       5, 1");
        let found = before.differences(&after);
        let names: Vec<&str> = found.keys().copied().collect();
        assert_eq!(names, ["dev", "dev/console", "gone", "init"]);
        assert!(matches!(found["init"], Difference::Changed(..)));
        assert!(matches!(found["gone"], Difference::Removed(_)));
        assert!(before.differences(&before).is_empty());
    }
}
