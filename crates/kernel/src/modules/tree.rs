//! Inventories of a directory tree and of an initramfs.

use super::object::{LARGEST, MOST_UNPACKED};
use super::{Error, Inventory, module_of};
use keyway_boot::initramfs;
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

impl Inventory {
    /// The modules of one release below `root`.
    pub fn of_release(root: &Path, release: &str) -> Result<Self, Error> {
        let mut directories = module_directories(root).into_iter().map(|modules| modules.join(release));
        let directory = directories.find(|directory| directory.is_dir()).ok_or(Error::NoModules)?;
        let mut inventory = Self { release: release.to_owned(), ..Self::default() };
        let mut objects = Vec::new();
        inventory.add_directory(&directory, &mut objects, DEEPEST)?;
        if inventory.crypto.is_empty() {
            let mut left = MOST_UNPACKED;
            for (name, path) in objects {
                let content = beginning(&path)?;
                inventory.add_object(&name, &content, &mut left).map_err(|source| failed(&path, source))?;
            }
        }
        Ok(inventory)
    }

    /// The modules of every release below `root`, the newest first.
    pub fn of_root(root: &Path) -> Result<Vec<Self>, Error> {
        let mut releases = Vec::new();
        for modules in module_directories(root) {
            let entries = fs::read_dir(&modules).into_iter().flatten().flatten();
            releases.extend(
                entries.filter(|e| e.path().is_dir()).map(|e| e.file_name().to_string_lossy().into_owned()),
            );
        }
        releases.sort_by_key(|release| std::cmp::Reverse(by_number(release)));
        releases.dedup();
        let found: Vec<Self> =
            releases.iter().map(|release| Self::of_release(root, release)).collect::<Result<_, _>>()?;
        if found.is_empty() { Err(Error::NoModules) } else { Ok(found) }
    }

    /// The modules in an initramfs image.
    pub fn of_image(image: &[u8]) -> Result<Self, Error> {
        let mut inventory = Self::default();
        let mut releases: BTreeMap<String, usize> = BTreeMap::new();
        let mut left = MOST_UNPACKED;
        let mut visit = |entry: &initramfs::cpio::Entry, content: &mut dyn Read| {
            let file = entry.name.rsplit('/').next().unwrap_or_default();
            if let Some(release) = release_of(&entry.name) {
                *releases.entry(release.to_owned()).or_default() += 1;
            }
            let module = module_of(file).filter(|_| entry.is_file());
            if !Self::is_list(file) && module.is_none() {
                return Ok(());
            }
            let mut bytes = Vec::new();
            content.take(LARGEST).read_to_end(&mut bytes)?;
            match module {
                Some(name) => {
                    // A module that cannot be decompressed is still present.
                    let _ = inventory.add_object(&name, &bytes, &mut left);
                    inventory.files.insert(name, entry.name.clone());
                }
                None => inventory.add_list(file, &bytes),
            }
            Ok(())
        };
        initramfs::walk(image, &mut visit).map_err(Error::Image)?;
        if let Some((release, _)) = releases.into_iter().max_by_key(|(_, count)| *count) {
            inventory.release = release;
        }
        if inventory.is_empty() && !inventory.knows_built_in { Err(Error::NoModules) } else { Ok(inventory) }
    }

    fn add_directory(
        &mut self,
        directory: &Path,
        objects: &mut Vec<(String, PathBuf)>,
        depth: usize,
    ) -> Result<(), Error> {
        for entry in fs::read_dir(directory).map_err(|source| failed(directory, source))? {
            let entry = entry.map_err(|source| failed(directory, source))?;
            let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
            // Does not follow links: "build" and "source" lead out of the tree.
            let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if is_directory && depth > 0 {
                self.add_directory(&path, objects, depth - 1)?;
            } else if let Some(module) = module_of(&name).filter(|_| !is_directory) {
                self.files.insert(module.clone(), path.to_string_lossy().into_owned());
                objects.push((module, path));
            } else if Self::is_list(&name) && depth == DEEPEST {
                let content = beginning(&path)?;
                self.add_list(&name, &content);
            }
        }
        Ok(())
    }
}

/// The part of a file that is read of a module or a list.
fn beginning(path: &Path) -> Result<Vec<u8>, Error> {
    let mut content = Vec::new();
    let read = fs::File::open(path).and_then(|file| file.take(LARGEST).read_to_end(&mut content));
    read.map_err(|source| failed(path, source))?;
    Ok(content)
}

fn failed(path: &Path, source: io::Error) -> Error {
    Error::Io { path: path.display().to_string(), source }
}

fn module_directories(root: &Path) -> Vec<PathBuf> {
    let first = root.join("lib/modules");
    // If /lib is an absolute link, it leads out of the tree.
    let second = root.join("usr/lib/modules");
    if first.is_dir() { vec![first] } else { vec![second] }
}

/// "6.1.0-48-amd64" from "usr/lib/modules/6.1.0-48-amd64/modules.dep".
fn release_of(path: &str) -> Option<&str> {
    let (_, rest) = path.split_once("lib/modules/")?;
    rest.split('/').next().filter(|release| !release.is_empty())
}

/// A key for comparing releases, in which numbers compare numerically.
fn by_number(release: &str) -> Vec<u64> {
    release.split(|c: char| !c.is_ascii_digit()).filter_map(|digits| digits.parse().ok()).collect()
}

/// The maximum directory depth below a kernel's.
const DEEPEST: usize = 12;
