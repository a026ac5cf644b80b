//! The syntax of metadata (lvm2, device_mapper/libdm-config.c):
//!
//! ```text
//! section = name "{" { section | name "=" value } "}"
//! value   = number | string | "[" [ value { "," value } ] "]"
//! string  = a pair of double quotes, in which \ stands before " and \; or of single ones
//! ```
//!
//! `#` starts a comment that ends with the line. A name that comes twice in a section is refused.

use super::Error;
use std::collections::BTreeMap;

/// A section: values and sections by their names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Section(pub BTreeMap<String, Node>);

/// What a name stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Node {
    /// A section.
    Section(Section),
    /// A value.
    Value(Value),
}

/// A value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// A whole number.
    Number(i64),
    /// A string.
    Text(String),
    /// A list of numbers and strings.
    List(Vec<Value>),
}

impl Section {
    /// Parses a text, which may end in NULs.
    ///
    /// # Errors
    /// [`Error::Syntax`].
    pub fn parse(text: &[u8]) -> Result<Self, Error> {
        let end = text.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        let mut reader = Reader { text: &text[..end], at: 0 };
        let section = reader.section(0)?;
        match reader.peek() {
            None => Ok(section),
            Some(_) => Err(reader.wrong("a bracket that nothing opened")),
        }
    }

    /// The section of that name.
    pub fn section(&self, name: &str) -> Option<&Self> {
        match self.0.get(name)? {
            Node::Section(section) => Some(section),
            Node::Value(_) => None,
        }
    }

    /// All sections in it.
    pub fn sections(&self) -> impl Iterator<Item = (&str, &Self)> {
        self.0.iter().filter_map(|(name, node)| match node {
            Node::Section(section) => Some((&**name, section)),
            Node::Value(_) => None,
        })
    }

    /// The value of that name.
    pub fn value(&self, name: &str) -> Option<&Value> {
        match self.0.get(name)? {
            Node::Value(value) => Some(value),
            Node::Section(_) => None,
        }
    }

    /// A number that is not negative.
    pub fn number(&self, name: &str) -> Option<u64> {
        match self.value(name)? {
            Value::Number(number) => (*number).try_into().ok(),
            _ => None,
        }
    }

    /// A string.
    pub fn text(&self, name: &str) -> Option<&str> {
        match self.value(name)? {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Whether that list has this word.
    pub fn has(&self, list: &str, word: &str) -> bool {
        let is = |value: &Value| matches!(value, Value::Text(text) if text == word);
        match self.value(list) {
            Some(Value::List(values)) => values.iter().any(is),
            Some(value) => is(value),
            None => false,
        }
    }
}

struct Reader<'a> {
    text: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    /// Up to the bracket that closes it, or the text's end.
    fn section(&mut self, depth: usize) -> Result<Section, Error> {
        let mut section = Section::default();
        loop {
            match self.peek() {
                None | Some(b'}') => return Ok(section),
                Some(_) => {}
            }
            let name = self.name()?;
            let node = match self.peek() {
                Some(b'{') if depth < DEEPEST => {
                    self.at += 1;
                    let inner = self.section(depth + 1)?;
                    self.expect(b'}', "a section that is not closed")?;
                    Node::Section(inner)
                }
                Some(b'{') => return Err(self.wrong("sections nested too deep")),
                _ => {
                    self.expect(b'=', "a name without a value")?;
                    Node::Value(self.value()?)
                }
            };
            if section.0.insert(name, node).is_some() {
                return Err(self.wrong("a name that was given before"));
            }
        }
    }

    fn name(&mut self) -> Result<String, Error> {
        let start = self.at;
        let ends = |byte: &u8| byte.is_ascii_whitespace() || b"#={}[],\"'".contains(byte);
        let length = self.text[start..].iter().position(ends).unwrap_or(self.text.len() - start);
        let name = std::str::from_utf8(&self.text[start..start + length]).ok();
        match name.filter(|name| !name.is_empty()) {
            Some(name) => {
                self.at += length;
                Ok(name.to_owned())
            }
            None => Err(self.wrong("no name")),
        }
    }

    fn value(&mut self) -> Result<Value, Error> {
        if self.peek() != Some(b'[') {
            return self.single();
        }
        self.at += 1;
        let mut values = Vec::new();
        loop {
            match self.peek() {
                Some(b']') => break,
                Some(b',') => self.at += 1,
                _ => values.push(self.single()?),
            }
        }
        self.at += 1;
        Ok(Value::List(values))
    }

    fn single(&mut self) -> Result<Value, Error> {
        match self.peek() {
            Some(quote @ (b'"' | b'\'')) => self.string(quote).map(Value::Text),
            Some(_) => {
                let start = self.at;
                let number = self.name()?.parse().ok();
                number.map(Value::Number).ok_or(Error::Syntax { what: "no value", at: start })
            }
            None => Err(self.wrong("no value")),
        }
    }

    fn string(&mut self, quote: u8) -> Result<String, Error> {
        let start = self.at;
        let mut bytes = Vec::new();
        self.at += 1;
        loop {
            match self.text.get(self.at) {
                Some(byte) if *byte == quote => break,
                Some(b'\\') if quote == b'"' => {
                    bytes.extend(self.text.get(self.at + 1));
                    self.at += 2;
                }
                Some(byte) => {
                    bytes.push(*byte);
                    self.at += 1;
                }
                None => return Err(Error::Syntax { what: "a string that does not end", at: start }),
            }
        }
        self.at += 1;
        String::from_utf8(bytes).map_err(|_| Error::Syntax { what: "a string that is no UTF-8", at: start })
    }

    /// The next byte that is neither white space nor part of a comment.
    fn peek(&mut self) -> Option<u8> {
        loop {
            match *self.text.get(self.at)? {
                b'#' => {
                    let rest = &self.text[self.at..];
                    self.at += rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
                }
                byte if byte.is_ascii_whitespace() => self.at += 1,
                byte => return Some(byte),
            }
        }
    }

    fn expect(&mut self, byte: u8, what: &'static str) -> Result<(), Error> {
        if self.peek() != Some(byte) {
            return Err(self.wrong(what));
        }
        self.at += 1;
        Ok(())
    }

    fn wrong(&self, what: &'static str) -> Error {
        Error::Syntax { what, at: self.at }
    }
}

/// A volume group is four deep.
const DEEPEST: usize = 8;
