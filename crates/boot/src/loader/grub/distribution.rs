//! GRUB as distributions build it, as far as it opens other volumes than the release that it is
//! made of. docs/BOOTING.md names the origin of every row.
//!
//! Under Secure Boot the firmware starts an image that the distribution signed, and that image loads
//! no module from a disk (kern/lockdown.c, lockdown_verifier_init): what is not built in is not
//! there. Where the modules are on the volume that they are to open, that holds without Secure Boot
//! too.

use super::Version;

/// A distribution's signed EFI image.
#[derive(Debug, PartialEq, Eq)]
pub struct Distribution {
    /// Its name on command lines: "grub-ubuntu-24.04".
    pub name: &'static str,
    /// "Ubuntu 24.04".
    pub title: &'static str,
    /// The release whose code reads headers.
    pub version: Version,
    /// The release whose hashes and ciphers it has.
    pub(super) libgcrypt: Version,
    /// Those of its built-in modules that read volumes.
    modules: &'static [&'static [&'static str]],
}

impl Distribution {
    /// Looks one up by its name, with "grub-" or without.
    pub fn find(name: &str) -> Option<&'static Self> {
        let name = name.to_ascii_lowercase();
        let bare = name.strip_prefix(PREFIX).unwrap_or(&name);
        ALL.iter().find(|row| row.name.strip_prefix(PREFIX) == Some(bare))
    }

    /// All of them.
    pub fn all() -> impl Iterator<Item = &'static Self> {
        ALL.iter()
    }

    /// Whether a module is built into the image.
    pub fn has(&self, module: &str) -> bool {
        self.modules.iter().any(|part| part.contains(&module))
    }
}

/// The module that reads this format.
pub(super) fn reader(format: u8) -> &'static str {
    if format == 1 { "luks" } else { "luks2" }
}

const PREFIX: &str = "grub-";

const LUKS1: &[&str] = &["cryptodisk", "luks"];
const LUKS2: &[&str] = &["luks2"];
const ARGON2: &[&str] = &["argon2"];
const SHA3: &[&str] = &["gcry_keccak"];
/// What Debian and Ubuntu add by name.
#[rustfmt::skip]
const DEBIAN: &[&str] = &[
    "gcry_blowfish", "gcry_cast5", "gcry_des", "gcry_md5", "gcry_rijndael", "gcry_rmd160", "gcry_seed", "gcry_serpent",
    "gcry_sha1", "gcry_sha256", "gcry_sha512", "gcry_tiger", "gcry_twofish", "gcry_whirlpool",
];
/// What Fedora and RHEL add by name, and gcry_sha512 and gcry_sha1, without which their
/// password_pbkdf2 and pgp do not load.
#[rustfmt::skip]
const FEDORA: &[&str] = &[
    "gcry_rijndael", "gcry_serpent", "gcry_sha1", "gcry_sha256", "gcry_sha512", "gcry_twofish", "gcry_whirlpool",
];
const SUSE: &[&str] = &["gcry_rijndael", "gcry_sha1", "gcry_sha256", "gcry_sha512"];

const fn row(
    name: &'static str,
    title: &'static str,
    version: Version,
    modules: &'static [&'static [&'static str]],
) -> Distribution {
    Distribution { name, title, version, libgcrypt: version, modules }
}

use Version::{V2_06, V2_12, V2_14};

static ALL: &[Distribution] = &[
    row("grub-debian-12", "Debian 12", V2_06, &[LUKS1, LUKS2, DEBIAN]),
    row("grub-debian-13", "Debian 13", V2_12, &[LUKS1, LUKS2, DEBIAN]),
    row("grub-debian-14", "Debian 14 (testing)", V2_14, &[LUKS1, LUKS2, ARGON2, DEBIAN, SHA3]),
    row("grub-fedora", "Fedora 41 to 45", V2_12, &[LUKS1, LUKS2, FEDORA]),
    // The appended signatures of POWER brought 2.14's libgcrypt in 2.12-34.
    Distribution { libgcrypt: V2_14, ..row("grub-rhel-10", "RHEL 10", V2_12, &[LUKS1, LUKS2, FEDORA]) },
    row("grub-tumbleweed", "openSUSE Tumbleweed", V2_14, &[LUKS1, LUKS2, ARGON2, SUSE]),
    row("grub-ubuntu-22.04", "Ubuntu 22.04", V2_06, &[LUKS1, DEBIAN]),
    row("grub-ubuntu-24.04", "Ubuntu 24.04", V2_12, &[LUKS1, DEBIAN]),
    row("grub-ubuntu-26.04", "Ubuntu 26.04", V2_14, &[LUKS1, DEBIAN, SHA3]),
];

#[cfg(test)]
mod tests {
    use super::*;
    use keyway_crypto::kdf::speed::KdfSpeed;

    #[test]
    fn found_by_name_with_the_prefix_and_without() {
        for row in Distribution::all() {
            assert_eq!(Distribution::find(row.name), Some(row));
            assert_eq!(Distribution::find(row.name.trim_start_matches(PREFIX)), Some(row));
            assert_eq!(Distribution::find(&row.name.to_ascii_uppercase()), Some(row));
            assert!(row.has("luks") && row.has("gcry_sha256") && row.has("gcry_rijndael"), "{}", row.name);
            assert_eq!(row.has("luks2"), !row.title.starts_with("Ubuntu"), "{}", row.name);
            assert!(!row.has("argon2") || row.version == V2_14 && row.has("luks2"), "{}", row.name);
        }
        for name in ["grub-2.12", "2.12", "", "grub-", "ubuntu", "ubuntu-25.10", "grub-grub-fedora"] {
            assert_eq!(Distribution::find(name), None, "{name}");
        }
    }

    /// Their seconds are those of the release, under their own names too.
    #[test]
    fn each_has_a_pace() {
        for row in Distribution::all() {
            assert_eq!(KdfSpeed::find(row.name), Some(row.version.speed()), "{}", row.name);
        }
        assert_eq!(KdfSpeed::others().count(), ALL.len());
    }
}
