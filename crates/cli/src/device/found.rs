//! Finding a device by the name that a table or a command line gives it, without udev too: among the
//! kernel's block devices, by what is on each. And whether such a name means a given device.

use crate::device;
use keyway_boot::device_spec::{Tag, Tagged};
use keyway_volume::block_devices::{self, BlockDevice};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// The device that a table or a command line names; `None` if it is not there yet.
pub(crate) fn find(spec: &OsStr) -> Option<PathBuf> {
    let Some(tagged) = Tagged::parse(spec) else {
        return Some(path_of(spec)).filter(|path| device::exists(path));
    };
    let link = tagged.link();
    if link.exists() {
        return Some(link);
    }
    let found = block_devices::all().into_iter().find(|device| is(device, &tagged));
    found.map(|device| device.node().to_owned())
}

/// Whether `spec` names the device at `path`, however that is written: the one that is found first
/// under that name, or another one with that UUID or label.
pub(crate) fn is_meant(spec: &OsStr, path: &Path) -> bool {
    let is_here = |found: &Path| device::is_same(found, path);
    let has = |tagged: Tagged| {
        block_devices::all().iter().any(|device| is_here(device.node()) && is(device, &tagged))
    };
    spec == path || find(spec).is_some_and(|found| is_here(&found)) || Tagged::parse(spec).is_some_and(has)
}

/// A device's path as a table writes it; udev keeps links for each kind of name.
pub(crate) fn path_of(spec: &OsStr) -> PathBuf {
    match spec.to_string_lossy().strip_prefix("ID=") {
        Some(name) => Path::new("/dev/disk/by-id").join(name.trim_matches('"')),
        None => device::resolve(Path::new(spec)),
    }
}

fn is(device: &BlockDevice, tagged: &Tagged) -> bool {
    let found = match tagged.tag {
        Tag::Uuid => device.identity().map(|identity| identity.uuid),
        Tag::Label => device.identity().map(|identity| identity.label),
        Tag::PartUuid => device.partition_uuid(),
        Tag::PartLabel => device.partition_label(),
    };
    found.is_some_and(|found| tagged.means(&found))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a04_a_device_is_meant_under_every_name() {
        let scratch = std::env::temp_dir().join(format!("keyway-meant-{}", std::process::id()));
        fs::create_dir_all(scratch.join("below")).unwrap();
        let file = scratch.join("file");
        fs::write(&file, "x").unwrap();
        fs::write(scratch.join("other"), "x").unwrap();
        std::os::unix::fs::symlink(&file, scratch.join("link")).unwrap();
        fs::hard_link(&file, scratch.join("name")).unwrap();
        for name in ["file", "link", "name", "below/../file", "./file"] {
            assert!(is_meant(scratch.join(name).as_os_str(), &file), "{name}");
        }
        for name in ["other", "none"] {
            assert!(!is_meant(scratch.join(name).as_os_str(), &file), "{name}");
        }
        assert!(!is_meant(OsStr::new("UUID=no-such-uuid"), &file));
        assert!(is_meant(OsStr::new("nbd://host/export"), Path::new("nbd://host/export")));
        assert_eq!(find(OsStr::new("UUID=no-such-uuid")), None);
        fs::remove_dir_all(scratch).unwrap();
    }
}
