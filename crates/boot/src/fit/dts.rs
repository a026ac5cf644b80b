//! The subset of device tree sources that image sources (.its) use: Devicetree Specification v0.4,
//! chapter 6.
//!
//! ```text
//! /dts-v1/;
//! / { name = "text", <1 0x2>, [00 ff], /incbin/("file"), /incbin/("file", offset, length); flag; node@1 { … }; };
//! ```
//!
//! Comments are those of C and C++; /memreserve/ is supported. Not supported, and not used in image
//! sources: references to labels, includes, deletions, expressions.

use crate::fdt::{DEEPEST, LONGEST_NAME, MOST_THINGS, NAME_TOO_LONG, Node, TOO_DEEP, Tree};
use std::fmt;

/// Reads the files named in a source.
pub(crate) type Include<'a> = dyn FnMut(&str) -> Result<Vec<u8>, String> + 'a;

/// The source violates a rule at some place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    /// The line number, starting at 1.
    pub line: usize,
    /// The rule.
    pub why: String,
}

/// Parses a source into a tree; `include` returns the content of the files that it names.
pub fn parse(source: &str, include: &mut Include<'_>) -> Result<Tree<'static>, Error> {
    let mut parser = Parser { source: source.as_bytes(), at: 0, include, included: 0, things: 0 };
    let mut tree = Tree::default();
    parser.blank()?;
    while parser.takes("/memreserve/")? {
        let (address, length) = (parser.number()?, parser.number()?);
        parser.expect(";")?;
        tree.reserved.push((address, length));
    }
    let mut seen = false;
    while !parser.is_at_end() {
        if parser.takes("/dts-v1/")? || parser.takes("/plugin/")? {
            parser.expect(";")?;
        } else if parser.takes("/memreserve/")? {
            let (address, length) = (parser.number()?, parser.number()?);
            parser.expect(";")?;
            tree.reserved.push((address, length));
        } else if parser.takes("/")? {
            // If there are several roots, they are merged.
            parser.body(&mut tree.root, 0)?;
            parser.expect(";")?;
            seen = true;
        } else {
            return parser.wrong("a node \"/ { … };\" is expected here");
        }
    }
    if seen { Ok(tree) } else { parser.wrong("it has no root node \"/ { … };\"") }
}

struct Parser<'a, 'b, 'c> {
    source: &'a [u8],
    at: usize,
    include: &'b mut Include<'c>,
    /// The number of bytes included from files so far.
    included: usize,
    /// The number of nodes and properties so far.
    things: usize,
}

