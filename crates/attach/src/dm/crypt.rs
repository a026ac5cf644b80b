//! dm-crypt table lines as a type.
//!
//! ```text
//! CIPHER KEY IV_OFFSET DEVICE OFFSET [COUNT OPTION…]
//! aes-xts-plain64 :64:logon:cryptsetup:UUID-d0 0 8:1 32768 1 sector_size:4096
//! ```
//!
//! `KEY` is hexadecimal, `-` for none, or `:SIZE:TYPE:DESCRIPTION` for a keyring key. Offsets count
//! 512-byte sectors. Source: dm-crypt.rst, drivers/md/dm-crypt.c (crypt_ctr, crypt_status).

use super::{DeviceNumber, Target, Version};
use crate::{Error, Refusal, Result};
use keyway_crypto::Secret;
use std::fmt;
use std::str::FromStr;

/// The parameters of a dm-crypt target.
pub struct Line {
    /// `aes-xts-plain64`, `capi:xts(aes)-plain64`.
    pub cipher: String,
    /// The key.
    pub key: Key,
    /// Added to the sector number before it becomes an IV; counts sectors of 512 bytes.
    pub iv_offset: u64,
    /// The encrypted device.
    pub device: DeviceNumber,
    /// Its first sector of 512 bytes.
    pub offset: u64,
    /// The optional arguments.
    pub options: Options,
}

/// A key as written in a table line.
pub enum Key {
    /// `-`, for `cipher_null`.
    Absent,
    /// In the table line itself.
    Bytes(Secret),
    /// In the kernel's keyring.
    InKeyring(KeyReference),
}

/// A key in the kernel's keyring, as a table line refers to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyReference {
    /// The key's length in bytes.
    pub size: usize,
    /// `logon`, `user`, `encrypted`, `trusted`.
    pub kind: String,
    /// The key's description.
    pub description: String,
}

/// The optional arguments.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options {
    /// Discards are passed on.
    pub allow_discards: bool,
    /// Each request is processed on the CPU that issued it.
    pub same_cpu_crypt: bool,
    /// Writes are submitted by the thread that encrypted them, unsorted.
    pub submit_from_crypt_cpus: bool,
    /// Reads are decrypted in the context in which they complete.
    pub no_read_workqueue: bool,
    /// Writes are encrypted in the context in which they are issued.
    pub no_write_workqueue: bool,
    /// dm-crypt's threads run at high priority.
    pub high_priority: bool,
    /// The size of an encryption sector in bytes, if not 512.
    pub sector_size: Option<u32>,
    /// IVs count encryption sectors instead of 512-byte sectors.
    pub iv_large_sectors: bool,
    /// `BYTES:TYPE` of the per-sector authentication tag.
    pub integrity: Option<String>,
    /// Options that have no field here.
    pub others: Vec<String>,
}

/// What a given version of dm-crypt supports (cryptsetup lib/libdevmapper.c, _dm_set_crypt_compat).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Features {
    /// `allow_discards`.
    pub discards: bool,
    /// `same_cpu_crypt` and `submit_from_crypt_cpus`.
    pub cpu_options: bool,
    /// `sector_size`, and `capi:` in the cipher.
    pub sector_size: bool,
    /// Keys in the keyring.
    pub keyring: bool,
    /// `no_read_workqueue` and `no_write_workqueue`.
    pub no_workqueue: bool,
    /// `high_priority`.
    pub high_priority: bool,
}

impl Features {
    /// The features of this version of the target; one not loaded yet is assumed to be new.
    pub fn of(version: Option<Version>) -> Self {
        let from = |least: Version| version.is_none_or(|version| version >= least);
        Self {
            discards: from((1, 11, 0)),
            cpu_options: from((1, 14, 0)),
            sector_size: from((1, 17, 0)),
            keyring: from((1, 18, 1)),
            no_workqueue: from((1, 22, 0)),
            high_priority: from((1, 26, 0)),
        }
    }
}

