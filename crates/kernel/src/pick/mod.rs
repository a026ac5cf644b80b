//! Which driver the kernel selects for a request for an algorithm (Linux, crypto/api.c
//! `__crypto_alg_lookup`, crypto/algapi.c).
//!
//! Of all drivers with the name, those are excluded that have a flag the caller refuses, are
//! internal, or have not passed their self-test. Of the rest the one with the highest priority
//! wins, and among equals the one that comes first in /proc/crypto. If none is left, the kernel
//! instantiates a template with the best drivers for its parts, subject to the same refusals.

use crate::proc_crypto::Kind;
use crate::{Algorithm, Driver, Engine, Flags, Version};

/// The drivers of a kernel.
#[derive(Debug, Clone, Default)]
pub struct Registry {
    /// The drivers, in the order of /proc/crypto.
    pub drivers: Vec<Driver>,
    /// The version, which determines the rules; `None` means the newest.
    pub version: Option<Version>,
}

/// A user of the crypto API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum User {
    /// drivers/md/dm-crypt.c.
    DmCrypt,
    /// fs/crypto: file encryption of ext4, F2FS, UBIFS and Ceph.
    Fscrypt,
}

/// What the kernel would select.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// The driver's name.
    pub driver: String,
    /// The driver's priority.
    pub priority: i64,
    /// The driver's flags, as far as they are known.
    pub flags: Flags,
    /// Whether the driver exists, as opposed to being instantiated on demand.
    pub exists: bool,
}

impl User {
    /// The flags that the user refuses in this kernel, and since when.
    pub fn refuses(self, version: Option<Version>) -> (Flags, &'static str) {
        let from = |major, minor| version.is_none_or(|version| version.is_from(major, minor));
        match self {
            Self::DmCrypt if from(5, 10) => (Flags::ALLOCATES_MEMORY, "since Linux 5.10"),
            Self::Fscrypt if from(6, 17) => {
                (Flags::ASYNC.with(Flags::ALLOCATES_MEMORY).with(Flags::KERN_DRIVER_ONLY), "since Linux 6.17")
            }
            Self::Fscrypt if version.is_some_and(has_backport) => (
                Flags::ALLOCATES_MEMORY.with(Flags::KERN_DRIVER_ONLY),
                "since 6.17, and in this series since August 2025; 6.17 refuses ASYNC too",
            ),
            Self::DmCrypt => (Flags::NONE, "it takes any before Linux 5.10"),
            Self::Fscrypt => (Flags::NONE, "it takes any before Linux 6.17"),
        }
    }

    /// "dm-crypt", "fscrypt".
    pub const fn name(self) -> &'static str {
        match self {
            Self::DmCrypt => "dm-crypt",
            Self::Fscrypt => "fscrypt",
        }
    }

    /// Whether the user ever requests this algorithm (fs/crypto/keysetup.c, `fscrypt_modes`).
    pub fn uses(self, algorithm: &Algorithm) -> bool {
        self == Self::DmCrypt || FSCRYPT_ALGORITHMS.contains(&&algorithm.to_string()[..])
    }
}

/// Linux commit b41c1d8d07 in the stable series, as found in the sources of 6.1 and 6.12.
fn has_backport(version: Version) -> bool {
    [((6, 1), 149), ((6, 6), 103), ((6, 12), 44), ((6, 16), 4)]
        .iter()
        .any(|(series, patch)| version.is_in(*series, *patch))
}

impl Driver {
    /// The driver's flags, as far as they are known: from the kernel, or from the table of engines
    /// and /proc/crypto.
    pub(crate) fn known_flags(&self) -> Flags {
        if let Some(flags) = self.flags {
            return flags;
        }
        let is_async = if self.is_async == Some(true) { Flags::ASYNC } else { Flags::NONE };
        // A template over an engine's driver has the flags that instances inherit.
        let is_own = |name: &str| name.starts_with("n5_") || name.starts_with("hisi_");
        let is_instance = self.driver.contains('(') && !is_own(&self.driver);
        let of_engine = Engine::of(&self.driver).map_or(Flags::NONE, |engine| engine.flags);
        is_async.with(if is_instance { of_engine.and(Flags::INHERITED) } else { of_engine })
    }

    /// Whether the driver may be selected at all.
    fn is_ready(&self) -> bool {
        !self.internal && matches!(&self.selftest[..], "passed" | "")
    }
}

impl Registry {
    /// All drivers of an algorithm, or the one with that name, the highest priority first. Internal
    /// drivers are excluded.
    pub fn candidates(&self, algorithm: &Algorithm) -> Vec<&Driver> {
        let name = algorithm.to_string();
        let mut found: Vec<&Driver> = self
            .drivers
            .iter()
            .filter(|driver| driver.kind == Kind::Skcipher && !driver.internal)
            .filter(|driver| driver.name == name || driver.driver == name)
            .collect();
        // The sort is stable: the order among equals is kept.
        found.sort_by_key(|driver| -driver.priority);
        found
    }

    /// What `user` would get. `Err` names the parts for which there is no driver.
    pub fn choice(&self, user: User, algorithm: &Algorithm) -> Result<Choice, Vec<String>> {
        self.resolve(algorithm, Kind::Skcipher, user.refuses(self.version).0)
    }

