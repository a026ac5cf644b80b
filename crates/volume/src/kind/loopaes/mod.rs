//! loop-AES volumes: no header; a key file holds all that opens one.
//!
//! | lines of the key file | version | encrypted by | first byte of each key |
//! |---|---|---|---|
//! | 1 | 1, single key | `aes-cbc-plain64` | as hashed |
//! | 64 | 2, multi-key | `aes:64-cbc-lmk`: sectors use the keys in turn | ⊕ 0x55 |
//! | 65 | 3, multi-key with a seed for the IV | `aes:64-cbc-lmk` | ⊕ 0xF4 |
//!
//! A key is the start of its line's hash. (loop-AES's README; cryptsetup, lib/loopaes/loopaes.c; the messages are
//! cryptsetup's.)

mod key_file;

use super::plain::{PlainVolume, check_start};
use super::{Found, Judged, Key, Kind, Known, Row, Subject, Takes, Way, WayCost};
use crate::error::{Finding, Rule};
use crate::{Error, Layout, Result, Storage, UnlockOptions};
use key_file::Keys;
use keyway_crypto::{CipherSpec, Secret};
use keyway_format::Sectors;

/// Its row.
pub const ROW: Row = Row { name: "loopaes", title: "LOOPAES" };

/// A loop-AES volume as its user describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoopAes {
    /// The block cipher.
    pub cipher: String,
    /// The length of one key in bytes.
    pub key_len: usize,
    /// What hashes a line; `None`: as loop-AES, SHA-256, SHA-384 or SHA-512 by the key's length.
    pub hash: Option<String>,
    /// Where the data starts on the device.
    pub offset: Sectors,
    /// IV of the first sector; `None`: its number on the device.
    pub skip: Option<Sectors>,
    /// It may be written where the device's start holds something else that is known.
    pub overwrite: bool,
}

impl Default for LoopAes {
    /// AES-256, all of the device.
    fn default() -> Self {
        let cipher = "aes".to_owned();
        Self { cipher, key_len: 32, hash: None, offset: Sectors(0), skip: None, overwrite: false }
    }
}

impl LoopAes {
    /// Refuses a cipher that does not exist or has no such keys, before a device is opened.
    ///
    /// # Errors
    /// [`Error::Crypto`].
    pub fn check(&self) -> Result<()> {
        for (spec, keys) in [(self.single()?, 1), (self.multiple()?, KEYS)] {
            spec.check_key_bits(8 * keys * self.key_len)?;
        }
        Ok(())
    }

    fn single(&self) -> Result<CipherSpec> {
        Ok(CipherSpec::parse(&format!("{}-cbc-plain64", self.cipher))?)
    }

    fn multiple(&self) -> Result<CipherSpec> {
        Ok(CipherSpec::parse(&format!("{}:{KEYS}-cbc-lmk", self.cipher))?)
    }

    fn layout(&self, spec: CipherSpec, on: &Subject<'_>) -> Result<Layout> {
        let skip = self.skip.unwrap_or(self.offset);
        let volume = PlainVolume { offset: self.offset, skip, ..PlainVolume::new(spec) };
        volume.layout(on.device, on.data.len())
    }
}

impl Kind for LoopAes {
    fn row(&self) -> &'static Row {
        &ROW
    }

    fn judge(&self, on: &Subject<'_>) -> Result<Box<dyn Judged>> {
        self.check()?;
        let (single, multiple) = (self.single()?, self.multiple()?);
        let weakness = Rule::of_cipher(&multiple).or_else(|| Rule::of_key(&single, self.key_len));
        if let (false, Some(rule)) = (on.weak_ciphers, weakness) {
            return Err(Error::NotAdmitted(Finding { segment: 0, rule }));
        }
        let [single, multiple] = [self.layout(single, on)?, self.layout(multiple, on)?];
        if self.offset.0 == 0 && !self.overwrite {
            check_start(on)?;
        }
        Ok(Box::new(JudgedLoopAes { single, multiple, key_len: self.key_len, hash: self.hash.clone() }))
    }

    /// A line of the key file is hashed once.
    fn known(&self, _: &dyn Storage) -> Result<Known> {
        let hash = key_file::hash_name(self.hash.as_deref(), self.key_len);
        let cost = WayCost::Hash { name: hash.unwrap_or("[none]").to_owned(), digests: 1 };
        let ciphers = vec![self.multiple()?.to_string(), self.single()?.to_string()];
        Ok(Known { ways: vec![Way::new("key file", Takes::KeyFile, cost)], ciphers })
    }
}

/// A loop-AES volume that is within its device.
struct JudgedLoopAes {
    /// With one key.
    single: Layout,
    /// With 64 keys, and a seed or none.
    multiple: Layout,
    key_len: usize,
    hash: Option<String>,
}

impl Judged for JudgedLoopAes {
    /// A passphrase is what a key file would hold.
    fn open(&self, key: Key<'_>, _: &UnlockOptions) -> Result<Found> {
        let volume_key = match key {
            Key::File(content) | Key::Passphrase(content) => {
                Keys::parse(content)?.hashed(self.hash.as_deref(), self.key_len)?
            }
            Key::Volume(key) => Secret::copy_from(key.expose()),
        };
        let layout = match volume_key.len().checked_div(self.key_len) {
            Some(1) if volume_key.len() == self.key_len => &self.single,
            Some(keys @ (KEYS | KEYS_AND_SEED)) if volume_key.len() == keys * self.key_len => &self.multiple,
            _ => return Err(Error::WrongVolumeKey),
        };
        Ok(Found { layout: layout.clone(), volume_key })
    }
}

/// Keys of versions 2 and 3.
const KEYS: usize = 64;
/// Lines of version 3's key file.
const KEYS_AND_SEED: usize = KEYS + 1;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Storage;
    use crate::device::storage::Memory;
    use std::sync::Arc;

    fn judged(volume: &LoopAes, weak_ciphers: bool) -> Result<()> {
        let data: Arc<dyn Storage> = Arc::new(Memory::zeroed(1 << 16));
        volume.judge(&Subject { data: &data, device: "disk", writes: true, weak_ciphers }).map(drop)
    }

    #[test]
    fn keys_that_can_be_guessed_are_refused_unless_weak_ciphers_are_accepted() {
        let des =
            LoopAes { cipher: "des".into(), key_len: 8, hash: Some("sha1".into()), ..LoopAes::default() };
        let refused = judged(&des, false).unwrap_err();
        let Error::NotAdmitted(Finding { rule: Rule::ShortKey { cipher, bits }, .. }) = refused else {
            panic!("{refused}")
        };
        assert_eq!((&*cipher, bits), ("des-cbc-plain64", 64));
        judged(&des, true).unwrap();
        judged(&LoopAes::default(), false).unwrap();
    }
}
