//! The syntax of metadata (lvm2, device_mapper/libdm-config.c):
//!
//! ```text
//! section = name "{" { section | name "=" value } "}"
//! value   = number | fraction | string | "[" [ value { "," value } ] "]"
//! string  = a pair of double quotes, in which \ stands before " and \; or of single ones
//! ```
//!
//! `#` starts a comment that ends with the line. Two values of one name in a section are refused, and so are two sections; a value
//! and a section may have the same: a group may be called `version`. Strings are in any encoding, as hosts' names are.

use super::Error;

/// A section: values and sections in the order of their names, in no more memory than these need (a map takes hundreds of bytes
/// for a section of one name, and a text may have as many of them as it has letters).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Section {
    values: Box<[(String, Value)]>,
    sections: Box<[(String, Section)]>,
}

/// A value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// A whole number.
    Number(i64),
    /// A number with a point, of which nothing here has a use.
    Fraction,
    /// A string; bytes that are no UTF-8 are replaced.
    Text(String),
    /// A list of numbers and strings.
    List(Vec<Value>),
}

impl Section {
    /// Parses a text, which may end in NULs.
    ///
    /// # Errors
    /// [`Error::Syntax`].
    pub(crate) fn parse(text: &[u8]) -> Result<Self, Error> {
        let end = text.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        let mut reader = Reader { text: &text[..end], at: 0, items: 0 };
        let section = reader.section(0)?;
        match reader.peek() {
            None => Ok(section),
            Some(_) => Err(reader.wrong("a closing bracket without an opening one")),
        }
    }

    /// The section of that name.
    pub(crate) fn section(&self, name: &str) -> Option<&Self> {
        get(&self.sections, name)
    }

    /// All sections in it, by name.
    pub(crate) fn sections(&self) -> impl Iterator<Item = (&str, &Self)> {
        self.sections.iter().map(|(name, section)| (&**name, section))
    }

    /// The value of that name.
    pub(crate) fn value(&self, name: &str) -> Option<&Value> {
        get(&self.values, name)
    }

    /// A number that is not negative.
    pub(crate) fn number(&self, name: &str) -> Option<u64> {
        match self.value(name)? {
            Value::Number(number) => (*number).try_into().ok(),
            _ => None,
        }
    }

    /// A string.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        match self.value(name)? {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Whether that list has this word.
    pub(crate) fn has(&self, list: &str, word: &str) -> bool {
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
    /// How many names and members of lists were read.
    items: usize,
}

impl Reader<'_> {
    /// Up to the bracket that closes it, or the text's end.
    fn section(&mut self, depth: usize) -> Result<Section, Error> {
        let (mut values, mut sections) = (Vec::new(), Vec::new());
        while !matches!(self.peek(), None | Some(b'}')) {
            self.count()?;
            let name = self.name()?;
            match self.peek() {
                Some(b'{') if depth < DEEPEST => {
                    self.at += 1;
                    sections.push((name, self.section(depth + 1)?));
                    self.expect(b'}', "an unclosed section")?;
                }
                Some(b'{') => return Err(self.wrong("sections nested too deep")),
                _ => {
                    self.expect(b'=', "a name without a value")?;
                    values.push((name, self.value()?));
                }
            }
        }
        match (in_order(values), in_order(sections)) {
            (Some(values), Some(sections)) => Ok(Section { values, sections }),
            _ => Err(self.wrong("a name that is given twice")),
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
                _ => {
                    self.count()?;
                    values.push(self.single()?);
                }
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
                let number = self.name()?;
                match number.parse() {
                    Ok(number) => Ok(Value::Number(number)),
                    Err(_) if is_fraction(&number) => Ok(Value::Fraction),
                    Err(_) => Err(Error::Syntax { what: "no value", at: start }),
                }
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
                None => return Err(Error::Syntax { what: "an unterminated string", at: start }),
            }
        }
        self.at += 1;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
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

    /// One more name or member of a list: each takes many times the memory that its letters do.
    fn count(&mut self) -> Result<(), Error> {
        self.items += 1;
        if self.items > MOST { Err(self.wrong(TOO_MANY)) } else { Ok(()) }
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

/// By name; `None` if one comes twice.
fn in_order<T>(mut all: Vec<(String, T)>) -> Option<Box<[(String, T)]>> {
    all.sort_unstable_by(|one, other| one.0.cmp(&other.0));
    let is_twice = all.windows(2).any(|pair| pair[0].0 == pair[1].0);
    (!is_twice).then(|| all.into_boxed_slice())
}

fn get<'a, T>(all: &'a [(String, T)], name: &str) -> Option<&'a T> {
    let place = all.binary_search_by(|(other, _)| (**other).cmp(name));
    place.ok().map(|place| &all[place].1)
}

fn is_fraction(text: &str) -> bool {
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let bare = text.strip_prefix(['-', '+']).unwrap_or(text);
    bare.split_once('.').is_some_and(|(whole, rest)| is_digits(whole) && is_digits(rest) && bare.len() > 1)
}

/// lvm2 writes one in 16 bytes or so: twice what the longest text has.
const MOST: usize = 1 << 19;
const TOO_MANY: &str = "more than 524288 names and values";
/// A volume group is four deep.
const DEEPEST: usize = 8;
