//! How tables and command lines name a device: by a path, or by a tag and a value (fstab(5),
//! crypttab(5)).

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// A name that is not a path: `UUID=…`, `LABEL=…`, `PARTUUID=…`, `PARTLABEL=…`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tagged {
    /// What the value names.
    pub tag: Tag,
    /// The value, without quotes.
    pub value: String,
}

/// What a tag's value names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tag {
    /// The UUID of a volume or file system.
    Uuid,
    /// The label of a volume or file system.
    Label,
    /// The UUID of a partition.
    PartUuid,
    /// The name of a partition.
    PartLabel,
}

impl Tagged {
    /// Parses the name of a device; `None` if it is a path.
    pub fn parse(spec: &OsStr) -> Option<Self> {
        let text = spec.to_string_lossy();
        TAGS.iter().find_map(|(start, tag, _)| {
            let value = text.strip_prefix(start)?.trim_matches('"');
            Some(Self { tag: *tag, value: value.to_owned() })
        })
    }

    /// Where udev puts a link to the device.
    pub fn link(&self) -> PathBuf {
        let links = TAGS.iter().find_map(|(_, tag, links)| (*tag == self.tag).then_some(*links));
        Path::new("/dev/disk").join(links.unwrap_or_default()).join(&self.value)
    }

    /// Whether this is the device whose UUID or label is `found`.
    pub fn means(&self, found: &str) -> bool {
        match self.tag {
            Tag::Uuid | Tag::PartUuid => found.eq_ignore_ascii_case(&self.value),
            // Most file systems have no label.
            Tag::Label => !found.is_empty() && found == self.value,
            Tag::PartLabel => found == self.value,
        }
    }
}

const TAGS: &[(&str, Tag, &str)] = &[
    ("UUID=", Tag::Uuid, "by-uuid"),
    ("LABEL=", Tag::Label, "by-label"),
    ("PARTUUID=", Tag::PartUuid, "by-partuuid"),
    ("PARTLABEL=", Tag::PartLabel, "by-partlabel"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_and_their_values() {
        let tagged = |text: &str| Tagged::parse(text.as_ref()).unwrap();
        let uuid = tagged("UUID=0A1B");
        assert_eq!(uuid.link(), Path::new("/dev/disk/by-uuid/0A1B"));
        assert!(uuid.means("0a1b") && !uuid.means("0a1"));
        let label = tagged("LABEL=\"my disk\"");
        assert_eq!((label.tag, &*label.value), (Tag::Label, "my disk"));
        assert!(label.means("my disk") && !label.means("My disk") && !tagged("LABEL=").means(""));
        assert_eq!(tagged("PARTUUID=0815-01").link(), Path::new("/dev/disk/by-partuuid/0815-01"));
        assert!(tagged("PARTLABEL=root").means("root") && !tagged("PARTLABEL=root").means("Root"));
        assert_eq!(Tagged::parse("/dev/sda".as_ref()), None);
    }
}
