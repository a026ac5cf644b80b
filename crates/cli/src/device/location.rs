//! What an operand names: a path, a device by its UUID, a URL; and whether that is there.

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

/// The operand as a URL, when it is one. (A file of such a name is `./nbd://…`.)
pub(super) fn url(spec: &Path) -> Option<&str> {
    spec.to_str().filter(|spec| nbd::is_url(spec) || remote::is_url(spec))
}

/// Whether an operand is a URL.
pub(crate) fn is_url(spec: &Path) -> bool {
    url(spec).is_some()
}

/// Whether an operand can be read only: a door shows it so without being told.
pub(crate) fn is_read_only(spec: &Path) -> bool {
    spec.to_str().is_some_and(remote::is_url)
}

/// Whether there is something to open; of a URL only its server knows.
pub(crate) fn exists(spec: &Path) -> bool {
    url(spec).is_some() || spec.exists()
}

/// Whether it is written where it stands, and as long as it is: a block device, or what is
/// behind a URL. Anything else is a file to be made.
pub(crate) fn is_given(spec: &Path) -> bool {
    url(spec).is_some() || std::fs::metadata(spec).is_ok_and(|found| found.file_type().is_block_device())
}

/// Who may read an input: of a pipe or an export only the umask tells.
pub(crate) fn readers(spec: &Path) -> Readers {
    let path = if spec == Path::new("-") { Path::new("/dev/stdin") } else { spec };
    let has_mode = |found: &std::fs::Metadata| found.is_file() || found.file_type().is_block_device();
    match std::fs::metadata(path) {
        _ if is_url(spec) => Readers::Anybody,
        Ok(found) if !has_mode(&found) => Readers::Anybody,
        _ => Readers::of(path),
    }
}
