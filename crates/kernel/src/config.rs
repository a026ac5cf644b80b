//! How a kernel was built: /proc/config.gz, or the file that its package leaves in /boot.

use std::fs;
use std::io::Read;
use std::path::Path;
use std::sync::OnceLock;

/// A kernel's configuration.
#[derive(Debug, Clone)]
pub struct Config(String);

/// What became of an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Built {
    /// Part of the kernel itself (y).
    In,
    /// A module of its own (m).
    AsModule,
    /// Left out, or unknown to this version.
    Out,
}

impl Config {
    /// That of `release` as it lies below `root`, if it does.
    pub fn look(root: &Path, release: &str) -> Option<Self> {
        let packed = fs::File::open(root.join("proc/config.gz")).ok();
        let unpacked = packed.and_then(|file| {
            let mut text = String::new();
            flate2::read::GzDecoder::new(file).take(LARGEST).read_to_string(&mut text).ok()?;
            Some(text)
        });
        unpacked.or_else(|| fs::read_to_string(root.join(format!("boot/config-{release}"))).ok()).map(Self)
    }

    /// That of the kernel that runs here, read once.
    pub(crate) fn of_running() -> Option<&'static Self> {
        static RUNNING: OnceLock<Option<Config>> = OnceLock::new();
        let look = || {
            let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
            Self::look(Path::new("/"), release.trim())
        };
        RUNNING.get_or_init(look).as_ref()
    }

    /// What became of an option, named without its "CONFIG_".
    pub fn built(&self, option: &str) -> Built {
        let value = |line: &str| {
            line.strip_prefix("CONFIG_")?.strip_prefix(option)?.strip_prefix('=').map(str::to_owned)
        };
        match self.0.lines().find_map(value).as_deref() {
            Some("y") => Built::In,
            Some("m") => Built::AsModule,
            _ => Built::Out,
        }
    }

    /// Whether it has exactly this line.
    pub(crate) fn says(&self, wanted: &str) -> bool {
        self.0.lines().any(|line| line == wanted)
    }
}

const LARGEST: u64 = 16 << 20;

#[cfg(test)]
impl Config {
    pub(crate) fn of_text(text: &str) -> Self {
        Self(text.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options() {
        let config = Config::of_text(
            "CONFIG_CRYPTO=y\n# CONFIG_CRYPTO_USER is not set\nCONFIG_CRYPTO_USER_API=m\nCONFIG_X=\"y\"\n",
        );
        let found =
            ["CRYPTO", "CRYPTO_USER", "CRYPTO_USER_API", "X", "CRYPT"].map(|option| config.built(option));
        assert_eq!(found, [Built::In, Built::Out, Built::AsModule, Built::Out, Built::Out]);
    }
}
