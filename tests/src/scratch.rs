//! A separate directory for each test, removed with the test.

use crate::data::random;
use crate::programs;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// A temporary directory, removed on drop (kept for inspection if the test panics and `KEYWAY_KEEP`
/// is set).
#[derive(Debug)]
pub struct Scratch {
    root: PathBuf,
}

impl Scratch {
    /// An empty directory under `KEYWAY_SCRATCH`, or the system's temporary directory.
    pub fn new() -> Self {
        static COUNTER: AtomicU32 = AtomicU32::new(0);
        let parent = std::env::var_os("KEYWAY_SCRATCH").map_or_else(std::env::temp_dir, PathBuf::from);
        fs::create_dir_all(&parent).unwrap_or_else(|e| panic!("{}: {e}", parent.display()));
        loop {
            let unique = COUNTER.fetch_add(1, Ordering::Relaxed);
            let root = parent.join(format!("keyway-test-{}-{unique}", std::process::id()));
            match fs::create_dir(&root) {
                Ok(()) => return Self { root },
                // Of a process that had this number before, or has it in another container.
                Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
                Err(e) => panic!("{}: {e}", root.display()),
            }
        }
    }

    /// The directory itself.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The path for a file of this name; nothing is created.
    pub fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// Creates a file with this content.
    pub fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, content).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        path
    }

    /// Creates a sparse file of `len` bytes.
    pub fn sized(&self, name: &str, len: u64) -> PathBuf {
        let path = self.path(name);
        File::create(&path)
            .and_then(|f| f.set_len(len))
            .unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        path
    }

    /// Creates a file of `len` random bytes, the same for the same seed.
    pub fn random_file(&self, name: &str, seed: u64, len: usize) -> PathBuf {
        self.file(name, random(seed, len))
    }

    /// Creates a copy of `original`, a program perhaps, under another name.
    pub fn copy(&self, original: &Path, name: &str) -> PathBuf {
        let path = self.path(name);
        programs::copy(original, &path);
        path
    }
}

impl Default for Scratch {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let keep = std::thread::panicking() && std::env::var_os("KEYWAY_KEEP").is_some();
        if keep {
            eprintln!("kept: {}", self.root.display());
        } else {
            let _ = fs::remove_dir_all(&self.root);
        }
    }
}
