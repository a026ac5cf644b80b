//! The properties of a new header, from the command line, for `luksFormat`, `build` and `copy`.
//!
//! Invalid combinations are refused when this is created, before anything is asked, read or
//! written.

use crate::device;
use crate::door::{Args, Opt, shared};
use crate::make::kdf::{self, KdfOptions};
use crate::say::failure::{Exit, Failure, Result};
use crate::unlock::admission::{self, WeakCiphers};
use crate::unlock::{self, passphrase};
use keyway_crypto::{CipherSpec, Secret, SectorSize, Weakness};
use keyway_volume::create::{Luks1Params, Luks2Params};
use keyway_volume::{KdfChoice, Locking, Random};
use std::path::{Path, PathBuf};

/// The properties of a new header.
pub(crate) struct HeaderParams {
    version: u8,
    cipher: String,
    key_bits: u32,
    hash: String,
    kdf: KdfChoice,
    kdf_options: KdfOptions,
    keyslot_cipher: Option<String>,
    keyslot_key_bits: Option<u32>,
    sector_size: Option<u32>,
    align_payload: Option<u64>,
    data_offset: Option<u64>,
    metadata_size: Option<u64>,
    keyslots_size: Option<u64>,
    label: Option<String>,
    subsystem: Option<String>,
    uuid: Option<String>,
    keyslot: Option<u32>,
    detached: bool,
    locking: Locking,
    volume_key_file: Option<PathBuf>,
}

impl HeaderParams {
    /// From the format options.
    pub(crate) fn from_args(args: &Args, version: u8) -> Result<Self> {
        check_options(args, version)?;
        let cipher = args.text(&shared::CIPHER).unwrap_or(DEFAULT_CIPHER).to_owned();
        let hash = args.text(&shared::HASH).unwrap_or(kdf::DEFAULT_HASH).to_owned();
        let key_bits = key_bits(args, version, &cipher)?;
        let kdf_options = KdfOptions::from_args(args)?;
        let text = |option| args.text(option).map(str::to_owned);
        Ok(Self {
            version,
            cipher,
            key_bits,
            kdf: kdf_options.choice(version, &hash)?,
            kdf_options,
            hash,
            keyslot_cipher: text(&shared::KEYSLOT_CIPHER),
            keyslot_key_bits: args.number32(&shared::KEYSLOT_KEY_SIZE),
            sector_size: args.number32(&shared::SECTOR_SIZE),
            align_payload: args.number(&shared::ALIGN_PAYLOAD),
            data_offset: args.number(&shared::OFFSET),
            metadata_size: args.number(&shared::LUKS2_METADATA_SIZE),
            keyslots_size: args.number(&shared::LUKS2_KEYSLOTS_SIZE),
            label: text(&shared::LABEL),
            subsystem: text(&shared::SUBSYSTEM),
            uuid: text(&shared::UUID),
            keyslot: args.number32(&shared::KEY_SLOT),
            detached: args.given(&shared::HEADER),
            locking: device::locking(args),
            volume_key_file: unlock::volume_key_file(args).map(Path::to_owned),
        })
    }

    /// 1 or 2.
    pub(crate) fn version(&self) -> u8 {
        self.version
    }

    /// A description for `--debug`.
    pub(crate) fn describe(&self) -> String {
        format!(
            "LUKS{}, {}, {} bits, {}, {:?}",
            self.version, self.cipher, self.key_bits, self.hash, self.kdf
        )
    }

    /// The parameters of a LUKS1 header.
    pub(crate) fn luks1(&self) -> Luks1Params {
        Luks1Params {
            cipher: self.cipher.clone(),
            key_bits: self.key_bits,
            hash: self.hash.clone(),
            kdf: self.kdf.clone(),
            align_payload: self.align_payload,
            payload_offset: self.data_offset,
            uuid: self.uuid.clone(),
            detached: self.detached,
            keyslot: self.keyslot,
            locking: self.locking,
        }
    }

    /// The parameters of a LUKS2 header. `data_len` is the length of the data device if the header
    /// is detached.
    pub(crate) fn luks2(&self, data_len: Option<u64>) -> Luks2Params {
        Luks2Params {
            cipher: self.cipher.clone(),
            key_bits: self.key_bits,
            hash: self.hash.clone(),
            kdf: self.kdf.clone(),
            sector_size: self.sector_size,
            keyslot_cipher: self.keyslot_cipher.clone(),
            keyslot_key_bits: self.keyslot_key_bits,
            align_payload: self.align_payload,
            data_offset: self.data_offset,
            metadata_size: self.metadata_size,
            keyslots_size: self.keyslots_size,
            label: self.label.clone(),
            subsystem: self.subsystem.clone(),
            uuid: self.uuid.clone(),
            detached: self.detached,
            data_len,
            keyslot: self.keyslot,
            locking: self.locking,
        }
    }

    /// Chooses a cost that does not differ from run to run, and refuses a cipher under which two
    /// volumes with the same key reveal information about each other.
    pub(crate) fn make_reproducible(&mut self) -> Result<()> {
        self.check_reproducible()?;
        self.kdf_options.fixed(&mut self.kdf)
    }

