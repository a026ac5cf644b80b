//! Creates and changes metadata. Each change is made on a copy of the document, which is printed
//! and parsed again before it replaces the original: parts that this crate does not understand are
//! preserved, and an edit that would make the header invalid is refused.

use super::MAX_DIGESTS;
use super::digest::{Digest, DigestId};
use super::header::HeaderSize;
use super::keyslot::{Keyslot, Priority};
use super::metadata::Metadata;
use super::segment::Segment;
use crate::json::{self, Object, Value};
use crate::{Bytes, Error};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// The content of a fresh document: one segment and one digest (both number 0), no keyslots yet.
#[derive(Debug, Clone, Copy)]
pub struct NewMetadata<'a> {
    /// Size of each header copy.
    pub header_size: HeaderSize,
    /// Size of the keyslots area: a multiple of 4096 bytes.
    pub keyslots_size: Bytes,
    /// The data.
    pub segment: &'a Segment,
    /// The digest of the volume key; its lists of keyslots and segments are ignored.
    pub digest: &'a Digest,
}

impl Metadata {
    /// Creates a fresh document with its members in cryptsetup's order.
    ///
    /// # Errors
    /// As [`Metadata::parse`], when sizes and offsets do not fit together.
    pub fn new(new: &NewMetadata<'_>) -> Result<Self, Error> {
        let digest = Digest { keyslots: Vec::new(), segments: [0].into(), kind: new.digest.kind.clone() };
        let digest = digest.to_json().ok_or_else(|| unwritable("digests", 0))?;
        let segment = new.segment.to_json().ok_or_else(|| unwritable("segments", 0))?;
        let config = Object::new()
            .with("json_size", new.header_size.json_area().0.to_string())
            .with("keyslots_size", new.keyslots_size.0.to_string());
        let document = Object::new()
            .with("keyslots", Object::new())
            .with("tokens", Object::new())
            .with("segments", Object::new().with("0", segment))
            .with("digests", Object::new().with("0", digest))
            .with("config", config);
        Self::parse(Value::from(document).to_compact().as_bytes(), new.header_size)
    }

    /// Adds a keyslot whose key `digest` verifies.
    pub fn add_keyslot(&mut self, id: u32, keyslot: &Keyslot, digest: DigestId) -> Result<(), Error> {
        let object = keyslot.to_json().ok_or_else(|| unwritable("keyslots", id))?;
        self.edit(|document| {
            insert(document, "keyslots", id, object)?;
            list_push(document, "digests", digest, "keyslots", id)
        })
    }

    /// Adds a keyslot together with a digest of its own: for a key of no segment, or of the
    /// segments that the digest names.
    pub fn add_keyslot_with_digest(
        &mut self,
        id: u32,
        keyslot: &Keyslot,
        digest_id: DigestId,
        digest: &Digest,
    ) -> Result<(), Error> {
        let object = keyslot.to_json().ok_or_else(|| unwritable("keyslots", id))?;
        let digest = Digest { keyslots: [id].into(), ..digest.clone() };
        let digest = digest.to_json().ok_or_else(|| unwritable("digests", digest_id))?;
        self.edit(|document| {
            insert(document, "keyslots", id, object)?;
            insert(document, "digests", digest_id, digest)
        })
    }

    /// Replaces a keyslot's area, KDF, cipher and priority; its digest and tokens stay, and so do
    /// members that this build does not know.
    pub fn replace_keyslot(&mut self, id: u32, keyslot: &Keyslot) -> Result<(), Error> {
        let new = keyslot.to_json().ok_or_else(|| unwritable("keyslots", id))?;
        self.edit(|document| {
            let old = member(document, "keyslots", id)?;
            new.iter().for_each(|(name, value)| old.set(name, value.clone()));
            keyslot.priority.store(old);
            Ok(())
        })
    }

    /// Removes a keyslot, also from digests and tokens.
    pub fn remove_keyslot(&mut self, id: u32) -> Result<(), Error> {
        self.edit(|document| {
            remove(document, "keyslots", id)?;
            list_remove_everywhere(document, "digests", "keyslots", id)?;
            list_remove_everywhere(document, "tokens", "keyslots", id)
        })
    }

    /// Sets a keyslot's priority, which determines when it is tried.
    pub fn set_priority(&mut self, keyslot: u32, priority: Priority) -> Result<(), Error> {
        self.edit(|document| {
            priority.store(member(document, "keyslots", keyslot)?);
            Ok(())
        })
    }

    /// Adds a token from its JSON object, which is preserved (members, order, numbers). What json-c takes
    /// besides JSON is taken, too: programs that bind tokens write for cryptsetup.
    pub fn add_token(&mut self, id: u32, json: &[u8]) -> Result<(), Error> {
        let object = token_object(id, json)?;
        self.edit(|document| insert(document, "tokens", id, object))
    }

    /// As [`Metadata::add_token`], but replaces an existing token.
    pub fn replace_token(&mut self, id: u32, json: &[u8]) -> Result<(), Error> {
        let object = token_object(id, json)?;
        self.edit(|document| {
            *member(document, "tokens", id)? = object;
            Ok(())
        })
    }

