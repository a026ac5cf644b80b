//! Re-encryption in place: begun, cut off and ended by either program, `keyway reencrypt` or Debian's
//! cryptsetup, and not a byte of the plaintext may differ. The power-cut simulator is in
//! `keyway-volume`.

mod both_programs;
mod changed_length;
mod conflicts;
mod estimate;
mod header_backups;
mod keys;
mod killed;
mod luks1;
mod nbd;
mod online;
mod opened;
mod progress;
mod refused;
mod repaired;
mod sectors;
mod session;
mod sizes;
mod tokens;
mod unused;

use keyway_tests::peers::CHEAP_LUKS2_PBKDF2;
use keyway_tests::{Run, Scratch, cryptsetup, keyway, random};
use std::path::PathBuf;

/// One of the two programs.
pub(crate) type Tool = fn(&str) -> Run;

/// A file with 16 MiB of random plaintext, its volume, and its passphrase.
pub(crate) struct Fixture {
    pub(crate) scratch: Scratch,
    pub(crate) plain: Vec<u8>,
    pub(crate) device: PathBuf,
    pub(crate) key: PathBuf,
}

pub(crate) const PLAIN: usize = 16 << 20;

impl Fixture {
    /// Plaintext, with `free` bytes behind it.
    pub(crate) fn plaintext(free: u64) -> Self {
        let scratch = Scratch::new();
        let plain = random(11, PLAIN);
        let device = scratch.file("device", &plain);
        std::fs::File::options().write(true).open(&device).unwrap().set_len(PLAIN as u64 + free).unwrap();
        let key = scratch.file("key", "correct horse");
        Self { scratch, plain, device, key }
    }

    /// A LUKS2 volume with that plaintext, header and data in one file.
    pub(crate) fn volume() -> Self {
        let made = Self::plaintext(0);
        let image = made.scratch.file("image", &made.plain);
        std::fs::remove_file(&made.device).unwrap();
        let build = keyway("build -q --fill").args(CHEAP_LUKS2_PBKDF2).arg("--key-file").arg(&made.key);
        build.arg(image).arg(&made.device).ok();
        made
    }

    /// A header for it on another device.
    pub(crate) fn header(&self) -> PathBuf {
        self.scratch.path("header")
    }

    /// Whether the device's header has these words.
    pub(crate) fn says(&self, words: &str) -> bool {
        let header = &std::fs::read(&self.device).unwrap()[..32 << 10];
        header.windows(words.len()).any(|bytes| bytes == words.as_bytes())
    }

    /// The JSON of the newer header copy, without white space.
    pub(crate) fn dump(&self) -> String {
        let dump = keyway("luksDump --dump-json-metadata").arg(&self.device).ok().text();
        dump.split_whitespace().collect()
    }

    /// `reencrypt`, unattended, by `tool`.
    pub(crate) fn reencrypt(&self, tool: Tool, options: &str) -> Run {
        let cheap = if options.contains("--resume-only") || options.contains("--decrypt") {
            ""
        } else {
            CHEAP_LUKS2_PBKDF2
        };
        let run = tool("reencrypt -q --force-offline-reencrypt").args(cheap).args(options);
        // The header backup of keyway, and what else is kept while it is under way.
        let run = run.directory(self.scratch.root());
        let is_detached = options.split_whitespace().any(|word| word == "--header");
        let run = if is_detached { run.arg(self.header()) } else { run };
        run.arg("--key-file").arg(&self.key).arg(&self.device)
    }

    /// Begins to re-encrypt a volume; the writing of a zone is cut off, 5 MiB from the start.
    #[track_caller]
    pub(crate) fn cut_off(&self, options: &str) {
        let run = self.reencrypt(keyway, options).files_up_to((16 << 20) + (5 << 20) + 4096);
        run.fails(1).says("File too large");
        let dump = self.dump();
        assert!(dump.contains("in-reencryption") && dump.contains("\"backup-final\""), "{dump}");
    }

    /// The plaintext of the volume, as keyway reads it.
    #[track_caller]
    pub(crate) fn reads(&self, detached: bool) {
        let run = keyway("read --key-file").arg(&self.key).arg(&self.device);
        let run = if detached { run.arg("--header").arg(self.header()) } else { run };
        let found = run.ok().stdout;
        assert!(found[..PLAIN] == self.plain, "the plaintext differs");
    }

    /// The bytes of the device are the plaintext.
    #[track_caller]
    pub(crate) fn is_plaintext(&self) {
        assert!(std::fs::read(&self.device).unwrap()[..PLAIN] == self.plain, "the plaintext differs");
    }

    /// Both programs open it and neither sees a re-encryption.
    #[track_caller]
    pub(crate) fn is_whole(&self, detached: bool) {
        for tool in [keyway as Tool, cryptsetup] {
            let run = tool("open --test-passphrase --key-file").arg(&self.key).arg(&self.device);
            let run = if detached { run.arg("--header").arg(self.header()) } else { run };
            run.ok();
        }
        self.reads(detached);
    }
}
