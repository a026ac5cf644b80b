//! The JSON metadata: a typed view of the parts that Keyway understands, and the document itself,
//! so that an edit preserves the other parts. Every edit is parsed again, so a metadata value is
//! always valid.

use super::area::{self, Area};
use super::config::Config;
use super::digest::{Digest, DigestId};
use super::field::Node;
use super::header::{HeaderSize, check_json_len};
use super::keyslot::Keyslot;
use super::reencryption::{CONVERSION, rules};
use super::segment::{self, Segment, SegmentKind};
use super::token::Token;
use super::{MAX_DIGESTS, MAX_OBJECTS};
use crate::json::{self, Object, Value};
use crate::{Bytes, Error};
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use core::ops::Deref;

/// A valid LUKS2 metadata document. Its [`View`] is read through deref. The methods that change it
/// change the document and parse it again; on failure they leave it unchanged.
#[derive(Clone, PartialEq, Eq)]
pub struct Metadata {
    pub(super) header_size: HeaderSize,
    pub(super) document: Object,
    text: Vec<u8>,
    view: View,
}

/// The content of a [`Metadata`] document, as far as Keyway understands it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct View {
    /// Keyslots by number (0–31).
    pub keyslots: BTreeMap<u32, Keyslot>,
    /// Tokens by number (0–31).
    pub tokens: BTreeMap<u32, Token>,
    /// Segments by number, without gaps.
    pub segments: BTreeMap<u32, Segment>,
    /// Digests by number.
    pub digests: BTreeMap<DigestId, Digest>,
    /// Sizes, flags, requirements.
    pub config: Config,
}

impl Deref for Metadata {
    type Target = View;

    fn deref(&self) -> &View {
        &self.view
    }
}

impl fmt::Debug for Metadata {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.view.fmt(f)
    }
}

impl Metadata {
    /// Parses and validates a JSON area's text (limits: depth, duplicate keys, sizes, overlaps).
    ///
    /// # Errors
    /// [`Error::Invalid`] with the byte offset of a syntax error or the JSON path of a field;
    /// [`Error::Full`] when the text is too long for its area.
    pub fn parse(json: &[u8], header_size: HeaderSize) -> Result<Self, Error> {
        check_json_len(json.len(), header_size)?;
        let value = json::parse(json).map_err(|error| Error::invalid("JSON", error.to_string()))?;
        let Value::Object(document) = value else {
            return Err(Error::invalid("JSON", "is not an object"));
        };
        let view = View::read(&Node::root(&document), header_size)?;
        Ok(Self { header_size, document, text: json.into(), view })
    }

    /// The document as text: if nothing was edited, byte for byte the text that was parsed.
    pub fn to_json(&self) -> Vec<u8> {
        self.text.clone()
    }

    /// The document as `cryptsetup luksDump --dump-json-metadata`
    /// shows it, without a newline at the end.
    pub fn to_pretty_json(&self) -> String {
        Value::from(self.document.clone()).to_pretty()
    }

    /// The document itself, including the parts that are not understood.
    pub fn document(&self) -> &Object {
        &self.document
    }

    /// A token's whole object on one line, as `cryptsetup token export` writes it.
    pub fn token_json(&self, id: u32) -> Option<String> {
        let tokens = self.document.get("tokens")?.as_object()?;
        Some(tokens.get(&id.to_string())?.to_compact())
    }

    /// The size of one header copy that holds this document.
    pub fn header_size(&self) -> HeaderSize {
        self.header_size
    }

    /// Bytes from the start of the device to the end of the keyslots area: the content of a header
    /// backup.
    pub fn header_and_keyslots_size(&self) -> Bytes {
        Bytes(self.header_size.keyslots_start().0 + self.config.keyslots_size.0)
    }

    /// The place of a new keyslot area for a key of `key_size` bytes: the first gap, as in
    /// cryptsetup.
    ///
    /// # Errors
    /// [`Error::Full`].
    pub fn free_area(&self, key_size: u32) -> Result<Area, Error> {
        let size = Area::size_for(key_size);
        let used = self.keyslots.values().map(|keyslot| keyslot.area).collect();
        area::first_gap(used, size, self.header_size, self.config.keyslots_size).ok_or(Error::Full {
            area: "keyslots area",
            needs: size.0,
            has: self.config.keyslots_size.0,
        })
    }
}

impl Metadata {
    /// The largest gap between keyslot areas: where a re-encryption keeps what protects its hot zone.
    pub fn largest_gap(&self) -> Option<Area> {
        let used = self.keyslots.values().map(|keyslot| keyslot.area).collect();
        area::largest_gap(used, self.header_size, self.config.keyslots_size)
    }
}

impl View {
    fn read(root: &Node<'_>, header_size: HeaderSize) -> Result<Self, Error> {
        let (keyslots, segments) = (root.object("keyslots")?, root.object("segments")?);
        let view = Self {
            keyslots: read_section(&keyslots, Keyslot::read)?,
            segments: read_section(&segments, Segment::read)?,
            digests: read_section(&root.object("digests")?, |node| Digest::read(node, &keyslots, &segments))?,
            tokens: read_section(&root.object("tokens")?, |node| Token::read(node, &keyslots))?,
            config: Config::read(&root.object("config")?, header_size)?,
        };
        view.check(header_size)?;
        Ok(view)
    }

