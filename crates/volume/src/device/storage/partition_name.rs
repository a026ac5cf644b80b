//! Partitions by name: `disk.img#2` is partition 2 of the image (or the device) `disk.img`, unless
//! there is a file of that name; `URL#2` is one of what is behind that address. (A fragment is never
//! sent to a server, RFC 3986, 3.5, and NBD URIs have none: it is ours to read.)

use super::{Extent, File, Part, Storage};
use crate::device::partitions::Partitions;
use std::ffi::OsStr;
use std::fmt;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A partition that a path names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionName {
    /// The image or the device.
    pub image: PathBuf,
    /// The partition's number, counted from 1.
    pub number: u32,
}

impl PartitionName {
    /// What `path` names; `None` if something is there under that very name, or there is no image.
    pub fn of(path: &Path) -> Option<Self> {
        let (name, number) = split(path.file_name()?.as_bytes())?;
        let image = path.with_file_name(OsStr::from_bytes(name));
        let is_disk = |found: std::fs::Metadata| found.is_file() || found.file_type().is_block_device();
        let is_free = path.symlink_metadata().is_err();
        (is_free && image.metadata().is_ok_and(is_disk)).then_some(Self { image, number })
    }

    /// What an address names, which is all of it before the number; `None` without one.
    pub fn of_url(url: &str) -> Option<(&str, u32)> {
        let (address, number) = split(url.as_bytes())?;
        Some((&url[..address.len()], number))
    }

    /// This partition of `disk`, which is no file.
    ///
    /// # Errors
    /// As [`File::open`].
    pub fn open_in(&self, disk: Arc<dyn Storage>) -> io::Result<Part> {
        let extent = self.find(&*disk)?;
        Ok(Part::new(disk, extent))
    }

    /// Whether its image has partitions at all. Else a new file may be meant.
    pub fn has_table(&self) -> bool {
        File::open(&self.image).and_then(|disk| Partitions::of(&disk)).is_ok_and(|table| table.is_some())
    }

    /// The path that names it, by this path of its image.
    pub fn at(&self, image: &Path) -> PathBuf {
        let mut name = image.as_os_str().to_owned();
        name.push(format!("#{}", self.number));
        name.into()
    }

    /// Where it is on `disk`, its image.
    ///
    /// # Errors
    /// `NotFound` with [`NoPartition`]; the disk cannot be read.
    pub(super) fn find(&self, disk: &dyn Storage) -> io::Result<Extent> {
        let table = Partitions::of(disk)?;
        let missing = |table, shares| {
            let (image, number) = (self.image.clone(), self.number);
            io::Error::new(io::ErrorKind::NotFound, NoPartition { image, number, table, shares })
        };
        let Some(table) = table else { return Err(missing(None, false)) };
        let Some(found) = table.find(self.number) else { return Err(missing(Some(table), false)) };
        let extent = Extent { start: found.bytes.start, len: found.bytes.end - found.bytes.start };
        match table.shares_bytes(found) {
            true => Err(missing(Some(table), true)),
            false => Ok(extent),
        }
    }
}

/// A name, and the number of a partition behind it.
fn split(name: &[u8]) -> Option<(&[u8], u32)> {
    let mark = name.iter().rposition(|byte| *byte == b'#').filter(|at| *at > 0)?;
    let digits = std::str::from_utf8(&name[mark + 1..]).ok()?;
    let is_number = digits.bytes().all(|byte| byte.is_ascii_digit()) && !digits.starts_with('0');
    let number = digits.parse().ok().filter(|_| is_number)?;
    Some((&name[..mark], number))
}

/// The file or the device in which the bytes at `path` are: that of the partition that it names, or
/// `path` itself.
pub fn image_of(path: &Path) -> PathBuf {
    PartitionName::of(path).map_or_else(|| path.to_owned(), |partition| partition.image)
}

/// There is no such partition: the cause of an [`io::Error`].
#[derive(Debug)]
pub struct NoPartition {
    /// The image.
    pub image: PathBuf,
    /// The number that was asked for.
    pub number: u32,
    /// The image's partition table, if it has one.
    pub table: Option<Partitions>,
    /// It exists, but another one has some of its bytes too.
    pub shares: bool,
}

impl NoPartition {
    /// That in `error`, if it is its cause.
    pub fn of(error: &io::Error) -> Option<&Self> {
        error.get_ref()?.downcast_ref()
    }
}

impl fmt::Display for NoPartition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (image, number) = (self.image.display(), self.number);
        match &self.table {
            None => write!(f, "{image} has no partition table"),
            Some(_) if self.shares => {
                write!(
                    f,
                    "partition {number} of {image} shares bytes with another one: whose they are is unclear"
                )
            }
            Some(table) if table.all.is_empty() => {
                write!(f, "{image} has no partition {number}, nor any readable one")
            }
            Some(table) => {
                let numbers: Vec<_> = table.all.iter().map(|it| it.number.to_string()).collect();
                write!(f, "{image} has no partition {number}, only {}", numbers.join(", "))
            }
        }
    }
}

impl std::error::Error for NoPartition {}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn an_address_may_name_a_partition() {
        for (url, expected) in [
            ("nbd://h/disk#2", Some(("nbd://h/disk", 2))),
            ("nbd+unix:///?socket=/run/x#12", Some(("nbd+unix:///?socket=/run/x", 12))),
            ("https://h/disk.img?sig=a#1", Some(("https://h/disk.img?sig=a", 1))),
            ("nbd://h/disk", None),
            ("https://h/disk#part", None),
            ("https://h/disk#", None),
            ("https://h/disk#02", None),
            ("https://h/disk#99999999999", None),
        ] {
            assert_eq!(PartitionName::of_url(url), expected, "{url}");
        }
    }

    #[test]
    fn a_file_of_that_name_wins() {
        let scratch = std::env::temp_dir().join(format!("keyway-partition-name-{}", std::process::id()));
        fs::create_dir_all(&scratch).unwrap();
        for name in ["disk.img", "a#b", "literal#1", "literal"] {
            fs::write(scratch.join(name), "").unwrap();
        }
        std::os::unix::fs::symlink("nowhere", scratch.join("disk.img#9")).unwrap();
        let named = |name: &str| {
            let found = PartitionName::of(&scratch.join(name))?;
            assert_eq!(found.at(&found.image), scratch.join(name));
            assert_eq!(image_of(&scratch.join(name)), found.image);
            Some((found.image.file_name()?.to_str()?.to_owned(), found.number))
        };
        assert_eq!(named("disk.img#2"), Some(("disk.img".into(), 2)));
        assert_eq!(named("a#b#12"), Some(("a#b".into(), 12)));
        for none in ["disk.img", "a#b", "literal#1", "none#1", "#1", "disk.img#", "disk.img#0", "disk.img#01"]
        {
            assert_eq!(named(none), None, "{none}");
        }
        for none in ["disk.img#+1", "disk.img#1x", "disk.img#99999999999", "disk.img#9", "disk.img#1/x"] {
            assert_eq!(named(none), None, "{none}");
        }
        assert_eq!(image_of(Path::new("/")), Path::new("/"));
        fs::remove_dir_all(scratch).unwrap();
    }
}
