//! How tables and command lines name a device: by a path, or by a tag and a value (fstab(5), crypttab(5), blkid(8)).
//!
//! ```text
//! UUID=… LABEL=… PARTUUID=… PARTLABEL=…   the value quoted or not; \xHH in it is a byte, as udev writes it
//! /dev/disk/by-uuid/… by-label by-partuuid by-partlabel   udev's links for the same: read as tags, so that no udev is needed
//! UUID=luks-…      as dracut(8) takes it;  UUID=477e*  the one whose UUID begins so (rd.luks.uuid= of dracut.cmdline(7))
//! PARTUUID=…/PARTNROFF=1   the partition after that one (the kernel's root=, admin-guide/kernel-parameters)
//! ID=… WWID=…  HWPATH=…    udev's links by-id and by-path (blkid(8), booster(1))
//! ```

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// A name that is not a path: `UUID=…`, `LABEL=…`, `PARTUUID=…`, `PARTLABEL=…`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tagged {
    /// What the value names.
    pub tag: Tag,
    /// The value, without quotes and escapes.
    pub value: String,
    /// The value is only how the UUID begins.
    pub is_start: bool,
    /// How many partitions after the named one.
    pub after: i32,
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
        let text = unquoted(&text);
        TAGS.iter().find_map(|(name, tag, links)| {
            let link = || text.strip_prefix("/dev/disk/")?.strip_prefix(links)?.strip_prefix('/');
            let value = tag_value(text, name).map(unquoted).or_else(link)?;
            Some(Self::of(*tag, value))
        })
    }

    fn of(tag: Tag, value: &str) -> Self {
        let value = unescaped(value);
        let (value, after) = match value.split_once("/PARTNROFF=") {
            Some((uuid, offset)) if tag == Tag::PartUuid => {
                (uuid.to_owned(), offset.parse().unwrap_or(i32::MAX))
            }
            _ => (value, 0),
        };
        let is_uuid = matches!(tag, Tag::Uuid | Tag::PartUuid);
        let bare = Some(&*value).filter(|_| is_uuid).and_then(|value| value.strip_prefix("luks-"));
        let bare = bare.unwrap_or(&value);
        // Every UUID begins with nothing.
        let start = bare.strip_suffix('*').filter(|start| is_uuid && !start.is_empty());
        Self { tag, value: start.unwrap_or(bare).to_owned(), is_start: start.is_some(), after }
    }

    /// Where udev puts a link to the device; `None` where it makes none.
    pub fn link(&self) -> Option<PathBuf> {
        let links = TAGS.iter().find_map(|(_, tag, links)| (*tag == self.tag).then_some(*links))?;
        let name = escaped(&self.value);
        let has = !self.is_start && self.after == 0 && !name.is_empty();
        has.then(|| Path::new("/dev/disk").join(links).join(name))
    }

    /// Whether this is the device whose UUID or label is `found`.
    pub fn means(&self, found: &str) -> bool {
        match self.tag {
            Tag::Uuid | Tag::PartUuid if self.is_start => {
                found.get(..self.value.len()).is_some_and(|start| start.eq_ignore_ascii_case(&self.value))
            }
            Tag::Uuid | Tag::PartUuid => !found.is_empty() && found.eq_ignore_ascii_case(&self.value),
            // Most file systems have no label.
            Tag::Label => !found.is_empty() && found == self.value,
            Tag::PartLabel => found == self.value,
        }
    }
}

/// The name of a device in the one form in which two names of it that are written differently are equal.
pub(crate) fn same_form(spec: &OsStr) -> String {
    match Tagged::parse(spec) {
        Some(tagged) => {
            let is_uuid = matches!(tagged.tag, Tag::Uuid | Tag::PartUuid);
            let value = if is_uuid { tagged.value.to_ascii_lowercase() } else { tagged.value.clone() };
            let star = if tagged.is_start { "*" } else { "" };
            format!("{:?}={value}{star}+{}", tagged.tag, tagged.after)
        }
        None => {
            let text = spec.to_string_lossy();
            let link = link_by_hardware(&text).map(|link| link.to_string_lossy().into_owned());
            link.unwrap_or_else(|| text.into_owned()).to_ascii_lowercase()
        }
    }
}

