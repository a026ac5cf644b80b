//! dm-crypt's original form: `cipher[:keycount][-mode[-iv[:hash]]]` (drivers/md/dm-crypt.c,
//! `crypt_ctr_cipher_old`).

use super::rules::{self, Named, impossible};
use super::{CipherSpec, Mode, table};
use crate::Error;
use crate::block::table::Cipher;
use alloc::format;

/// Splits the text, looks up the names, and checks that the parts are compatible.
pub(super) fn parse(text: &str) -> Result<CipherSpec, Error> {
    let parts = Parts::split(text)?;
    let (cipher, rounds) = cipher(text, parts.cipher)?;
    let mode = mode(text, parts.mode, rounds)?;
    rules::combine(Named { text, cipher, mode, keys: parts.keys, iv: parts.iv, hash: parts.hash })
}

/// The texts of a specification and its number of keys.
struct Parts<'a> {
    cipher: &'a str,
    keys: u32,
    mode: &'a str,
    iv: Option<&'a str>,
    hash: Option<&'a str>,
}

impl<'a> Parts<'a> {
    fn split(text: &'a str) -> Result<Self, Error> {
        if text.contains('(') {
            return impossible(format!(
                "{text}: names with parentheses are for specifications that start with capi:"
            ));
        }
        let mut dashed = text.splitn(3, '-');
        let cipher = dashed.next().unwrap_or_default();
        let (mode, iv) = match (dashed.next(), dashed.next()) {
            // cryptsetup's short form.
            (None, None) if matches!(cipher, "null" | "cipher_null") => return Ok(Self::cipher_null()),
            // dm-crypt's compatibility rule: "aes" and "aes-plain" mean aes-cbc-plain.
            (None | Some("plain"), None) => ("cbc", Some("plain")),
            (mode, iv) => (mode.unwrap_or_default(), iv),
        };
        let (iv, hash) = match iv.and_then(|iv| iv.split_once(':')) {
            Some((iv, hash)) => (Some(iv), Some(hash)),
            None => (iv, None),
        };
        let (cipher, keys) = match cipher.split_once(':') {
            Some((cipher, count)) => (cipher, key_count(text, cipher, count)?),
            None => (cipher, 1),
        };
        Ok(Self { cipher, keys, mode, iv, hash })
    }

    fn cipher_null() -> Self {
        Self { cipher: "cipher_null", keys: 1, mode: "ecb", iv: None, hash: None }
    }
}

/// The number of keys after the cipher's name.
fn key_count(text: &str, cipher: &str, count: &str) -> Result<u32, Error> {
    match count.parse::<u32>() {
        Ok(keys) if keys > MOST_KEYS => {
            impossible(format!("{text}: {keys} keys are too many, at most {MOST_KEYS} are allowed"))
        }
        Ok(keys) if keys.is_power_of_two() => Ok(keys),
        _ => impossible(format!("{text}: the number of keys after \"{cipher}:\" must be a power of two")),
    }
}

/// The block cipher, and for "xchachaN,cipher" the rounds of Adiantum's stream cipher.
fn cipher(text: &str, name: &str) -> Result<(&'static Cipher, Option<u8>), Error> {
    if let Some((stream, block)) = name.split_once(',') {
        return Ok((rules::cipher(text, block)?, Some(rules::stream_rounds(stream)?)));
    }
    Ok((rules::cipher(text, name)?, None))
}

/// The mode; Adiantum and "xchachaN,cipher" require each other.
fn mode(text: &str, name: &str, rounds: Option<u8>) -> Result<Mode, Error> {
    match (Mode::find(name), rounds) {
        (None, _) if table::AEAD_MODES.contains(&name) => rules::needs_tags(text, name),
        (None, _) if table::OTHER_MODES.contains(&name) => rules::unimplemented(text, name),
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

/// More keys than any loop-AES volume has (64), few enough that allocations cannot fail for size.
const MOST_KEYS: u32 = 1 << 16;
