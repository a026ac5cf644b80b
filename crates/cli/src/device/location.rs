//! What an operand names (a path, a device by its UUID, a URL), and whether that exists.

use crate::device::{nbd, remote};
use crate::output::failure::{Exit, Failure, Result};
use keyway::devices;
use keyway::storage::{PartitionName, Readers, image_of};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

/// "UUID=…", "LABEL=…", "PARTUUID=…" and "PARTLABEL=…" become the links that udev keeps for them;
/// a partition of a device is the kernel's device for it, where there is one; anything else stays as
/// it is.
pub(crate) fn resolve(spec: &Path) -> PathBuf {
    if let Some(partition) = PartitionName::of(spec) {
        let node = devices::partition(&partition.image, partition.number);
        return node.unwrap_or_else(|| spec.to_owned());
    }
    let link = spec.to_str().and_then(|text| {
        let (folder, value) =
            LINKS.iter().find_map(|(tag, folder)| Some((folder, text.strip_prefix(tag)?)))?;
        let value = value.trim_matches('"');
        let name = match folder.ends_with("uuid") {
            true if value.chars().all(|c| c.is_ascii_hexdigit() || c == '-') => value.to_ascii_lowercase(),
            true => return None,
            false => in_a_link(value),
        };
        (!name.is_empty()).then(|| Path::new("/dev/disk").join(folder).join(name))
    });
    link.unwrap_or_else(|| spec.to_owned())
}

static LINKS: &[(&str, &str)] = &[
    ("UUID=", "by-uuid"),
    ("LABEL=", "by-label"),
    ("PARTUUID=", "by-partuuid"),
    ("PARTLABEL=", "by-partlabel"),
];

/// A label as udev writes it in the name of a link: what is neither a letter, a digit nor one of a
/// few signs is `\x` and two digits (systemd, `encode_devnode_name`). Shells complete it so already.
fn in_a_link(label: &str) -> String {
    let mut name = String::new();
    for (at, c) in label.char_indices() {
        let is_encoded = c == '\\' && label[at..].starts_with("\\x");
        if c.is_ascii_alphanumeric() || !c.is_ascii() || "#+-.:=@_".contains(c) || is_encoded {
            name.push(c);
        } else {
            name.push_str(&format!("\\x{:02x}", c as u32));
        }
    }
    name
}

/// The operand as a URL, if it is one. (A file with such a name is written `./nbd://…`.)
pub(super) fn url(spec: &Path) -> Option<&str> {
    spec.to_str().filter(|spec| nbd::is_url(spec) || remote::is_url(spec))
}

/// Whether an operand is a URL.
pub(crate) fn is_url(spec: &Path) -> bool {
    url(spec).is_some()
}

/// Whether an operand is read-only by nature: front ends then show it read-only without an option.
pub(crate) fn is_read_only(spec: &Path) -> bool {
    spec.to_str().is_some_and(remote::is_url)
}

/// Whether there is something to open. A URL is assumed to exist: only its server could tell.
pub(crate) fn exists(spec: &Path) -> bool {
    url(spec).is_some() || image_of(spec).exists()
}

/// Refuses a device or file that is not there.
pub(crate) fn check_exists(device: &Path, way_out: &str) -> Result<()> {
    if exists(device) {
        return Ok(());
    }
    let message = format!("Device {} does not exist or access denied{way_out}.", device.display());
    Err(Failure::new(Exit::Device, message))
}

/// Whether it is overwritten in place, at its existing length: a block device, a partition, or the
/// storage behind a URL. Anything else is a file to create.
pub(crate) fn is_given(spec: &Path) -> bool {
    url(spec).is_some()
        || PartitionName::of(spec).is_some_and(|partition| partition.has_table())
        || std::fs::metadata(spec).is_ok_and(|found| found.file_type().is_block_device())
}

/// The path made absolute, because a session leaves the directory that it was started in; URLs
/// stay as they are.
pub(crate) fn absolute(spec: &Path) -> PathBuf {
    let full = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    match PartitionName::of(spec) {
        Some(partition) => partition.at(&full(&partition.image)),
        None => full(spec),
    }
}

/// Who may read an input. For a pipe or an export there are no permissions to copy, so only the
/// umask counts.
pub(crate) fn readers(spec: &Path) -> Readers {
    let path = if spec == Path::new("-") { Path::new("/dev/stdin") } else { spec };
    let has_mode = |found: &std::fs::Metadata| found.is_file() || found.file_type().is_block_device();
    match std::fs::metadata(path) {
        _ if is_url(spec) => Readers::Anybody,
        Ok(found) if !has_mode(&found) => Readers::Anybody,
        _ => Readers::of(&image_of(path)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_become_udevs_links() {
        for (spec, path) in [
            ("UUID=0123-AB", "/dev/disk/by-uuid/0123-ab"),
            ("PARTUUID=0123-AB", "/dev/disk/by-partuuid/0123-ab"),
            ("LABEL=home", "/dev/disk/by-label/home"),
            ("PARTLABEL=my disk/1", "/dev/disk/by-partlabel/my\\x20disk\\x2f1"),
            ("PARTLABEL=my\\x20disk", "/dev/disk/by-partlabel/my\\x20disk"),
            ("PARTLABEL=\"Größe\"", "/dev/disk/by-partlabel/Größe"),
            ("LABEL=../../sda", "/dev/disk/by-label/..\\x2f..\\x2fsda"),
            ("UUID=../sda", "UUID=../sda"),
            ("LABEL=", "LABEL="),
            ("disk.img", "disk.img"),
        ] {
            assert_eq!(resolve(Path::new(spec)), Path::new(path), "{spec}");
        }
    }
}
