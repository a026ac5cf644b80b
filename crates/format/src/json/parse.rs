//! The parser: strict RFC 8259 (no comments, no trailing commas, UTF-8 only), with limits against
//! hostile text; duplicate member names are refused. For text that was written for json-c there is
//! its dialect.

mod json_c;

use super::{Object, Value};
use alloc::borrow::ToOwned;
use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

/// Maximum nesting of arrays and objects; json-c's default.
pub(crate) const MAX_DEPTH: usize = 32;

/// Maximum number of values in a document. A 4 MiB area of `[[],[],…` would otherwise grow to
/// hundreds of megabytes.
pub(crate) const MAX_VALUES: usize = 100_000;

/// Text that is not JSON, or JSON beyond the limits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyntaxError {
    /// Byte at which the parser stopped.
    pub offset: usize,
    /// What is wrong there.
    pub why: Cause,
}

/// What is wrong with the text.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Cause {
    UnexpectedEnd,
    Unexpected(u8),
    TooDeep,
    TooManyValues,
    DuplicateMember(String),
    BadEscape,
    NotUtf8,
    AfterEnd,
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.why {
            Cause::UnexpectedEnd => f.write_str("text ends too early")?,
            Cause::Unexpected(byte) => write!(f, "unexpected byte 0x{byte:02x}")?,
            Cause::TooDeep => write!(f, "nested deeper than {MAX_DEPTH} levels")?,
            Cause::TooManyValues => write!(f, "more than {MAX_VALUES} values")?,
            Cause::DuplicateMember(name) => write!(f, "member \"{name}\" occurs twice")?,
            Cause::BadEscape => f.write_str("bad escape in a string")?,
            Cause::NotUtf8 => f.write_str("a string is not UTF-8")?,
            Cause::AfterEnd => f.write_str("text after the end of the document")?,
        }
        write!(f, " at byte {}", self.offset)
    }
}

/// Parses a complete text: one value, nothing after it.
pub fn parse(text: &[u8]) -> Result<Value, SyntaxError> {
    let mut parser = Parser::new(text, Dialect::Json);
    parser.skip_space()?;
    let value = parser.value()?;
    parser.skip_space()?;
    if parser.at < text.len() {
        return Err(parser.error(Cause::AfterEnd));
    }
    Ok(value)
}

/// Parses the value at the start of a text as json-c does, which takes more than JSON: of members of
/// one name the last counts, commas may stand before a closing bracket, and text behind the value is
/// ignored. What JSON cannot say (NaN) is refused.
///
/// # Errors
/// The text is not even of that dialect, or it is beyond the limits.
pub fn parse_as_json_c(text: &[u8]) -> Result<Value, SyntaxError> {
    let mut parser = Parser::new(text, Dialect::JsonC);
    parser.skip_space()?;
    parser.value()
}

/// What is taken besides JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Dialect {
    Json,
    JsonC,
}

struct Parser<'t> {
    text: &'t [u8],
    dialect: Dialect,
    at: usize,
    depth: usize,
    values: usize,
}

impl<'t> Parser<'t> {
    fn new(text: &'t [u8], dialect: Dialect) -> Self {
        Self { text, dialect, at: 0, depth: 0, values: 0 }
    }

