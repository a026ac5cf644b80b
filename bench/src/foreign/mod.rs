//! Other people's cryptography, loaded when the program runs: two OpenSSLs that would clash in one
//! link live side by side, and a library that is not there is a row that says so.
//!
//! Each library offers what dm-crypt would ask of it: a sector cipher with one IV a
//! sector. Debian's libraries come from the system; OpenSSL 4 and the crates from
//! `KEYWAY_PEERS`, a directory that `./dev bench` fills.

mod sectors;
mod sys;

pub(crate) use sys::argon2::argon2id as libargon2_id;
use sys::{botan::Botan, crates_io::CratesIo, gcrypt::Gcrypt, openssl::OpenSsl};

use std::path::PathBuf;
use std::sync::LazyLock;

/// A keyed cipher that runs whole sectors; the first number is the
/// first sector's IV in 512-byte units.
pub(crate) type Work = Box<dyn FnMut(u64, &mut [u8])>;

/// What to build: the words of a dm-crypt specification, a key, a sector size and a direction.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Order<'a> {
    /// "aes", "serpent", "xchacha12,aes".
    pub(crate) cipher: &'a str,
    /// "xts", "cbc", "adiantum", "hctr2".
    pub(crate) mode: &'a str,
    /// "plain64" or "essiv:sha256".
    pub(crate) iv: &'a str,
    pub(crate) key: &'a [u8],
    /// Bytes.
    pub(crate) sector: usize,
    pub(crate) encrypt: bool,
}

/// Whose code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Peer {
    AwsLc,
    /// Debian's.
    OpenSsl3,
    OpenSsl4,
    Gcrypt,
    Botan,
    /// Compiled for this CPU.
    RustCrypto,
    /// Compiled for any CPU, with its own look for instructions.
    RustCryptoAny,
}

impl Peer {
    pub(crate) const ALL: [Self; 7] = [
        Self::AwsLc,
        Self::OpenSsl3,
        Self::OpenSsl4,
        Self::Gcrypt,
        Self::Botan,
        Self::RustCrypto,
        Self::RustCryptoAny,
    ];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::AwsLc => "aws-lc",
            Self::OpenSsl3 => "OpenSSL 3 (Debian)",
            Self::OpenSsl4 => "OpenSSL 4",
            Self::Gcrypt => "libgcrypt",
            Self::Botan => "Botan",
            Self::RustCrypto => "RustCrypto native",
            Self::RustCryptoAny => "RustCrypto any CPU",
        }
    }

    /// Its version, or why it cannot be measured.
    pub(crate) fn presence(self) -> Result<String, &'static str> {
        match self {
            Self::AwsLc => {
                CRATES_NATIVE.as_ref().map(|_| "the crate aws-lc-sys, EVP".into()).ok_or(NOT_BUILT)
            }
            Self::RustCrypto => CRATES_NATIVE
                .as_ref()
                .map(|_| "the crates, and those for XTS and wide modes, with -C target-cpu=native".into())
                .ok_or(NOT_BUILT),
            Self::RustCryptoAny => CRATES_ANY_CPU
                .as_ref()
                .map(|_| "the same without it; both with --cfg chacha20_avx512".into())
                .ok_or(NOT_BUILT),
            Self::OpenSsl3 => {
                OPENSSL3.as_ref().map(|library| library.version()).ok_or("libcrypto.so.3 cannot be loaded")
            }
            Self::OpenSsl4 => OPENSSL4.as_ref().map(|library| library.version()).ok_or(NOT_BUILT),
            Self::Gcrypt => {
                GCRYPT.as_ref().map(|library| library.version()).ok_or("libgcrypt.so.20 cannot be loaded")
            }
            Self::Botan => {
                BOTAN.as_ref().map(|library| library.version()).ok_or("libbotan-2.so.19 cannot be loaded")
            }
        }
    }

    /// The cipher, when this library is there and has it.
    pub(crate) fn cipher(self, order: Order<'_>) -> Option<Work> {
        match self {
            Self::AwsLc => CRATES_NATIVE.as_ref()?.cipher("aws-lc", order),
            Self::RustCrypto => CRATES_NATIVE.as_ref()?.cipher("rustcrypto", order),
            Self::RustCryptoAny => CRATES_ANY_CPU.as_ref()?.cipher("rustcrypto", order),
            Self::OpenSsl3 => sectors::work(OPENSSL3.as_ref()?, order),
            Self::OpenSsl4 => sectors::work(OPENSSL4.as_ref()?, order),
            Self::Gcrypt => sectors::work(GCRYPT.as_ref()?, order),
            Self::Botan => sectors::work(BOTAN.as_ref()?, order),
        }
    }

    /// PBKDF2-HMAC with "sha1", "sha256" or "sha512" into `out`;
    /// false when this library is not there.
    pub(crate) fn pbkdf2(self, hash: &str, secret: Secret<'_>, iterations: u32, out: &mut [u8]) -> bool {
        match self {
            Self::AwsLc => None,
            Self::OpenSsl3 => OPENSSL3.as_ref().map(|library| library.pbkdf2(hash, secret, iterations, out)),
            Self::OpenSsl4 => OPENSSL4.as_ref().map(|library| library.pbkdf2(hash, secret, iterations, out)),
            Self::Gcrypt => GCRYPT.as_ref().map(|library| library.pbkdf2(hash, secret, iterations, out)),
            Self::Botan => BOTAN.as_ref().map(|library| library.pbkdf2(hash, secret, iterations, out)),
            Self::RustCrypto => {
                CRATES_NATIVE.as_ref().map(|library| library.pbkdf2(hash, secret, iterations, out))
            }
            Self::RustCryptoAny => {
                CRATES_ANY_CPU.as_ref().map(|library| library.pbkdf2(hash, secret, iterations, out))
            }
        }
        .is_some()
    }
}

