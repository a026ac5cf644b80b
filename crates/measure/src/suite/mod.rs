//! The cases of a run: a suite, or a slice of everything that exists. A combination that cannot
//! exist is a case too, with the rule that forbids it instead of figures.
//!
//! | suite       | ciphers                                                         |
//! |-------------|-----------------------------------------------------------------|
//! | `quick`     | what people choose between: AES, Adiantum, Serpent, Twofish     |
//! | `default`   | cryptsetup's list, the wide modes, CBC with ESSIV, Camellia     |
//! | `article`   | every combination of the cipher benchmark that everybody cites  |
//! | `veracrypt` | VeraCrypt's ciphers and chains of ciphers, sectors of 512 bytes |
//! | `all`       | every combination, key size and sector size that dm-crypt names |

mod article;
mod asked;
mod ciphers;
mod glob;
mod kdfs;

use crate::results::{By, Case, Direction, Outcome};
use keyway_crypto::CipherSpec;
use std::fmt;

/// A named set of cases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)] // Described above.
pub enum Suite {
    Quick,
    Default,
    Article,
    VeraCrypt,
    All,
}

impl Suite {
    /// All of them, by name.
    pub const NAMES: [(&'static str, Self); 5] = [
        ("quick", Self::Quick),
        ("default", Self::Default),
        ("article", Self::Article),
        ("veracrypt", Self::VeraCrypt),
        ("all", Self::All),
    ];

    /// A suite by its name.
    pub fn find(name: &str) -> Option<Self> {
        Self::NAMES.into_iter().find(|(known, _)| *known == name).map(|(_, suite)| suite)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::NAMES.into_iter().find(|(_, suite)| *suite == self).map_or("", |(name, _)| name)
    }
}

/// The selection of cases. An empty list means the suite's own.
#[derive(Debug, Clone, Default)]
pub struct Asked {
    /// The suite; without one, everything that the other fields name.
    pub suite: Option<Suite>,
    /// Specifications or chains of ciphers, or patterns with `*` and `?`.
    pub ciphers: Vec<String>,
    /// Sizes of the volume key in bits.
    pub key_bits: Vec<u32>,
    /// Encryption sector sizes.
    pub sector_sizes: Vec<u32>,
    /// Bytes per call.
    pub messages: Vec<u32>,
    /// The directions.
    pub directions: Vec<Direction>,
    /// Numbers of threads.
    pub threads: Vec<u32>,
    /// "pbkdf2", "argon2i", "argon2id", "bitlocker".
    pub kdfs: Vec<String>,
    /// PBKDF2's hashes.
    pub hashes: Vec<String>,
    /// Argon2's memory.
    pub memory_kib: Option<u32>,
    /// Argon2's lanes.
    pub lanes: Option<u32>,
    /// Find the costs that take this long.
    pub iter_time_ms: Option<u32>,
    /// Peers that measure the same cases: "kernel", "openssl", "cryptsetup".
    pub compare: Vec<String>,
    /// Logical CPUs of the machine.
    pub cpus: u32,
}

/// A case, and its outcome if known without measuring.
#[derive(Debug, Clone, PartialEq)]
pub struct Listed {
    /// The case.
    pub case: Case,
    /// Why there is nothing to measure.
    pub outcome: Option<Outcome>,
}

/// An unknown name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unknown {
    /// What it should be the name of.
    pub what: Named,
    /// The name as typed.
    pub name: String,
    /// The known names that could have been meant.
    pub known: Vec<String>,
}

/// What has a name on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Named {
    /// A suite.
    Suite,
    /// A cipher specification.
    Cipher,
    /// A hash.
    Hash,
    /// A key derivation function.
    Kdf,
    /// A program or library to compare with.
    Peer,
}

impl Asked {
    /// The key derivation functions, all of them unless the selection names one or a hash.
    #[must_use]
    pub fn key_derivation(self) -> Self {
        let named = !(self.kdfs.is_empty() && self.hashes.is_empty());
        let kdfs = if named { self.kdfs } else { kdfs::ALL.map(str::to_owned).into() };
        Self { kdfs, ..self }
    }
}

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.what {
            Named::Suite => "suite",
            Named::Cipher => "cipher",
            Named::Hash => "hash",
            Named::Kdf => "key derivation",
            Named::Peer => "peer",
        };
        write!(f, "no {what} is called \"{}\"", self.name)
    }
}

impl std::error::Error for Unknown {}

/// The default specification and its key size.
pub const DEFAULT: (&str, u32) = (CipherSpec::DEFAULT, CipherSpec::DEFAULT_KEY_BITS);

/// All cases, the default first, each followed by the same case for each peer. Beside peers, the
/// default's long requests come before everything else.
pub fn list(asked: &Asked) -> Result<Vec<Listed>, Unknown> {
    for name in &asked.compare {
        if !PEERS.contains(&name.as_str()) {
            let known = PEERS.map(str::to_owned).into();
            return Err(Unknown { what: Named::Peer, name: name.clone(), known });
        }
    }
    let mut listed = ciphers::list(asked)?;
    listed.extend(kdfs::list(asked)?);
    let mut all = Vec::new();
    let mut seen = std::collections::HashSet::new();
    for own in listed {
        let others = asked.compare.iter().filter_map(|peer| beside(&own, peer));
        for one in std::iter::once(own.clone()).chain(others) {
            if seen.insert(one.case.id()) {
                all.push(one);
            }
        }
    }
    // Who compares wants to know this first; where time is short, the first cases get it.
    if !asked.compare.is_empty() {
        all.sort_by_key(|it| !is_long_default(&it.case));
    }
    Ok(all)
}

/// The default cipher with requests of many sectors, as storage gets them.
fn is_long_default(case: &Case) -> bool {
    matches!(case, Case::Cipher(case) if case.default && case.message == ciphers::RUN)
}

/// The available peers: "kernel" and "openssl" for ciphers, "cryptsetup" for PBKDF2.
pub(crate) const PEERS: [&str; 3] = ["kernel", "openssl", "cryptsetup"];

/// The same case for a peer; `None` for an impossible case, which is listed only once.
fn beside(own: &Listed, peer: &str) -> Option<Listed> {
    if own.outcome.is_some() {
        return None;
    }
    let mut case = own.case.clone();
    let by = match peer {
        "kernel" => By::Kernel(None),
        other => By::Peer(other.to_owned()),
    };
    match (&mut case, peer) {
        (Case::Cipher(cipher), "kernel" | "openssl") => cipher.by = by,
        (Case::Kdf(kdf), "cryptsetup") if kdf.hash.is_some() && kdf.lanes == 1 => kdf.by = by,
        _ => return None,
    }
    Some(Listed { case, outcome: None })
}

/// Replaces an empty list by its default.
fn or<T: Clone>(asked: &[T], otherwise: &[T]) -> Vec<T> {
    if asked.is_empty() { otherwise.to_vec() } else { asked.to_vec() }
}

#[cfg(test)]
mod tests;