    fn resolve(&self, algorithm: &Algorithm, kind: Kind, refused: Flags) -> Resolved {
        let Some(driver) = self.best(&algorithm.to_string(), kind, refused) else {
            return self.instance(algorithm, refused);
        };
        let (priority, flags) = (driver.priority, driver.known_flags());
        Ok(Choice { driver: driver.driver.clone(), priority, flags, exists: true })
    }

    fn best(&self, name: &str, kind: Kind, refused: Flags) -> Option<&Driver> {
        let fits = |driver: &&Driver| {
            driver.kind == kind && driver.is_ready() && !driver.known_flags().has_any(refused)
        };
        if let Some(exact) = self.drivers.iter().filter(fits).find(|driver| driver.driver == name) {
            return Some(exact);
        }
        let named = self.drivers.iter().filter(fits).filter(|driver| driver.name == name);
        // The first of the highest: max_by_key would return the last.
        named.reduce(|best, driver| if driver.priority > best.priority { driver } else { best })
    }

    /// The instance that the template would make from its parts.
    fn instance(&self, algorithm: &Algorithm, refused: Flags) -> Resolved {
        // The refusals that a template passes on to its parts.
        let refused = refused.and(Flags::INHERITED);
        let part = |of: &Algorithm, kind| self.resolve(of, kind, refused);
        let hash = |name: &str| part(&Algorithm::parse(name), Kind::Hash);
        let over = |template: &str, of: &Algorithm| {
            let (name, of) = (template.to_owned(), vec![of.clone()]);
            part(&Algorithm { name, of }, Kind::Skcipher)
        };
        let is_skcipher = |of: &Algorithm| self.best(&of.to_string(), Kind::Skcipher, refused).is_some();
        let (name, of) = (&algorithm.name[..], &algorithm.of[..]);
        let (parts, weights): (Vec<Resolved>, &[i64]) = match (name, of) {
            ("xts" | "lrw", [inner]) if is_skcipher(inner) => (vec![part(inner, Kind::Skcipher)], &[1]),
            ("xts" | "lrw", [cipher]) => (vec![over("ecb", cipher)], &[1]),
            ("cbc", [cipher]) if self.version.is_some_and(|version| version.is_from(6, 7)) => {
                (vec![over("ecb", cipher)], &[1])
            }
            ("cbc" | "ecb" | "ctr" | "pcbc" | "cfb" | "ofb" | "xctr", [cipher]) => {
                (vec![part(cipher, Kind::Cipher)], &[1])
            }
            ("essiv", [inner, hash]) => (vec![part(inner, Kind::Skcipher), part(hash, Kind::Hash)], &[1, 0]),
            ("adiantum", [stream, cipher]) => {
                let parts = [part(stream, Kind::Skcipher), part(cipher, Kind::Cipher), hash("nhpoly1305")];
                (parts.into(), &[4, 1, 2])
            }
            ("hctr2", [cipher]) => {
                let parts = [over("xctr", cipher), hash("polyval"), part(cipher, Kind::Cipher)];
                (parts.into(), &[2, 4, 1])
            }
            _ => return Err(vec![algorithm.to_string()]),
        };
        let template = if name == "hctr2" { "hctr2_base" } else { name };
        compose(template, parts, weights)
    }
}

/// What was chosen, or the parts for which there is no driver.
type Resolved = Result<Choice, Vec<String>>;

/// An instance's name, priority and flags, or everything that is missing for it.
fn compose(template: &str, parts: Vec<Resolved>, weights: &[i64]) -> Resolved {
    let mut missing: Vec<String> =
        parts.iter().filter_map(|part| part.as_ref().err()).flatten().cloned().collect();
    if !missing.is_empty() {
        missing.dedup();
        return Err(missing);
    }
    let chosen: Vec<Choice> = parts.into_iter().flatten().collect();
    // HCTR2's block cipher counts, but is included in the name of its xctr.
    let shown = if template == "hctr2_base" { 2 } else { chosen.len() };
    let drivers: Vec<&str> = chosen.iter().take(shown).map(|choice| &choice.driver[..]).collect();
    let weighted = chosen.iter().zip(weights).map(|(choice, weight)| choice.priority.saturating_mul(*weight));
    let sum: i64 = weighted.sum();
    let inherited =
        chosen.iter().fold(Flags::NONE, |flags, choice| flags.with(choice.flags.and(Flags::INHERITED)));
    Ok(Choice {
        driver: format!("{template}({})", drivers.join(",")),
        // The kernel divides the sums for Adiantum and HCTR2 by seven, with the block cipher's
        // share included.
        priority: if weights.len() > 1 && weights[1] > 0 { sum / 7 } else { sum },
        flags: inherited.with(Flags::INSTANCE),
        exists: false,
    })
}

const FSCRYPT_ALGORITHMS: &[&str] =
    &["xts(aes)", "essiv(cbc(aes),sha256)", "adiantum(xchacha12,aes)", "hctr2(aes)", "xts(sm4)"];

#[cfg(test)]
mod tests;