/// A password and its salt.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Secret<'a> {
    pub(crate) password: &'a [u8],
    pub(crate) salt: &'a [u8],
}

/// RustCrypto's Argon2id, its lanes on threads; false when it is not there.
pub(crate) fn rustcrypto_argon2id(cost: [u32; 3], secret: Secret<'_>, out: &mut [u8]) -> bool {
    CRATES_NATIVE.as_ref().map(|library| library.argon2id(cost, secret, out)).is_some()
}

/// A library that runs a block cipher in a mode under an IV that the caller makes.
trait Library {
    fn keyed(&'static self, cipher: &str, mode: &str, key: &[u8], encrypt: bool) -> Option<Box<dyn Keyed>>;
}

/// A key and a direction.
trait Keyed {
    /// Whole blocks in place. An empty IV is none.
    fn run(&mut self, iv: &[u8], data: &mut [u8]);
}

static OPENSSL3: LazyLock<Option<OpenSsl>> = LazyLock::new(|| OpenSsl::load("libcrypto.so.3".as_ref()));
static OPENSSL4: LazyLock<Option<OpenSsl>> = LazyLock::new(|| OpenSsl::load(&built("libcrypto4.so")));
static GCRYPT: LazyLock<Option<Gcrypt>> = LazyLock::new(|| Gcrypt::load("libgcrypt.so.20".as_ref()));
static BOTAN: LazyLock<Option<Botan>> = LazyLock::new(|| Botan::load("libbotan-2.so.19".as_ref()));
static CRATES_NATIVE: LazyLock<Option<CratesIo>> =
    LazyLock::new(|| CratesIo::load(&built("libcrates_native.so")));
static CRATES_ANY_CPU: LazyLock<Option<CratesIo>> =
    LazyLock::new(|| CratesIo::load(&built("libcrates_any_cpu.so")));
const NOT_BUILT: &str = "not built: ./dev bench engine builds it";

/// Where `./dev bench` puts what it builds.
fn built(library: &str) -> PathBuf {
    let usual = concat!(env!("CARGO_MANIFEST_DIR"), "/../target/peers");
    std::env::var_os("KEYWAY_PEERS").map_or_else(|| PathBuf::from(usual), PathBuf::from).join(library)
}
