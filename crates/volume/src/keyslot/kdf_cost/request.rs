//! From what is asked of a new keyslot's KDF to a [`KdfChoice`]: cryptsetup's defaults, which
//! depend on the header's version.

use super::{Cost, DEFAULT_LANES, DEFAULT_MEMORY_KIB, KdfChoice};
use crate::{Refusal, Result};
use keyway_crypto::Hash;
use keyway_crypto::kdf::Argon2Variant;

/// What is asked of the KDF of a new keyslot. What is `None` is chosen here.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KdfRequest {
    /// The function. Default: Argon2id, or in LUKS1 PBKDF2.
    pub function: Option<KdfFunction>,
    /// The cost. Default: two seconds in cryptsetup.
    pub cost: Option<Cost>,
    /// Argon2's memory, in KiB.
    pub memory_kib: Option<u32>,
    /// Argon2's lanes.
    pub lanes: Option<u32>,
}

/// A key derivation function that a keyslot may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KdfFunction {
    /// PBKDF2 (RFC 8018).
    Pbkdf2,
    /// Argon2 (RFC 9106), LUKS2 only.
    Argon2(Argon2Variant),
}

impl KdfFunction {
    /// Parses the name that LUKS2 headers have for it.
    ///
    /// # Errors
    /// [`Refusal::Kdf`], in cryptsetup's words.
    pub fn parse(name: &str) -> Result<Self> {
        let all = [Self::Pbkdf2, Self::Argon2(Argon2Variant::Argon2i), Self::Argon2(Argon2Variant::Argon2id)];
        all.into_iter().find(|function| function.name() == name).ok_or_else(|| {
            Refusal::Kdf.because(format!(
                "Password-based key derivation function (PBKDF) can be only pbkdf2 or argon2i/argon2id, not {name}."
            ))
        })
    }

    /// The name that LUKS2 headers have for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pbkdf2 => "pbkdf2",
            Self::Argon2(variant) => super::variant_name(variant),
        }
    }

    /// The default for a header of this version.
    pub fn default_of(version: u8) -> Self {
        if version == 1 { Self::Pbkdf2 } else { Self::Argon2(Argon2Variant::Argon2id) }
    }
}

impl KdfRequest {
    /// The KDF of a new keyslot in a header of this version; `hash` is PBKDF2's. Nothing is
    /// measured.
    ///
    /// # Errors
    /// [`Refusal::OnlyLuks2`]; costs that the formats do not allow.
    pub fn choice(&self, version: u8, hash: &str) -> Result<KdfChoice> {
        Hash::parse(hash)?;
        let cost = self.cost.unwrap_or_default();
        let function = self.function.unwrap_or(KdfFunction::default_of(version));
        let choice = match function {
            KdfFunction::Pbkdf2 => KdfChoice::Pbkdf2 { hash: hash.to_owned(), cost },
            KdfFunction::Argon2(_) if version == 1 => {
                let name = function.name();
                return Err(Refusal::OnlyLuks2.because(format!("LUKS1 supports only PBKDF2, not {name}")));
            }
            KdfFunction::Argon2(variant) => KdfChoice::Argon2 {
                variant,
                memory_kib: self.memory_kib.unwrap_or(DEFAULT_MEMORY_KIB),
                lanes: self.lanes.unwrap_or(DEFAULT_LANES),
                cost,
            },
        };
        choice.check()?;
        Ok(choice)
    }

    /// The same request with a cost that is not measured, so that it is the same on every machine:
    /// the forced one, or a fixed default.
    ///
    /// # Errors
    /// [`Refusal::Cost`] if a time is asked for.
    pub fn reproducible(&self, version: u8) -> Result<Self> {
        match (self.cost, self.function.unwrap_or(KdfFunction::default_of(version))) {
            (Some(Cost::Forced(_)), _) => Ok(self.clone()),
            (Some(Cost::Time(..)), _) => {
                Err(Refusal::Cost.because("a cost that is measured differs from run to run"))
            }
            (None, KdfFunction::Pbkdf2) => {
                Ok(Self { cost: Some(Cost::Forced(FIXED_ITERATIONS)), ..self.clone() })
            }
            (None, KdfFunction::Argon2(_)) => Ok(Self {
                cost: Some(Cost::Forced(FIXED_PASSES)),
                memory_kib: self.memory_kib.or(Some(FIXED_MEMORY_KIB)),
                ..self.clone()
            }),
        }
    }
}

/// The hash of headers and of PBKDF2, unless another one is asked for.
pub const DEFAULT_HASH: &str = "sha256";

/// Cost of a reproducible volume: PBKDF2 iterations …
const FIXED_ITERATIONS: u32 = 1_000_000;
/// … or Argon2 passes over …
const FIXED_PASSES: u32 = 4;
/// … this memory, in KiB.
const FIXED_MEMORY_KIB: u32 = 256 << 10;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;

    #[test]
    fn defaults_are_the_versions() {
        let choice = |version| KdfRequest::default().choice(version, DEFAULT_HASH).unwrap();
        assert_eq!(choice(2), KdfChoice::default());
        assert_eq!(choice(1), KdfChoice::Pbkdf2 { hash: "sha256".into(), cost: Cost::default() });
        let argon2 = KdfRequest { function: KdfFunction::parse("argon2i").ok(), ..KdfRequest::default() };
        let refused = argon2.choice(1, DEFAULT_HASH).unwrap_err();
        assert!(matches!(refused, Error::Refused { kind: Refusal::OnlyLuks2, .. }));
        assert_eq!(refused.to_string(), "LUKS1 supports only PBKDF2, not argon2i");
        assert!(matches!(KdfFunction::parse("scrypt"), Err(Error::Refused { kind: Refusal::Kdf, .. })));
    }

    #[test]
    fn what_is_reproducible_is_not_measured() {
        let fixed = KdfRequest::default().reproducible(2).unwrap();
        assert_eq!((fixed.cost, fixed.memory_kib), (Some(Cost::Forced(4)), Some(256 << 10)));
        let small = KdfRequest { memory_kib: Some(64), ..KdfRequest::default() };
        assert_eq!(small.reproducible(2).unwrap().memory_kib, Some(64));
        let old = KdfRequest::default().reproducible(1).unwrap();
        assert_eq!((old.cost, old.memory_kib), (Some(Cost::Forced(1_000_000)), None));
        let forced = KdfRequest { cost: Some(Cost::Forced(5)), ..KdfRequest::default() };
        assert_eq!(forced.reproducible(2).unwrap(), forced);
        let timed = KdfRequest { cost: Some(Cost::default()), ..KdfRequest::default() };
        assert!(matches!(timed.reproducible(2), Err(Error::Refused { kind: Refusal::Cost, .. })));
    }
}
