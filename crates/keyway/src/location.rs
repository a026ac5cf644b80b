//! Where a volume is: a file, a block device, or a URL.

use crate::error::At;
use crate::{Error, ErrorKind, Result};
use keyway_volume::Address;
use keyway_volume::device::storage::{File, PartitionName, Storage, image_of};
use std::fmt;
use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where a volume or a header is.
///
/// Text is interpreted as on the command line: a URL (`https://…`, `http://…`, `s3://…`, `nbd://…`,
/// `nbd+unix://…`), `UUID=…` for the device whose header has that UUID, or otherwise a path. A
/// [`Path`] is always a path. URLs need the features `remote` or `nbd`.
///
/// The path `disk.img#2` is partition 2 of the image `disk.img` (GPT or MBR), unless there is a file of
/// that name. What is opened there ends with the partition, and nothing outside of it is touched.
/// Behind a URL a number means the same: `nbd://host/disk#2`.
///
/// ```
/// # use keyway::Location;
/// # use std::path::Path;
/// assert_eq!(Location::from("disk.luks").path(), Some(Path::new("disk.luks")));
/// assert_eq!(Location::from("UUID=12AB").path(), Some(Path::new("/dev/disk/by-uuid/12ab")));
/// let url = Location::from("https://user:secret@example.org/disk.luks?signature=1");
/// assert_eq!(url.to_string(), "https://example.org/disk.luks");
/// let partition = Location::from("https://user:secret@example.org/disk.img?signature=1#2");
/// assert_eq!(partition.to_string(), "https://example.org/disk.img#2");
/// assert!(Location::from(Path::new("https://example.org/disk.luks")).path().is_some());
/// ```
#[derive(Debug, Clone)]
pub struct Location(Kind);

#[derive(Debug, Clone)]
enum Kind {
    Path(PathBuf),
    /// An address, and the number of a partition of what is there.
    Url(Arc<Address>, Option<u32>),
    /// Storage that the caller provides, as errors name it.
    Storage,
}

impl Location {
    /// The path, if it is one. See [`Location`] for an example.
    pub fn path(&self) -> Option<&Path> {
        match &self.0 {
            Kind::Path(path) => Some(path),
            Kind::Url(..) | Kind::Storage => None,
        }
    }

    pub(crate) const STORAGE: Self = Self(Kind::Storage);

    /// Opens it for reading, or for reading and writing.
    pub(crate) fn open(&self, write: bool) -> Result<Arc<dyn Storage>> {
        let storage = match &self.0 {
            Kind::Path(path) => open_path(path, write).at(self)?,
            Kind::Url(address, None) => open_url(address, write).at(self)?,
            Kind::Url(address, Some(number)) => {
                let partition = PartitionName { image: address.shown().into(), number: *number };
                Arc::new(partition.open_in(open_url(address, write).at(self)?).at(self)?)
            }
            Kind::Storage => return Err(Error::new(ErrorKind::NotFound)),
        };
        // A write-protected device opens without error, and would then refuse each write.
        match write && storage.is_read_only() {
            true => Err(Error::new(ErrorKind::ReadOnly).at(self)),
            false => Ok(storage),
        }
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Path(path) => path.display().fmt(f),
            Kind::Url(address, None) => address.fmt(f),
            Kind::Url(address, Some(number)) => write!(f, "{address}#{number}"),
            Kind::Storage => f.write_str("storage"),
        }
    }
}

impl From<&str> for Location {
    fn from(text: &str) -> Self {
        let (place, partition) = match PartitionName::of_url(text) {
            Some((place, number)) => (place, Some(number)),
            None => (text, None),
        };
        if let Some(address) = Address::new(place).filter(|_| is_url(place)) {
            return Self(Kind::Url(Arc::new(address), partition));
        }
        match text.strip_prefix("UUID=") {
            Some(uuid) if uuid.chars().all(|c| c.is_ascii_hexdigit() || c == '-') => {
                Self(Kind::Path(Path::new("/dev/disk/by-uuid").join(uuid.to_ascii_lowercase())))
            }
            _ => Path::new(text).into(),
        }
    }
}

impl From<String> for Location {
    fn from(text: String) -> Self {
        text.as_str().into()
    }
}

impl From<&String> for Location {
    fn from(text: &String) -> Self {
        text.as_str().into()
    }
}

impl From<&Path> for Location {
    fn from(path: &Path) -> Self {
        path.to_owned().into()
    }
}

impl From<PathBuf> for Location {
    fn from(path: PathBuf) -> Self {
        Self(Kind::Path(path))
    }
}

impl From<&PathBuf> for Location {
    fn from(path: &PathBuf) -> Self {
        path.clone().into()
    }
}

fn is_url(text: &str) -> bool {
    let scheme = text.split("://").next().unwrap_or_default().to_ascii_lowercase();
    OBJECTS.contains(&scheme.as_str()) || EXPORTS.contains(&scheme.as_str())
}

fn open_path(path: &Path, write: bool) -> Result<Arc<dyn Storage>> {
    // Checked before opening: opening a pipe blocks until its other end is opened.
    if fs::metadata(image_of(path))
        .is_ok_and(|found| !found.is_file() && !found.file_type().is_block_device())
    {
        return Err(Error::unsupported("a regular file or a block device is needed"));
    }
    let file = if write { File::open_rw(path) } else { File::open(path) };
    Ok(Arc::new(file?))
}

fn open_url(address: &Address, write: bool) -> Result<Arc<dyn Storage>> {
    let scheme = address.shown().split("://").next().unwrap_or_default().to_ascii_lowercase();
    match EXPORTS.contains(&scheme.as_str()) {
        true => open_export(address, write),
        false if write => Err(Error::new(ErrorKind::ReadOnly)),
        false => open_object(address),
    }
}

#[cfg(feature = "nbd")]
fn open_export(address: &Address, write: bool) -> Result<Arc<dyn Storage>> {
    use keyway_attach::nbd::Uri;
    use keyway_attach::nbd::client::{Client, Options};
    let client = Client::connect(&Uri::parse(address.expose())?, Options::default())?;
    Ok(Arc::new(if write { client } else { client.read_only() }))
}

#[cfg(not(feature = "nbd"))]
fn open_export(_: &Address, _: bool) -> Result<Arc<dyn Storage>> {
    Err(Error::unsupported("NBD, without the Cargo feature \"nbd\""))
}

#[cfg(feature = "remote")]
fn open_object(address: &Address) -> Result<Arc<dyn Storage>> {
    Ok(Arc::new(keyway_remote::Object::open(address, &keyway_remote::Options::default())?))
}

#[cfg(not(feature = "remote"))]
fn open_object(_: &Address) -> Result<Arc<dyn Storage>> {
    Err(Error::unsupported("HTTP and S3, without the Cargo feature \"remote\""))
}

/// URL schemes of objects that are only read.
const OBJECTS: [&str; 3] = ["http", "https", "s3"];
/// URL schemes of NBD exports.
const EXPORTS: [&str; 4] = ["nbd", "nbds", "nbd+unix", "nbds+unix"];
