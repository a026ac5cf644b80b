//! Specifications in the names of the kernel's crypto API: `capi:algorithm[-iv[:hash]]` (drivers/md/dm-crypt.c,
//! `crypt_ctr_cipher_new`).
//!
//! ```text
//! capi:xts(aes)-plain64                        template(cipher)
//! capi:essiv(cbc(aes),sha256)-plain64          what "capi:cbc(aes)-essiv:sha256" is made into
//! capi:adiantum(xchacha12,aes)-plain64         the kernel adds the hash: adiantum(xchacha12,aes,nhpoly1305)
//! capi:xts-aes-aesni-plain64                   a driver's name: another code for the same cipher
//! ```
//!
//! Options are cut off at the last colon, then the IV at the last dash; a hash after the colon may have dashes.

use super::rules::{self, Named, impossible, unsupported};
use super::table::{self, EssivHash};
use super::{CipherSpec, Mode};
use crate::Error;
use crate::block::table::Cipher;
use alloc::format;
use alloc::vec::Vec;

/// Reads `text`, which is "capi:" and `algorithm`.
pub(super) fn recognise(text: &str, algorithm: &str) -> Result<CipherSpec, Error> {
    let (rest, hash) = split_last(algorithm, ':');
    let (name, iv) = split_last(rest, '-');
    if name.len() > LONGEST_NAME {
        return impossible(format!("{text}: the crypto API's names have at most {LONGEST_NAME} characters"));
    }
    let Skcipher { cipher, mode, essiv } = Algorithm::parse(text, name)?.skcipher(text)?;
    // dm-crypt gives loop-AES's IV its 64 keys.
    let keys = if iv == Some("lmk") { 64 } else { 1 };
    let (iv, hash) = match (essiv, iv) {
        (Some(hash), Some("plain64")) => (Some("essiv"), Some(hash)),
        (Some(_), None) => (None, None),
        (Some(_), Some(iv)) => {
            return unsupported(format!(
                "{text} exists, but this build encrypts plain64 IVs with essiv, not {iv}"
            ));
        }
        (None, iv) => (iv, hash),
    };
    let spec = rules::combine(Named { text, cipher, mode, keys, iv, hash })?;
    Ok(CipherSpec { capi: Some(text.into()), ..spec })
}

/// What the crypto API calls a symmetric key cipher, and the hash of an essiv around it.
struct Skcipher<'a> {
    cipher: &'static Cipher,
    mode: Mode,
    essiv: Option<&'a str>,
}

/// `name` or `template(algorithm,…)`.
struct Algorithm<'a> {
    name: &'a str,
    parameters: Vec<Algorithm<'a>>,
}

impl<'a> Algorithm<'a> {
    fn parse(text: &str, name: &'a str) -> Result<Self, Error> {
        let Some((template, inside)) = name.split_once('(') else {
            return match name.contains([')', ',']) || name.is_empty() {
                true => impossible(format!("{text}: \"{name}\" is not a name of the crypto API's")),
                false => Ok(Self { name, parameters: Vec::new() }),
            };
        };
        let Some(inside) = inside.strip_suffix(')') else {
            return impossible(format!("{text}: the parenthesis after {template} must close at the end"));
        };
        let parameters = parameters(inside).map(|parameter| Self::parse(text, parameter));
        Ok(Self { name: template, parameters: parameters.collect::<Result<_, _>>()? })
    }

