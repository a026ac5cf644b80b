//! Short names of specifications: what people say ("adiantum"), and what `cryptsetup benchmark`
//! takes ("aes-xts", "xchacha20,aes-adiantum"). Headers and dm-crypt never have them.

use super::CipherSpec;
use crate::Error;
use alloc::format;
use alloc::vec::Vec;

/// Modes that are used with one block cipher only.
const MODES: &[(&str, &[&str])] = &[
    ("adiantum", &["xchacha12,aes-adiantum-plain64", "xchacha20,aes-adiantum-plain64"]),
    ("hctr2", &["aes-hctr2-plain64"]),
];

impl CipherSpec {
    /// The specifications that a text means: its own, or those of a short name.
    ///
    /// # Errors
    /// Those of [`CipherSpec::parse`].
    pub fn named(text: &str) -> Result<Vec<Self>, Error> {
        let parsed = Self::parse(text);
        let error = match parsed {
            Ok(spec) => return Ok(Vec::from([spec])),
            Err(error) => error,
        };
        let mode = MODES.iter().find(|(name, _)| *name == text);
        let named: Vec<Self> = match mode {
            Some((_, texts)) => texts.iter().filter_map(|text| Self::parse(text).ok()).collect(),
            None => Self::parse(&format!("{text}-plain64")).into_iter().collect(),
        };
        if named.is_empty() { Err(error) } else { Ok(named) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn short_names_mean_what_people_use() {
        let names = |text: &str| {
            let specs = CipherSpec::named(text)?;
            Ok(specs.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "))
        };
        for (text, named) in [
            ("adiantum", "xchacha12,aes-adiantum-plain64 xchacha20,aes-adiantum-plain64"),
            ("xchacha20,aes-adiantum", "xchacha20,aes-adiantum-plain64"),
            ("hctr2", "aes-hctr2-plain64"),
            ("aes-xts", "aes-xts-plain64"),
            ("serpent-xts-essiv:sha256", "serpent-xts-essiv:sha256"),
            ("aes", "aes-cbc-plain"),
        ] {
            assert_eq!(names(text), Ok::<_, Error>(named.to_string()), "{text}");
        }
        for text in ["", "xts", "plain64", "blowfish-xts", "adiantum-plain64", "des"] {
            assert_eq!(names(text).err(), CipherSpec::parse(text).err(), "{text}");
        }
    }
}
