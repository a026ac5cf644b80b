//! Finding a device by the name that a table or a command line gives it, without udev too: among the
//! kernel's block devices, by what is on each. And whether such a name means a given device.

use crate::device::{self, hardware};
use keyway::devices::{self, BlockDevice};
use keyway::storage::File;
use keyway_boot::device_spec::{Tag, Tagged, link_by_hardware};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// The device that a table or a command line names; `None` if it is not there yet, or cannot be told from others.
pub(crate) fn find(spec: &OsStr) -> Option<PathBuf> {
    let Some(tagged) = Tagged::parse(spec) else {
        let path = path_of(spec);
        return if device::exists(&path) { Some(path) } else { hardware::find(&path) };
    };
    if let Some(link) = tagged.link().filter(|link| link.exists()) {
        return Some(link);
    }
    let all = devices::all();
    let mut found = all.iter().filter(|device| is(device, &tagged));
    let (first, another) = (found.next()?, found.next());
    match tagged.after {
        _ if tagged.is_start && another.is_some() => None,
        0 => Some(first.node().to_owned()),
        after => first.partition_after(after),
    }
}

/// All devices that have the UUID or label; else the one that is named.
pub(crate) fn all(spec: &OsStr) -> Vec<PathBuf> {
    match Tagged::parse(spec).filter(|tagged| tagged.after == 0) {
        Some(tagged) => {
            let all = devices::all();
            let having = all.iter().filter(|device| is(device, &tagged));
            having.map(|device| device.node().to_owned()).collect()
        }
        None => find(spec).into_iter().collect(),
    }
}

/// Why no device will ever appear under that name, if that is known.
pub(crate) fn refusal(spec: &OsStr) -> Option<String> {
    let shown = spec.to_string_lossy();
    let Some(tagged) = Tagged::parse(spec) else { return hardware::refusal(&path_of(spec)) };
    let several =
        tagged.is_start && devices::all().iter().filter(|device| is(device, &tagged)).nth(1).is_some();
    several.then(|| format!("{shown}: several devices have a UUID that begins like this; give it in full"))
}

/// Whether `spec` names the device at `path`, however that is written: the one that is found first
/// under that name, or another one with that UUID or label.
pub(crate) fn is_meant(spec: &OsStr, path: &Path) -> bool {
    let is_here = |found: &Path| device::is_same(found, path);
    let is_it =
        |tagged: Tagged| devices::all().iter().any(|device| is_here(device.node()) && has(device, &tagged));
    spec == path || find(spec).is_some_and(|found| is_here(&found)) || Tagged::parse(spec).is_some_and(is_it)
}

/// A device's path as a table writes it; udev keeps links for each kind of name.
pub(crate) fn path_of(spec: &OsStr) -> PathBuf {
    if let Some(link) = link_by_hardware(&spec.to_string_lossy()) {
        return link;
    }
    let Some(tagged) = Tagged::parse(spec) else { return device::resolve(Path::new(spec)) };
    let lower = || Tagged { value: tagged.value.to_ascii_lowercase(), ..tagged.clone() }.link();
    let is_uuid = matches!(tagged.tag, Tag::Uuid | Tag::PartUuid);
    let link = tagged.link().filter(|link| !is_uuid || link.exists());
    // FAT's UUIDs are in upper case, all others in lower case.
    link.or_else(lower).unwrap_or_else(|| PathBuf::from(spec))
}

/// The UUID of what is on the device.
pub(crate) fn uuid(device: &Path) -> Option<String> {
    let storage = File::open(device).ok()?;
    let identity = devices::identity(&storage).ok()??;
    Some(identity.uuid).filter(|uuid| !uuid.is_empty())
}

/// Whether the device has a LUKS header; `None` if it cannot be read.
pub(crate) fn has_luks(device: &Path) -> Option<bool> {
    let storage = File::open(device).ok()?;
    let found = devices::signatures_at_start(&storage).ok()?;
    Some(found.iter().any(|found| found.blkid == "crypto_LUKS"))
}

