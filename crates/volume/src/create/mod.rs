//! New volumes: the header is planned as bytes first, then written key material first and header last.

use crate::luks::Header;
use crate::{Error, KdfChoice, Luks, Random, Result, Storage};
use keyway_crypto::Secret;
use std::sync::Arc;

/// What a new LUKS1 volume should be. Defaults are cryptsetup's.
#[derive(Debug, Clone)]
pub struct Luks1Params {
    /// "aes-xts-plain64".
    pub cipher: String,
    /// Volume key length in bits.
    pub key_bits: u32,
    /// Hash of PBKDF2, AF splitter and digest.
    pub hash: String,
    /// Cost of the first keyslot (PBKDF2 only; its hash is `hash`).
    pub kdf: KdfChoice,
    /// Payload alignment in 512-byte sectors (`--align-payload`).
    pub align_payload: Option<u64>,
    /// Payload offset in 512-byte sectors (`--offset`); wins over alignment.
    pub payload_offset: Option<u64>,
    /// UUID; random when absent.
    pub uuid: Option<String>,
    /// The header stands on storage of its own.
    pub detached: bool,
    /// Keyslot of the first passphrase (0 when absent).
    pub keyslot: Option<u32>,
}

impl Default for Luks1Params {
    fn default() -> Self {
        Self {
            cipher: "aes-xts-plain64".into(),
            key_bits: 512,
            hash: "sha256".into(),
            kdf: KdfChoice::Pbkdf2 {
                hash: "sha256".into(),
                cost: crate::Cost::Time(crate::kdf_cost::DEFAULT_TIME),
            },
            align_payload: None,
            payload_offset: None,
            uuid: None,
            detached: false,
            keyslot: None,
        }
    }
}

/// What a new LUKS2 volume should be. Defaults are cryptsetup's.
#[derive(Debug, Clone)]
pub struct Luks2Params {
    /// "aes-xts-plain64".
    pub cipher: String,
    /// Volume key length in bits.
    pub key_bits: u32,
    /// Hash of AF splitter and digest.
    pub hash: String,
    /// KDF of the first keyslot.
    pub kdf: KdfChoice,
    /// Encryption sector size in bytes; chosen from the data device when absent.
    pub sector_size: Option<u32>,
    /// Cipher of the keyslot area, when not the segment's.
    pub keyslot_cipher: Option<String>,
    /// Key length of the keyslot area's cipher in bits.
    pub keyslot_key_bits: Option<u32>,
    /// Payload alignment in 512-byte sectors (`--align-payload`).
    pub align_payload: Option<u64>,
    /// Data offset in 512-byte sectors (`--offset`); wins over alignment.
    pub data_offset: Option<u64>,
    /// Size of each metadata copy in bytes (`--luks2-metadata-size`).
    pub metadata_size: Option<u64>,
    /// Size of the keyslots area in bytes (`--luks2-keyslots-size`).
    pub keyslots_size: Option<u64>,
    /// Label, at most 47 bytes.
    pub label: Option<String>,
    /// Subsystem label, at most 47 bytes.
    pub subsystem: Option<String>,
    /// UUID; random when absent.
    pub uuid: Option<String>,
    /// The header stands on storage of its own; the data starts at offset 0 unless `data_offset` says otherwise.
    pub detached: bool,
    /// Length in bytes of the data device when it is not the header's storage.
    pub data_len: Option<u64>,
    /// Keyslot of the first passphrase (0 when absent).
    pub keyslot: Option<u32>,
}

impl Default for Luks2Params {
    fn default() -> Self {
        Self {
            cipher: "aes-xts-plain64".into(),
            key_bits: 512,
            hash: "sha256".into(),
            kdf: KdfChoice::default(),
            sector_size: None,
            keyslot_cipher: None,
            keyslot_key_bits: None,
            align_payload: None,
            data_offset: None,
            metadata_size: None,
            keyslots_size: None,
            label: None,
            subsystem: None,
            uuid: None,
            detached: false,
            data_len: None,
            keyslot: None,
        }
    }
}

/// A new header as bytes, not yet written anywhere.
pub struct Plan {
    /// What the header says.
    pub header: Header,
    /// Where the data starts on the data device, in bytes.
    pub data_offset: u64,
    /// Bytes of the header's storage that belong to header and keyslots, in the order in which they must be
    /// written (key material first): offset and content. Everything else before them is zeros.
    pub writes: Vec<(u64, Vec<u8>)>,
}

impl Plan {
    /// Everything from offset 0 to the end of header and keyslots area, for writing in one pass.
    pub fn to_bytes(&self) -> Vec<u8> {
        let end = self.writes.iter().map(|(at, bytes)| *at as usize + bytes.len()).max().unwrap_or(0);
        let mut all = vec![0; end];
        for (at, bytes) in &self.writes {
            all[*at as usize..*at as usize + bytes.len()].copy_from_slice(bytes);
        }
        all
    }
}

/// Plans a LUKS1 header with one keyslot. `storage_len` bounds it when the storage exists already.
pub fn plan_luks1(
    params: &Luks1Params,
    storage_len: Option<u64>,
    volume_key: &Secret,
    passphrase: &Secret,
    rng: &mut dyn Random,
) -> Result<Plan> {
    let _ = (params, storage_len, volume_key, passphrase, rng);
    Err(Error::Refused("not built yet".into()))
}

/// Plans a LUKS2 header with one keyslot. `storage_len` bounds it when the storage exists already.
pub fn plan_luks2(
    params: &Luks2Params,
    storage_len: Option<u64>,
    volume_key: &Secret,
    passphrase: &Secret,
    rng: &mut dyn Random,
) -> Result<Plan> {
    let _ = (params, storage_len, volume_key, passphrase, rng);
    Err(Error::Refused("not built yet".into()))
}

/// Makes a LUKS1 volume on `storage`; old signatures are wiped, the header comes last.
pub fn create_luks1(
    storage: Arc<dyn Storage>,
    params: &Luks1Params,
    volume_key: &Secret,
    passphrase: &Secret,
    rng: &mut dyn Random,
) -> Result<Luks> {
    let _ = (storage, params, volume_key, passphrase, rng);
    Err(Error::Refused("not built yet".into()))
}

/// Makes a LUKS2 volume on `storage`; old signatures are wiped, the header comes last.
pub fn create_luks2(
    storage: Arc<dyn Storage>,
    params: &Luks2Params,
    volume_key: &Secret,
    passphrase: &Secret,
    rng: &mut dyn Random,
) -> Result<Luks> {
    let _ = (storage, params, volume_key, passphrase, rng);
    Err(Error::Refused("not built yet".into()))
}