/// Whether two names are written for one device; a beginning of a UUID is one of every UUID that begins so.
pub fn is_one(one: &OsStr, other: &OsStr) -> bool {
    let begins = |start: &OsStr, whole: &OsStr| {
        let tagged = Tagged::parse(start).zip(Tagged::parse(whole));
        tagged.is_some_and(|(start, whole)| {
            start.is_start
                && start.tag == whole.tag
                && start.after == whole.after
                && start.means(&whole.value)
        })
    };
    same_form(one) == same_form(other) || begins(one, other) || begins(other, one)
}

/// udev's link that `ID=…` and the like are written for.
pub fn link_by_hardware(text: &str) -> Option<PathBuf> {
    let text = unquoted(text);
    let (links, name) = HARDWARE.iter().find_map(|(tag, links)| Some((links, tag_value(text, tag)?)))?;
    Some(Path::new("/dev/disk").join(links).join(unquoted(name)))
}

/// Whether the text names a device, and no file elsewhere.
pub fn is_device(text: &str) -> bool {
    text.starts_with("/dev/") || is_tag(text)
}

/// Whether the text names a device by a tag and a value.
pub(crate) fn is_tag(text: &str) -> bool {
    link_by_hardware(text).is_some() || (!text.starts_with('/') && Tagged::parse(text.as_ref()).is_some())
}

/// `TAG=VALUE` and what follows the next `=`.
pub(crate) fn split_tag(text: &str) -> Option<(&str, &str)> {
    let value = text.find('=').filter(|_| is_tag(text))? + 1;
    let end = text[value..].find('=').map(|end| value + end)?;
    Some((&text[..end], &text[end + 1..]))
}

/// The name of a device with `*` behind a UUID that is shorter than any file system's: a beginning.
pub(crate) fn or_beginning(text: &str) -> String {
    let uuid =
        tag_value(text, "UUID").filter(|uuid| uuid.bytes().all(|b| b == b'-' || b.is_ascii_hexdigit()));
    let is_whole =
        |uuid: &str| WHOLE_UUIDS.contains(&uuid.len()) || uuid.len() == 9 && uuid.as_bytes()[4] == b'-';
    match uuid {
        Some(uuid) if !uuid.is_empty() && !is_whole(uuid) => format!("{text}*"),
        _ => text.to_owned(),
    }
}

/// `PATH[:DEVICE[:DEVICE]]` in its parts. Names of devices may have colons (by-path).
pub fn parts(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut start, starts) = (0, text.match_indices(':'));
    for (at, _) in starts.filter(|(at, _)| is_device(&text[at + 1..])) {
        parts.push(&text[start..at]);
        start = at + 1;
    }
    parts.push(&text[start..]);
    parts
}

/// The value of `NAME=…`, in upper or lower case.
fn tag_value<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let (found, value) = text.split_once('=')?;
    found.eq_ignore_ascii_case(name).then_some(value)
}

fn unquoted(text: &str) -> &str {
    text.trim_matches(['"', '\''])
}

/// `\xHH` decoded.
fn unescaped(text: &str) -> String {
    let (mut bytes, mut rest) = (Vec::with_capacity(text.len()), text.as_bytes());
    while let Some((&first, after)) = rest.split_first() {
        let digits = rest.strip_prefix(b"\\x").and_then(|digits| std::str::from_utf8(digits.get(..2)?).ok());
        let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(byte.unwrap_or(first));
        rest = if byte.is_some() { &rest[4..] } else { after };
    }
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}