/// Whether `spec` is the UUID of the volume whose header is at `header`, apart from its data.
pub(crate) fn is_header_of(spec: &OsStr, header: &Path) -> bool {
    let tagged = Tagged::parse(spec).filter(|tagged| tagged.tag == Tag::Uuid);
    tagged.zip(uuid(header)).is_some_and(|(tagged, found)| tagged.means(&found))
}

/// Whether the device is a member of an array of md RAID, which may begin as the array does.
pub(crate) fn is_raid_member(device: &File) -> bool {
    is_member_of(device, "linux_raid_member")
}

/// Whether the device is a member of an array of this kind, by blkid's name for its members.
pub(crate) fn is_member_of(device: &File, kind: &str) -> bool {
    devices::signatures(device).unwrap_or_default().iter().any(|found| found.blkid == kind)
}

/// A half of a mirror has the UUID and the label of the mirror, and is not found by them.
fn is(device: &BlockDevice, tagged: &Tagged) -> bool {
    has(device, tagged) && is_whole(device.node(), tagged.tag)
}

fn is_whole(node: &Path, tag: Tag) -> bool {
    let of_content = matches!(tag, Tag::Uuid | Tag::Label);
    !of_content || !File::open(node).is_ok_and(|device| is_raid_member(&device))
}

/// Whether it has that UUID or label, a half of a mirror too: what a table demands of it holds, whatever mark of a member
/// somebody puts on the disk.
fn has(device: &BlockDevice, tagged: &Tagged) -> bool {
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
    fn a_device_is_meant_under_every_name() {
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

    /// mdadm's superblock of version 0.90, behind what looks like a volume.
    #[test]
    fn a_half_of_a_mirror_is_told_from_a_volume() {
        use std::os::unix::fs::FileExt;
        let superblock = include_bytes!("../../../boot/tests/md/old-0");
        let path = std::env::temp_dir().join(format!("keyway-half-{}", std::process::id()));
        let file = fs::File::create(&path).unwrap();
        file.set_len(44 << 20).unwrap();
        let is_member = || is_raid_member(&File::open(&path).unwrap());
        file.write_all_at(b"LUKS\xba\xbe\0\x02", 0).unwrap();
        assert_eq!((has_luks(&path), is_member()), (Some(true), false));
        file.write_all_at(superblock, (44 << 20) - (64 << 10)).unwrap();
        assert_eq!((has_luks(&path), is_member()), (Some(true), true));
        // What is on the disk does not name the half; where the half is does.
        assert!(
            !is_whole(&path, Tag::Uuid) && !is_whole(&path, Tag::Label) && is_whole(&path, Tag::PartUuid)
        );
        fs::remove_file(path).unwrap();
    }

    #[test]
    fn a_header_tells_of_whom_it_is() {
        const UUID: &str = "477e9f69-b3a3-4ae7-b62c-53577e62fa50";
        let file = std::env::temp_dir().join(format!("keyway-header-{}", std::process::id()));
        let mut header = vec![0; 16384];
        assert_eq!(has_luks(&file), None, "it may have one: it cannot be read");
        fs::write(&file, &header).unwrap();
        assert_eq!(has_luks(&file), Some(false));
        header[..8].copy_from_slice(b"LUKS\xba\xbe\0\x02");
        header[168..168 + UUID.len()].copy_from_slice(UUID.as_bytes());
        fs::write(&file, &header).unwrap();
        assert_eq!(has_luks(&file), Some(true));
        let is_of = |spec: &str| is_header_of(OsStr::new(spec), &file);
        assert!(is_of(&format!("UUID={UUID}")) && is_of("UUID=477E*"));
        assert!(!is_of(&format!("PARTUUID={UUID}")) && !is_of("UUID=577e*") && !is_of("/dev/sda"));
        fs::remove_file(file).unwrap();
    }
}