    /// Removes a token.
    pub fn remove_token(&mut self, id: u32) -> Result<(), Error> {
        self.edit(|document| remove(document, "tokens", id))
    }

    /// Assigns a token to a keyslot.
    pub fn assign_token(&mut self, token: u32, keyslot: u32) -> Result<(), Error> {
        self.edit(|document| list_push(document, "tokens", token, "keyslots", keyslot))
    }

    /// Removes a token's assignment to a keyslot.
    pub fn unassign_token(&mut self, token: u32, keyslot: u32) -> Result<(), Error> {
        self.edit(|document| {
            list_remove(member(document, "tokens", token)?, "keyslots", keyslot);
            Ok(())
        })
    }

    /// Replaces the activation flags; see [`super::PERSISTENT_FLAGS`].
    pub fn set_flags(&mut self, flags: &[&str]) -> Result<(), Error> {
        self.edit(|document| {
            section(document, "config")?.set("flags", strings(flags));
            Ok(())
        })
    }

    /// Makes a change on a copy of the document, and takes over the result if it is valid.
    pub(super) fn edit(
        &mut self,
        change: impl FnOnce(&mut Object) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut document = self.document.clone();
        change(&mut document)?;
        erase_unused_digests(&mut document)?;
        let text = Value::from(document).to_compact();
        *self = Self::parse(text.as_bytes(), self.header_size)?;
        Ok(())
    }
}

/// Like cryptsetup, drops digests with neither keyslots nor segments on every write of the header.
fn erase_unused_digests(document: &mut Object) -> Result<(), Error> {
    let used = |digest: &Value, list| {
        let list = digest.as_object().and_then(|digest| digest.get(list)).and_then(Value::as_array);
        list.is_some_and(|items| !items.is_empty())
    };
    section(document, "digests")?.retain(|_, digest| used(digest, "keyslots") || used(digest, "segments"));
    Ok(())
}

pub(super) fn section<'d>(document: &'d mut Object, name: &str) -> Result<&'d mut Object, Error> {
    let section = document.get_mut(name).and_then(Value::as_object_mut);
    section.ok_or_else(|| Error::invalid(name, "is not an object"))
}

fn member<'d>(document: &'d mut Object, kind: &str, id: u32) -> Result<&'d mut Object, Error> {
    let member = section(document, kind)?.get_mut(&id.to_string()).and_then(Value::as_object_mut);
    member.ok_or_else(|| missing(kind, id))
}

pub(super) fn insert(document: &mut Object, kind: &str, id: u32, object: Object) -> Result<(), Error> {
    let section = section(document, kind)?;
    if section.get(&id.to_string()).is_some() {
        return Err(Error::invalid(format!("{kind}.{id}"), "is in use"));
    }
    if kind == "digests" && id >= MAX_DIGESTS {
        return Err(Error::invalid(
            format!("{kind}.{id}"),
            format!("cryptsetup sees digests below {MAX_DIGESTS} only"),
        ));
    }
    section.set(&id.to_string(), object);
    Ok(())
}

pub(super) fn remove(document: &mut Object, kind: &str, id: u32) -> Result<(), Error> {
    section(document, kind)?.remove(&id.to_string()).map(drop).ok_or_else(|| missing(kind, id))
}

pub(super) fn list_push(
    document: &mut Object,
    kind: &str,
    id: u32,
    list: &str,
    entry: u32,
) -> Result<(), Error> {
    let object = member(document, kind, id)?;
    let items = object.get_mut(list).and_then(Value::as_array_mut).ok_or_else(|| missing(kind, id))?;
    let entry = Value::from(entry.to_string());
    if !items.contains(&entry) {
        items.push(entry);
    }
    Ok(())
}

fn list_remove(object: &mut Object, list: &str, entry: u32) {
    let entry = Value::from(entry.to_string());
    if let Some(items) = object.get_mut(list).and_then(Value::as_array_mut) {
        items.retain(|item| *item != entry);
    }
}

pub(super) fn list_remove_everywhere(
    document: &mut Object,
    kind: &str,
    list: &str,
    entry: u32,
) -> Result<(), Error> {
    for (_, value) in section(document, kind)?.iter_mut() {
        if let Some(object) = value.as_object_mut() {
            list_remove(object, list, entry);
        }
    }
    Ok(())
}

fn token_object(id: u32, json: &[u8]) -> Result<Object, Error> {
    let place = || format!("tokens.{id}");
    match json::parse_as_json_c(json) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(other) => Err(Error::invalid(place(), format!("is of type {}, not an object", other.type_name()))),
        Err(error) => Err(Error::invalid(place(), error.to_string())),
    }
}

pub(super) fn strings(items: &[&str]) -> Vec<Value> {
    items.iter().map(|item| String::from(*item).into()).collect()
}

fn missing(kind: &str, id: u32) -> Error {
    Error::invalid(format!("{kind}.{id}"), "does not exist")
}

pub(super) fn unwritable(kind: &str, id: u32) -> Error {
    Error::invalid(format!("{kind}.{id}.type"), "is a type that cannot be written")
}
