//! JSON (RFC 8259) for LUKS2's metadata: a tree that preserves the order of members and the text of
//! numbers.
//!
//! This is a separate implementation because serde_json preserves the order of members only with
//! std, silently accepts duplicate member names, and has no printer for json-c's layout, which
//! `--dump-json-metadata` must match byte for byte.

mod parse;
mod print;

use alloc::borrow::ToOwned;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

pub use print::shown;

pub use parse::{Cause, SyntaxError, parse, parse_as_json_c};

/// A JSON value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number, as it was written ("1.50" stays "1.50").
    Number(String),
    /// A string, with escapes resolved.
    String(String),
    /// An array.
    Array(Vec<Value>),
    /// An object.
    Object(Object),
}

/// An object's members in the order of the text; names are unique.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Object {
    members: Vec<(String, Value)>,
}

impl Object {
    /// An object without members.
    pub const fn new() -> Self {
        Self { members: Vec::new() }
    }

    /// The value of the member `name`.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.members.iter().find(|(n, _)| n == name).map(|(_, value)| value)
    }

    /// The value of the member `name`, mutable.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut Value> {
        self.members.iter_mut().find(|(n, _)| n == name).map(|(_, value)| value)
    }

    /// Replaces the member in place, or appends it.
    pub fn set(&mut self, name: &str, value: impl Into<Value>) {
        match self.get_mut(name) {
            Some(old) => *old = value.into(),
            None => self.members.push((name.to_owned(), value.into())),
        }
    }

    /// [`Object::set`] for building an object in one expression.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.set(name, value);
        self
    }

    /// Removes the member; the order of the others is unchanged.
    pub fn remove(&mut self, name: &str) -> Option<Value> {
        let position = self.members.iter().position(|(n, _)| n == name)?;
        Some(self.members.remove(position).1)
    }

    /// Keeps the members for which `keep` returns true.
    pub fn retain(&mut self, mut keep: impl FnMut(&str, &Value) -> bool) {
        self.members.retain(|(name, value)| keep(name, value));
    }

    /// The members in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.members.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// The members in order, with mutable values.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (&str, &mut Value)> {
        self.members.iter_mut().map(|(name, value)| (name.as_str(), value))
    }

    /// Number of members.
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Whether there are no members.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }
}

impl Value {
    /// The object, if it is one.
    pub fn as_object(&self) -> Option<&Object> {
        match self {
            Self::Object(object) => Some(object),
            _ => None,
        }
    }

    /// The object, if it is one, mutable.
    pub fn as_object_mut(&mut self) -> Option<&mut Object> {
        match self {
            Self::Object(object) => Some(object),
            _ => None,
        }
    }

    /// The array, if it is one.
    pub fn as_array(&self) -> Option<&[Value]> {
        match self {
            Self::Array(items) => Some(items),
            _ => None,
        }
    }

    /// The array, if it is one, mutable.
    pub fn as_array_mut(&mut self) -> Option<&mut Vec<Value>> {
        match self {
            Self::Array(items) => Some(items),
            _ => None,
        }
    }

    /// The string, if it is one.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    /// "string", "object", … for messages.
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "boolean",
            Self::Number(_) => "number",
            Self::String(_) => "string",
            Self::Array(_) => "array",
            Self::Object(_) => "object",
        }
    }

    /// Prints one line without spaces, as cryptsetup stores metadata (json-c's PLAIN with
    /// NOSLASHESCAPE).
    pub fn to_compact(&self) -> String {
        print::compact(self)
    }

    /// Prints with two spaces per level, as cryptsetup shows metadata (json-c's PRETTY with
    /// NOSLASHESCAPE); no newline at the end.
    pub fn to_pretty(&self) -> String {
        print::pretty(self)
    }
}

impl From<u32> for Value {
    fn from(number: u32) -> Self {
        Self::Number(number.to_string())
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::String(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::String(text)
    }
}

impl From<Vec<Value>> for Value {
    fn from(items: Vec<Value>) -> Self {
        Self::Array(items)
    }
}

impl From<Object> for Value {
    fn from(object: Object) -> Self {
        Self::Object(object)
    }
}

#[cfg(test)]
mod tests;