    fn check_reproducible(&self) -> Result<()> {
        let spec = CipherSpec::parse(&self.cipher).map_err(keyway_volume::Error::from)?;
        if spec.weakness() != Some(Weakness::KeyStream) {
            return Ok(());
        }
        Err(refusal(&format!(
            "--reproducible gives the same key for the same seed, and {spec} then uses the same key stream: two \
             such volumes reveal where and how their contents differ. Use a block mode, such as {DEFAULT_CIPHER}."
        )))
    }

    /// The volume key, from `--volume-key-file` or random.
    pub(crate) fn volume_key(&self, rng: &mut dyn Random) -> Result<Secret> {
        let len = self.key_bits as usize / 8;
        if let Some(file) = &self.volume_key_file {
            return passphrase::volume_key(file, len);
        }
        let mut key = Secret::zeroed(len);
        rng.fill(key.expose_mut())?;
        Ok(key)
    }
}

/// `--keyslot-cipher` and `--keyslot-key-size` may only be given together.
pub(crate) fn check_keyslot_encryption(args: &Args) -> Result<()> {
    if args.given(&shared::KEYSLOT_CIPHER) != args.given(&shared::KEYSLOT_KEY_SIZE) {
        return Err(refusal("Options --keyslot-cipher and --keyslot-key-size must be used together."));
    }
    Ok(())
}

/// Refuses options that exclude each other, and those that the format does not support.
fn check_options(args: &Args, version: u8) -> Result<()> {
    if args.given(&shared::ALIGN_PAYLOAD) && args.given(&shared::OFFSET) {
        return Err(refusal("Options --align-payload and --offset cannot be combined."));
    }
    if args.given(&shared::USE_RANDOM) && args.given(&shared::USE_URANDOM) {
        return Err(refusal("Only one of --use-[u]random options is allowed."));
    }
    let sector_size = args.number(&shared::SECTOR_SIZE);
    if sector_size.is_some_and(|n| !matches!(n, 512 | 1024 | 2048 | 4096)) {
        return Err(refusal("Unsupported encryption sector size: 512, 1024, 2048 or 4096."));
    }
    if version == 1 && sector_size.is_some_and(|n| n != 512) {
        return Err(refusal("Unsupported encryption sector size: LUKS1 supports only 512 bytes."));
    }
    if let Some(option) = LUKS2_ONLY.iter().find(|o| version == 1 && args.given(o)) {
        return Err(refusal(&format!("--{} needs LUKS2; omit it or use --type luks2.", option.long)));
    }
    check_keyslot_encryption(args)
}

/// `--key-size`, or cryptsetup's default for the mode, or if the cipher does not accept that, the
/// largest key that it does; checked against the cipher.
fn key_bits(args: &Args, version: u8, cipher: &str) -> Result<u32> {
    let spec = CipherSpec::parse(cipher).map_err(keyway_volume::Error::from)?;
    if let Some(size) = args.number32(&shared::SECTOR_SIZE) {
        let size = SectorSize::new(size).map_err(keyway_volume::Error::from)?;
        spec.check_sector_size(size).map_err(keyway_volume::Error::from)?;
    }
    let bits = match args.number32(&shared::KEY_SIZE) {
        Some(bits) if !bits.is_multiple_of(8) => {
            return Err(refusal("Key size must be a multiple of 8 bits."));
        }
        Some(bits) => bits,
        None => {
            let usual =
                if cipher.split('-').nth(1) == Some("xts") { 2 * DEFAULT_KEY_BITS } else { DEFAULT_KEY_BITS };
            let largest = || spec.key_bits().last().map_or(usual, |bits| *bits as u32);
            if spec.check_key_bits(usual as usize).is_ok() { usual } else { largest() }
        }
    };
    spec.check_key_bits(bits as usize).map_err(keyway_volume::Error::from)?;
    match bits {
        0 => Err(refusal(&format!(
            "LUKS needs a volume key, and {spec} would have none; choose a cipher with a key, or give its size \
            with --key-size."
        ))),
        _ if version == 1 && bits > LUKS1_MOST_KEY_BITS => Err(refusal(&format!(
            "LUKS1 takes keys of up to {LUKS1_MOST_KEY_BITS} bits, {spec} needs {bits} bits; use --type luks2."
        ))),
        _ => admission::check_new(WeakCiphers::from_args(args), &spec, bits as usize / 8).map(|()| bits),
    }
}

fn refusal(message: &str) -> Failure {
    Failure::new(Exit::Parameters, message)
}

/// Options that LUKS1 does not support.
static LUKS2_ONLY: &[&Opt] = &[
    &shared::LUKS2_METADATA_SIZE,
    &shared::LUKS2_KEYSLOTS_SIZE,
    &shared::KEYSLOT_CIPHER,
    &shared::KEYSLOT_KEY_SIZE,
    &shared::LABEL,
    &shared::SUBSYSTEM,
];

/// cryptsetup's default.
const DEFAULT_CIPHER: &str = CipherSpec::DEFAULT;
/// The longest volume key that a LUKS1 header can declare: 512 bytes.
const LUKS1_MOST_KEY_BITS: u32 = 4096;
/// cryptsetup's default volume key: 256 bits, doubled for XTS.
const DEFAULT_KEY_BITS: u32 = CipherSpec::DEFAULT_CIPHER_KEY_BITS;
