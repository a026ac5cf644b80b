//! Property lists, as Core Storage keeps them in blocks: XML elements without attributes that matter, but for ID and
//! IDREF, by which a text is said once and then referred to.

use crate::Error;
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// A value of a property list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// Keys, in their order, and their values.
    Dict(Vec<(String, Value)>),
    /// Values.
    Array(Vec<Value>),
    /// A string, a number, data in Base64: as written.
    Text(String),
}

impl Value {
    /// Parses the list that `bytes` begin with; what follows it is ignored.
    ///
    /// # Errors
    /// [`Error::Invalid`]
    pub fn parse(bytes: &[u8]) -> Result<Self, Error> {
        let len = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
        let text = core::str::from_utf8(&bytes[..len]).map_err(|_| broken("it is not UTF-8"))?;
        let mut parser = Parser { rest: text, named: Vec::new() };
        parser.value(0)
    }

    /// The value of a key; `None` where there is no such key, or this is no dict.
    pub fn get(&self, key: &str) -> Option<&Self> {
        let Self::Dict(entries) = self else { return None };
        entries.iter().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    /// The values of an array; none where this is none.
    pub fn items(&self) -> &[Self] {
        match self {
            Self::Array(items) => items,
            _ => &[],
        }
    }

    /// The text of a key.
    pub fn text(&self, key: &str) -> Option<&str> {
        match self.get(key)? {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The number of a key, hexadecimal behind 0x.
    pub fn number(&self, key: &str) -> Option<u64> {
        let text = self.text(key)?;
        match text.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16).ok(),
            None => text.parse().ok(),
        }
    }
}

struct Parser<'a> {
    rest: &'a str,
    /// Texts by their IDs.
    named: Vec<(&'a str, String)>,
}

/// A tag's name, its attributes, and whether it has no content.
struct Tag<'a> {
    name: &'a str,
    attributes: &'a str,
    is_empty: bool,
}

impl<'a> Parser<'a> {
    fn value(&mut self, depth: usize) -> Result<Value, Error> {
        if depth > DEEPEST {
            return Err(broken("it is nested too deeply"));
        }
        let tag = self.tag()?;
        match tag.name {
            "plist" => self.value(depth + 1),
            "dict" => self.dict(&tag, depth),
            "array" => self.array(&tag, depth),
            "reference" => self.reference(&tag),
            "true" | "false" if tag.is_empty => Ok(Value::Text(tag.name.into())),
            "string" | "data" | "integer" | "date" | "real" => self.text(&tag),
            other => Err(broken(&format!("<{other}> is not a value"))),
        }
    }

    fn dict(&mut self, tag: &Tag<'a>, depth: usize) -> Result<Value, Error> {
        let mut entries = Vec::new();
        while !tag.is_empty && !self.ends("dict") {
            let key = self.tag()?;
            if key.name != "key" || key.is_empty {
                return Err(broken(&format!("<{}> instead of <key>", key.name)));
            }
            let key = self.content("key")?;
            entries.push((key, self.value(depth + 1)?));
        }
        Ok(Value::Dict(entries))
    }

    fn array(&mut self, tag: &Tag<'a>, depth: usize) -> Result<Value, Error> {
        let mut items = Vec::new();
        while !tag.is_empty && !self.ends("array") {
            items.push(self.value(depth + 1)?);
        }
        Ok(Value::Array(items))
    }

    fn reference(&mut self, tag: &Tag<'a>) -> Result<Value, Error> {
        let to = attribute(tag.attributes, "IDREF");
        let found = self.named.iter().find(|(id, _)| Some(*id) == to);
        let found = found.map(|(_, text)| Value::Text(text.clone()));
        let value = found.ok_or_else(|| broken("a reference does not lead to a text"))?;
        if tag.is_empty || self.ends("reference") {
            Ok(value)
        } else {
            Err(broken("a reference has content"))
        }
    }

    fn text(&mut self, tag: &Tag<'a>) -> Result<Value, Error> {
        let text = if tag.is_empty { String::new() } else { self.content(tag.name)? };
        if let Some(id) = attribute(tag.attributes, "ID") {
            self.named.push((id, text.clone()));
        }
        Ok(Value::Text(text))
    }