impl Line {
    /// Parses a line written by [`Line::format`] or the kernel. Unknown options are kept.
    ///
    /// # Errors
    /// [`Error::Refused`] if the text is not a dm-crypt line.
    pub fn parse(text: &[u8]) -> Result<Self> {
        Self::parts(text).ok_or_else(|| Refusal::TableLine.because("this is not a table line of dm-crypt"))
    }

    fn parts(text: &[u8]) -> Option<Self> {
        let mut fields = text.split(|&byte| byte == b' ').filter(|field| !field.is_empty());
        let cipher = word(fields.next()?)?.to_owned();
        let key = Key::parse(fields.next()?)?;
        let iv_offset = word(fields.next()?)?.parse().ok()?;
        let device = word(fields.next()?)?.parse().ok()?;
        let offset = word(fields.next()?)?.parse().ok()?;
        let mut options = Options::default();
        if let Some(count) = fields.next() {
            let count: usize = word(count)?.parse().ok()?;
            for _ in 0..count {
                options.set(word(fields.next()?)?);
            }
        }
        fields.next().is_none().then_some(Self { cipher, key, iv_offset, device, offset, options })
    }

    /// The line as text, including the key.
    pub fn format(&self) -> Secret {
        let head = format!("{} ", self.cipher);
        let mut tail = format!(" {} {} {}", self.iv_offset, self.device, self.offset);
        let options = self.options.words();
        if !options.is_empty() {
            tail += &format!(" {} {}", options.len(), options.join(" "));
        }
        self.key.between(&head, &tail)
    }
}

impl Key {
    /// Parses a key as written in a table line; `None` if it is malformed.
    fn parse(text: &[u8]) -> Option<Self> {
        if text == b"-" {
            return Some(Self::Absent);
        }
        if text.starts_with(b":") {
            return Some(Self::InKeyring(word(text)?.parse().ok()?));
        }
        if text.is_empty() || !text.len().is_multiple_of(2) {
            return None;
        }
        let mut key = Secret::zeroed(text.len() / 2);
        for (byte, digits) in key.expose_mut().iter_mut().zip(text.chunks_exact(2)) {
            *byte = digit(digits[0])? << 4 | digit(digits[1])?;
        }
        Some(Self::Bytes(key))
    }

    /// The key's length in bytes.
    pub fn len(&self) -> usize {
        match self {
            Self::Absent => 0,
            Self::Bytes(key) => key.len(),
            Self::InKeyring(reference) => reference.size,
        }
    }

    /// Whether the key has no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The key's text between `head` and `tail`, in memory that is wiped.
    fn between(&self, head: &str, tail: &str) -> Secret {
        match self {
            Self::Absent => Secret::copy_from(format!("{head}-{tail}").as_bytes()),
            Self::InKeyring(reference) => Secret::copy_from(format!("{head}{reference}{tail}").as_bytes()),
            Self::Bytes(key) => {
                let mut text = Secret::zeroed(head.len() + 2 * key.len() + tail.len());
                let (start, rest) = text.expose_mut().split_at_mut(head.len());
                start.copy_from_slice(head.as_bytes());
                let (digits, end) = rest.split_at_mut(2 * key.len());
                for (pair, &byte) in digits.chunks_exact_mut(2).zip(key.expose()) {
                    pair.copy_from_slice(&[hex(byte >> 4), hex(byte & 15)]);
                }
                end.copy_from_slice(tail.as_bytes());
                text
            }
        }
    }
}

impl fmt::Display for KeyReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, ":{}:{}:{}", self.size, self.kind, self.description)
    }
}

impl FromStr for KeyReference {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let mut parts = text.strip_prefix(':').unwrap_or_default().splitn(3, ':');
        let mut parse = || {
            let size = parts.next()?.parse().ok()?;
            let kind = parts.next().filter(|kind| !kind.is_empty())?.to_owned();
            let description = parts.next().filter(|description| !description.is_empty())?.to_owned();
            Some(Self { size, kind, description })
        };
        parse().ok_or_else(|| Refusal::TableLine.because(format!("{text:?} is not :SIZE:TYPE:DESCRIPTION")))
    }
}