    /// The sector cipher that it is.
    fn skcipher(&self, text: &str) -> Result<Skcipher<'a>, Error> {
        let found = |cipher, mode| Ok(Skcipher { cipher, mode, essiv: None });
        match (self.name, &self.parameters[..]) {
            (driver, []) => match mode_driver(driver) {
                Some((mode, cipher)) => found(cipher, mode),
                None => self.no_skcipher(text),
            },
            ("essiv", [inner, hash]) => {
                let inner = inner.skcipher(text)?;
                let hash = hash.hash()?;
                match inner.essiv {
                    None => Ok(Skcipher { essiv: Some(hash), ..inner }),
                    Some(_) => {
                        unsupported(format!("{text} exists, but this build does not nest essiv in essiv"))
                    }
                }
            }
            ("adiantum", [stream, block] | [stream, block, Self { name: "nhpoly1305", .. }]) => {
                let rounds = rules::stream_rounds(undriven(stream.name))?;
                found(block.cipher(text)?, Mode::Adiantum { rounds })
            }
            ("hctr2_base", [Self { name: "xctr", parameters }, Self { name: "polyval", .. }]) => {
                match &parameters[..] {
                    [cipher] => found(cipher.cipher(text)?, Mode::Hctr2),
                    _ => self.no_skcipher(text),
                }
            }
            // These two are built upon ecb, and its name may be written out.
            ("xts" | "lrw", [Self { name: "ecb", parameters }]) => {
                match (Mode::find(self.name), &parameters[..]) {
                    (Some(mode), [cipher]) => found(cipher.cipher(text)?, mode),
                    _ => self.no_skcipher(text),
                }
            }
            (template, [parameter]) => match Mode::find(template) {
                Some(mode) if template != "adiantum" => found(parameter.block_cipher(text, mode)?, mode),
                _ => self.no_skcipher(text),
            },
            _ => self.no_skcipher(text),
        }
    }

    /// The parameter of `mode`: a cipher, or for the modes upon ecb a driver of that.
    fn block_cipher(&self, text: &str, mode: Mode) -> Result<&'static Cipher, Error> {
        match mode_driver(self.name) {
            Some((Mode::Ecb, cipher)) if matches!(mode, Mode::Xts | Mode::Lrw) => Ok(cipher),
            _ => self.cipher(text),
        }
    }

    fn cipher(&self, text: &str) -> Result<&'static Cipher, Error> {
        match self.parameters[..] {
            [] => rules::cipher(text, undriven(self.name)),
            _ => impossible(format!("{text}: \"{}\" takes a cipher, and {0}(…) is none", self.name)),
        }
    }

    /// The hash, by its own name: drivers' names have another dash.
    fn hash(&self) -> Result<&'a str, Error> {
        let unknown = || Error::Unknown { what: "hash", name: self.name.into() };
        let known = |name: &str| EssivHash::find(name).is_some();
        match self.name.rsplit_once('-') {
            _ if !self.parameters.is_empty() => Err(unknown()),
            _ if known(self.name) => Ok(self.name),
            Some((name, _)) if known(name) => Ok(name),
            _ => Err(unknown()),
        }
    }

    /// Why it is no sector cipher.
    fn no_skcipher<T>(&self, text: &str) -> Result<T, Error> {
        let name = self.name;
        if table::AEAD_MODES.contains(&name) || table::AEAD_CIPHERS.contains(&name) {
            return rules::needs_tags(text, name);
        }
        if table::OTHER_MODES.contains(&name) || table::STREAM_CIPHERS.contains(&name) {
            return unsupported(format!("{text} exists, but this build does not implement {name}"));
        }
        match Cipher::find(name) {
            Some(_) => impossible(format!(
                "{text}: {name} alone is a block cipher; sectors need a mode, as in xts({name})"
            )),
            None => Err(Error::Unknown { what: "algorithm of the kernel's crypto API", name: name.into() }),
        }
    }
}

/// The parameters between a template's parentheses: commas inside further parentheses do not part them.
fn parameters(inside: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0_usize;
    inside.split(move |c| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    })
}

/// The mode and cipher of a driver: "xts-aes-aesni", "ecb-cipher_null", "arc4-generic".
fn mode_driver(name: &str) -> Option<(Mode, &'static Cipher)> {
    if let Some(cipher) = name.strip_suffix("-generic").and_then(Cipher::find)
        && cipher.block_bits() < 64
    {
        return Some((Mode::Ecb, cipher));
    }
    let (mode, driver) = name.split_once('-')?;
    let mode = Mode::find(mode).filter(|mode| !matches!(mode, Mode::Adiantum { .. }))?;
    Some((mode, Cipher::find(undriven(driver))?))
}

/// A cipher's name without its driver's: "aes" of "aes-aesni".
fn undriven(name: &str) -> &str {
    name.split_once('-').map_or(name, |(name, _)| name)
}

/// The text before the last `separator`, and what follows it.
fn split_last(text: &str, separator: char) -> (&str, Option<&str>) {
    match text.rsplit_once(separator) {
        Some((before, after)) => (before, Some(after)),
        None => (text, None),
    }
}

/// CRYPTO_MAX_ALG_NAME less its final zero.
const LONGEST_NAME: usize = 127;
