//! What all commands that write a keyslot share: its KDF and encryption from the command line, and
//! a free number.

use crate::args::{Args, shared};
use crate::make::calibration::Data;
use crate::make::kdf::KdfOptions;
use crate::output::failure::{Exit, Failure, Result};
use crate::output::manner::Manner;
use crate::output::stdio;
use keyway::NewKeyslot;
use keyway::kdf_cost::DEFAULT_HASH;
use keyway::parts::Header;

/// "Key slot 1 created." with `-v`.
pub(super) fn note_created(manner: Manner, keyslot: u32) -> Result<()> {
    stdio::verbose(manner, &format!("Key slot {keyslot} created."))
}

/// KDF, hash and encryption of a new keyslot, without its number.
pub(super) struct KeyslotOptions {
    kdf: KdfOptions,
    hash: Option<String>,
    cipher: Option<String>,
    key_bits: Option<u32>,
}

impl KeyslotOptions {
    pub(super) fn from_args(args: &Args) -> Result<Self> {
        Ok(Self {
            kdf: KdfOptions::from_args(args)?,
            hash: args.text(&shared::HASH).map(str::to_owned),
            cipher: args.text(&shared::KEYSLOT_CIPHER).map(str::to_owned),
            key_bits: args.number32(&shared::KEYSLOT_KEY_SIZE),
        })
    }

    /// Only what was said: the rest is to be as in the keyslot that is replaced.
    pub(super) fn as_said(&self) -> Result<NewKeyslot> {
        let mut keyslot = new();
        if self.kdf.is_given() || self.hash.is_some() {
            let hash = self.hash.as_deref().unwrap_or(DEFAULT_HASH);
            keyslot = keyslot.kdf(self.kdf.agreed(2, hash, None)?.into());
        }
        if let Some(hash) = &self.hash {
            keyslot = keyslot.hash(hash);
        }
        if let (Some(cipher), Some(bits)) = (&self.cipher, self.key_bits) {
            keyslot = keyslot.cipher(cipher, bits);
        }
        Ok(keyslot)
    }

    /// As [`KeyslotOptions::as_said`], for LUKS1, which has PBKDF2 only and one hash for everything.
    pub(super) fn for_luks1(&self) -> Result<NewKeyslot> {
        let hash = self.hash.as_deref().unwrap_or(DEFAULT_HASH);
        let mut keyslot = new().hash(hash);
        if self.kdf.is_given() {
            keyslot = keyslot.kdf(self.kdf.agreed(1, hash, None)?.into());
        }
        Ok(keyslot)
    }

    /// The keyslot parameters in a form that the header `luks` supports.
    pub(super) fn for_header(&self, header: &keyway::Header) -> Result<NewKeyslot> {
        let luks = header.luks();
        if luks.version() == 1 && self.cipher.is_some() {
            let message = "Keyslot encryption parameters can be set only for LUKS2 device.";
            return Err(Failure::new(Exit::Parameters, message));
        }
        let default_hash = match luks.header() {
            Header::Luks1(header) => header.hash_spec.as_str(),
            Header::Luks2 { .. } => DEFAULT_HASH,
        };
        let hash = self.hash.as_deref().unwrap_or(default_hash);
        let data = header.cipher().zip(header.key_bits());
        let data = data.map(|(cipher, bits)| Data { cipher, key_len: bits / 8 });
        let mut keyslot = new().kdf(self.kdf.agreed(luks.version(), hash, data)?.into());
        if let Some(hash) = &self.hash {
            keyslot = keyslot.hash(hash);
        }
        if let (Some(cipher), Some(bits)) = (&self.cipher, self.key_bits) {
            keyslot = keyslot.cipher(cipher, bits);
        }
        Ok(keyslot)
    }
}

/// A keyslot, whose passphrase may be empty: what is permitted of new ones was judged when it was read.
fn new() -> NewKeyslot {
    NewKeyslot::new().allow_empty_passphrase()
}

/// Refuses a number that is out of range or taken, before the user types a passphrase.
pub(super) fn check_free(header: &keyway::Header, keyslot: Option<u32>) -> Result<()> {
    let (Some(number), luks) = (keyslot, header.luks()) else { return Ok(()) };
    let last = luks.last_keyslot();
    if number > last {
        let message = format!("Key slot {number} is invalid, please select between 0 and {last}.");
        return Err(Failure::new(Exit::Parameters, message));
    }
    if luks.keyslot_state(number).is_active() {
        let message = format!("Key slot {number} is full, please select another one.");
        return Err(Failure::new(Exit::Parameters, message));
    }
    Ok(())
}

/// Refuses the number of a keyslot that is not active.
pub(super) fn check_active(header: &keyway::Header, keyslot: u32) -> Result<()> {
    match header.luks().keyslot_state(keyslot).is_active() {
        true => Ok(()),
        false => Err(Failure::new(Exit::Parameters, format!("Keyslot {keyslot} is not active."))),
    }
}
