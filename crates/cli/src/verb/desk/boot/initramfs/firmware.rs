//! Firmware that the image's modules may ask the kernel for (their `firmware=` of modinfo(8)), unpacked.

use crate::say::failure::Result;
use crate::verb::desk::boot::files::Ingredients;
use keyway_kernel::modules::firmware;
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
                Some(path) => found.push((name.to_owned(), from.unpacked(&path)?)),
                None => lacking.push(format!("{name} ({module})")),
            }
        }
    }
    if !lacking.is_empty() {
        let more = lacking.len().saturating_sub(MOST_NAMED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        lacking.truncate(MOST_NAMED);
        say!(
            "Firmware that modules may ask for, and that {} lacks: {}{more}. A device that needs it will not work at boot.",
            root.display(),
            lacking.join(", ")
        );
    }
    Ok(found)
}

/// Where the kernel would find it (Documentation/driver-api/firmware/fw_search_path.rst), compressed or
/// not.
fn place(root: &Path, release: &str, name: &str) -> Option<PathBuf> {
    // If /lib is an absolute link, it leads out of the tree.
    let folders = ["lib/firmware", "usr/lib/firmware"].map(|folder| root.join(folder));
    let folders = folders.iter().flat_map(|folder| {
        [folder.join("updates").join(release), folder.join("updates"), folder.join(release), folder.clone()]
    });
    let files =
        folders.flat_map(|folder| ["", ".zst", ".xz"].map(|packed| folder.join(format!("{name}{packed}"))));
    files.into_iter().find(|file| file.is_file())
}

/// A graphics driver names hundreds.
const MOST_NAMED: usize = 8;
