//! Specifications that use the names of the kernel's crypto API: `capi:algorithm[-iv[:hash]]`
//! (drivers/md/dm-crypt.c, `crypt_ctr_cipher_new`).
//!
//! ```text
//! capi:xts(aes)-plain64                        template(cipher)
//! capi:essiv(cbc(aes),sha256)-plain64          what "capi:cbc(aes)-essiv:sha256" is made into
//! capi:adiantum(xchacha12,aes)-plain64         the kernel adds the hash itself
//! capi:xts-aes-aesni-plain64                   a driver's name: another code for the same cipher
//! ```
//!
//! Options are cut off at the last colon, then the IV at the last
//! dash; a hash after the colon may have dashes.

use super::rules::{self, Named, impossible, unsupported};
use super::table::{self, EssivHash};
use super::{CipherSpec, Mode};
use crate::Error;
use crate::block::table::Cipher;
use alloc::format;
use alloc::vec::Vec;

/// Parses `text`, which is "capi:" followed by `algorithm`.
pub(super) fn parse(text: &str, algorithm: &str) -> Result<CipherSpec, Error> {
    let (rest, hash) = split_last(algorithm, ':');
    let (name, iv) = split_last(rest, '-');
    if name.len() > LONGEST_NAME {
        return impossible(format!("{text}: the crypto API's names have at most {LONGEST_NAME} characters"));
    }
    let Skcipher { cipher, mode, essiv, .. } = Algorithm::parse(text, name)?.skcipher(text)?;
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

/// What the crypto API calls a symmetric key cipher, and the hash of the essiv template around it,
/// if any.
struct Skcipher<'a> {
    cipher: &'static Cipher,
    mode: Mode,
    essiv: Option<&'a str>,
    form: Form,
}