/// As udev writes it in the name of a link.
fn escaped(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "#+-.:=@_".contains(c) || !c.is_ascii();
    text.chars().map(|c| if plain(c) { c.to_string() } else { format!("\\x{:02x}", u32::from(c)) }).collect()
}

/// Names that only hardware has, and the folder of udev's links for them.
const HARDWARE: &[(&str, &str)] = &[("ID", "by-id"), ("WWID", "by-id"), ("HWPATH", "by-path")];
/// How long UUIDs are: NTFS's and UDF's, ISO 9660's, all others; FAT's are `0815-4711`.
const WHOLE_UUIDS: &[usize] = &[16, 22, 36];
const TAGS: &[(&str, Tag, &str)] = &[
    ("UUID", Tag::Uuid, "by-uuid"),
    ("LABEL", Tag::Label, "by-label"),
    ("PARTUUID", Tag::PartUuid, "by-partuuid"),
    ("PARTLABEL", Tag::PartLabel, "by-partlabel"),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn tagged(text: &str) -> Tagged {
        Tagged::parse(text.as_ref()).unwrap()
    }

    #[test]
    fn tags_and_their_values() {
        let uuid = tagged("UUID=0A1B");
        assert_eq!(uuid.link().as_deref(), Some(Path::new("/dev/disk/by-uuid/0A1B")));
        assert!(uuid.means("0a1b") && !uuid.means("0a1"));
        let label = tagged("LABEL=\"my disk\"");
        assert_eq!((label.tag, &*label.value), (Tag::Label, "my disk"));
        assert!(label.means("my disk") && !label.means("My disk") && !tagged("LABEL=").means(""));
        assert_eq!(tagged("PARTUUID=0815-01").link().unwrap(), Path::new("/dev/disk/by-partuuid/0815-01"));
        assert!(tagged("PARTLABEL=root").means("root") && !tagged("PARTLABEL=root").means("Root"));
        assert_eq!(Tagged::parse("/dev/sda".as_ref()), None);
        assert_eq!(Tagged::parse("/dev/disk/by-id/ata-X".as_ref()), None);
    }

    #[test]
    fn every_spelling_of_a_device_is_one() {
        for (one, other) in [
            ("/dev/disk/by-uuid/477e9f69-B3A3", "UUID=477e9f69-b3a3"),
            ("\"UUID=477e9f69-b3a3\"", "uuid='477E9F69-b3a3'"),
            ("UUID=luks-477e9f69-b3a3", "UUID=477e9f69-b3a3"),
            ("/dev/disk/by-label/my\\x20disk", "LABEL=\"my disk\""),
            ("LABEL=a\\x2fb", "LABEL=a/b"),
            ("/dev/disk/by-partlabel/EFI\\x20system", "PARTLABEL=EFI system"),
            ("/dev/disk/by-partuuid/0815-01", "PARTUUID=0815-01"),
            ("/dev/SDA", "/dev/sda"),
            ("HWPATH=pci-0000:00:1f.2-ata-1", "/dev/disk/by-path/pci-0000:00:1f.2-ata-1"),
        ] {
            assert_eq!(same_form(one.as_ref()), same_form(other.as_ref()), "{one}");
        }
        for (one, other) in [("LABEL=a", "LABEL=A"), ("LABEL=x", "PARTLABEL=x"), ("UUID=ab", "UUID=ab*")] {
            assert_ne!(same_form(one.as_ref()), same_form(other.as_ref()), "{one}");
        }
    }

    #[test]
    fn a_link_is_named_as_udev_names_it_and_stays_in_its_folder() {
        assert_eq!(tagged("LABEL=my disk").link().unwrap(), Path::new("/dev/disk/by-label/my\\x20disk"));
        assert_eq!(tagged("UUID=../sda").link().unwrap(), Path::new("/dev/disk/by-uuid/..\\x2fsda"));
        assert_eq!(tagged("UUID=ab*").link(), None);
    }

    #[test]
    fn a_start_and_the_partition_after() {
        let start = tagged("UUID=luks-477E*");
        assert!(
            start.is_start && start.means("477e9f69-b3a3") && !start.means("477") && !start.means("577e")
        );
        let after = tagged("PARTUUID=0815-01/PARTNROFF=1");
        assert_eq!((&*after.value, after.after, after.link()), ("0815-01", 1, None));
        assert_eq!(tagged("PARTUUID=0815/PARTNROFF=-2").after, -2);
        assert_eq!(tagged("LABEL=a*").value, "a*");
        for nothing in ["UUID=*", "UUID=luks-*", "PARTUUID=*"] {
            assert!(!tagged(nothing).is_start && !tagged(nothing).means("477e9f69-b3a3"), "{nothing}");
        }
        let is_one = |one: &str, other: &str| is_one(one.as_ref(), other.as_ref());
        assert!(is_one("UUID=477E*", "UUID=477e9f69-b3a3") && is_one("UUID=477e9f69", "UUID=477e*"));
        assert!(!is_one("UUID=477e*", "PARTUUID=477e9f69") && !is_one("UUID=477e*", "UUID=478e9f69"));
    }

    #[test]
    fn a_file_and_its_devices() {
        assert_eq!(parts("/k:LABEL=KEYS:UUID=ab"), ["/k", "LABEL=KEYS", "UUID=ab"]);
        assert_eq!(
            parts("/k:/dev/disk/by-path/pci-0000:00:14.0-usb-0:1:1.0"),
            ["/k", "/dev/disk/by-path/pci-0000:00:14.0-usb-0:1:1.0"]
        );
        assert_eq!(parts("/a:b"), ["/a:b"]);
        assert_eq!(parts("/k:*"), ["/k:*"], "no device is any device");
        assert_eq!(parts("/h:ID=usb-x"), ["/h", "ID=usb-x"]);
        assert_eq!(parts("/h:HWPATH=pci-0000:00:1f.2-ata-1"), ["/h", "HWPATH=pci-0000:00:1f.2-ata-1"]);
    }

    #[test]
    fn hardware_is_named_by_udevs_links() {
        for (text, link) in [
            ("ID=usb-x", Some("/dev/disk/by-id/usb-x")),
            ("wwid=\"nvme-A_B-part3\"", Some("/dev/disk/by-id/nvme-A_B-part3")),
            ("HWPATH=pci-0000:02:00.0-nvme-1-part2", Some("/dev/disk/by-path/pci-0000:02:00.0-nvme-1-part2")),
            ("UUID=ab", None),
            ("/dev/sda", None),
        ] {
            assert_eq!(link_by_hardware(text).as_deref(), link.map(Path::new), "{text}");
        }
        assert_eq!(split_tag("PARTLABEL=crypt=root"), Some(("PARTLABEL=crypt", "root")));
        assert_eq!(
            (split_tag("477e=root"), split_tag("LABEL=crypt"), split_tag("/dev/a=r")),
            (None, None, None)
        );
    }

    #[test]
    fn a_uuid_that_no_file_system_has_is_a_beginning() {
        let whole = "UUID=477e9f69-b3a3-4ae7-b62c-53577e62fa50";
        for (text, read) in [
            ("UUID=0a1b", "UUID=0a1b*"),
            ("uuid=477e9f69-b3a3", "uuid=477e9f69-b3a3*"),
            (whole, whole),
            ("UUID=ABCD-1234", "UUID=ABCD-1234"),
            ("UUID=01D0AFFE01D0AFFE", "UUID=01D0AFFE01D0AFFE"),
            ("UUID=2026-11-28-07-00-00-00", "UUID=2026-11-28-07-00-00-00"),
            ("LABEL=0a1b", "LABEL=0a1b"),
            ("/dev/sdb1", "/dev/sdb1"),
            ("UUID=", "UUID="),
        ] {
            assert_eq!(or_beginning(text), read, "{text}");
        }
    }
}
