//! Which parts may be combined: the rules that dm-crypt and the kernel's templates enforce, each
//! refusal naming its rule.
//!
//! The rules are those of drivers/md/dm-crypt.c (`crypt_ctr_ivmode`, `crypt_iv_*_ctr`) and of
//! crypto/{xts,lrw,ctr,essiv, adiantum,hctr2}.c. Where the kernel maps a volume that it could not
//! read back, the combination is refused here too, and the rule says why.

use super::table::{self, EssivHash};
use super::{CipherSpec, Iv, Mode, list};
use crate::Error;
use crate::block::table::Cipher;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// The parts that a text names, before they are checked for compatibility.
pub(super) struct Named<'a> {
    pub(super) text: &'a str,
    pub(super) cipher: &'static Cipher,
    pub(super) mode: Mode,
    pub(super) keys: u32,
    pub(super) iv: Option<&'a str>,
    pub(super) hash: Option<&'a str>,
}

/// Checks that the parts are compatible.
pub(super) fn combine(named: Named<'_>) -> Result<CipherSpec, Error> {
    check_block(named.cipher, named.mode)?;
    let iv = named.iv()?;
    let spec = CipherSpec { cipher: named.cipher, keys: named.keys, mode: named.mode, iv, capi: None };
    if spec.key_bits().is_empty() {
        // The only remaining case once all other rules hold.
        return impossible(format!(
            "{}: elephant's sector keys are AES's and as long as all other keys: 128, 192 or 256 bits",
            named.text
        ));
    }
    Ok(spec)
}

/// The mode's requirements for the cipher's block and key.
fn check_block(cipher: &'static Cipher, mode: Mode) -> Result<(), Error> {
    let (name, bits) = (cipher.name, cipher.block_bits());
    match mode {
        Mode::Ecb => Ok(()),
        // In cbc and pcbc the kernel chains one-byte blocks: this still hides nothing, and no
        // header uses it.
        _ if name == "cipher_null" => {
            impossible("cipher_null encrypts nothing: only cipher_null-ecb makes sense".into())
        }
        _ if bits < 64 => impossible(format!(
            "{name} is a stream cipher and has no blocks for {} to chain: only {name}-ecb exists",
            mode.name()
        )),
        Mode::Xts | Mode::Lrw | Mode::Xctr | Mode::Hctr2 | Mode::Adiantum { .. } if bits != 128 => {
            impossible(format!(
                "{} needs a cipher with 128-bit blocks, {name}'s are {bits} bits",
                mode.name()
            ))
        }
        Mode::Adiantum { .. } if !cipher.key_bits().any(|bits| bits == 256) => {
            impossible(format!("adiantum needs a cipher with 256-bit keys, {name} has none"))
        }
        _ => Ok(()),
    }
}

impl Named<'_> {
    fn iv(&self) -> Result<Iv, Error> {
        let Self { text, mode, .. } = self;
        match self.iv {
            Some("essiv") => self.essiv(),
            // dm-crypt warns that the cipher takes no IV, drops the IV that is named, and
            // continues.
            _ if *mode == Mode::Ecb => Ok(Iv::Absent),
            None | Some("") => {
                impossible(format!("{text} needs an IV, for example {}-plain64", text.trim_end_matches('-')))
            }
            Some("random") => impossible(format!(
                "{text}: random IVs must be stored beside each sector and need integrity tags for that"
            )),
            // Only essiv has a parameter; dm-crypt ignores parameters of other IVs.
            Some(name) => match Iv::find(name) {
                Some(iv) => self.check_iv(iv).map(|()| iv),
                None => Err(Error::Unknown { what: "IV", name: name.into() }),
            },
        }
    }

    /// The requirements of loop-AES's, TrueCrypt's and BitLocker's IVs for the mode.
    fn check_iv(&self, iv: Iv) -> Result<(), Error> {
        let (text, mode, name) = (self.text, self.mode, iv.name());
        match iv {
            Iv::Lmk if mode != Mode::Cbc => impossible(format!(
                "{text}: the IV lmk depends on the data and can be removed again only in cbc, not in {}",
                mode.name()
            )),
            Iv::Tcw | Iv::Eboiv | Iv::Elephant if mode.is_wide() => impossible(format!(
                "{text}: the IV {name} is at most one block of 128 bits, {} takes 256 bits",
                mode.name()
            )),
            // The kernel counts these as modes with one-byte blocks.
            Iv::Eboiv | Iv::Elephant if mode.is_stream() => impossible(format!(
                "{text}: the IV {name} is an encrypted block, and {} makes a key stream instead of encrypting \
                blocks",
                mode.name()
            )),
            _ => Ok(()),
        }
    }

    /// ESSIV encrypts the sector number under the hash of the key: the digest must have the length
    /// of a key, the IV that of a block.
    fn essiv(&self) -> Result<Iv, Error> {
        let Self { text, cipher, mode, .. } = self;
        let Some(name) = self.hash.filter(|name| !name.is_empty()) else {
            return impossible(format!("{text}: essiv needs a hash, for example essiv:sha256"));
        };
        match mode {
            Mode::Ecb => return impossible(format!("{text}: essiv encrypts the IV, and ecb takes none")),
            wide if wide.is_wide() => {
                return impossible(format!(
                    "{text}: essiv makes IVs of one block, {} takes 256-bit IVs",
                    mode.name()
                ));
            }
            _ => {}
        }
        let Some(hash) = EssivHash::find(name) else {
            return Err(Error::Unknown { what: "hash", name: name.into() });
        };
        if cipher.key_bits().all(|bits| bits != hash.digest_bits()) {
            let sizes: Vec<usize> = cipher.key_bits().collect();
            return impossible(format!(
                "{text}: essiv uses the digest as a key, {name}'s has {} bits, {} takes {}",
                hash.digest_bits(),
                cipher.name,
                list(&sizes)
            ));
        }
        Ok(Iv::Essiv(hash))
    }
}

/// Looks up a cipher by its name.
pub(super) fn cipher(text: &str, name: &str) -> Result<&'static Cipher, Error> {
    match Cipher::find(name) {
        Some(cipher) => Ok(cipher),
        None if table::AEAD_CIPHERS.contains(&name) => needs_tags(text, name),
        None if table::STREAM_CIPHERS.contains(&name) => impossible(format!(
            "{text}: {name} is a stream cipher and has no blocks to chain; sectors need a block cipher"
        )),
        None => Err(Error::Unknown { what: "cipher", name: name.into() }),
    }
}

/// The rounds of Adiantum's stream cipher.
pub(super) fn stream_rounds(name: &str) -> Result<u8, Error> {
    match name {
        "xchacha12" => Ok(12),
        "xchacha20" => Ok(20),
        other => Err(Error::Unknown { what: "Adiantum stream cipher", name: other.into() }),
    }
}

/// Authenticated encryption makes sectors longer.
pub(super) fn needs_tags<T>(text: &str, name: &str) -> Result<T, Error> {
    impossible(format!(
        "{text}: {name} authenticates, and its tags need space beside each sector (integrity)"
    ))
}

pub(super) fn unimplemented<T>(text: &str, name: &str) -> Result<T, Error> {
    unsupported(format!("{text} exists, but this build does not implement {name}"))
}

pub(super) fn impossible<T>(why: String) -> Result<T, Error> {
    Err(Error::Impossible(why))
}

pub(super) fn unsupported<T>(why: String) -> Result<T, Error> {
    Err(Error::Unsupported(why))
}
