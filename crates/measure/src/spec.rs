//! What a cipher's row is measured by: a specification of dm-crypt's, or one of TrueCrypt's and
//! VeraCrypt's chains, which dm-crypt has no name for.

use keyway_crypto::{Cascade, CascadeMode, CipherSpec, Error, SectorSize};
use keyway_format::tcrypt::{CIPHERS, Cipher, Program};
use std::fmt;

/// A cipher, or a chain of them.
pub(crate) enum Spec {
    /// As dm-crypt names it: "aes-xts-plain64".
    One(CipherSpec),
    /// As cryptsetup names it: "serpent-twofish-aes-xts-plain64".
    Chain(&'static Cipher),
}

impl Spec {
    /// Parses a specification, or the whole name of a chain.
    ///
    /// # Errors
    /// Those of [`CipherSpec::parse`].
    pub(crate) fn parse(text: &str) -> Result<Self, Error> {
        match CipherSpec::parse(text) {
            Ok(spec) => Ok(Self::One(spec)),
            Err(error) => chains().find(|chain| name(chain) == text).map(Self::Chain).ok_or(error),
        }
    }

    /// All that a text means: itself, or those of a short name ("adiantum"). That of a chain has no
    /// mode, and means XTS: "serpent-twofish-aes".
    ///
    /// # Errors
    /// Those of [`CipherSpec::parse`].
    pub(crate) fn named(text: &str) -> Result<Vec<Self>, Error> {
        if let Ok(spec) = Self::parse(text) {
            return Ok(vec![spec]);
        }
        match chains().find(|it| it.mode == CascadeMode::Xts && it.chain == text) {
            Some(chain) => Ok(vec![Self::Chain(chain)]),
            None => Ok(CipherSpec::named(text)?.into_iter().map(Self::One).collect()),
        }
    }

    /// The names of all chains.
    pub(crate) fn chain_names() -> impl Iterator<Item = String> {
        chains().map(name)
    }

    /// What VeraCrypt makes volumes with, its ciphers and their chains in XTS, each with the bits of
    /// its volume key.
    pub(crate) fn veracrypts() -> impl Iterator<Item = (String, u32)> {
        let makes = |it: &&Cipher| it.mode == CascadeMode::Xts && it.is_of(Program::VeraCrypt);
        CIPHERS.iter().filter(makes).map(|cipher| (name(cipher), 8 * cipher.key_len() as u32))
    }

    /// The sizes of volume keys that it takes, in bits, ascending.
    pub(crate) fn key_bits(&self) -> Vec<usize> {
        match self {
            Self::One(spec) => spec.key_bits(),
            Self::Chain(chain) => vec![8 * chain.key_len()],
        }
    }

    /// Refuses any other size.
    pub(crate) fn check_key_bits(&self, bits: usize) -> Result<(), Error> {
        match self {
            Self::One(spec) => spec.check_key_bits(bits),
            Self::Chain(chain) if bits == 8 * chain.key_len() => Ok(()),
            Self::Chain(chain) => Err(Error::KeySize {
                spec: self.to_string(),
                got: bits,
                wants: format!("{} bits (those of all its ciphers)", 8 * chain.key_len()),
            }),
        }
    }

    /// Refuses a sector size that it is not defined for.
    pub(crate) fn check_sector_size(&self, size: SectorSize) -> Result<(), Error> {
        match self {
            Self::One(spec) => spec.check_sector_size(size),
            Self::Chain(_) if size == SectorSize::S512 => Ok(()),
            Self::Chain(_) => Err(Error::Impossible(format!(
                "{self}: chains of ciphers are defined for sectors of 512 bytes, not {}",
                size.bytes()
            ))),
        }
    }

    /// The bytes of the key that the code takes for a volume key of this size: a chain's header has
    /// room between its keys.
    pub(crate) fn key_len(&self, bits: u32) -> Result<usize, Error> {
        match self {
            Self::One(_) => Ok(bits as usize / 8),
            Self::Chain(chain) => Cascade::key_len(chain.chain, chain.mode),
        }
    }
}

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::One(spec) => spec.fmt(f),
            Self::Chain(chain) => f.write_str(&name(chain)),
        }
    }
}

/// Those that dm-crypt has no specification for.
fn chains() -> impl Iterator<Item = &'static Cipher> {
    CIPHERS.iter().filter(|cipher| cipher.dm_crypt().is_none())
}

fn name(cipher: &Cipher) -> String {
    format!("{}-{}", cipher.chain, cipher.mode_name())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_is_found_by_its_name_with_and_without_its_mode() {
        let names = |text: &str| {
            let specs = Spec::named(text)?;
            Ok::<_, Error>(specs.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "))
        };
        for (text, named) in [
            ("serpent-twofish-aes", "serpent-twofish-aes-xts-plain64"),
            ("serpent-twofish-aes-xts-plain64", "serpent-twofish-aes-xts-plain64"),
            ("twofish-aes-lrw-benbi", "twofish-aes-lrw-benbi"),
            ("serpent-blowfish_le-aes-cbc-tcrypt", "serpent-blowfish_le-aes-cbc-tcrypt"),
            ("blowfish_le-cbc-tcrypt", "blowfish_le-cbc-tcrypt"),
            ("adiantum", "xchacha12,aes-adiantum-plain64 xchacha20,aes-adiantum-plain64"),
            ("aes", "aes-cbc-plain"),
            ("kuznyechik-xts-plain64", "kuznyechik-xts-plain64"),
        ] {
            assert_eq!(names(text).unwrap(), named, "{text}");
        }
        for text in ["aes-twofish", "serpent-blowfish_le-aes", "twofish-aes-xts-plain", "aes-aes"] {
            assert_eq!(names(text).err(), CipherSpec::parse(text).err(), "{text}");
        }
    }

    #[test]
    fn each_row_of_the_programs_table_is_a_specification() {
        for cipher in &CIPHERS {
            let spec = Spec::parse(&name(cipher)).unwrap();
            assert_eq!(matches!(spec, Spec::Chain(_)), cipher.dm_crypt().is_none(), "{spec}");
            assert_eq!(spec.to_string(), name(cipher));
            spec.check_key_bits(8 * cipher.key_len()).unwrap();
        }
        assert_eq!((Spec::chain_names().count(), Spec::veracrypts().count()), (23, 15));
    }

    #[test]
    fn a_chain_has_one_key_size_and_one_sector_size() {
        let chain = Spec::parse("serpent-twofish-aes-xts-plain64").unwrap();
        assert_eq!(chain.key_bits(), [1536]);
        assert_eq!(
            chain.check_key_bits(512).unwrap_err().to_string(),
            "serpent-twofish-aes-xts-plain64 takes a key of 1536 bits (those of all its ciphers), not 512 bits"
        );
        chain.check_sector_size(SectorSize::S512).unwrap();
        assert_eq!(
            chain.check_sector_size(SectorSize::S4096).unwrap_err().to_string(),
            "serpent-twofish-aes-xts-plain64: chains of ciphers are defined for sectors of 512 bytes, not 4096"
        );
        // In LRW and CBC the header's keys begin with 32 bytes, of which not all are used.
        let old = Spec::parse("twofish-aes-lrw-benbi").unwrap();
        assert_eq!((old.key_bits(), old.key_len(768).unwrap()), (vec![768], 96));
    }
}