    /// Checks every rule that spans several sections.
    fn check(&self, header_size: HeaderSize) -> Result<(), Error> {
        segment::check(&self.segments)?;
        rules::check(&self.config, &self.keyslots, &self.segments)?;
        for (id, segment) in &self.segments {
            if matches!(segment.kind, SegmentKind::Crypt { .. }) && self.digest_of_segment(*id).is_none() {
                return Err(Error::invalid(format!("segments.{id}"), "no digest verifies its key"));
            }
        }
        for (id, keyslot) in &self.keyslots {
            let digests = self.digests.values().filter(|digest| digest.keyslots.contains(id)).count();
            if keyslot.kind.is_luks2() && digests != 1 {
                return Err(Error::invalid(
                    format!("keyslots.{id}"),
                    format!("has {digests} digests, not one"),
                ));
            }
        }
        self.check_data_offset(header_size)?;
        let areas: Vec<_> = self.keyslots.iter().map(|(id, keyslot)| (*id, keyslot.area)).collect();
        area::check(&areas, header_size, self.config.keyslots_size)
    }

    /// The keyslots area must end before the data, unless the data is on another device: at offset 0, or on its way
    /// there.
    fn check_data_offset(&self, header_size: HeaderSize) -> Result<(), Error> {
        let end = header_size.keyslots_start().0 + self.config.keyslots_size.0;
        let is_conversion = self.config.requirements.iter().any(|name| name == CONVERSION);
        let is_new = |segment: &Segment| segment.flags.iter().any(|flag| flag == "backup-final");
        let is_on_its_way = is_conversion && self.segments.values().any(|s| is_new(s) && s.offset.0 == 0);
        match self.data_offset().0 {
            0 => Ok(()),
            _ if is_on_its_way => Ok(()),
            data if data >= end => Ok(()),
            data => {
                let why = format!("the keyslots area would end at {end}, after the data at {data}");
                Err(Error::invalid("config.keyslots_size", why))
            }
        }
    }

    /// Where the data starts: the lowest offset of a mapped segment. 0 with a detached header.
    pub fn data_offset(&self) -> Bytes {
        let mapped = self.segments.values().filter(|segment| !segment.is_backup());
        mapped.map(|segment| segment.offset).min().unwrap_or_default()
    }

    /// The digest that verifies a keyslot's key.
    pub fn digest_of_keyslot(&self, keyslot: u32) -> Option<DigestId> {
        self.digests.iter().find(|(_, digest)| digest.keyslots.contains(&keyslot)).map(|(id, _)| *id)
    }

    /// The digest that verifies a segment's key.
    pub fn digest_of_segment(&self, segment: u32) -> Option<DigestId> {
        self.digests.iter().find(|(_, digest)| digest.segments.contains(&segment)).map(|(id, _)| *id)
    }

    /// Whether a keyslot's key opens no mapped segment.
    pub fn is_unbound(&self, keyslot: u32) -> bool {
        let digest = self.digest_of_keyslot(keyslot).and_then(|id| self.digests.get(&id));
        let opens = |id| self.segments.get(id).is_some_and(|segment| !segment.is_backup());
        !digest.is_some_and(|digest| digest.segments.iter().any(opens))
    }

    /// Mandatory requirements that this build does not meet: the volume must be neither opened nor
    /// written.
    pub fn unmet_requirements(&self) -> Vec<&str> {
        self.config.unmet_requirements()
    }

    /// Whether a self-encrypting drive encrypts data by itself, in a locking range that keys in this
    /// header unlock.
    pub fn is_opal(&self) -> bool {
        self.config.requirements.iter().any(|name| name == "opal")
            || self.segments.values().any(Segment::is_opal)
    }

    /// The lowest free keyslot number.
    pub fn free_keyslot(&self) -> Option<u32> {
        lowest_free(&self.keyslots, MAX_OBJECTS)
    }

    /// The lowest free token number.
    pub fn free_token(&self) -> Option<u32> {
        lowest_free(&self.tokens, MAX_OBJECTS)
    }

    /// The lowest free digest number but `taken`.
    pub fn free_digest_beside(&self, taken: Option<DigestId>) -> Option<DigestId> {
        (0..MAX_DIGESTS).find(|id| !self.digests.contains_key(id) && taken != Some(*id))
    }

    /// The lowest free digest number.
    pub fn free_digest(&self) -> Option<DigestId> {
        lowest_free(&self.digests, MAX_DIGESTS)
    }
}

fn read_section<T>(
    section: &Node<'_>,
    read: impl Fn(&Node<'_>) -> Result<T, Error>,
) -> Result<BTreeMap<u32, T>, Error> {
    section.numbered()?.into_iter().map(|(id, node)| Ok((id, read(&node)?))).collect()
}

fn lowest_free<T>(objects: &BTreeMap<u32, T>, limit: u32) -> Option<u32> {
    (0..limit).find(|id| !objects.contains_key(id))
}