impl Parser<'_, '_, '_> {
    /// `{ … }`.
    fn body(&mut self, node: &mut Node<'_>, depth: usize) -> Result<(), Error> {
        if depth > DEEPEST {
            return self.wrong(TOO_DEEP);
        }
        self.expect("{")?;
        while !self.takes("}")? {
            let mut name = self.name()?;
            self.things += 1;
            if self.things > MOST_IN_SOURCE {
                return self.wrong("it has more than 131072 nodes and properties");
            }
            if node.children.len().max(node.properties.len()) >= MOST_IN_NODE {
                return self.wrong("a node has at most 4096 nodes and 4096 properties");
            }
            // A label means nothing in a blob without references.
            if self.takes(":")? {
                name = self.name()?;
            }
            match self.peek() {
                Some(b'{') => {
                    let place = node.children.iter().position(|child| child.name == name);
                    let place = place.unwrap_or_else(|| {
                        node.children.push(Node::new(&name));
                        node.children.len() - 1
                    });
                    self.body(&mut node.children[place], depth + 1)?;
                }
                Some(b'=') => {
                    self.expect("=")?;
                    let value = self.value()?;
                    node.set(&name, value);
                }
                _ => node.set(&name, []),
            }
            self.expect(";")?;
        }
        Ok(())
    }

    /// Parses what follows `=`: parts separated by commas, which are concatenated in the blob.
    fn value(&mut self) -> Result<Vec<u8>, Error> {
        let mut value = Vec::new();
        loop {
            match self.peek() {
                Some(b'"') => {
                    value.extend(self.string()?);
                    value.push(0);
                }
                Some(b'<') => {
                    self.expect("<")?;
                    while !self.takes(">")? {
                        let number = self.number()?;
                        match u32::try_from(number) {
                            Ok(cell) => value.extend(cell.to_be_bytes()),
                            Err(_) => return self.wrong("a cell has 32 bits; a longer number is two cells"),
                        }
                    }
                }
                Some(b'[') => value.extend(self.bytes()?),
                _ if self.takes("/incbin/")? => value.extend(self.included()?),
                _ => {
                    return self.wrong("a \"text\", <cells>, [bytes] or /incbin/(\"file\") is expected here");
                }
            }
            if !self.takes(",")? {
                return Ok(value);
            }
        }
    }

    fn included(&mut self) -> Result<Vec<u8>, Error> {
        self.expect("(")?;
        let name = self.string()?;
        let Ok(name) = String::from_utf8(name) else { return self.wrong("the file's name is not text") };
        let content = (self.include)(&name);
        let content = content.or_else(|why| self.wrong(&why))?;
        let part = if self.takes(",")? {
            let offset = self.number()?;
            self.expect(",")?;
            let length = self.number()?;
            let range = usize::try_from(offset).ok().zip(usize::try_from(length).ok());
            let part = range.and_then(|(offset, length)| content.get(offset..)?.get(..length));
            match part {
                Some(part) => part.to_vec(),
                None => return self.wrong(&format!("{name} is shorter than that")),
            }
        } else {
            content
        };
        self.included += part.len();
        if self.included > MOST_INCLUDED {
            return self.wrong("with this file, the included files exceed 2 GiB");
        }
        self.expect(")")?;
        Ok(part)
    }

    /// `"text"`, with C's escapes.
    fn string(&mut self) -> Result<Vec<u8>, Error> {
        self.expect_here(b'"')?;
        let mut text = Vec::new();
        loop {
            match self.next() {
                Some(b'"') => break,
                Some(b'\\') => {
                    let escaped = match self.next() {
                        Some(b'n') => b'\n',
                        Some(b't') => b'\t',
                        Some(b'r') => b'\r',
                        Some(b'0') => 0,
                        Some(byte @ (b'"' | b'\\' | b'\'')) => byte,
                        _ => return self.wrong("an unsupported escape in a string"),
                    };
                    text.push(escaped);
                }
                Some(byte) => text.push(byte),
                None => return self.wrong("a string is not terminated"),
            }
        }
        self.blank()?;
        Ok(text)
    }

    /// `[00 ff]`, with or without spaces in between.
    fn bytes(&mut self) -> Result<Vec<u8>, Error> {
        self.expect("[")?;
        let mut digits = Vec::new();
        while !self.takes("]")? {
            match self.next().and_then(|digit| (digit as char).to_digit(16)) {
                Some(digit) => digits.push(digit as u8),
                None => return self.wrong("bytes are written as two hexadecimal digits each"),
            }
            self.blank()?;
        }
        match digits.len().is_multiple_of(2) {
            true => Ok(digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect()),
            false => self.wrong("bytes are written as two hexadecimal digits each"),
        }
    }

    fn number(&mut self) -> Result<u64, Error> {
        let start = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_alphanumeric()) {
            self.at += 1;
        }
        let text = std::str::from_utf8(&self.source[start..self.at]).unwrap_or_default();
        let number = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
            Some(digits) => u64::from_str_radix(digits, 16),
            None if text.len() > 1 && text.starts_with('0') => u64::from_str_radix(text, 8),
            None => text.parse(),
        };
        self.blank()?;
        number.or_else(|_| self.wrong("a number is expected here"))
    }

    fn name(&mut self) -> Result<String, Error> {
        let start = self.at;
        let is_of_name = |byte: u8| byte.is_ascii_alphanumeric() || b",._+*#?@-".contains(&byte);
        while self.peek().is_some_and(is_of_name) {
            self.at += 1;
        }
        let name = String::from_utf8_lossy(&self.source[start..self.at]).into_owned();
        self.blank()?;
        match name.len() {
            0 => self.wrong("a name is expected here"),
            1..=LONGEST_NAME => Ok(name),
            _ => self.wrong(NAME_TOO_LONG),
        }
    }

    /// Skips this text if it comes next; returns whether it did.
    fn takes(&mut self, text: &str) -> Result<bool, Error> {
        let found = self.source[self.at..].starts_with(text.as_bytes());
        if found {
            self.at += text.len();
            self.blank()?;
        }
        Ok(found)
    }

    fn expect(&mut self, text: &str) -> Result<(), Error> {
        match self.takes(text)? {
            true => Ok(()),
            false => self.wrong(&format!("\"{text}\" is expected here")),
        }
    }

    fn expect_here(&mut self, byte: u8) -> Result<(), Error> {
        match self.next() {
            Some(found) if found == byte => Ok(()),
            _ => self.wrong(&format!("{} is expected here", byte as char)),
        }
    }

    /// Skips white space and comments.
    fn blank(&mut self) -> Result<(), Error> {
        loop {
            let rest = &self.source[self.at..];
            let length = match rest {
                [first, ..] if first.is_ascii_whitespace() => 1,
                [b'/', b'/', ..] => rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len()),
                [b'/', b'*', inside @ ..] => {
                    let end = inside.windows(2).position(|pair| pair == b"*/");
                    match end {
                        Some(end) => end + 4,
                        None => return self.wrong("a comment is not terminated"),
                    }
                }
                _ => return Ok(()),
            };
            self.at += length;
        }
    }

    fn peek(&self) -> Option<u8> {
        self.source.get(self.at).copied()
    }

    fn next(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.at += 1;
        Some(byte)
    }

    fn is_at_end(&self) -> bool {
        self.at == self.source.len()
    }

    fn wrong<T>(&self, why: &str) -> Result<T, Error> {
        let before = &self.source[..self.at.min(self.source.len())];
        let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
        Err(Error { line, why: why.to_owned() })
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.why)
    }
}

