//! dm-crypt's mappings over the storage, and the loop device that a file needs for them.
//!
//! They are marked for removal as soon as they exist: the kernel removes a mapping or a loop device
//! when its last user closes it. That happens at the latest when this process ends, however it
//! ends.

use keyway_attach::Error;
use keyway_attach::dm::crypt::{Key, Line, Options};
use keyway_attach::dm::loopback::{self, Loop};
use keyway_attach::dm::{DeviceNumber, Flags, Mapper, Target, node};
use keyway_measure::disk::Encryption;
use keyway_measure::results::Outcome;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

/// The block device below the mappings.
pub(super) struct Below {
    number: DeviceNumber,
    path: PathBuf,
    _held: Option<Loop>,
}

impl Below {
    /// Uses a block device.
    pub(super) fn device(path: &Path) -> Result<Self, Outcome> {
        let number = DeviceNumber::at(path).map_err(|error| why(&error))?;
        Ok(Self { number, path: path.to_owned(), _held: None })
    }

    /// Attaches a loop device to a file, bypassing the page cache if possible.
    pub(super) fn file(path: &Path) -> Result<Self, Outcome> {
        let options = loopback::Options { autoclear: true, direct_io: true, ..Default::default() };
        let held = Loop::attach(path, options).map_err(|error| why(&error))?;
        let number = held.number().map_err(|error| why(&error))?;
        Ok(Self { number, path: held.path().to_owned(), _held: Some(held) })
    }

    /// Its node.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether a loop device bypasses the page cache of its file.
    pub(super) fn is_direct(&self) -> bool {
        let flag = fs::read_to_string(format!("/sys/dev/block/{}/loop/dio", self.number));
        flag.is_ok_and(|flag| flag.trim() == "1")
    }
}

/// A mapping that is removed when nobody has it open.
pub(super) struct Mapping {
    name: String,
    node: PathBuf,
    /// A node that this process made, and that it must remove itself.
    own_node: Option<PathBuf>,
    held: Option<File>,
}

/// What distinguishes the mappings of one encryption.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Queues {
    /// `no_read_workqueue` and `no_write_workqueue`.
    pub(super) none: bool,
}

impl Queues {
    /// The names of the dm-crypt flags.
    pub(super) fn flags(self) -> Vec<String> {
        let words = ["no_read_workqueue", "no_write_workqueue"];
        if self.none { words.map(str::to_owned).into() } else { Vec::new() }
    }
}

impl Mapping {
    /// Maps the first `region` bytes.
    pub(super) fn new(
        below: &Below,
        encryption: &Encryption,
        queues: Queues,
        region: u64,
    ) -> Result<Self, Outcome> {
        let mapper = Mapper::open().map_err(|error| why(&error))?;
        let sector_size = encryption.sector_size;
        let line = Line {
            cipher: encryption.spec.clone(),
            key: Key::Bytes(encryption.key()),
            iv_offset: 0,
            device: below.number,
            offset: 0,
            options: Options {
                no_read_workqueue: queues.none,
                no_write_workqueue: queues.none,
                sector_size: (sector_size > 512).then_some(sector_size),
                ..Options::default()
            },
        };
        let queued = if queues.none { "-inline" } else { "" };
        let name = format!("keyway-bench-{}-{sector_size}{queued}", std::process::id());
        let target = Target::crypt(0, region / 512, &line);
        let flags = Flags { private: true, ..Flags::default() };
        let made = mapper.create(&name, "", &[target], flags).map_err(|error| why(&error))?;
        let by_name = node::path(&name).unwrap_or_default();
        let by_number =
            made.device.kernel_name().map(|name| Path::new("/dev").join(name)).filter(|path| path.exists());
        let node = by_number.unwrap_or_else(|| by_name.clone());
        let is_link = fs::symlink_metadata(&by_name).is_ok_and(|found| found.is_symlink());
        let mut mapping = Self { name, node, own_node: (!is_link).then_some(by_name), held: None };
        // If this fails, dropping the incomplete mapping removes it.
        let held = File::open(&mapping.node)
            .map_err(|error| not_measured(format!("the mapping cannot be opened: {error}")))?;
        mapping.held = Some(held);
        match mapper.remove(&mapping.name, true) {
            Ok(()) => Ok(mapping),
            Err(error) => Err(why(&error)),
        }
    }

    /// Its node.
    pub(super) fn node(&self) -> &Path {
        &self.node
    }
}

impl Drop for Mapping {
    /// Waits until the kernel has removed the mapping.
    fn drop(&mut self) {
        self.held = None;
        if let Ok(mapper) = Mapper::open() {
            let late = Instant::now() + TIMEOUT;
            while mapper.status(&self.name).is_ok() && Instant::now() < late {
                // Removes a mapping that was never marked for removal.
                let _ = mapper.remove(&self.name, true);
                thread::sleep(POLL);
            }
        }
        if let Some(node) = &self.own_node {
            let _ = fs::remove_file(node);
        }
    }
}

const TIMEOUT: Duration = Duration::from_secs(5);
const POLL: Duration = Duration::from_millis(20);

/// Why there is no dm-crypt here: this becomes the reason in a row, not a failure.
pub(super) fn why(error: &Error) -> Outcome {
    match error {
        Error::Permission(text) => {
            let missing_right = Some("CAP_SYS_ADMIN".into());
            Outcome::NotMeasured { reason: text.clone(), missing_right, no_time: None }
        }
        other => not_measured(other.to_string()),
    }
}

pub(super) fn not_measured(reason: String) -> Outcome {
    Outcome::NotMeasured { reason, missing_right: None, no_time: None }
}
