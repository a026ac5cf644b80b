//! All combinations: every cipher in every mode with every IV, and for each combination the sizes
//! it takes, or the rule that forbids it.

use super::table::{ESSIV_HASHES, IVS, MODES};
use super::{CipherSpec, Iv, Mode};
use crate::block::table::CIPHERS;
use crate::{Error, SectorSize};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// One point of the space.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Combination {
    /// The specification, as passed to dm-crypt.
    pub text: String,
    /// The block cipher: "aes".
    pub cipher: &'static str,
    /// The mode; for Adiantum, with its stream cipher: "xts", "adiantum-xchacha12".
    pub mode: &'static str,
    /// The IV: "plain64", "essiv:sha256", "lmk:64" with loop-AES's 64 keys, "" for ECB.
    pub iv: String,
    /// The sizes it takes, or the rule that forbids it ([`Error::Impossible`]).
    pub outcome: Result<Existing, Error>,
}

/// A combination that can exist, with the sizes that it takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Existing {
    /// The combination.
    pub spec: CipherSpec,
    /// Sizes of the volume key in bits, ascending.
    pub key_bits: Vec<usize>,
    /// Encryption sector sizes, ascending.
    pub sector_sizes: Vec<SectorSize>,
}

/// Every cipher × mode × IV (essiv with every hash): cipher by cipher in the order of the tables.
pub fn space() -> impl Iterator<Item = Combination> {
    CIPHERS.iter().map(|cipher| cipher.name).flat_map(|cipher| {
        modes().flat_map(move |mode| ivs(mode).into_iter().map(move |iv| combination(cipher, mode, iv)))
    })
}

fn combination(cipher: &'static str, mode: Mode, iv: String) -> Combination {
    let stream = match mode {
        Mode::Adiantum { rounds } => format!("xchacha{rounds},"),
        _ => String::new(),
    };
    let (iv_name, keys) = match iv.strip_suffix(":64") {
        Some(name) => (name, ":64"),
        None => (&iv[..], ""),
    };
    let dash = if iv.is_empty() { "" } else { "-" };
    let text = format!("{stream}{cipher}{keys}-{}{dash}{iv_name}", mode.name());
    let outcome = CipherSpec::parse(&text).map(Existing::of);
    Combination { text, cipher, mode: mode_name(mode), iv, outcome }
}

impl Existing {
    /// The sizes that a specification takes.
    pub fn of(spec: CipherSpec) -> Self {
        Self { key_bits: spec.key_bits(), sector_sizes: spec.sector_sizes().collect(), spec }
    }
}

fn modes() -> impl Iterator<Item = Mode> {
    MODES
        .into_iter()
        .flat_map(|mode| match mode {
            Mode::Adiantum { .. } => {
                [Some(Mode::Adiantum { rounds: 12 }), Some(Mode::Adiantum { rounds: 20 })]
            }
            mode => [Some(mode), None],
        })
        .flatten()
}

const fn mode_name(mode: Mode) -> &'static str {
    match mode {
        Mode::Adiantum { rounds: 12 } => "adiantum-xchacha12",
        Mode::Adiantum { .. } => "adiantum-xchacha20",
        mode => mode.name(),
    }
}

/// ECB takes no IV; dm-crypt drops the one it is given.
fn ivs(mode: Mode) -> Vec<String> {
    if mode == Mode::Ecb {
        return Vec::from([String::new(), "essiv:sha256".into()]);
    }
    let plain = IVS.into_iter().map(|iv: Iv| iv.name().to_string());
    let hashes = ESSIV_HASHES.iter().map(|hash| format!("essiv:{}", hash.name));
    plain.chain(["lmk:64".into(), "random".into()]).chain(hashes).collect()
}