impl std::error::Error for Error {}

/// Each name is compared with those before it, because a source may set a property twice.
const MOST_IN_NODE: usize = 1 << 12;
/// Half of what is read back: each hash gets a value, and each image's data a size and an offset.
const MOST_IN_SOURCE: usize = MOST_THINGS / 2;
/// No boot loader accepts more; a source of one kilobyte can include a file a hundred times.
const MOST_INCLUDED: usize = 2 << 30;

#[cfg(test)]
mod tests {
    use super::*;

    fn read(source: &str) -> Result<Tree<'static>, String> {
        let mut include = |name: &str| match name {
            "./Image" => Ok(b"kernel".to_vec()),
            other => Err(format!("{other} is not there")),
        };
        parse(source, &mut include).map_err(|error| error.to_string())
    }

    #[test]
    fn what_image_sources_are_made_of() {
        let tree = read(
            "// one\n/dts-v1/;\n/memreserve/ 0x10 0x20;\n/* two\n*/ / { #address-cells = <1>;\n  text = \"a\\\"b\", \"c\"; flag;\n\
             images { k: kernel@1 { data = /incbin/(\"./Image\"); part = /incbin/(\"./Image\", 1, 2);\n\
             load = <0x0 010 9>; mac = [00 11fF]; }; }; };",
        )
        .unwrap();
        assert_eq!(tree.reserved, [(16, 32)]);
        assert_eq!((tree.root.texts("text"), tree.root.property("flag")), (vec!["a\"b", "c"], Some(&[][..])));
        let kernel = tree.root.child("images").and_then(|images| images.child("kernel@1")).unwrap();
        assert_eq!(kernel.property("data"), Some(&b"kernel"[..]));
        assert_eq!(kernel.property("part"), Some(&b"er"[..]));
        assert_eq!(kernel.property("load"), Some(&[0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 9][..]));
        assert_eq!(kernel.property("mac"), Some(&[0, 0x11, 0xff][..]));
    }

    #[test]
    fn mistakes_are_named_with_their_line() {
        let why = |source: &str| read(source).unwrap_err();
        assert_eq!(why(""), "line 1: it has no root node \"/ { … };\"");
        assert_eq!(
            why("/dts-v1/;\n/ { a = 1; };"),
            "line 2: a \"text\", <cells>, [bytes] or /incbin/(\"file\") is expected here"
        );
        assert_eq!(why("/ { a = \"x };"), "line 1: a string is not terminated");
        assert_eq!(why("/ { a = <1 2x>; };"), "line 1: a number is expected here");
        assert_eq!(
            why("/ { a = <0x100000000>; };"),
            "line 1: a cell has 32 bits; a longer number is two cells"
        );
        assert_eq!(why("/ { a = [0]; };"), "line 1: bytes are written as two hexadecimal digits each");
        assert_eq!(why("/ { d =\n/incbin/(\"gone\"); };"), "line 2: gone is not there");
        assert_eq!(why("/ { a }"), "line 1: \";\" is expected here");
        assert_eq!(why("/* "), "line 1: a comment is not terminated");
        assert_eq!(why(&"/ {a".repeat(3)), "line 1: \";\" is expected here");
        assert!(why(&format!("/ {{{}", "a {".repeat(100))).contains("nested deeper"));
        let named = |length: usize| format!("/ {{\n {} {{}};\n}};", "n".repeat(length));
        assert!(read(&named(256)).is_ok());
        assert_eq!(why(&named(257)), "line 2: a name is longer than 256 bytes");
        let full = format!("a{{{}}};\n", "p;".repeat(4095));
        assert!(read(&format!("/ {{\n{}}};", full.repeat(32))).is_ok());
        let over = format!("/ {{\n{}b;}};", full.repeat(32));
        assert_eq!(why(&over), "line 34: it has more than 131072 nodes and properties");
        let properties: String = (0..5000).map(|number| format!("p{number};\n")).collect();
        assert_eq!(
            why(&format!("/ {{\n{properties}}};")),
            "line 4098: a node has at most 4096 nodes and 4096 properties"
        );
    }
}
