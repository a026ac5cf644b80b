//! Key files, and folders of them, into the pool.
//!
//! A folder stands for the files in it, but for hidden ones and folders. ("VeraCrypt User's Guide",
//! Keyfiles, Keyfile Search Path.)

use crate::device::in_use::Bottom;
use crate::device::storage::NewFile;
use crate::{Error, Refusal, Result, Storage};
use keyway_crypto::Secret;
use keyway_format::tcrypt::{KEY_FILE_LEN, Pool};
use std::fs::{self, File};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Key files, mixed; without any, the passphrase stays as it is. They are read once: another time their content may be
/// another, and a pipe has none.
#[derive(Default)]
pub(super) struct KeyFiles {
    pool: Option<Pool>,
    files: Vec<(PathBuf, Option<Bottom>)>,
}

impl KeyFiles {
    /// Reads them all.
    ///
    /// # Errors
    /// One of them cannot be read or is empty, or a folder has none.
    pub(super) fn read(paths: &[PathBuf]) -> Result<Self> {
        let mut read = Self::default();
        for path in paths {
            let files = if path.is_dir() { folder(path)? } else { vec![path.clone()] };
            for file in files {
                let (content, bottom) = content(&file)?;
                read.pool.get_or_insert_default().mix(content.expose());
                read.files.push((file, bottom));
            }
        }
        Ok(read)
    }

    /// The same, read already.
    pub(super) fn copy(&self) -> Self {
        Self { pool: self.pool.as_ref().map(Pool::copy), files: self.files.clone() }
    }

    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Refuses the volume as a key file of itself: with its header its key would change, and nothing would open it.
    ///
    /// # Errors
    /// [`Error::Refused`].
    pub(super) fn check_apart(&self, from: &dyn Storage) -> Result<()> {
        let Some(volume) = Bottom::of_storage(from) else { return Ok(()) };
        match self.files.iter().find(|(_, bottom)| *bottom == Some(volume)) {
            None => Ok(()),
            Some((path, _)) => {
                let why = format!(
                    "key file {} is the volume itself: a new header would change the key, and nothing would \
                     open the volume",
                    path.display()
                );
                Err(Refusal::Unusable.because(why))
            }
        }
    }

    /// What the KDFs are given.
    pub(super) fn with(&self, passphrase: &Secret) -> Result<Secret> {
        match &self.pool {
            Some(pool) => Ok(pool.with(passphrase)?),
            None => Ok(Secret::copy_from(passphrase.expose())),
        }
    }

    /// The same with an empty passphrase and one more key file.
    pub(super) fn with_file(&self, content: &Secret) -> Result<Secret> {
        let mut pool = self.pool.as_ref().map(Pool::copy).unwrap_or_default();
        pool.mix(content.expose());
        Ok(pool.with(&Secret::zeroed(0))?)
    }
}

/// Refuses a new file that would become a key file, because one of `paths` is its folder.
///
/// # Errors
/// [`Error::Refused`]; [`Error::Io`]: a folder cannot be looked at.
pub(super) fn check_new_file(paths: &[PathBuf], new: &NewFile) -> Result<()> {
    for path in paths.iter().filter(|path| path.is_dir()) {
        let folder = fs::metadata(path).map(|folder| (folder.dev(), folder.ino()));
        if folder.and_then(|folder| new.will_be_seen_in(folder)).map_err(|source| failed(path, source))? {
            let why = format!(
                "the files in {} are its key files, and the volume would become one of them: nothing would open it",
                path.display()
            );
            return Err(Refusal::Unusable.because(why));
        }
    }
    Ok(())
}

/// The files in a folder.
fn folder(path: &Path) -> Result<Vec<PathBuf>> {
    let read = || -> io::Result<Vec<PathBuf>> {
        let mut files = Vec::new();
        for entry in fs::read_dir(path)? {
            let entry = entry?;
            let is_hidden = entry.file_name().as_bytes().starts_with(b".");
            // A link's target counts.
            if !is_hidden && fs::metadata(entry.path())?.is_file() {
                files.push(entry.path());
            }
        }
        Ok(files)
    };
    let files = read().map_err(|source| failed(path, source))?;
    if files.is_empty() {
        let why = format!("{} has no key files (hidden files do not count)", path.display());
        return Err(Refusal::Unusable.because(why));
    }
    Ok(files)
}

/// The part of a file that counts, and which file it is.
fn content(path: &Path) -> Result<(Secret, Option<Bottom>)> {
    let read = || -> io::Result<(Secret, Option<Bottom>)> {
        let mut file = File::open(path)?;
        let mut buffer = Secret::zeroed(KEY_FILE_LEN);
        let mut filled = 0;
        while filled < KEY_FILE_LEN {
            match io::Read::read(&mut file, &mut buffer.expose_mut()[filled..]) {
                Ok(0) => break,
                Ok(n) => filled += n,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok((Secret::copy_from(&buffer.expose()[..filled]), Bottom::of(file.as_fd())))
    };
    let (content, bottom) = read().map_err(|source| failed(path, source))?;
    if content.is_empty() {
        return Err(Refusal::Unusable.because(format!("key file {} is empty", path.display())));
    }
    Ok((content, bottom))
}

fn failed(path: &Path, source: io::Error) -> Error {
    Error::Io { what: format!("reading key file {}", path.display()), source }
}
