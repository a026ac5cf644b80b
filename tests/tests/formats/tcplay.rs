//! tcplay, which works on loop devices alone.

use keyway_tests::timeouts;
use keyway_tests::{Run, Scratch, Terminal, peer};
use std::path::{Path, PathBuf};

/// A loop device, detached on drop.
pub(super) struct Loop(PathBuf);

impl Loop {
    pub(super) fn over(file: &Path) -> Self {
        Self::attach(file).expect("a loop device")
    }

    fn attach(file: &Path) -> Option<Self> {
        let attached = peer("losetup", "--find --show").arg(file).outcome();
        let device = Self(PathBuf::from(attached.text().trim()));
        (attached.code == Some(0)).then_some(device)
    }

    /// Whether this user and machine have loop devices.
    pub(super) fn is_there() -> bool {
        let scratch = Scratch::new();
        Self::attach(&scratch.sized("loop", 1 << 20)).is_some()
    }

    pub(super) fn tcplay(&self, line: &str) -> Run {
        peer("tcplay", line).arg("-d").arg(&self.0)
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        if self.0.exists() {
            peer("losetup", "--detach").arg(&self.0).outcome();
        }
    }
}

/// tcplay makes the volumes of this line, each with its passphrase: an outer one, and a hidden one of 400 KiB.
pub(super) fn create(scratch: &Scratch, line: &str, passphrases: &[&str]) -> PathBuf {
    let file = scratch.random_file("volume", 1, 1 << 20);
    let device = Loop::over(&file);
    let mut terminal = Terminal::start(&device.tcplay("-c -z -w").args(line)).limit(timeouts::COMMAND);
    for passphrase in passphrases {
        terminal = terminal.expect("Passphrase").type_secretly(passphrase);
        terminal = terminal.expect("Repeat passphrase").type_secretly(passphrase);
    }
    if passphrases.len() > 1 {
        terminal = terminal.expect("Size of hidden volume").type_line("400K");
    }
    let ending = terminal.expect("(y/n)").type_line("y").finish();
    assert_eq!(ending.code, Some(0), "{}", ending.screen);
    file
}
