//! What goes together: the rules that dm-crypt and the kernel's templates enforce, each refusal naming its rule.

use super::table::{EssivHash, STREAM_CIPHERS};
use super::{CipherSpec, Iv, Mode, list};
use crate::Error;
use crate::block::table::Cipher;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// Takes the text apart, looks the names up, and checks that the parts fit each other.
pub(super) fn recognise(text: &str) -> Result<CipherSpec, Error> {
    if text.starts_with("capi:") {
        return unsupported(format!("{text} is for the kernel's crypto API, which this build does not ask"));
    }
    let parts = Parts::split(text)?;
    let (cipher, rounds) = cipher(text, parts.cipher)?;
    let mode = mode(text, parts.mode, rounds)?;
    check_block(cipher, mode)?;
    if mode == Mode::Ecb {
        // dm-crypt warns that the cipher takes no IV, drops it, and goes on.
        return Ok(CipherSpec { cipher, mode, iv: Iv::Absent });
    }
    let iv = iv(text, cipher, mode, parts.iv, parts.hash)?;
    Ok(CipherSpec { cipher, mode, iv })
}

/// The four texts of a specification.
struct Parts<'a> {
    cipher: &'a str,
    mode: &'a str,
    iv: Option<&'a str>,
    hash: Option<&'a str>,
}

impl<'a> Parts<'a> {
    fn split(text: &'a str) -> Result<Self, Error> {
        let mut dashed = text.splitn(3, '-');
        let cipher = dashed.next().unwrap_or_default();
        let (mode, iv) = match (dashed.next(), dashed.next()) {
            // dm-crypt's compatibility rule: "aes" and "aes-plain" mean aes-cbc-plain.
            (None | Some("plain"), None) => ("cbc", Some("plain")),
            (mode, iv) => (mode.unwrap_or_default(), iv),
        };
        let (iv, hash) = match iv.and_then(|iv| iv.split_once(':')) {
            Some((iv, hash)) => (Some(iv), Some(hash)),
            None => (iv, None),
        };
        let Some((cipher, count)) = cipher.split_once(':') else {
            return Ok(Self { cipher, mode, iv, hash });
        };
        match count.parse::<u32>() {
            Ok(1) => Ok(Self { cipher, mode, iv, hash }),
            Ok(n) if n.is_power_of_two() => {
                unsupported(format!("{text} exists, but this build does not implement {n} keys a volume yet"))
            }
            _ => impossible(format!("{text}: the number of keys after \"{cipher}:\" must be a power of two")),
        }
    }
}

/// The block cipher, and for "xchachaN,cipher" the rounds of Adiantum's stream cipher.
fn cipher(text: &str, name: &str) -> Result<(&'static Cipher, Option<u8>), Error> {
    let (name, rounds) = match name.split_once(',') {
        Some(("xchacha12", block)) => (block, Some(12)),
        Some(("xchacha20", block)) => (block, Some(20)),
        Some((stream, _)) => {
            return Err(Error::Unknown { what: "Adiantum stream cipher", name: stream.into() });
        }
        None => (name, None),
    };
    if STREAM_CIPHERS.contains(&name) {
        return impossible(format!(
            "{text}: {name} is a stream cipher and gives every sector the same key stream; sectors need a block cipher"
        ));
    }
    match Cipher::find(name) {
        Some(cipher) => Ok((cipher, rounds)),
        None => Err(Error::Unknown { what: "cipher", name: name.into() }),
    }
}

/// The mode; Adiantum and "xchachaN,cipher" need each other.
fn mode(text: &str, name: &str, rounds: Option<u8>) -> Result<Mode, Error> {
    match (Mode::find(name), rounds) {
        (None, _) => Err(Error::Unknown { what: "cipher mode", name: name.into() }),
        (Some(Mode::Adiantum { .. }), Some(rounds)) => Ok(Mode::Adiantum { rounds }),
        (Some(Mode::Adiantum { .. }), None) => {
            impossible(format!("{text}: adiantum is made of two ciphers: xchacha12,aes or xchacha20,aes"))
        }
        (Some(mode), None) => Ok(mode),
        (Some(_), Some(_)) => {
            impossible(format!("{text}: only adiantum takes two ciphers, {name} takes one"))
        }
    }
}

/// The mode's demands on the cipher's block and key.
fn check_block(cipher: &'static Cipher, mode: Mode) -> Result<(), Error> {
    let (name, bits) = (cipher.name, cipher.block_bits());
    match mode {
        Mode::Ecb => Ok(()),
        _ if name == "cipher_null" => {
            impossible("cipher_null encrypts nothing: only cipher_null-ecb exists".into())
        }
        Mode::Xts | Mode::Lrw | Mode::Hctr2 | Mode::Adiantum { .. } if bits != 128 => impossible(format!(
            "{} needs a cipher with 128-bit blocks, {name}'s are {bits} bits",
            mode.name()
        )),
        Mode::Adiantum { .. } if !cipher.key_bits().any(|bits| bits == 256) => {
            impossible(format!("adiantum needs a cipher with 256-bit keys, {name} has none"))
        }
        _ => Ok(()),
    }
}

fn iv(
    text: &str,
    cipher: &'static Cipher,
    mode: Mode,
    name: Option<&str>,
    hash: Option<&str>,
) -> Result<Iv, Error> {
    let Some(name) = name.filter(|name| !name.is_empty()) else {
        return impossible(format!("{text} needs an IV, for example {}-plain64", text.trim_end_matches('-')));
    };
    if name == "essiv" {
        return essiv(text, cipher, mode, hash);
    }
    let Some(iv) = Iv::find(name) else {
        return Err(Error::Unknown { what: "IV", name: name.into() });
    };
    if let Some(hash) = hash {
        return impossible(format!("{text}: {name} takes no parameter (\":{hash}\"); only essiv does"));
    }
    match iv {
        Iv::Lmk | Iv::Tcw | Iv::Eboiv | Iv::Elephant if mode != Mode::Cbc => {
            impossible(format!("{text}: the IV {name} is made for cbc, not for {}", mode.name()))
        }
        Iv::Eboiv | Iv::Elephant if cipher.name != "aes" => {
            impossible(format!("{text}: the IV {name} is BitLocker's and exists for aes only"))
        }
        _ => Ok(iv),
    }
}

/// ESSIV encrypts the sector number under the hash of the key: the digest must be a key, the IV a block.
fn essiv(text: &str, cipher: &'static Cipher, mode: Mode, hash: Option<&str>) -> Result<Iv, Error> {
    let Some(name) = hash.filter(|name| !name.is_empty()) else {
        return impossible(format!("{text}: essiv needs a hash, for example essiv:sha256"));
    };
    if matches!(mode, Mode::Adiantum { .. } | Mode::Hctr2) {
        return impossible(format!(
            "{text}: essiv makes IVs of one block, {} takes 256-bit IVs",
            mode.name()
        ));
    }
    let Some(hash) = EssivHash::find(name) else {
        return Err(Error::Unknown { what: "hash", name: name.into() });
    };
    if cipher.key_bits().all(|bits| bits != hash.digest_bits) {
        let sizes: Vec<usize> = cipher.key_bits().collect();
        return impossible(format!(
            "{text}: essiv uses the digest as a key, {name}'s has {} bits, {} takes {}",
            hash.digest_bits,
            cipher.name,
            list(&sizes)
        ));
    }
    Ok(Iv::Essiv(hash))
}

fn impossible<T>(why: String) -> Result<T, Error> {
    Err(Error::Impossible(why))
}

fn unsupported<T>(why: String) -> Result<T, Error> {
    Err(Error::Unsupported(why))
}
