//! What the running kernel currently has, as far as it is visible without privileges.

use crate::proc_crypto::{self, Driver};
use crate::{Config, Missing, Registry, Running, Version, netlink};
use std::fs;
use std::path::Path;

/// A running kernel, or what its /proc/crypto tells about it.
#[derive(Debug, Clone)]
pub struct System {
    /// `uname -r`; empty if unknown.
    pub release: String,
    /// The kernel's drivers and selection rules.
    pub registry: Registry,
    /// What is loaded.
    pub running: Running,
    /// Why the kernel's own flags are unknown, in which case the table of engines is used.
    pub flags: Result<(), Missing>,
    /// Whether "selftest: passed" means anything.
    pub self_tests: SelfTests,
}

/// Whether the kernel tests drivers before it uses them. If it does not, it reports "passed" for
/// all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SelfTests {
    /// They run.
    Run,
    /// They were disabled, by this.
    Off(String),
    /// Unknown.
    Unknown,
}

impl System {
    /// Examines the kernel whose /proc and /sys are below `root`; netlink is used only for "/".
    pub fn look(root: &Path) -> std::io::Result<Self> {
        let text = |path: &str| fs::read_to_string(root.join(path)).unwrap_or_default();
        let drivers = fs::read(root.join("proc/crypto"))?;
        let mut drivers = proc_crypto::parse(&String::from_utf8_lossy(&drivers));
        let release = text("proc/sys/kernel/osrelease").trim().to_owned();
        let version =
            Version::find(&release, &(text("proc/version") + " " + &text("proc/version_signature")));
        let reports = match root == Path::new("/") {
            true => netlink::reports(),
            false => Err(Missing::new("this is not the running system")),
        };
        let flags = reports.map(|reports| netlink::add_flags(&mut drivers, &reports));
        let modules = fs::read_dir(root.join("sys/module")).into_iter().flatten().flatten();
        let modules = modules.map(|entry| entry.file_name().to_string_lossy().into_owned());
        let running = Running::new(&drivers, modules);
        let self_tests = SelfTests::look(root, &release);
        Ok(Self { release, registry: Registry { drivers, version }, running, flags, self_tests })
    }

    /// A kernel known from the text of its /proc/crypto, and perhaps its version.
    pub fn of_text(text: &str, version: Option<Version>) -> Self {
        let drivers: Vec<Driver> = proc_crypto::parse(text);
        Self {
            release: version.map_or_else(String::new, |version| version.to_string()),
            running: Running::new(&drivers, []),
            registry: Registry { drivers, version },
            flags: Err(Missing::new("/proc/crypto does not list them")),
            self_tests: SelfTests::Unknown,
        }
    }
}

impl SelfTests {
    fn look(root: &Path, release: &str) -> Self {
        // Linux, crypto/testmgr.c.
        let parameter = fs::read_to_string(root.join("sys/module/cryptomgr/parameters/notests"));
        if parameter.is_ok_and(|value| value.trim() == "Y") {
            return Self::Off("cryptomgr.notests".into());
        }
        let Some(config) = Config::look(root, release) else { return Self::Unknown };
        // From Linux 6.16 on under the opposite name.
        let off = [
            ("CONFIG_CRYPTO_MANAGER_DISABLE_TESTS=y", "CONFIG_CRYPTO_MANAGER_DISABLE_TESTS"),
            ("# CONFIG_CRYPTO_SELFTESTS is not set", "no CONFIG_CRYPTO_SELFTESTS"),
        ];
        let found = off.into_iter().find(|(option, _)| config.says(option));
        found.map_or(Self::Run, |(_, why)| Self::Off(why.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_below_a_directory() {
        let root = std::env::temp_dir().join(format!("keyway-system-{}", std::process::id()));
        for (path, text) in [
            ("proc/crypto", "name : xts(aes)\ndriver : xts-aes-ce\ntype : skcipher\n"),
            ("proc/sys/kernel/osrelease", "6.1.0-48-arm64\n"),
            ("proc/version", "Linux version 6.1.0-48-arm64 (…) #1 SMP Debian 6.1.174-1 (2026-04-01)"),
            ("boot/config-6.1.0-48-arm64", "CONFIG_CRYPTO=y\nCONFIG_CRYPTO_MANAGER_DISABLE_TESTS=y\n"),
            ("sys/module/dm_crypt/refcnt", "1"),
        ] {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let system = System::look(&root).unwrap();
        fs::remove_dir_all(&root).unwrap();
        assert_eq!(system.registry.version, Version::parse("6.1.174"));
        assert_eq!(system.self_tests, SelfTests::Off("CONFIG_CRYPTO_MANAGER_DISABLE_TESTS".into()));
        assert!(system.running.modules.contains("dm_crypt") && system.flags.is_err());
        assert!(System::look(&root).is_err(), "without /proc there is nothing to see");
    }
}
