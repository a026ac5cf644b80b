//! Key files, and folders of them, into the pool.
//!
//! A folder stands for the files in it, but for hidden ones and folders. ("VeraCrypt User's Guide",
//! Keyfiles, Keyfile Search Path.)

use crate::{Error, Refusal, Result};
use keyway_crypto::Secret;
use keyway_format::tcrypt::{KEY_FILE_LEN, Pool};
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Key files, mixed; without any, the passphrase stays as it is.
pub(super) struct KeyFiles(Option<Pool>);

impl KeyFiles {
    /// Reads them all.
    ///
    /// # Errors
    /// One of them cannot be read or is empty, or a folder has none.
    pub(super) fn read(paths: &[PathBuf]) -> Result<Self> {
        let mut pool = (!paths.is_empty()).then(Pool::default);
        for path in paths {
            let files = if path.is_dir() { folder(path)? } else { vec![path.clone()] };
            for file in files {
                let content = content(&file)?;
                pool.get_or_insert_default().mix(content.expose());
            }
        }
        Ok(Self(pool))
    }

    /// What the KDFs are given.
    pub(super) fn with(&self, passphrase: &Secret) -> Result<Secret> {
        match &self.0 {
            Some(pool) => Ok(pool.with(passphrase)?),
            None => Ok(Secret::copy_from(passphrase.expose())),
        }
    }

    /// The same with an empty passphrase and one more key file.
    pub(super) fn with_file(&self, content: &Secret) -> Result<Secret> {
        let mut pool = self.0.as_ref().map(Pool::copy).unwrap_or_default();
        pool.mix(content.expose());
        Ok(pool.with(&Secret::zeroed(0))?)
    }
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
        let why = format!("{} has no key files: none that is not hidden", path.display());
        return Err(Refusal::Unusable.because(why));
    }
    Ok(files)
}

/// The part of a file that counts.
fn content(path: &Path) -> Result<Secret> {
    let read = || -> io::Result<Secret> {
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
        Ok(Secret::copy_from(&buffer.expose()[..filled]))
    };
    let content = read().map_err(|source| failed(path, source))?;
    if content.is_empty() {
        return Err(Refusal::Unusable.because(format!("key file {} is empty", path.display())));
    }
    Ok(content)
}

fn failed(path: &Path, source: io::Error) -> Error {
    Error::Io { what: format!("reading key file {}", path.display()), source }
}
