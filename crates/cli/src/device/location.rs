//! What an operand names (a path, a device by its UUID, a URL), and whether that exists.

use crate::device::{nbd, remote};
use keyway_volume::storage::Readers;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

/// "UUID=…" becomes the link that udev keeps for it; anything else stays as it is.
pub(crate) fn resolve(spec: &Path) -> PathBuf {
    let uuid = spec.to_str().and_then(|s| s.strip_prefix("UUID="));
    match uuid {
        Some(uuid) if uuid.chars().all(|c| c.is_ascii_hexdigit() || c == '-') => {
            Path::new("/dev/disk/by-uuid").join(uuid.to_ascii_lowercase())
        }
        _ => spec.to_owned(),
    }
}

/// The operand as a URL, if it is one. (A file with such a name is written `./nbd://…`.)
pub(super) fn url(spec: &Path) -> Option<&str> {
    spec.to_str().filter(|spec| nbd::is_url(spec) || remote::is_url(spec))
}

/// Whether an operand is a URL.
pub(crate) fn is_url(spec: &Path) -> bool {
    url(spec).is_some()
}

/// Whether an operand is read-only by nature: doors then show it read-only without an option.
pub(crate) fn is_read_only(spec: &Path) -> bool {
    spec.to_str().is_some_and(remote::is_url)
}

/// Whether there is something to open. A URL is assumed to exist: only its server could tell.
pub(crate) fn exists(spec: &Path) -> bool {
    url(spec).is_some() || spec.exists()
}

/// Whether it is overwritten in place, at its existing length: a block device, or the storage
/// behind a URL. Anything else is a file to create.
pub(crate) fn is_given(spec: &Path) -> bool {
    url(spec).is_some() || std::fs::metadata(spec).is_ok_and(|found| found.file_type().is_block_device())
}

/// Who may read an input. For a pipe or an export there are no permissions to copy, so only the
/// umask counts.
pub(crate) fn readers(spec: &Path) -> Readers {
    let path = if spec == Path::new("-") { Path::new("/dev/stdin") } else { spec };
    let has_mode = |found: &std::fs::Metadata| found.is_file() || found.file_type().is_block_device();
    match std::fs::metadata(path) {
        _ if is_url(spec) => Readers::Anybody,
        Ok(found) if !has_mode(&found) => Readers::Anybody,
        _ => Readers::of(path),
    }
}
