//! Volume keys in the kernel's keyring, where cryptsetup puts them for LUKS2.
//!
//! The table line then refers to a key (`:64:logon:cryptsetup:UUID-d0`) instead of containing it,
//! so that nobody can read the key back from the kernel. The key is added to the thread's own
//! keyring before the table is loaded, dm-crypt takes its own copy, and the key is unlinked again.
//! `--link-vk-to-keyring` adds the key to a keyring of the user's choice, where it stays.
//!
//! Source: cryptsetup lib/setup.c (crypt_volume_key_load_in_keyring),
//! lib/utils_keyring.c; add_key(2), keyctl(2).

use super::sys;
use crate::{Error, Refusal, Result};
use keyway_crypto::Secret;
use rustix::io::Errno;
use std::ffi::{CStr, CString};
use std::fmt;
use std::fs;
use std::str::FromStr;

/// A type of key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Programs cannot read the key back; dm-crypt can.
    Logon,
    /// The key's owner can read it back.
    User,
}

impl Kind {
    /// The type's name in the kernel.
    pub fn name(self) -> &'static str {
        match self {
            Self::Logon => "logon",
            Self::User => "user",
        }
    }

    fn as_c_str(self) -> &'static CStr {
        match self {
            Self::Logon => c"logon",
            Self::User => c"user",
        }
    }
}

/// A keyring's serial number; negative ones are this process's special keyrings (`KEY_SPEC_…`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Keyring(pub i32);

impl Keyring {
    /// The thread's keyring, which is gone when the thread ends.
    pub(crate) const THREAD: Self = Self(-1);
    /// The process's keyring.
    pub(crate) const PROCESS: Self = Self(-2);
    /// The login session's keyring.
    pub const SESSION: Self = Self(-3);
    /// The user's keyring.
    pub const USER: Self = Self(-4);
    /// The user's default session keyring.
    pub(crate) const USER_SESSION: Self = Self(-5);
}

/// Parses a keyring as cryptsetup's options name it: `@t @p @s @u @us`, `%:NAME` or
/// `%keyring:NAME`, or a number.
impl FromStr for Keyring {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let own = [
            ("@t", Self::THREAD),
            ("@p", Self::PROCESS),
            ("@s", Self::SESSION),
            ("@u", Self::USER),
            ("@us", Self::USER_SESSION),
        ];
        if let Some((_, keyring)) = own.iter().find(|(name, _)| *name == text) {
            return Ok(*keyring);
        }
        if let Some(name) = text.strip_prefix("%:").or_else(|| text.strip_prefix("%keyring:")) {
            return find_keyring(name).map(Self);
        }
        let number = match text.strip_prefix("0x") {
            Some(digits) => i32::from_str_radix(digits, 16).ok(),
            None => text.parse().ok(),
        };
        number.filter(|&number| number != 0).map(Self).ok_or_else(|| {
            Refusal::KeyName
                .because(format!("{text:?} is not a keyring: @s, @u, @us, @p, @t, %:NAME or a number"))
        })
    }
}

/// The argument of `--link-vk-to-keyring`: `KEYRING::DESCRIPTION`, the description optionally
/// preceded by `%logon:` or `%user:` (the default).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// The keyring that the key is added to.
    pub keyring: Keyring,
    /// The key's type.
    pub kind: Kind,
    /// The key's description.
    pub description: String,
}

impl FromStr for Link {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let (keyring, key) = text
            .split_once("::")
            .filter(|(keyring, key)| !keyring.is_empty() && !key.is_empty())
            .ok_or_else(|| Refusal::KeyName.because(format!("{text:?} is not KEYRING::DESCRIPTION")))?;
        let (kind, description) = match key.strip_prefix('%').map(|key| key.split_once(':')) {
            None => (Kind::User, key),
            Some(Some(("user", description))) => (Kind::User, description),
            Some(Some(("logon", description))) => (Kind::Logon, description),
            Some(_) => {
                return Err(Refusal::KeyName
                    .because(format!("{key:?} cannot hold a volume key: use %user: or %logon:")));
            }
        };
        Ok(Self { keyring: to_link_into(keyring)?, kind, description: description.to_owned() })
    }
}

/// cryptsetup also accepts a keyring's bare name here, and ignores a type before it.
fn to_link_into(keyring: &str) -> Result<Keyring> {
    let is_number = keyring.starts_with(|c: char| c.is_ascii_digit() || c == '-');
    if is_number || keyring.starts_with('@') {
        return keyring.parse();
    }
    let name = match keyring.strip_prefix('%') {
        Some(typed) => typed.split_once(':').map(|(_, name)| name),
        None => Some(keyring),
    };
    match name.filter(|name| !name.is_empty()) {
        Some(name) => find_keyring(name).map(Keyring),
        None => Err(Refusal::KeyName.because(format!("{keyring:?} is not a keyring"))),
    }
}

