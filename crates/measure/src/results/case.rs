//! What can be measured. A case contains everything that its figure depends on, apart from the
//! machine.

use keyway_crypto::CipherSpec;
use serde::{Deserialize, Serialize};
use std::fmt;

/// One thing to measure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Case {
    /// A cipher in memory.
    Cipher(CipherCase),
    /// A key derivation.
    Kdf(KdfCase),
    /// Storage, plain or encrypted.
    Disk(DiskCase),
    /// One driver of the kernel's crypto API, by its name.
    Driver(DriverCase),
}

/// A cipher over messages in memory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CipherCase {
    /// The implementation that runs.
    pub by: By,
    /// The specification, as passed to dm-crypt: "aes-xts-plain64".
    pub spec: String,
    /// Size of the volume key in bits.
    pub key_bits: u32,
    /// Bytes under one IV.
    pub sector_size: u32,
    /// Bytes per call: a sector, or a run of several.
    pub message: u32,
    /// The direction.
    pub direction: Direction,
    /// The number of threads that work at once, each on its own messages.
    pub threads: u32,
    /// Whether this is the tool's default.
    pub default: bool,
}

/// A key derivation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KdfCase {
    /// The implementation that runs.
    pub by: By,
    /// "pbkdf2", "argon2i", "argon2id" or "bitlocker": SHA-256, again and again.
    pub kdf: String,
    /// PBKDF2's hash.
    pub hash: Option<String>,
    /// Argon2's memory.
    pub memory_kib: Option<u32>,
    /// Argon2's lanes, on as many threads; for PBKDF2, the number of passwords tried side by side.
    pub lanes: u32,
    /// Size of the derived key in bits.
    pub key_bits: u32,
    /// The time for which a cost is sought ([`super::Unit::Cost`]), in milliseconds; null if a rate
    /// is measured.
    pub iter_time_ms: Option<u32>,
    /// Whether this is the tool's default.
    pub default: bool,
}

/// Reads or writes of storage.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DiskCase {
    /// The path: [`By::Plain`], Keyway's own path, or the kernel's dm-crypt.
    pub by: By,
    /// The medium: "file", "loop", "brd", "null_blk", "block device".
    pub medium: String,
    /// The specification; null if nothing is encrypted.
    pub spec: Option<String>,
    /// Size of the volume key in bits; null if nothing is encrypted.
    pub key_bits: Option<u32>,
    /// Encryption sector size; null if nothing is encrypted.
    pub sector_size: Option<u32>,
    /// Order and direction.
    pub pattern: Pattern,
    /// Bytes of one request.
    pub block: u32,
    /// Requests in flight at once.
    pub depth: u32,
    /// Total bytes read or written; null if the run is bounded by time instead.
    pub total: Option<u64>,
    /// dm-crypt's options, "no_read_workqueue" …, and anything else that distinguishes this case;
    /// sorted.
    pub flags: Vec<String>,
    /// What made the requests: "fio" or "keyway".
    pub engine: String,
}

/// One kernel driver, by its name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DriverCase {
    /// The algorithm as the crypto API names it: "xts(aes)".
    pub algorithm: String,
    /// The driver: "xts-aes-aesni".
    pub driver: String,
    /// Its priority in /proc/crypto.
    pub priority: i64,
    /// Size of the key in bits.
    pub key_bits: u32,
    /// Bytes of one request.
    pub message: u32,
    /// The direction.
    pub direction: Direction,
}

/// The implementation that does the work. As text: "keyway", "plain", "dm-crypt", "kernel"
/// (whatever it picks), "kernel:xts-aes-aesni", or a peer's name.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum By {
    /// This program.
    Keyway,
    /// Storage without encryption.
    Plain,
    /// The kernel's dm-crypt.
    DmCrypt,
    /// The kernel's crypto API through AF_ALG, with the named driver or, without a name, the driver
    /// that the kernel picks.
    Kernel(Option<String>),
    /// Another program or library: "openssl", "cryptsetup" …
    Peer(String),
}

/// Encryption or decryption.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs)] // The names say it all, in text too.
pub enum Direction {
    Encrypt,
    Decrypt,
}

/// Order and direction of requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs)] // The names say it all.
pub enum Pattern {
    SequentialRead,
    SequentialWrite,
    RandomRead,
    RandomWrite,
    /// Seven reads to three writes, at random.
    RandomMixed,
}

