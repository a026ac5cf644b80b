//! keyfile-erase of crypttab(5): a key file is overwritten and removed, whether or not it opened the volume.

use keyway::storage::{File, Storage};
use std::fs;
use std::io;
use std::path::Path;

/// Overwrites and removes a key file. Only a file of this system, under this name: what a link leads to, or what is on
/// another device, stays.
pub(super) fn erase(path: &Path, is_of_this_system: bool) -> Result<(), String> {
    let is_file = fs::symlink_metadata(path).is_ok_and(|found| found.is_file());
    if !is_of_this_system || !is_file {
        return Err("it is not a file of this system".to_owned());
    }
    overwrite(path).and_then(|()| fs::remove_file(path)).map_err(|error| error.to_string())
}

fn overwrite(path: &Path) -> io::Result<()> {
    let file = File::overwrite(path)?;
    let (zeros, length) = (vec![0; BLOCK], file.len());
    for start in (0..length).step_by(BLOCK) {
        let left = usize::try_from(length - start).unwrap_or(BLOCK);
        file.write_at(&zeros[..left.min(BLOCK)], start)?;
    }
    file.flush()
}

/// As much of a file is overwritten at a time: one with a key may be a whole stick's.
const BLOCK: usize = 1 << 16;

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;
    use std::path::PathBuf;

    /// A folder of this test's own, empty.
    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("keyway-erase-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir(&folder).unwrap();
        folder
    }

    #[test]
    fn a_file_of_any_length_is_overwritten_whole_and_removed() {
        let folder = folder("whole");
        let (path, other) = (folder.join("key"), folder.join("other-name"));
        for length in [0, 1, BLOCK - 1, BLOCK, 3 * BLOCK + 5] {
            fs::write(&path, vec![7; length]).unwrap();
            // What was overwritten is seen under another name.
            fs::hard_link(&path, &other).unwrap();
            assert_eq!(erase(&path, true), Ok(()));
            assert!(!path.exists());
            assert_eq!(fs::read(&other).unwrap(), vec![0; length]);
            fs::remove_file(&other).unwrap();
        }
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn what_is_elsewhere_stays() {
        let folder = folder("elsewhere");
        let (key, link) = (folder.join("key"), folder.join("link"));
        fs::write(&key, b"secret").unwrap();
        symlink(&key, &link).unwrap();
        let why = Err("it is not a file of this system".to_owned());
        for (path, here) in
            [(&key, false), (&link, true), (&link, false), (&folder, true), (&folder.join("gone"), true)]
        {
            assert_eq!(erase(path, here), why, "{}", path.display());
            assert_eq!(fs::read(&link).unwrap(), b"secret");
        }
        fs::remove_dir_all(&folder).unwrap();
    }
}