    fn value(&mut self) -> Result<Value, SyntaxError> {
        self.values += 1;
        if self.values > MAX_VALUES {
            return Err(self.error(Cause::TooManyValues));
        }
        match self.peek() {
            Some(b'{') => self.nested(Self::object),
            Some(b'[') => self.nested(Self::array),
            Some(b'"') => self.string().map(Value::String),
            Some(b'\'') if self.is_loose() => self.string().map(Value::String),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't' | b'T') => self.word("true", Value::Bool(true)),
            Some(b'f' | b'F') => self.word("false", Value::Bool(false)),
            Some(b'n' | b'N') => self.word("null", Value::Null),
            _ => Err(self.unexpected()),
        }
    }

    fn nested(&mut self, inner: fn(&mut Self) -> Result<Value, SyntaxError>) -> Result<Value, SyntaxError> {
        if self.depth == MAX_DEPTH {
            return Err(self.error(Cause::TooDeep));
        }
        self.depth += 1;
        self.at += 1;
        self.skip_space()?;
        let value = inner(self)?;
        self.depth -= 1;
        Ok(value)
    }

    fn array(&mut self) -> Result<Value, SyntaxError> {
        let mut items = Vec::new();
        if !self.eat(b']') {
            loop {
                items.push(self.value()?);
                if self.list_ends(b']')? {
                    break;
                }
            }
        }
        Ok(Value::Array(items))
    }

    fn object(&mut self) -> Result<Value, SyntaxError> {
        let mut members = Vec::new();
        let mut names = BTreeSet::new();
        if !self.eat(b'}') {
            loop {
                let start = self.at;
                let name = self.string()?;
                let is_new = names.insert(name.clone());
                if !is_new && !self.is_loose() {
                    return Err(SyntaxError { offset: start, why: Cause::DuplicateMember(name) });
                }
                self.skip_space()?;
                if !self.eat(b':') {
                    return Err(self.unexpected());
                }
                self.skip_space()?;
                let value = self.value()?;
                match is_new {
                    true => members.push((name, value)),
                    false => json_c::replace(&mut members, &name, value),
                }
                if self.list_ends(b'}')? {
                    break;
                }
            }
        }
        Ok(Value::Object(Object { members }))
    }

    /// After an item: true at the closing bracket, false after a comma.
    fn list_ends(&mut self, close: u8) -> Result<bool, SyntaxError> {
        self.skip_space()?;
        if self.eat(close) {
            return Ok(true);
        }
        if !self.eat(b',') {
            return Err(self.unexpected());
        }
        self.skip_space()?;
        Ok(self.is_loose() && self.eat(close))
    }

    fn number(&mut self) -> Result<Value, SyntaxError> {
        if self.is_loose() {
            return self.loose_number().map(Value::Number);
        }
        let start = self.at;
        self.eat(b'-');
        if !self.eat(b'0') {
            self.digits()?;
        }
        if self.eat(b'.') {
            self.digits()?;
        }
        if self.eat(b'e') || self.eat(b'E') {
            let _sign = self.eat(b'+') || self.eat(b'-');
            self.digits()?;
        }
        let text =
            core::str::from_utf8(&self.text[start..self.at]).map_err(|_| self.error(Cause::NotUtf8))?;
        Ok(Value::Number(text.to_owned()))
    }

    fn digits(&mut self) -> Result<(), SyntaxError> {
        if !self.peek().is_some_and(|b| b.is_ascii_digit()) {
            return Err(self.unexpected());
        }
        while self.peek().is_some_and(|b| b.is_ascii_digit()) {
            self.at += 1;
        }
        Ok(())
    }

    fn word(&mut self, word: &str, value: Value) -> Result<Value, SyntaxError> {
        if self.is_loose() && json_c::is_word(&self.text[self.at..], word) {
            self.at += word.len();
            return Ok(value);
        }
        for &byte in word.as_bytes() {
            if !self.eat(byte) {
                return Err(self.unexpected());
            }
        }
        Ok(value)
    }

    fn string(&mut self) -> Result<String, SyntaxError> {
        let quote = match self.peek() {
            Some(b'\'') if self.is_loose() => b'\'',
            Some(b'"') => b'"',
            _ => return Err(self.unexpected()),
        };
        self.at += 1;
        let mut out = String::new();
        loop {
            self.plain_run(quote, &mut out)?;
            match self.peek() {
                Some(byte) if byte == quote => break,
                Some(b'\\') => {
                    self.at += 1;
                    out.push(self.escape()?);
                }
                _ => return Err(self.unexpected()),
            }
        }
        self.at += 1;
        Ok(out)
    }

    /// Copies up to the next quote, backslash or control character.
    fn plain_run(&mut self, quote: u8, out: &mut String) -> Result<(), SyntaxError> {
        let (start, least) = (self.at, if self.is_loose() { 1 } else { 0x20 });
        while self.peek().is_some_and(|b| b >= least && b != quote && b != b'\\') {
            self.at += 1;
        }
        let run = &self.text[start..self.at];
        let text = core::str::from_utf8(run)
            .map_err(|e| SyntaxError { offset: start + e.valid_up_to(), why: Cause::NotUtf8 })?;
        out.push_str(text);
        Ok(())
    }

    fn escape(&mut self) -> Result<char, SyntaxError> {
        let byte = self.peek().ok_or_else(|| self.error(Cause::UnexpectedEnd))?;
        self.at += 1;
        Ok(match byte {
            b'"' | b'\\' | b'/' => char::from(byte),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => self.unicode()?,
            _ => {
                self.at -= 1;
                return Err(self.error(Cause::BadEscape));
            }
        })
    }

    /// `\u` and four hexadecimal digits, or a surrogate pair of two such escapes; a lone surrogate
    /// becomes U+FFFD, as in json-c.
    fn unicode(&mut self) -> Result<char, SyntaxError> {
        let high = self.hex4()?;
        if (0xd800..0xdc00).contains(&high) && self.text[self.at..].starts_with(b"\\u") {
            let after_high = self.at;
            self.at += 2;
            let low = self.hex4()?;
            if (0xdc00..0xe000).contains(&low) {
                let point = 0x1_0000 + ((high - 0xd800) << 10) + (low - 0xdc00);
                return Ok(char::from_u32(point).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            self.at = after_high;
        }
        Ok(char::from_u32(high).unwrap_or(char::REPLACEMENT_CHARACTER))
    }

    fn hex4(&mut self) -> Result<u32, SyntaxError> {
        let mut value = 0;
        for _ in 0..4 {
            let digit = self.peek().and_then(|b| char::from(b).to_digit(16));
            value = value << 4 | digit.ok_or_else(|| self.error(Cause::BadEscape))?;
            self.at += 1;
        }
        Ok(value)
    }

    fn skip_space(&mut self) -> Result<(), SyntaxError> {
        loop {
            while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
                self.at += 1;
            }
            if !self.is_loose() || !self.comment()? {
                return Ok(());
            }
        }
    }

    fn is_loose(&self) -> bool {
        self.dialect == Dialect::JsonC
    }

    fn eat(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn unexpected(&self) -> SyntaxError {
        self.error(self.peek().map_or(Cause::UnexpectedEnd, Cause::Unexpected))
    }

    fn error(&self, why: Cause) -> SyntaxError {
        SyntaxError { offset: self.at, why }
    }
}