impl Options {
    /// The options, in the order in which the kernel writes them.
    fn words(&self) -> Vec<String> {
        let flags = [
            (self.allow_discards, ALLOW_DISCARDS),
            (self.same_cpu_crypt, SAME_CPU_CRYPT),
            (self.high_priority, HIGH_PRIORITY),
            (self.submit_from_crypt_cpus, SUBMIT_FROM_CRYPT_CPUS),
            (self.no_read_workqueue, NO_READ_WORKQUEUE),
            (self.no_write_workqueue, NO_WRITE_WORKQUEUE),
        ];
        let mut words: Vec<String> =
            flags.into_iter().filter(|(on, _)| *on).map(|(_, word)| word.to_owned()).collect();
        words.extend(self.integrity.as_ref().map(|integrity| format!("{INTEGRITY}{integrity}")));
        words.extend(self.sector_size.map(|size| format!("{SECTOR_SIZE}{size}")));
        words.extend(self.iv_large_sectors.then(|| IV_LARGE_SECTORS.to_owned()));
        words.extend(self.others.iter().cloned());
        words
    }

    fn set(&mut self, word: &str) {
        match word {
            ALLOW_DISCARDS => self.allow_discards = true,
            SAME_CPU_CRYPT => self.same_cpu_crypt = true,
            HIGH_PRIORITY => self.high_priority = true,
            SUBMIT_FROM_CRYPT_CPUS => self.submit_from_crypt_cpus = true,
            NO_READ_WORKQUEUE => self.no_read_workqueue = true,
            NO_WRITE_WORKQUEUE => self.no_write_workqueue = true,
            IV_LARGE_SECTORS => self.iv_large_sectors = true,
            _ => self.set_value(word),
        }
    }

    fn set_value(&mut self, word: &str) {
        if let Some(integrity) = word.strip_prefix(INTEGRITY) {
            self.integrity = Some(integrity.to_owned());
        } else if let Some(Ok(size)) = word.strip_prefix(SECTOR_SIZE).map(str::parse) {
            self.sector_size = Some(size);
        } else {
            self.others.push(word.to_owned());
        }
    }
}

/// Messages to a suspended mapping ([`Mapper::message`](super::Mapper::message)).
pub mod message {
    use super::{Key, Secret};

    /// Makes dm-crypt forget the mapping's key.
    pub fn wipe_key() -> Secret {
        Secret::copy_from(b"key wipe")
    }

    /// Sets the mapping's key, which must be as long as the previous one.
    pub fn set_key(key: &Key) -> Secret {
        key.between("key set ", "")
    }
}

/// Replaces the digits of the key in a table line with zeros.
pub(super) fn hide_key(target: &mut Target) {
    if target.kind != "crypt" {
        return;
    }
    let mut fields = target.parameters.expose_mut().split_mut(|&byte| byte == b' ');
    if let Some(key) = fields.nth(1).filter(|key| key.iter().all(u8::is_ascii_hexdigit)) {
        key.fill(b'0');
    }
}

fn word(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok()
}

fn digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).map(|digit| digit as u8)
}

fn hex(digit: u8) -> u8 {
    b"0123456789abcdef"[usize::from(digit)]
}

const ALLOW_DISCARDS: &str = "allow_discards";
const SAME_CPU_CRYPT: &str = "same_cpu_crypt";
const HIGH_PRIORITY: &str = "high_priority";
const SUBMIT_FROM_CRYPT_CPUS: &str = "submit_from_crypt_cpus";
const NO_READ_WORKQUEUE: &str = "no_read_workqueue";
const NO_WRITE_WORKQUEUE: &str = "no_write_workqueue";
const IV_LARGE_SECTORS: &str = "iv_large_sectors";
const SECTOR_SIZE: &str = "sector_size:";
const INTEGRITY: &str = "integrity:";

#[cfg(test)]
mod tests {
    use super::*;

