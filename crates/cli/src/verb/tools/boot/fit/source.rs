//! `boot fit IMAGE.its`: the source and the files that it names.
//!
//! A source says which files' content goes into an image (`/incbin/`), and a source may come from
//! an untrusted place. A file that it names must therefore be below the source's own folder,
//! wherever names and links lead, or below a folder that the command line names; it must be an
//! ordinary file; and all files together must not exceed what a FIT image can hold.

use crate::device::whole_file::BOOT_IMAGE;
use crate::output::failure::{Exit, Failure, Result};
use crate::output::size::human;
use crate::verb::tools::boot::files::{Ingredients, unusable};
use keyway_boot::fdt::Tree;
use keyway_boot::fit;
use std::fs;
use std::path::{Path, PathBuf};

/// The tree of a source, which may also take files from the folders in `include`.
pub(super) fn tree(path: &Path, include: &[PathBuf], from: &mut Ingredients) -> Result<Tree<'static>> {
    let source = String::from_utf8(from.read(path)?);
    let source = source.map_err(|_| unusable(path, &"it is not text"))?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut allowed = Allowed::new(folder, include)?;
    let mut include = |name: &str| {
        let file = allowed.file(name)?;
        let content =
            from.read(&file).map_err(|failure| failure.message().trim_end_matches('.').to_owned())?;
        allowed.count(content.len() as u64)?;
        Ok(content)
    };
    fit::tree_of(&source, &mut include).map_err(|why| unusable(path, &why))
}

/// The folders that a source may take files from.
struct Allowed {
    /// The source's own folder, which names are relative to.
    folder: PathBuf,
    /// Without links, as the kernel resolves them.
    folders: Vec<PathBuf>,
    /// Bytes taken so far.
    taken: u64,
}

impl Allowed {
    fn new(folder: &Path, others: &[PathBuf]) -> Result<Self> {
        let known = |folder: &Path| {
            fs::canonicalize(folder).map_err(|why| {
                let exit = Exit::of_file(&why, Exit::Device);
                Failure::new(exit, format!("{}: {why}.", folder.display()))
            })
        };
        let all = std::iter::once(folder).chain(others.iter().map(PathBuf::as_path));
        let folders = all.map(known).collect::<Result<_>>()?;
        Ok(Self { folder: folder.to_owned(), folders, taken: 0 })
    }

    /// The file that the source means by `name`, with links resolved. A file that would exceed the
    /// limit is not read.
    fn file(&self, name: &str) -> std::result::Result<PathBuf, String> {
        let named = self.folder.join(name);
        let file = fs::canonicalize(&named).map_err(|why| format!("{}: {why}", named.display()))?;
        if !self.folders.iter().any(|folder| file.starts_with(folder)) {
            return Err(format!(
                "{} is not below the source's directory; --include DIR allows another",
                named.display()
            ));
        }
        match fs::metadata(&file) {
            Ok(found) if found.is_file() => self.with(found.len()).map(|_| file),
            _ => Err(format!("{} is not a regular file", named.display())),
        }
    }

    /// Counts what was read, because some of the kernel's files have no length beforehand.
    fn count(&mut self, length: u64) -> std::result::Result<(), String> {
        self.taken = self.with(length)?;
        Ok(())
    }

    /// The bytes taken, plus `length`.
    fn with(&self, length: u64) -> std::result::Result<u64, String> {
        match self.taken.saturating_add(length) {
            all if all > BOOT_IMAGE => {
                Err(format!("its files are larger than {} in total", human(BOOT_IMAGE)))
            }
            all => Ok(all),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_source_takes_what_is_beside_it() {
        let scratch = std::env::temp_dir().join(format!("keyway-image-{}", std::process::id()));
        fs::create_dir_all(&scratch).unwrap();
        let source = scratch.join("image.its");
        let text = r#"/dts-v1/; / { images { a { type = "firmware"; data = /incbin/("part"); }; }; };"#;
        fs::write(&source, text).unwrap();
        fs::write(scratch.join("part"), "all that it takes").unwrap();
        let tree = tree(&source, &[], &mut Ingredients::none()).unwrap();
        let image = fit::image(tree, fit::Layout { time: 0, external: None }).unwrap();
        assert!(image.windows(17).any(|bytes| bytes == b"all that it takes"));
        fs::remove_dir_all(scratch).unwrap();
    }

    #[test]
    fn files_of_a_source() {
        let scratch = std::env::temp_dir().join(format!("keyway-source-{}", std::process::id()));
        let (folder, other) = (scratch.join("source"), scratch.join("source-other"));
        fs::create_dir_all(folder.join("below")).unwrap();
        fs::create_dir_all(&other).unwrap();
        fs::write(folder.join("below/file"), "x").unwrap();
        fs::write(other.join("file"), "x").unwrap();
        symlink("../source-other", folder.join("way")).unwrap();
        symlink("below/file", folder.join("link")).unwrap();
        let shown = other.display().to_string();
        let allowed = Allowed::new(&folder, &[]).unwrap();
        for name in ["below/file", "./below/../below/file", "link"] {
            assert!(allowed.file(name).unwrap().ends_with("source/below/file"), "{name}");
        }
        for name in ["../source-other/file", "way/file", "/etc/passwd", &format!("{shown}/file")] {
            let why = allowed.file(name).unwrap_err();
            assert!(
                why.ends_with("is not below the source's directory; --include DIR allows another"),
                "{why}"
            );
        }
        assert!(allowed.file("none").unwrap_err().contains("No such file"));
        assert!(allowed.file("below").unwrap_err().ends_with("is not a regular file"));
        let allowed = Allowed::new(&folder, std::slice::from_ref(&other)).unwrap();
        assert!(allowed.file("way/file").is_ok() && allowed.file("/etc/passwd").is_err());
        let allowed = Allowed::new(&folder, &["/dev".into()]).unwrap();
        assert!(allowed.file("/dev/zero").unwrap_err().ends_with("is not a regular file"));
        assert!(Allowed::new(&folder, &["/none".into()]).is_err());
        fs::remove_dir_all(scratch).unwrap();
    }

    #[test]
    fn there_is_a_ceiling() {
        let scratch = std::env::temp_dir().join(format!("keyway-ceiling-{}", std::process::id()));
        fs::create_dir_all(&scratch).unwrap();
        for (name, length) in [("most", BOOT_IMAGE), ("more", BOOT_IMAGE + 1)] {
            fs::File::create(scratch.join(name)).unwrap().set_len(length).unwrap();
        }
        let mut allowed = Allowed::new(&scratch, &[]).unwrap();
        // Only what is read counts, and only once.
        assert!(allowed.file("most").is_ok() && allowed.file("most").is_ok());
        assert!(allowed.file("more").unwrap_err().contains("larger than"));
        allowed.count(1).unwrap();
        assert!(allowed.file("most").unwrap_err().contains("larger than"));
        allowed.count(BOOT_IMAGE - 1).unwrap();
        assert!(allowed.count(1).unwrap_err().contains("larger than"));
        assert!(allowed.count(u64::MAX).unwrap_err().contains("larger than"));
        fs::remove_dir_all(scratch).unwrap();
    }
}
