//! Reads typed fields from the JSON tree. Every error names the field's path
//! ("keyslots.3.kdf.salt").

use super::MAX_OBJECTS;
use crate::json::{Object, Value};
use crate::{Error, base64};
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// An object and its path in the document.
pub(super) struct Node<'a> {
    path: String,
    object: &'a Object,
}

impl<'a> Node<'a> {
    pub(super) const fn root(object: &'a Object) -> Self {
        Self { path: String::new(), object }
    }

    /// The path of the field `name`.
    pub(super) fn path(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) }
    }

    pub(super) fn refuse(&self, name: &str, why: impl Into<String>) -> Error {
        Error::invalid(self.path(name), why)
    }

    pub(super) const fn members(&self) -> &'a Object {
        self.object
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.object.get(name).is_some()
    }

    pub(super) fn object(&self, name: &str) -> Result<Node<'a>, Error> {
        let value = self.value(name)?;
        let object = value.as_object().ok_or_else(|| self.wrong_type(name, value, "an object"))?;
        Ok(Node { path: self.path(name), object })
    }

    /// A string that is valid in C: cryptsetup refuses an empty string, and would truncate a string
    /// at a NUL.
    pub(super) fn string(&self, name: &str) -> Result<&'a str, Error> {
        let value = self.value(name)?;
        match value.as_str() {
            None => Err(self.wrong_type(name, value, "a string")),
            Some("") => Err(self.refuse(name, "is empty")),
            Some(text) if text.contains('\0') => Err(self.refuse(name, "contains a NUL byte")),
            Some(text) => Ok(text),
        }
    }

    /// A name (cipher, hash): printable ASCII, not empty.
    pub(super) fn name(&self, name: &str) -> Result<String, Error> {
        let text = self.string(name)?;
        if !text.bytes().all(|b| b.is_ascii_graphic()) {
            return Err(self.refuse(name, "is not a name of printable characters"));
        }
        Ok(text.to_owned())
    }

    /// A JSON number: an integer, not negative, 32 bits.
    pub(super) fn uint32(&self, name: &str) -> Result<u32, Error> {
        let value = self.value(name)?;
        let Value::Number(text) = value else {
            return Err(self.wrong_type(name, value, "a number"));
        };
        text.parse().map_err(|_| self.refuse(name, format!("{text} is not a whole number of 32 bits")))
    }

    pub(super) fn positive(&self, name: &str) -> Result<u32, Error> {
        match self.uint32(name)? {
            0 => Err(self.refuse(name, "is zero")),
            number => Ok(number),
        }
    }

    /// A 64-bit number: LUKS2 writes these as decimal strings, because JSON numbers lose digits.
    pub(super) fn uint64(&self, name: &str) -> Result<u64, Error> {
        let text = self.string(name)?;
        let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        let number = if digits { text.parse().ok() } else { None };
        number.ok_or_else(|| self.refuse(name, format!("\"{text}\" is not a number of 64 bits")))
    }

    pub(super) fn base64(&self, name: &str) -> Result<Vec<u8>, Error> {
        base64::decode(self.string(name)?).ok_or_else(|| self.refuse(name, "is not base64"))
    }

    /// Base64 of exactly 32 bytes: no implementation can use other salts.
    pub(super) fn salt(&self, name: &str) -> Result<Vec<u8>, Error> {
        let salt = self.base64(name)?;
        if salt.len() != super::SALT_LEN {
            return Err(self.refuse(name, format!("{} bytes, not {}", salt.len(), super::SALT_LEN)));
        }
        Ok(salt)
    }

    pub(super) fn array(&self, name: &str) -> Result<&'a [Value], Error> {
        let value = self.value(name)?;
        value.as_array().ok_or_else(|| self.wrong_type(name, value, "an array"))
    }

    /// An array of strings; empty when the field is missing.
    pub(super) fn optional_strings(&self, name: &str) -> Result<Vec<String>, Error> {
        if !self.has(name) {
            return Ok(Vec::new());
        }
        let strings = self.array(name)?.iter().map(|item| item.as_str().map(ToOwned::to_owned));
        strings
            .collect::<Option<_>>()
            .ok_or_else(|| self.refuse(name, "holds something that is not a string"))
    }

    /// An array of numbers as strings, each the name of a member of `target` (the section
    /// "keyslots" or "segments").
    pub(super) fn references(&self, name: &str, target: &Node<'_>) -> Result<Vec<u32>, Error> {
        let mut ids = Vec::new();
        for item in self.array(name)? {
            let Some(text) = item.as_str() else {
                return Err(self.refuse(name, "holds something that is not a string"));
            };
            let Some(id) = id(text).filter(|_| target.has(text)) else {
                return Err(self.refuse(name, format!("\"{text}\" is not in {}", target.path)));
            };
            ids.push(id);
        }
        Ok(ids)
    }

    /// The members of a section, by number.
    pub(super) fn numbered(&self) -> Result<Vec<(u32, Node<'a>)>, Error> {
        let member = |name: &str| {
            let why = || self.refuse(name, format!("is not numbered 0 to {}", MAX_OBJECTS - 1));
            Ok((id(name).ok_or_else(why)?, self.object(name)?))
        };
        self.object.iter().map(|(name, _)| member(name)).collect()
    }

    fn value(&self, name: &str) -> Result<&'a Value, Error> {
        self.object.get(name).ok_or_else(|| self.refuse(name, "is missing"))
    }

    fn wrong_type(&self, name: &str, found: &Value, wanted: &str) -> Error {
        self.refuse(name, format!("is of type {}, not {wanted}", found.type_name()))
    }
}

/// The number of a keyslot, token, segment or digest: decimal, no leading zeros, below 32.
fn id(name: &str) -> Option<u32> {
    let canonical = name == "0" || !name.starts_with(['0', '+']);
    name.parse().ok().filter(|&id| canonical && id < MAX_OBJECTS)
}
