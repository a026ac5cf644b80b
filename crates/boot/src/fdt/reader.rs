//! From a blob to a tree.

use super::{BEGIN_NODE, END, END_NODE, MAGIC, NOP, Node, PROPERTY, Tree};
use std::borrow::Cow;
use std::fmt;

/// Why a blob is not a device tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// No magic number, or shorter than a header.
    NoHeader,
    /// The blob is shorter than its header says.
    Short {
        /// The length according to the header.
        wanted: u32,
        /// The actual length.
        found: usize,
    },
    /// An unsupported version.
    Version(u32),
    /// The data at this offset violates a rule.
    At {
        /// The offset.
        at: usize,
        /// The rule.
        why: &'static str,
    },
}

pub(super) fn parse(blob: &[u8]) -> Result<Tree<'_>, Error> {
    let header = blob.first_chunk::<HEADER>().ok_or(Error::NoHeader)?;
    let field = |index: usize| word(header, index * 4).unwrap_or_default();
    if field(0) != MAGIC {
        return Err(Error::NoHeader);
    }
    let wanted = field(1);
    let blob = blob.get(..wanted as usize).ok_or(Error::Short { wanted, found: blob.len() })?;
    // Version 16 does not give the structure's length.
    if field(5) < 17 || field(6) > 17 {
        return Err(Error::Version(field(5)));
    }
    let strings = block(blob, 12, field(3), field(8))?;
    // Checks the block; offsets in it count from the blob's start, for error messages.
    let structure = block(blob, 8, field(2), field(9))?;
    let mut reader = Reader { structure, start: field(2) as usize, at: 0, strings, things: 0 };
    let reserved = reserved(blob, field(4) as usize)?;
    let root = reader.tree()?;
    Ok(Tree { reserved, boot_cpu: field(7), root })
}

fn block(blob: &[u8], at: usize, offset: u32, length: u32) -> Result<&[u8], Error> {
    let block = blob.get(offset as usize..).and_then(|rest| rest.get(..length as usize));
    block.ok_or(Error::At { at, why: "a block reaches beyond the end" })
}

fn reserved(blob: &[u8], start: usize) -> Result<Vec<(u64, u64)>, Error> {
    let mut reserved = Vec::new();
    for at in (start..).step_by(16) {
        let entry = blob.get(at..).and_then(|rest| rest.first_chunk::<16>());
        let entry = entry.ok_or(Error::At { at, why: "the list of reserved memory is not terminated" })?;
        let number = u128::from_be_bytes(*entry);
        match ((number >> 64) as u64, number as u64) {
            (0, 0) => break,
            pair => reserved.push(pair),
        }
    }
    Ok(reserved)
}

struct Reader<'a> {
    structure: &'a [u8],
    start: usize,
    at: usize,
    strings: &'a [u8],
    /// The number of nodes and properties so far.
    things: usize,
}

impl<'a> Reader<'a> {
    fn tree(&mut self) -> Result<Node<'a>, Error> {
        while self.peek() == Some(NOP) {
            self.word()?;
        }
        if self.word()? != BEGIN_NODE {
            return self.wrong("the structure does not begin with a node");
        }
        let root = self.node(0)?;
        while self.peek() == Some(NOP) {
            self.word()?;
        }
        match self.word()? {
            END => Ok(root),
            _ => self.wrong("data follows the root node"),
        }
    }

    /// Parses what follows the word that begins a node.
    fn node(&mut self, depth: usize) -> Result<Node<'a>, Error> {
        if depth > DEEPEST {
            return self.wrong(TOO_DEEP);
        }
        self.count()?;
        let name = self.name(self.structure.get(self.at..).unwrap_or_default())?;
        let mut node = Node { name: name.into(), ..Node::default() };
        self.pass(name.len() + 1)?;
        loop {
            match self.word()? {
                NOP => {}
                PROPERTY if node.children.is_empty() => {
                    let property = self.property()?;
                    node.properties.push(property);
                }
                PROPERTY => return self.wrong("a property follows a node"),
                BEGIN_NODE => node.children.push(self.node(depth + 1)?),
                END_NODE => return Ok(node),
                _ => return self.wrong("this word is not a known token"),
            }
        }
    }

    fn property(&mut self) -> Result<(Cow<'a, str>, Cow<'a, [u8]>), Error> {
        self.count()?;
        let (length, name) = (self.word()? as usize, self.word()? as usize);
        let Some(name) = self.strings.get(name..) else {
            return self.wrong("a property's name is not in the strings block");
        };
        let name = self.name(name)?;
        let value = self.structure.get(self.at..).and_then(|rest| rest.get(..length));
        let Some(value) = value else { return self.wrong("a property reaches beyond the end") };
        self.pass(length)?;
        Ok((name.into(), value.into()))
    }

    /// A name, up to its terminating zero.
    fn name(&self, bytes: &'a [u8]) -> Result<&'a str, Error> {
        let most = &bytes[..bytes.len().min(LONGEST_NAME + 1)];
        let Some(length) = most.iter().position(|byte| *byte == 0) else {
            return self.wrong(match bytes.len() > LONGEST_NAME {
                true => NAME_TOO_LONG,
                false => "a name is not terminated",
            });
        };
        std::str::from_utf8(&bytes[..length]).or_else(|_| self.wrong("a name is not text"))
    }

    /// Counts one more node or property.
    fn count(&mut self) -> Result<(), Error> {
        self.things += 1;
        match self.things <= MOST_THINGS {
            true => Ok(()),
            false => self.wrong("it has more than 262144 nodes and properties"),
        }
    }

    fn peek(&self) -> Option<u32> {
        word(self.structure, self.at)
    }

    fn word(&mut self) -> Result<u32, Error> {
        let Some(word) = self.peek() else { return self.wrong("the structure is not terminated") };
        self.at += 4;
        Ok(word)
    }

    /// Skips this much, and the padding.
    fn pass(&mut self, length: usize) -> Result<(), Error> {
        let next = self.at.checked_add(length).and_then(|end| end.checked_next_multiple_of(4));
        match next.filter(|next| *next <= self.structure.len()) {
            Some(next) => {
                self.at = next;
                Ok(())
            }
            None => self.wrong("the structure is not terminated"),
        }
    }

    fn wrong<T>(&self, why: &'static str) -> Result<T, Error> {
        Err(Error::At { at: self.start + self.at, why })
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoHeader => write!(f, "it does not start with a device tree's header"),
            Self::Short { wanted, found } => {
                write!(f, "its header says {wanted} bytes, but there are {found}")
            }
            Self::Version(version) => write!(f, "it is a device tree of version {version}, not 17"),
            Self::At { at, why } => write!(f, "at byte {at} of the device tree: {why}"),
        }
    }
}

impl std::error::Error for Error {}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..).and_then(|rest| rest.first_chunk()).map(|word| u32::from_be_bytes(*word))
}

const HEADER: usize = 40;
/// U-Boot and libfdt have similar limits.
pub(crate) const DEEPEST: usize = 64;
pub(crate) const TOO_DEEP: &str = "nodes are nested deeper than boot loaders support";
/// The specification limits names to 31 bytes; some names in Linux's trees are twice as long.
/// Properties share their names in the blob: without a limit, a megabyte of properties with one
/// name of a megabyte would mean terabytes to search through.
pub(crate) const LONGEST_NAME: usize = 256;
pub(crate) const NAME_TOO_LONG: &str = "a name is longer than 256 bytes";
/// Trees of the largest boards have some tens of thousands. In memory each takes up to twenty times
/// its size in the blob.
pub(crate) const MOST_THINGS: usize = 1 << 18;
