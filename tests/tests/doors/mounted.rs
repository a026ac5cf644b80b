//! A volume under test, mounted by `keyway mount`.

use keyway_tests::timeouts;
use keyway_tests::{Run, Scratch, fusermount, keyway, peer};
use std::fs;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

/// A volume in a scratch directory, and its mount point.
pub(crate) struct Mounted {
    pub(crate) scratch: Scratch,
    pub(crate) volume: PathBuf,
    pub(crate) key: PathBuf,
    /// The initial content of the volume.
    pub(crate) plaintext: Vec<u8>,
    pub(crate) directory: PathBuf,
}

impl Mounted {
    /// A LUKS1 volume of random data, not mounted yet.
    pub(crate) fn new() -> Self {
        Self::built("--type luks1", PLAINTEXT)
    }

    /// A volume in this format with `len` bytes of random data, not mounted yet.
    pub(crate) fn built(format: &str, len: usize) -> Self {
        let scratch = Scratch::new();
        let original = scratch.random_file("original", 77, len);
        let key = scratch.file("key", "correct horse battery staple");
        let volume = scratch.path("volume.luks");
        keyway("build --pbkdf-force-iterations 1000")
            .args(format)
            .arg("--key-file")
            .arg(&key)
            .arg(&original)
            .arg(&volume)
            .ok();
        let directory = scratch.path("mounted");
        fs::create_dir(&directory).unwrap();
        Self { volume, key, plaintext: fs::read(original).unwrap(), directory, scratch }
    }

    /// A new volume, mounted with `options`.
    #[track_caller]
    pub(crate) fn with(options: &str) -> Self {
        let mounted = Self::new();
        mounted.mount(options).ok().says("is mounted");
        mounted
    }

    /// `keyway mount` with `options`, about to run.
    pub(crate) fn mount(&self, options: &str) -> Run {
        self.keyway("mount").args(options).arg(&self.volume).arg(&self.directory)
    }

    /// A Keyway command with the key file.
    pub(crate) fn keyway(&self, command: &str) -> Run {
        keyway(command).arg("--key-file").arg(&self.key).env("XDG_RUNTIME_DIR", self.scratch.root())
    }

    /// The plaintext's file.
    pub(crate) fn file(&self) -> PathBuf {
        self.directory.join("plain")
    }

    /// Unmounts and waits until the background process is gone.
    #[track_caller]
    pub(crate) fn unmount(&self) {
        fusermount(&self.directory);
        let deadline = timeouts::within(timeouts::EVENT);
        let listed = || keyway("list").env("XDG_RUNTIME_DIR", self.scratch.root()).ok();
        while listed().text().contains("volume") {
            assert!(Instant::now() < deadline, "the process is still there: {}", listed());
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// The plaintext as `keyway read` decrypts it.
    #[track_caller]
    pub(crate) fn read(&self) -> Vec<u8> {
        self.keyway("read").arg(&self.volume).ok().stdout
    }
}

impl Drop for Mounted {
    /// A failed test leaves no mount behind.
    fn drop(&mut self) {
        if self.file().exists() || fs::metadata(&self.directory).is_err() {
            let _ = peer("fusermount3", "-u -q -z").arg(&self.directory).outcome();
        }
    }
}

/// Not a multiple of a megabyte, nor of a page.
pub(crate) const PLAINTEXT: usize = (20 << 20) + 3 * 512;
