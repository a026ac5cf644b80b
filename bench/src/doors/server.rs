//! Servers that run while others are measured, and end with the last case that needs them.

use crate::peers::volumes::program;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// A running program behind a socket or a mount point.
pub(crate) struct Server {
    child: Child,
    /// A directory to unmount at the end.
    mounted: Option<PathBuf>,
}

impl Server {
    /// Starts what will listen on `socket`.
    pub(crate) fn listening(command: Command, socket: &Path) -> Self {
        Self::start(command, None, || UnixStream::connect(socket).is_ok())
    }

    /// Starts what will show `file` in the directory `mounted`.
    pub(crate) fn mounting(command: Command, mounted: &Path, file: &Path) -> Self {
        Self::start(command, Some(mounted.to_owned()), || file.metadata().is_ok_and(|meta| meta.len() > 0))
    }

    fn start(mut command: Command, mounted: Option<PathBuf>, is_ready: impl Fn() -> bool) -> Self {
        command.stdout(Stdio::null());
        let child = command.spawn().unwrap_or_else(|e| panic!("{command:?}: {e}"));
        let mut server = Self { child, mounted };
        let deadline = Instant::now() + TIMEOUT;
        while !is_ready() {
            let ended = server.child.try_wait().expect("a child that can be waited for");
            assert!(ended.is_none() && Instant::now() < deadline, "{command:?} does not serve: {ended:?}");
            sleep(Duration::from_millis(10));
        }
        server
    }

    /// The kernel's high-water mark of its resident memory, in MiB.
    pub(crate) fn peak_memory(&self) -> f64 {
        let path = format!("/proc/{}/status", self.child.id());
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<f64>().ok());
        kib.unwrap_or_else(|| panic!("{path} tells no VmHWM")) / 1024.0
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(directory) = &self.mounted {
            let _ = program("fusermount3 -u {}", &[directory]).status();
        } else {
            let _ = program(&format!("kill {}", self.child.id()), &[]).status();
        }
        let deadline = Instant::now() + TIMEOUT;
        while Instant::now() < deadline {
            if let Ok(Some(_)) = self.child.try_wait() {
                return;
            }
            sleep(Duration::from_millis(10));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// How long a server may take to begin and to end.
const TIMEOUT: Duration = Duration::from_secs(20);