    /// The next tag that opens something.
    fn tag(&mut self) -> Result<Tag<'a>, Error> {
        loop {
            self.rest = self.rest.trim_start();
            let inner = self.rest.strip_prefix('<').ok_or_else(|| broken("text where a tag should be"))?;
            let (tag, rest) = inner.split_once('>').ok_or_else(|| broken("it ends within a tag"))?;
            self.rest = rest;
            if tag.starts_with(['?', '!']) {
                continue;
            }
            if tag.starts_with('/') {
                return Err(broken(&format!("<{tag}> where a value should be")));
            }
            let (tag, is_empty) = tag.strip_suffix('/').map_or((tag, false), |tag| (tag, true));
            let (name, attributes) = tag.split_once(|c: char| c.is_ascii_whitespace()).unwrap_or((tag, ""));
            return Ok(Tag { name, attributes, is_empty });
        }
    }

    /// Whether the element ends here; its end is passed then.
    fn ends(&mut self, name: &str) -> bool {
        let rest = self.rest.trim_start();
        let after = rest.strip_prefix("</").and_then(|rest| rest.strip_prefix(name)?.strip_prefix('>'));
        after.inspect(|after| self.rest = after).is_some()
    }

    /// Text up to the end of its element.
    fn content(&mut self, name: &str) -> Result<String, Error> {
        let (text, rest) = self.rest.split_once('<').ok_or_else(|| broken("it ends within a text"))?;
        self.rest = &self.rest[text.len()..];
        debug_assert!(self.rest.len() == rest.len() + 1);
        if self.ends(name) { Ok(unescaped(text)) } else { Err(broken(&format!("<{name}> does not end"))) }
    }
}

/// `ID="7"`.
fn attribute<'a>(attributes: &'a str, name: &str) -> Option<&'a str> {
    attributes
        .split_ascii_whitespace()
        .find_map(|attribute| attribute.strip_prefix(name)?.strip_prefix("=\"")?.strip_suffix('"'))
}

fn unescaped(text: &str) -> String {
    if !text.contains('&') {
        return text.to_owned();
    }
    let named = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&amp;", "&")];
    named.iter().fold(text.to_owned(), |text, (name, character)| text.replace(name, character))
}

fn broken(why: &str) -> Error {
    Error::invalid("property list", why)
}

const DEEPEST: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn values_references_and_numbers() {
        let text = br#"<?xml version="1.0"?><!DOCTYPE plist><plist version="1.0"><dict ID="0"><key>a</key><array ID="1">
            <dict/><integer size="32" ID="2">0x1f</integer></array> <key>b&amp;lt;</key><reference IDREF="2"/>
            <key>n</key><integer>12</integer><key>t</key><true/><key>e</key><string ID="3"></string></dict></plist>"#;
        let found = Value::parse(&[&text[..], b"\0rest"].concat()).unwrap();
        assert_eq!(found.number("b&lt;"), Some(0x1f));
        assert_eq!((found.number("n"), found.text("t"), found.text("e")), (Some(12), Some("true"), Some("")));
        let items = found.get("a").unwrap().items();
        assert_eq!(items, [Value::Dict(Vec::new()), Value::Text("0x1f".into())]);
        assert_eq!(
            (found.text("a"), found.number("e"), found.get("z"), items[1].get("a")),
            (None, None, None, None)
        );
        assert!(found.get("t").unwrap().items().is_empty());
    }

    #[test]
    fn what_is_broken_is_said() {
        for (text, why) in [
            ("", "text where a tag should be"),
            ("x", "text where a tag should be"),
            ("<dict", "it ends within a tag"),
            ("<dict><key>a</key>", "text where a tag should be"),
            ("<dict><key>a", "it ends within a text"),
            ("<dict><string>a</string></dict>", "<string> instead of <key>"),
            ("<dict><key>a</key></dict>", "</dict> where a value should be"),
            ("<string>a<b></string>", "<string> does not end"),
            ("<reference IDREF=\"1\"/>", "a reference does not lead to a text"),
            ("<set/>", "<set> is not a value"),
        ] {
            let error = Value::parse(text.as_bytes()).unwrap_err();
            assert_eq!(error.to_string(), format!("property list: {why}"), "{text}");
        }
        assert!(Value::parse(b"\xff").unwrap_err().to_string().ends_with("it is not UTF-8"));
        let deep = "<array>".repeat(40);
        assert!(Value::parse(deep.as_bytes()).unwrap_err().to_string().ends_with("it is nested too deeply"));
    }
}
