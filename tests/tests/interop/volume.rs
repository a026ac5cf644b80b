//! A volume under test: created by one program, inspected by both.

use keyway_tests::{Run, Scratch, assert_same_lines, cryptsetup, keyway};
use std::path::{Path, PathBuf};

/// Keyway or cryptsetup: both take the same arguments.
pub(crate) type Tool = fn(&str) -> Run;

/// The program that creates the volume, and the one that then works on it.
pub(crate) const BOTH_WAYS: [(&str, Tool, Tool); 2] =
    [("made by Keyway", keyway, cryptsetup), ("made by cryptsetup", cryptsetup, keyway)];

/// A volume in a scratch directory, with key files of three different passphrases.
pub(crate) struct Volume {
    pub(crate) scratch: Scratch,
    pub(crate) path: PathBuf,
    /// The header's file, if it is not the volume itself.
    pub(crate) header: Option<PathBuf>,
    pub(crate) first_key: PathBuf,
    pub(crate) second_key: PathBuf,
    pub(crate) third_key: PathBuf,
}

impl Volume {
    /// An empty file of `size` bytes and the key files.
    pub(crate) fn empty(size: u64) -> Self {
        let scratch = Scratch::new();
        Self {
            path: scratch.sized("volume", size),
            header: None,
            first_key: scratch.file("first.key", "correct horse battery staple"),
            // Neither a newline nor a zero byte ends a passphrase that comes from a file.
            second_key: scratch.file("second.key", b"second\nline\0and more"),
            third_key: scratch.file("third.key", "trois cl\u{e9}s"),
            scratch,
        }
    }

    /// Created by `maker` with `options`; the first key is in the first slot.
    #[track_caller]
    pub(crate) fn made_by(maker: Tool, options: &str, size: u64) -> Self {
        let volume = Self::empty(size);
        volume.run(maker, "luksFormat -q").args(options).arg(&volume.first_key).ok();
        volume
    }

    /// The same with a detached header.
    #[track_caller]
    pub(crate) fn detached_made_by(maker: Tool, options: &str, size: u64) -> Self {
        let mut volume = Self::empty(size);
        volume.header = Some(volume.scratch.path("header"));
        volume.run(maker, "luksFormat -q").args(options).arg(&volume.first_key).ok();
        volume
    }

    /// `command` on this volume: the header option if there is one, then the device.
    pub(crate) fn run(&self, tool: Tool, command: &str) -> Run {
        let run = tool(command);
        let run = match &self.header {
            Some(header) => run.arg("--header").arg(header),
            None => run,
        };
        run.arg(&self.path)
    }

    /// Asserts whether `key` opens it: exit code 0, or 2 as for a wrong passphrase.
    #[track_caller]
    pub(crate) fn opens(&self, tool: Tool, key: &Path, expected: bool) {
        let code = if expected { 0 } else { 2 };
        self.run(tool, "open --test-passphrase").arg("--key-file").arg(key).fails(code);
    }

    /// The text of `luksDump`, which must be the same from both programs, line for line.
    #[track_caller]
    pub(crate) fn dump(&self) -> String {
        let ours = self.run(keyway, "luksDump").ok().text();
        let theirs = self.run(cryptsetup, "luksDump").ok().text();
        assert_same_lines("keyway luksDump", &ours, "cryptsetup luksDump", &theirs);
        theirs
    }

    /// The volume key, as `tool` recovers it with `key`.
    #[track_caller]
    pub(crate) fn volume_key(&self, tool: Tool, key: &Path) -> Vec<u8> {
        let out = self.scratch.path("volume.key");
        let _ = std::fs::remove_file(&out);
        self.run(tool, "luksDump -q --dump-volume-key")
            .arg("--key-file")
            .arg(key)
            .arg("--volume-key-file")
            .arg(&out)
            .ok();
        std::fs::read(&out).expect("luksDump wrote the volume key")
    }
}