    const KEYRING: &str = ":64:logon:cryptsetup:01234567-89ab-cdef-0123-456789abcdef-d0";

    #[test]
    fn lines_of_the_kernels_read_and_write() {
        for text in [
            "aes-xts-plain64 000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f 0 254:1 4096",
            "aes-xts-plain64 KEYRING 0 8:1 32768 1 sector_size:4096",
            "cipher_null-ecb - 0 7:0 8",
            "aes-cbc-essiv:sha256 00ff 18446744073709551615 8:17 0 6 allow_discards same_cpu_crypt high_priority \
             submit_from_crypt_cpus no_read_workqueue no_write_workqueue",
            "capi:xts(aes)-plain64 KEYRING 0 8:1 0 3 integrity:28:aead sector_size:512 iv_large_sectors",
            "aes-xts-plain64 KEYRING 0 8:1 0 2 integrity_key_size:32 from_the_future",
        ] {
            let text = text.replace("KEYRING", KEYRING);
            let line = Line::parse(text.as_bytes()).unwrap();
            assert_eq!(std::str::from_utf8(line.format().expose()).unwrap(), text);
        }
    }

    #[test]
    fn what_a_line_says() {
        let text = format!("aes-xts-plain64 {KEYRING} 8 254:3 32768 2 allow_discards sector_size:4096");
        let line = Line::parse(text.as_bytes()).unwrap();
        assert_eq!((&*line.cipher, line.iv_offset, line.offset), ("aes-xts-plain64", 8, 32768));
        assert_eq!(line.device, DeviceNumber { major: 254, minor: 3 });
        assert!(line.options.allow_discards && line.options.sector_size == Some(4096));
        let Key::InKeyring(reference) = &line.key else { panic!("the key is in the keyring") };
        assert_eq!((reference.size, &*reference.kind), (64, "logon"));
        assert_eq!(reference.description, "cryptsetup:01234567-89ab-cdef-0123-456789abcdef-d0");
    }

    #[test]
    fn other_text_is_refused() {
        for text in [
            "",
            "aes",
            "aes 00",
            "aes 00 0 8:1",
            "aes 0 0 8:1 0",
            "aes 0g 0 8:1 0",
            "aes 00 -1 8:1 0",
            "aes 00 0 /dev/sda 0",
            "aes 00 0 8:1 0 2 allow_discards",
            "aes 00 0 8:1 0 0 allow_discards",
            "aes :64:logon 0 8:1 0",
            "aes :x:logon:a:b 0 8:1 0",
            "aes :: 0 8:1 0",
        ] {
            assert!(Line::parse(text.as_bytes()).is_err(), "{text}");
        }
    }

    #[test]
    fn keys_are_hidden_and_references_stay() {
        let mut target = Target::error(0, 8);
        target.kind = "crypt".into();
        for (text, hidden) in [
            ("aes-ecb 00ffab 0 8:1 0", "aes-ecb 000000 0 8:1 0"),
            ("aes-ecb :3:logon:a:b 0 8:1 0", "aes-ecb :3:logon:a:b 0 8:1 0"),
            ("cipher_null-ecb - 0 8:1 0", "cipher_null-ecb - 0 8:1 0"),
        ] {
            target.parameters = Secret::copy_from(text.as_bytes());
            hide_key(&mut target);
            assert_eq!(std::str::from_utf8(target.parameters.expose()).unwrap(), hidden);
        }
    }

    #[test]
    fn messages() {
        assert_eq!(message::wipe_key().expose(), b"key wipe");
        let key = Key::Bytes(Secret::copy_from(&[0x0a, 0xf0]));
        assert_eq!(message::set_key(&key).expose(), b"key set 0af0");
    }

    #[test]
    fn versions_and_what_they_can_do() {
        assert!(Features::of(None).keyring);
        let old = Features::of(Some((1, 18, 0)));
        assert!(old.sector_size && !old.keyring && !old.no_workqueue);
        assert!(Features::of(Some((1, 24, 0))).no_workqueue);
    }
}
