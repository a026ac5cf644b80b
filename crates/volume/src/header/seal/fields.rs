//! The fields that a seal covers, as names and values: each member of a JSON tree under its path
//! ("segments.0.encryption").

use crate::Header;
use crate::error::Difference;
use keyway_format::json::{Object, Value};
use keyway_format::luks2::{BinaryHeader, Metadata, SegmentKind, SegmentSize};
use std::collections::{BTreeMap, BTreeSet};

/// Values by path, as compact JSON, so that strings and numbers remain distinct.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Fields(BTreeMap<String, String>);

/// The part of a header and its device that decides how data is read, as the seal stores it.
pub(super) fn sealed_part(binary: &BinaryHeader, metadata: &Metadata, data_len: Option<u64>) -> Object {
    let header = Object::new()
        .with("size", binary.size.bytes().0.to_string())
        .with("uuid", binary.uuid.as_str())
        .with("label", binary.label.as_str())
        .with("subsystem", binary.subsystem.as_str());
    let end = |data_len| Object::new().with("end", data_end(metadata, data_len).to_string());
    let data = data_len.map_or(Value::Null, |data_len| end(data_len).into());
    let section = |name: &str| metadata.document().get(name).cloned().unwrap_or(Value::Null);
    let mut digests = section("digests");
    if let Some(digests) = digests.as_object_mut() {
        digests.retain(|_, digest| serves_segments(digest));
        for (_, digest) in digests.iter_mut() {
            digest.as_object_mut().map(|digest| digest.remove("keyslots"));
        }
    }
    Object::new()
        .with("header", header)
        .with("data", data)
        .with("segments", section("segments"))
        .with("digests", digests)
        .with("config", section("config"))
}

/// Copies the fields of the device from an older seal.
pub(super) fn take_data(sealed: &mut Object, old: &Object) {
    sealed.set("data", old.get("data").cloned().unwrap_or(Value::Null));
}

/// Digests of unbound keys are added and removed with their keyslots.
fn serves_segments(digest: &Value) -> bool {
    let segments = digest.as_object().and_then(|digest| digest.get("segments")).and_then(Value::as_array);
    segments.is_some_and(|segments| !segments.is_empty())
}

/// The first byte after the data, in whole sectors.
fn data_end(metadata: &Metadata, data_len: u64) -> u64 {
    let end = |segment: &keyway_format::luks2::Segment| match segment.size {
        SegmentSize::Fixed(size) => segment.offset.0.saturating_add(size.0),
        SegmentSize::Dynamic => {
            let sector = match segment.kind {
                SegmentKind::Crypt { sector_size, .. } => u64::from(sector_size),
                SegmentKind::Linear | SegmentKind::Other(_) => 512,
            };
            let length = data_len.saturating_sub(segment.offset.0);
            segment.offset.0.saturating_add(length - length % sector)
        }
    };
    metadata.segments.values().filter(|segment| !segment.is_backup()).map(end).max().unwrap_or(0)
}

impl Fields {
    /// `None` for LUKS1.
    pub(super) fn of_header(header: &Header, data_len: Option<u64>) -> Option<Self> {
        let Header::Luks2 { binary, metadata } = header else { return None };
        Some(Self::of(&sealed_part(binary, metadata, data_len)))
    }

    pub(super) fn of(sealed: &Object) -> Self {
        let mut fields = Self(BTreeMap::new());
        for (name, value) in sealed.iter() {
            fields.add(step(name), value);
        }
        fields
    }

    fn add(&mut self, path: String, value: &Value) {
        match value {
            Value::Object(object) if !object.is_empty() => {
                object.iter().for_each(|(name, value)| self.add(format!("{path}.{}", step(name)), value));
            }
            Value::Array(items) if !items.is_empty() => {
                items.iter().enumerate().for_each(|(at, value)| self.add(format!("{path}[{at}]"), value));
            }
            value => drop(self.0.insert(path, value.to_compact())),
        }
    }

    /// An unambiguous encoding: the number of fields, then each name and value preceded by its
    /// length.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = (self.0.len() as u64).to_be_bytes().to_vec();
        for text in self.0.iter().flat_map(|(path, value)| [path, value]) {
            bytes.extend((text.len() as u64).to_be_bytes());
            bytes.extend(text.as_bytes());
        }
        bytes
    }

    /// All differences, by the names of the fields.
    pub(super) fn differences(&self, now: &Self) -> Vec<Difference> {
        // If the device was not examined, its fields cannot differ; if it was, differences in the
        // header itself come first.
        let unknown = now.0.contains_key("data");
        let of_device = |field: &str| field.split('.').next() == Some("data");
        let differs =
            |field: &&String| self.0.get(*field) != now.0.get(*field) && !(unknown && of_device(field));
        let names: BTreeSet<&String> = self.0.keys().chain(now.0.keys()).filter(differs).collect();
        let (device, header): (Vec<&String>, Vec<&String>) =
            names.into_iter().partition(|field| of_device(field));
        let difference = |field: &String| Difference {
            field: field.clone(),
            sealed: self.0.get(field).cloned(),
            now: now.0.get(field).cloned(),
        };
        header.into_iter().chain(device).map(difference).collect()
    }
}

/// A member's name as part of a path: characters with a meaning in paths are escaped.
fn step(name: &str) -> String {
    name.replace('~', "~0").replace('.', "~1").replace('[', "~2")
}
