//! A re-encryption that cryptsetup began, in the log that it keeps of it.

use super::{Both, Luks1Files};
use crate::error::At;
use crate::reencrypt::Reencrypt;
use crate::{Device, Error, Location, Result};
use keyway_crypto::Secret;
use keyway_volume::reencrypt::luks1::Done;
use keyway_volume::unlock;
use keyway_volume::{Access, Storage};
use std::path::Path;

/// What cryptsetup does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Reencrypt,
    Encrypt,
    Decrypt,
}

/// cryptsetup's log: lines of "name = value", and zeros.
#[derive(Debug)]
struct Log {
    mode: Mode,
    done: Done,
}

impl Log {
    fn read(path: &Path) -> Result<Self> {
        let place = Location::from(path.to_owned());
        let io = |source| keyway_volume::Error::Io { what: format!("reading {}", path.display()), source };
        let text = std::fs::read(path).map_err(io).at(&place)?;
        Self::parse(&String::from_utf8_lossy(&text))
            .ok_or_else(|| Error::refused("this is not cryptsetup's log of a reencryption").at(&place))
    }

    fn parse(text: &str) -> Option<Self> {
        let number = |name: &str| {
            let mut lines = text.lines().filter_map(|line| line.split_once(" = "));
            lines.find(|(found, _)| *found == name)?.1.trim().parse::<u64>().ok()
        };
        if !(1..=2).contains(&number("version")?) {
            return None;
        }
        // The first version knew re-encryption only.
        let mode = match number("mode").unwrap_or(0) {
            0 => Mode::Reencrypt,
            1 => Mode::Encrypt,
            2 => Mode::Decrypt,
            _ => return None,
        };
        let offset = number("offset")?;
        let done = if number("direction")? == 0 { Done::UpTo(offset) } else { Done::From(offset) };
        Some(Self { mode, done })
    }
}

impl Device {
    /// Takes over from cryptsetup: its log becomes a state, from where nothing is lost any more.
    pub(super) fn adopt_log(
        &self,
        how: &Reencrypt,
        passphrase: &Secret,
        files: &Luks1Files,
        data: &dyn Storage,
    ) -> Result<()> {
        let path = files.log_of_cryptsetup();
        let log = Log::read(&path)?;
        let side = |path| {
            let place = Location::from(Clone::clone(&path));
            let luks = files.open(path, Access::Read)?;
            let found = unlock(&luks, passphrase, &keyway_volume::UnlockOptions::default()).at(&place)?;
            Ok::<_, Error>((luks, found.volume_key))
        };
        let both = Both {
            old: (log.mode != Mode::Encrypt).then(|| side(files.old_header())).transpose()?,
            new: (log.mode != Mode::Decrypt).then(|| side(files.new_header())).transpose()?,
        };
        // In place of plaintext, cryptsetup has a header of the null cipher: nothing of ours.
        let fake = match log.mode {
            Mode::Reencrypt => None,
            Mode::Encrypt => Some(files.old_header()),
            Mode::Decrypt => Some(files.new_header()),
        };
        let io = |source| keyway_volume::Error::Io { what: format!("removing {}", path.display()), source };
        for fake in fake.iter().filter(|fake| fake.exists()) {
            std::fs::remove_file(fake).map_err(io).at(self.place())?;
        }
        self.write_state(&both, how, files, data, Some(log.done))?;
        std::fs::remove_file(&path).map_err(io).at(self.place())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_says_what_is_done_and_from_which_end() {
        let text = "# LUKS reencryption log, DO NOT EDIT OR DELETE.\nversion = 2\nUUID = x\n\
                    direction = 0\nmode = 2\noffset = 1048576\nshift = 0\n# EOF\n\0\0\0";
        let log = Log::parse(text).unwrap();
        assert_eq!((log.mode, log.done), (Mode::Decrypt, Done::UpTo(1 << 20)));
        let back = text.replace("direction = 0", "direction = 1").replace("mode = 2\n", "");
        let log = Log::parse(&back).unwrap();
        assert_eq!((log.mode, log.done), (Mode::Reencrypt, Done::From(1 << 20)));
        for (from, to) in [("version = 2", "version = 3"), ("mode = 2", "mode = 3"), ("offset = ", "offs = ")]
        {
            assert!(Log::parse(&text.replace(from, to)).is_none(), "{to}");
        }
    }
}
