//! Firmware that the image's modules may ask the kernel for (their `firmware=` of modinfo(8)), unpacked.

use crate::output::failure::Result;
use crate::verb::tools::boot::files::{Ingredients, LARGEST_UNPACKED};
use keyway_boot::initramfs::Compression;
use keyway_kernel::modules::firmware;
use std::io;
use std::path::{Path, PathBuf};

/// The files by the names that modules have for them; those that the root file system lacks are said.
pub(super) fn gather(
    modules: &[(String, Vec<u8>)],
    root: &Path,
    release: &str,
    from: &mut Ingredients,
) -> Result<Vec<(String, Vec<u8>)>> {
    let (mut found, mut lacking) = (Vec::<(String, Vec<u8>)>::new(), Vec::new());
    for (module, object) in modules {
        for name in firmware(object) {
            if found.iter().any(|(known, _)| known == name) {
                continue;
            }
            match place(root, release, name) {
                Some((path, packed)) => match unpacked(from.read(&path)?, packed) {
                    Ok(content) => found.push((name.to_owned(), content)),
                    Err(why) => lacking.push(format!("{name} ({module}; {}: {why})", path.display())),
                },
                None => lacking.push(format!("{name} ({module})")),
            }
        }
    }
    if !lacking.is_empty() {
        let more = lacking.len().saturating_sub(MOST_NAMED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        lacking.truncate(MOST_NAMED);
        say!(
            "Modules may ask for firmware that {} lacks: {}{more}. A device that needs it will not work at \
             boot.",
            root.display(),
            lacking.join(", ")
        );
    }
    Ok(found)
}

/// As the file's name says, not its first bytes: firmware may begin with anything.
fn unpacked(file: Vec<u8>, packed: Option<Compression>) -> io::Result<Vec<u8>> {
    match packed {
        None => Ok(file),
        Some(packed) => packed.unpack_all(&file, LARGEST_UNPACKED),
    }
}

/// Where the kernel would find it (Documentation/driver-api/firmware/fw_search_path.rst), and how it is
/// compressed.
fn place(root: &Path, release: &str, name: &str) -> Option<(PathBuf, Option<Compression>)> {
    // If /lib is an absolute link, it leads out of the tree.
    let folders = ["lib/firmware", "usr/lib/firmware"].map(|folder| root.join(folder));
    let folders = folders.iter().flat_map(|folder| {
        [folder.join("updates").join(release), folder.join("updates"), folder.join(release), folder.clone()]
    });
    let mut files = folders
        .flat_map(|folder| ENDINGS.map(|(ending, packed)| (folder.join(format!("{name}{ending}")), packed)));
    files.find(|(file, _)| file.is_file())
}

/// What the kernel appends to the name, in this order.
const ENDINGS: [(&str, Option<Compression>); 3] =
    [("", None), (".zst", Some(Compression::Zstd)), (".xz", Some(Compression::Xz))];
/// A graphics driver names hundreds.
const MOST_NAMED: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn firmware_is_unpacked_as_its_name_says() {
        let root = std::env::temp_dir().join(format!("keyway-firmware-{}", std::process::id()));
        let folder = root.join("lib/firmware");
        fs::create_dir_all(&folder).unwrap();
        for (file, name, content, expected) in [
            ("a.bin", "a.bin", &b"\x1f\x8b\x08x"[..], Some(&b"\x1f\x8b\x08x"[..])),
            ("b.bin", "b.bin", b"BZh9x", Some(b"BZh9x")),
            ("c.xz", "c.xz", b"\x5d\0\0x", Some(b"\x5d\0\0x")),
            ("d.bin.zst", "d.bin", EMPTY_ZSTD, Some(b"")),
            ("e.bin.xz", "e.bin", b"no xz", None),
        ] {
            fs::write(folder.join(file), content).unwrap();
            let (path, packed) = place(&root, "6.1", name).unwrap();
            let found = unpacked(fs::read(path).unwrap(), packed).ok();
            assert_eq!(found.as_deref(), expected, "{file}");
        }
        assert!(place(&root, "6.1", "f.bin").is_none());
        fs::remove_dir_all(&root).unwrap();
    }

    /// What `zstd --no-check` makes of nothing.
    const EMPTY_ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd, 0x20, 0, 1, 0, 0];
}
