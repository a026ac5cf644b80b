//! Volumes and programs for the cases that run whole programs.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::Instant;

/// A directory in memory, removed on drop. Contestants share it by `Rc`.
#[derive(Debug)]
pub(crate) struct Place {
    root: PathBuf,
}

impl Place {
    /// In memory (`KEYWAY_SCRATCH`, or `/dev/shm`), so that no disk is measured.
    pub(crate) fn new(name: &str) -> Self {
        let memory =
            std::env::var_os("KEYWAY_SCRATCH").map_or_else(|| PathBuf::from("/dev/shm"), PathBuf::from);
        let root = memory.join(format!("keyway-bench-{name}-{}", std::process::id()));
        fs::create_dir_all(&root).unwrap_or_else(|e| panic!("{}: {e}", root.display()));
        Self { root }
    }

    /// On a disk (`KEYWAY_DISK`, or the current directory).
    pub(crate) fn on_disk(name: &str) -> Self {
        let disk = std::env::var_os("KEYWAY_DISK").map_or_else(|| PathBuf::from("."), PathBuf::from);
        let root = disk.join(format!("keyway-bench-{name}-{}", std::process::id()));
        fs::create_dir_all(&root).unwrap_or_else(|e| panic!("{}: {e}", root.display()));
        Self { root }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// A file with this content.
    pub(crate) fn file(&self, name: &str, content: &[u8]) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, content).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        path
    }

    /// `mib` MiB of data in which no two blocks are alike.
    pub(crate) fn image(&self, name: &str, mib: u64) -> PathBuf {
        let path = self.path(name);
        let mut file = File::create(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let mut state: u64 = 0x9e37_79b9_7f4a_7c15;
        let mut block = vec![0; 1 << 20];
        for _ in 0..mib {
            for word in block.as_chunks_mut::<8>().0 {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                *word = state.to_le_bytes();
            }
            file.write_all(&block).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        }
        path
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.root);
    }
}

/// `program` with the words of `line`, in which `{}` stands for the
/// next of `paths`. Standard output is thrown away.
pub(crate) fn program(line: &str, paths: &[&Path]) -> Command {
    let mut paths = paths.iter();
    let mut words = line.split_whitespace().map(|word| match word {
        "{}" => paths.next().expect("a path for each {}").as_os_str(),
        word => OsStr::new(word),
    });
    let mut command = Command::new(resolve(words.next().expect("a program")));
    command.args(words).stdin(Stdio::null()).stdout(Stdio::null());
    command
}

/// "keyway" is the static release binary; other names are looked up
/// in `PATH` and the system directories.
fn resolve(name: &OsStr) -> PathBuf {
    if name == "keyway" {
        return PathBuf::from(
            std::env::var_os("KEYWAY_BIN").expect("KEYWAY_BIN names the binary to measure"),
        );
    }
    let system = Path::new("/usr/sbin").join(name);
    if system.exists() { system } else { PathBuf::from(name) }
}

/// Runs it; milliseconds until its end, which must be success.
pub(crate) fn milliseconds(command: &mut Command) -> f64 {
    let (status, elapsed) = timed(command);
    assert!(status.success(), "{command:?}: {status}");
    elapsed
}

/// Runs it; how it ended, and milliseconds until then.
pub(crate) fn timed(command: &mut Command) -> (ExitStatus, f64) {
    let started = Instant::now();
    let status = command.status().unwrap_or_else(|e| panic!("{command:?}: {e}"));
    (status, started.elapsed().as_secs_f64() * 1e3)
}
