//! Volumes that open without a passphrase, and servers for them that end with the test.

use keyway_tests::run::Run;
use keyway_tests::timeouts;
use keyway_tests::{Scratch, keyway, random};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::{Duration, Instant};

/// A LUKS2 volume whose volume key is known.
pub(crate) struct Volume {
    path: PathBuf,
    key_file: PathBuf,
    data: u64,
}

impl Volume {
    /// A new volume with `mib` MiB of data. All of a test's volumes have the same key, in the file
    /// "volume.key".
    pub(crate) fn new(scratch: &Scratch, name: &str, mib: u64) -> Self {
        let key_file = scratch.file("volume.key", Self::key());
        let path = scratch.sized(name, HEADER + (mib << 20));
        let costs = "--pbkdf pbkdf2 --pbkdf-force-iterations 1000 --luks2-keyslots-size 256K --offset 1024";
        keyway("luksFormat -q --type luks2 --sector-size 4096 --key-size 512")
            .args(costs)
            .arg("--volume-key-file")
            .arg(&key_file)
            .arg(&path)
            .stdin("secret")
            .ok();
        Self { path, key_file, data: mib << 20 }
    }

    /// The volume key: two AES-256 keys.
    pub(crate) fn key() -> Vec<u8> {
        random(0x6b65_7977, 64)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn key_file(&self) -> &Path {
        &self.key_file
    }

    /// Bytes of plaintext.
    pub(crate) fn size(&self) -> u64 {
        self.data
    }

    /// `keyway serve` of it.
    pub(crate) fn serve(&self) -> Run {
        keyway("serve").arg(&self.path).arg("--volume-key-file").arg(&self.key_file)
    }

    /// `keyway read` of a range.
    pub(crate) fn read(&self, offset: u64, len: usize) -> Vec<u8> {
        let run = keyway("read").arg(&self.path).arg("--volume-key-file").arg(&self.key_file);
        run.args(&format!("--offset {offset} --length {len}")).ok().stdout
    }

    /// `keyway write` at an offset.
    pub(crate) fn write(&self, offset: u64, data: &[u8]) {
        let run = keyway("write").arg(&self.path).arg("--volume-key-file").arg(&self.key_file);
        run.args(&format!("--offset {offset}")).stdin(data).ok();
    }
}

/// A server that runs until the test is over.
pub(crate) struct Served {
    child: Child,
    stdout: Option<BufReader<std::process::ChildStdout>>,
}

impl Served {
    pub(crate) fn start(run: &Run) -> Self {
        Self::start_with(run, b"")
    }

    /// With something on standard input.
    pub(crate) fn start_with(run: &Run, stdin: &[u8]) -> Self {
        let mut child = run.spawn().unwrap_or_else(|e| panic!("{run}: {e}"));
        child.stdin.take().expect("a pipe").write_all(stdin).expect("a reader");
        let stdout = child.stdout.take().map(BufReader::new);
        Self { child, stdout }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Its output once it listens, up to the last line for the first export.
    pub(crate) fn ready(&mut self) -> String {
        let mut said = String::new();
        let stdout = self.stdout.as_mut().expect("its standard output");
        while !said.contains("nbd-client") || !said.ends_with('\n') {
            let got = stdout.read_line(&mut said).expect("text");
            assert!(got > 0, "it ends before it listens: {said}\n{}", self.errors());
        }
        // Several exports are announced in one write.
        while !stdout.buffer().is_empty() && stdout.read_line(&mut said).expect("text") > 0 {}
        said
    }

    pub(crate) fn terminate(&self) {
        self.signal(Signal::SIGTERM);
    }

    pub(crate) fn kill(&mut self) {
        self.signal(Signal::SIGKILL);
        self.wait();
    }

    /// The exit code; `None` after a signal.
    pub(crate) fn wait(&mut self) -> Option<i32> {
        let deadline = timeouts::within(timeouts::EVENT);
        loop {
            if let Some(status) = self.child.try_wait().expect("a child") {
                return status.code();
            }
            assert!(Instant::now() < deadline, "it does not end");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.child.id() as i32), signal).expect("our child");
    }

    /// All its standard error output, once it has ended.
    pub(crate) fn errors(&mut self) -> String {
        let stderr = self.child.stderr.take().map(std::io::read_to_string);
        stderr.and_then(Result::ok).unwrap_or_default()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Room for two small headers and a keyslot.
const HEADER: u64 = 512 << 10;