/// Whether a name is an algorithm's or a driver's. The kernel builds an algorithm's name from its
/// parts' names and a driver's name from their drivers' names, and finds nothing for a mixture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Name,
    Driver,
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
                true => impossible(format!("{text}: \"{name}\" is not a name in the crypto API")),
                false => Ok(Self { name, parameters: Vec::new() }),
            };
        };
        let Some(inside) = inside.strip_suffix(')') else {
            return impossible(format!("{text}: the parenthesis after {template} must close at the end"));
        };
        let parameters = parameters(inside).map(|parameter| Self::parse(text, parameter));
        Ok(Self { name: template, parameters: parameters.collect::<Result<_, _>>()? })
    }

    /// Resolves the algorithm to a sector cipher.
    fn skcipher(&self, text: &str) -> Result<Skcipher<'a>, Error> {
        let found = |cipher, mode, form| Ok(Skcipher { cipher, mode, essiv: None, form });
        match (self.name, &self.parameters[..]) {
            (driver, []) => match mode_driver(driver) {
                Some((mode, cipher)) => found(cipher, mode, Form::Driver),
                None => self.no_skcipher(text),
            },
            ("essiv", [inner, hash]) => {
                let inner = inner.skcipher(text)?;
                let (hash, form) = hash.hash()?;
                match inner.essiv {
                    _ if inner.form != form => mixture(text),
                    None => Ok(Skcipher { essiv: Some(hash), ..inner }),
                    Some(_) => {
                        unsupported(format!("{text} exists, but this build does not nest essiv in essiv"))
                    }
                }
            }
            ("adiantum", [stream, block]) => match (stream.stream()?, block.cipher(text)?) {
                ((rounds, Form::Name), (cipher, Form::Name)) => {
                    found(cipher, Mode::Adiantum { rounds }, Form::Name)
                }
                _ => mixture(text),
            },
            ("adiantum", [stream, block, hash]) => match (stream.stream()?, block.cipher(text)?) {
                ((rounds, Form::Driver), (cipher, Form::Driver)) if hash.name.starts_with("nhpoly1305-") => {
                    found(cipher, Mode::Adiantum { rounds }, Form::Driver)
                }
                _ => mixture(text),
            },
            ("hctr2_base", [stream, hash]) => match stream.skcipher(text)? {
                Skcipher { cipher, mode: Mode::Xctr, form: Form::Driver, .. }
                    if hash.name.starts_with("polyval-") =>
                {
                    found(cipher, Mode::Hctr2, Form::Driver)
                }
                _ => mixture(text),
            },
            (template, [parameter]) => match Mode::find(template) {
                Some(mode) if template != "adiantum" => {
                    let (cipher, form) = parameter.of_mode(text, mode)?;
                    found(cipher, mode, form)
                }
                _ => self.no_skcipher(text),
            },
            _ => self.no_skcipher(text),
        }
    }

    /// The parameter of `mode`: the name of a cipher or of one of its drivers; for some modes, the
    /// driver of its ecb.
    fn of_mode(&self, text: &str, mode: Mode) -> Result<(&'static Cipher, Form), Error> {
        let upon_ecb = matches!(mode, Mode::Xts | Mode::Lrw);
        if upon_ecb || mode == Mode::Cbc {
            match self.skcipher(text) {
                Ok(Skcipher { cipher, mode: Mode::Ecb, form: Form::Driver, .. }) => {
                    return Ok((cipher, Form::Driver));
                }
                Ok(Skcipher { mode: Mode::Ecb, .. }) => return mixture(text),
                _ => {}
            }
        }
        match self.cipher(text)? {
            (_, Form::Driver) if upon_ecb => mixture(text),
            found => Ok(found),
        }
    }

    fn cipher(&self, text: &str) -> Result<(&'static Cipher, Form), Error> {
        match self.parameters[..] {
            [] if Cipher::find(self.name).is_none() && self.name.contains('-') => {
                Ok((rules::cipher(text, undriven(self.name))?, Form::Driver))
            }
            [] => Ok((rules::cipher(text, self.name)?, Form::Name)),
            _ => impossible(format!("{text}: a mode takes a cipher, and {}(…) is not one", self.name)),
        }
    }

    /// The rounds of Adiantum's stream cipher.
    fn stream(&self) -> Result<(u8, Form), Error> {
        let form = if self.name.contains('-') { Form::Driver } else { Form::Name };
        Ok((rules::stream_rounds(undriven(self.name))?, form))
    }

    /// The hash by its own name: driver names have one more dash.
    fn hash(&self) -> Result<(&'a str, Form), Error> {
        let known = |name: &str| EssivHash::find(name).is_some();
        match self.name.rsplit_once('-') {
            _ if !self.parameters.is_empty() => {}
            _ if known(self.name) => return Ok((self.name, Form::Name)),
            Some((name, _)) if known(name) => return Ok((name, Form::Driver)),
            _ => {}
        }
        Err(Error::Unknown { what: "hash", name: self.name.into() })
    }

    /// The error that says why this is not a sector cipher.
    fn no_skcipher<T>(&self, text: &str) -> Result<T, Error> {
        let name = self.name;
        if table::AEAD_MODES.contains(&name) || table::AEAD_CIPHERS.contains(&name) {
            return rules::needs_tags(text, name);
        }
        if table::OTHER_MODES.contains(&name) || table::STREAM_CIPHERS.contains(&name) {
            return rules::unimplemented(text, name);
        }
        match Cipher::find(name) {
            Some(_) => impossible(format!(
                "{text}: {name} alone is a block cipher; sectors need a mode, as in xts({name})"
            )),
            None => Err(Error::Unknown { what: "algorithm of the kernel's crypto API", name: name.into() }),
        }
    }
}

fn mixture<T>(text: &str) -> Result<T, Error> {
    impossible(format!(
        "{text}: the kernel finds an algorithm by its name or by its driver's; this mixes both"
    ))
}

/// The parameters between a template's parentheses: commas inside nested parentheses do not
/// separate them.
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

/// A cipher's name without the driver suffix: "aes" of "aes-aesni".
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