/// The serial number of a key in the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key(i32);

impl Key {
    /// Adds a key to a keyring, replacing one of the same type and description.
    ///
    /// # Errors
    /// [`Error::Unavailable`] when the kernel has no key service, [`Error::Permission`],
    /// [`Error::Refused`] (a logon key's description needs a prefix ending in a colon).
    pub fn add(kind: Kind, description: &str, payload: &Secret, keyring: Keyring) -> Result<Self> {
        let name = c_string(description)?;
        let added = sys::add_key(kind.as_c_str(), &name, payload.expose(), keyring.0);
        added
            .map(Self)
            .map_err(|error| failed(error, || format!("adding the {} key {description}", kind.name())))
    }

    /// Finds the key of this type and description in this process's keyrings.
    ///
    /// # Errors
    /// [`Error::NotFound`] if there is none.
    pub fn find(kind: Kind, description: &str) -> Result<Self> {
        let found = sys::request_key(kind.as_c_str(), &c_string(description)?);
        found.map(Self).map_err(|error| failed(error, || format!("the {} key {description}", kind.name())))
    }

    /// Finds a key that this process's keyrings do not link to, among all keys that it can see.
    ///
    /// # Errors
    /// [`Error::NotFound`] if there is none.
    pub fn find_listed(kind: Kind, description: &str) -> Result<Self> {
        let none = || Error::NotFound(format!("the {} key {description}: there is no such key", kind.name()));
        listed(kind.name(), description).map(Self).ok_or_else(none)
    }

    /// The key's payload; a logon key cannot be read.
    ///
    /// # Errors
    /// [`Error::Permission`].
    pub fn read(self) -> Result<Secret> {
        sys::read_key(self.0).map_err(|error| failed(error, || format!("reading key {self}")))
    }