impl Case {
    /// The case's name: the same for the same case on every machine
    /// and in every version of this schema.
    pub fn id(&self) -> String {
        match self {
            Self::Cipher(CipherCase {
                by, spec, key_bits, sector_size, message, direction, threads, ..
            }) => {
                let sizes = format!("key{key_bits}/sector{sector_size}/message{message}");
                format!("cipher/{by}/{spec}/{sizes}/{direction}/threads{threads}")
            }
            Self::Kdf(case) => case.id(),
            Self::Disk(case) => case.id(),
            Self::Driver(DriverCase { algorithm, driver, key_bits, message, direction, .. }) => {
                format!("driver/{algorithm}/{driver}/key{key_bits}/message{message}/{direction}")
            }
        }
    }

    /// Whether this is the tool's default. The same case by another implementation is not.
    pub fn is_default(&self) -> bool {
        match self {
            Self::Cipher(case) => case.is_default(),
            Self::Kdf(case) => case.default && case.by == By::Keyway,
            Self::Disk(_) | Self::Driver(_) => false,
        }
    }
}

impl CipherCase {
    /// Keyway's encryption with one sector per call on one thread.
    pub(crate) fn new(spec: &str, key_bits: u32, sector_size: u32) -> Self {
        Self {
            by: By::Keyway,
            spec: spec.to_owned(),
            key_bits,
            sector_size,
            message: sector_size,
            direction: Direction::Encrypt,
            threads: 1,
            default: (spec, key_bits) == (CipherSpec::DEFAULT, CipherSpec::DEFAULT_KEY_BITS),
        }
    }

    /// Whether this is Keyway's default.
    pub fn is_default(&self) -> bool {
        self.default && self.by == By::Keyway
    }
}

impl KdfCase {
    /// Keyway's rate of a KDF for a key of 512 bits.
    pub(crate) fn new(kdf: &str, lanes: u32) -> Self {
        Self {
            by: By::Keyway,
            kdf: kdf.to_owned(),
            hash: None,
            memory_kib: None,
            lanes,
            key_bits: 512,
            iter_time_ms: None,
            default: false,
        }
    }

    /// Whether it is paid for in iterations, and no memory.
    pub(crate) fn counts_iterations(&self) -> bool {
        matches!(&*self.kdf, "pbkdf2" | "bitlocker")
    }

    fn id(&self) -> String {
        let hash = self.hash.as_ref().map_or_else(String::new, |hash| format!("-{hash}"));
        let memory = self.memory_kib.map_or_else(String::new, |kib| format!("/memory{kib}"));
        let time = self.iter_time_ms.map_or_else(String::new, |ms| format!("/time{ms}"));
        format!("kdf/{}/{}{hash}{memory}/lanes{}/key{}{time}", self.by, self.kdf, self.lanes, self.key_bits)
    }
}

impl DiskCase {
    fn id(&self) -> String {
        let mut id = format!("disk/{}/{}", self.by, self.medium);
        id += &self.spec.as_ref().map_or_else(String::new, |spec| format!("/{spec}"));
        for (name, value) in [("key", self.key_bits), ("sector", self.sector_size)] {
            id += &value.map_or_else(String::new, |value| format!("/{name}{value}"));
        }
        id += &format!("/{}/block{}/depth{}", self.pattern, self.block, self.depth);
        id += &self.total.map_or_else(String::new, |bytes| format!("/total{bytes}"));
        for flag in &self.flags {
            id += &format!("/{flag}");
        }
        id + &format!("/{}", self.engine)
    }
}

impl Pattern {
    /// Whether requests follow one another on the storage.
    pub(crate) fn is_sequential(self) -> bool {
        matches!(self, Self::SequentialRead | Self::SequentialWrite)
    }
}

impl fmt::Display for By {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Keyway => f.write_str("keyway"),
            Self::Plain => f.write_str("plain"),
            Self::DmCrypt => f.write_str("dm-crypt"),
            Self::Kernel(None) => f.write_str("kernel"),
            Self::Kernel(Some(driver)) => write!(f, "kernel:{driver}"),
            Self::Peer(name) => f.write_str(name),
        }
    }
}

impl From<By> for String {
    fn from(by: By) -> Self {
        by.to_string()
    }
}

impl From<String> for By {
    fn from(text: String) -> Self {
        match text.as_str() {
            "keyway" => Self::Keyway,
            "plain" => Self::Plain,
            "dm-crypt" => Self::DmCrypt,
            "kernel" => Self::Kernel(None),
            _ => match text.strip_prefix("kernel:") {
                Some(driver) => Self::Kernel(Some(driver.to_owned())),
                None => Self::Peer(text),
            },
        }
    }
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

impl From<Direction> for keyway_kernel::af_alg::Direction {
    fn from(direction: Direction) -> Self {
        match direction {
            Direction::Encrypt => Self::Encrypt,
            Direction::Decrypt => Self::Decrypt,
        }
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}