    /// Unlinks the key from a keyring; a key linked nowhere is destroyed.
    ///
    /// # Errors
    /// [`Error::NotFound`] if the key is not in the keyring.
    pub fn unlink(self, keyring: Keyring) -> Result<()> {
        let unlinked = sys::keyctl(sys::KEYCTL_UNLINK, self.0, keyring.0);
        unlinked.map_err(|error| failed(error, || format!("removing key {self}")))
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// A volume key in this thread's keyring while a table is loaded; it is unlinked on drop. Tables
/// loaded by other threads cannot refer to it.
#[derive(Debug)]
pub struct VolumeKey {
    key: Key,
    /// The reference for table lines.
    pub reference: super::crypt::KeyReference,
}

impl VolumeKey {
    /// Adds a volume key, described by the volume's UUID and the digest's number, as for LUKS2
    /// volumes.
    ///
    /// # Errors
    /// As [`Key::add`].
    pub fn add(uuid: &str, digest: u32, volume_key: &Secret) -> Result<Self> {
        let description = description(uuid, digest);
        let key = Key::add(Kind::Logon, &description, volume_key, Keyring::THREAD)?;
        let reference = super::crypt::KeyReference {
            size: volume_key.len(),
            kind: Kind::Logon.name().to_owned(),
            description,
        };
        Ok(Self { key, reference })
    }
}

impl Drop for VolumeKey {
    fn drop(&mut self) {
        // It is gone when the thread ends, at the latest.
        let _ = self.key.unlink(Keyring::THREAD);
    }
}

/// `cryptsetup:UUID-dDIGEST`.
pub fn description(uuid: &str, digest: u32) -> String {
    format!("cryptsetup:{uuid}-d{digest}")
}

/// Whether this kernel has a key service at all.
pub fn is_available() -> bool {
    sys::request_key(c"logon", c"keyway:probe") != Err(Errno::NOSYS)
}

/// Finds a keyring by name among those that this process can see.
fn find_keyring(name: &str) -> Result<i32> {
    if let Ok(number) = sys::request_key(c"keyring", &c_string(name)?) {
        return Ok(number);
    }
    listed("keyring", name).ok_or_else(|| Error::NotFound(format!("there is no keyring {name}")))
}

/// The serial number of a key in `/proc/keys`.
fn listed(kind: &str, description: &str) -> Option<i32> {
    let keys = fs::read_to_string("/proc/keys").unwrap_or_default();
    keys.lines().find_map(|line| listed_number(line, kind, description))
}

/// One line of `/proc/keys`: serial, flags, usage, timeout, permissions, uid, gid, type,
/// `DESCRIPTION: summary`.
fn listed_number(line: &str, kind: &str, description: &str) -> Option<i32> {
    let mut fields = line.split_ascii_whitespace();
    let serial = fields.next()?;
    let is_of_kind = fields.nth(6)? == kind;
    let described = line.split_once(&format!(" {kind} ")).map(|(_, text)| text.trim_start())?;
    let name = described.rsplit_once(':').map_or(described, |(name, _)| name);
    (is_of_kind && name == description).then(|| i32::from_str_radix(serial, 16).ok())?
}

fn c_string(text: &str) -> Result<CString> {
    CString::new(text).map_err(|_| Refusal::KeyName.because(format!("{text:?} contains a NUL byte")))
}

fn failed(error: Errno, what: impl FnOnce() -> String) -> Error {
    match error {
        Errno::NOSYS => Error::Unavailable("this kernel has no keyrings (CONFIG_KEYS)".into()),
        Errno::NOKEY | Errno::KEYEXPIRED | Errno::KEYREVOKED | Errno::NOENT => {
            Error::NotFound(format!("{}: there is no such key", what()))
        }
        Errno::ACCESS | Errno::PERM => Error::Permission(format!("{}: not allowed", what())),
        Errno::INVAL => Refusal::Key.because(format!("{}: the kernel does not accept it", what())),
        other => Error::Io { what: what(), source: other.into() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keyrings_by_name() {
        assert_eq!("@u".parse::<Keyring>().unwrap(), Keyring::USER);
        assert_eq!("0x10".parse::<Keyring>().unwrap(), Keyring(16));
        assert_eq!("12".parse::<Keyring>().unwrap(), Keyring(12));
        for text in ["", "@x", "0", "home", "%user:x"] {
            assert!(text.parse::<Keyring>().is_err(), "{text}");
        }
        let line = "2f5b1a3c I--Q---     3 perm 3f030000     0     0 keyring   my ring: 2";
        assert_eq!(listed_number(line, "keyring", "my ring"), Some(0x2f5b_1a3c));
        assert_eq!(listed_number(line, "keyring", "my"), None);
        assert_eq!(listed_number("", "keyring", "my"), None);
        let line = "2f5b1a3c I--Q---     1 perm 3f010000     0     0 user      a:b: 16";
        assert_eq!(listed_number(line, "user", "a:b"), Some(0x2f5b_1a3c));
        assert_eq!(listed_number(line, "keyring", "a:b"), None);
    }

    #[test]
    fn links_as_cryptsetup_reads_them() {
        let link = |keyring, kind, description: &str| Link { keyring, kind, description: description.into() };
        for (text, expected) in [
            ("@u::mine", link(Keyring::USER, Kind::User, "mine")),
            ("@s::%user:a:b", link(Keyring::SESSION, Kind::User, "a:b")),
            ("@us::%logon:a:b", link(Keyring::USER_SESSION, Kind::Logon, "a:b")),
        ] {
            assert_eq!(text.parse::<Link>().unwrap(), expected);
        }
        for text in
            ["@u", "@u::", "::mine", "@u::%trusted:mine", "@x::mine", "%::mine", "%user::mine", "@u::%mine"]
        {
            assert!(text.parse::<Link>().is_err(), "{text}");
        }
    }

    #[test]
    fn volume_keys_are_named_as_cryptsetup_names_them() {
        let uuid = "01234567-89ab-cdef-0123-456789abcdef";
        assert_eq!(description(uuid, 0), "cryptsetup:01234567-89ab-cdef-0123-456789abcdef-d0");
    }

    #[test]
    fn a_key_is_there_until_it_is_dropped() {
        let uuid = "01234567-89ab-cdef-0123-456789abcdef";
        let key = match VolumeKey::add(uuid, 3, &Secret::copy_from(&[7; 32])) {
            Ok(key) => key,
            Err(error) => return left_out(&error),
        };
        assert_eq!(key.reference.to_string(), format!(":32:logon:cryptsetup:{uuid}-d3"));
        let name = description(uuid, 3);
        assert!(Key::find(Kind::Logon, &name).unwrap().read().is_err(), "a logon key is not read back");
        drop(key);
        assert!(matches!(Key::find(Kind::Logon, &name), Err(Error::NotFound(_))));
    }

    /// Containers and emulators forbid these calls; the test is then listed among those left out.
    fn left_out(reason: &Error) {
        let Some(list) = std::env::var_os("KEYWAY_SKIPS") else { return };
        let line = format!("dm::keyring::tests::a_key_is_there_until_it_is_dropped: {reason}\n");
        let file = fs::OpenOptions::new().create(true).append(true).open(list);
        file.and_then(|mut file| std::io::Write::write_all(&mut file, line.as_bytes())).unwrap();
    }
}
