//! The properties of a new header, from the command line, for `luksFormat`, `build` and `copy`.
//!
//! Invalid combinations are refused when this is created, before anything is asked, read or
//! written.

use crate::device;
use crate::door::{Args, Opt, shared};
use crate::make::kdf::KdfOptions;
use crate::say::failure::{Exit, Failure, Result};
use crate::unlock::admission::{self, WeakCiphers};
use crate::unlock::{self, passphrase};
use keyway_crypto::{CipherSpec, Secret, SectorSize};
use keyway_volume::create::{self, Luks1Params, Luks2Params};
use keyway_volume::kdf_cost::DEFAULT_HASH;
use keyway_volume::{Error, KdfChoice, Locking, Random, Refusal};
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
        let cipher = args.text(&shared::CIPHER).unwrap_or(CipherSpec::DEFAULT).to_owned();
        let hash = args.text(&shared::HASH).unwrap_or(DEFAULT_HASH).to_owned();
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
        let spec = CipherSpec::parse(&self.cipher).map_err(Error::from)?;
        create::check_reproducible(&spec).map_err(|_| {
            refusal(&format!(
                "--reproducible gives the same key for the same seed, and {spec} then uses the same key stream: two such \
                 volumes reveal where and how their contents differ. Use a block mode, such as {}.",
                CipherSpec::DEFAULT
            ))
        })?;
        self.kdf = self.kdf_options.reproducible(self.version)?.choice(self.version, &self.hash)?;
        Ok(())
    }

    /// The volume key, from `--volume-key-file` or random.
    pub(crate) fn volume_key(&self, rng: &mut dyn Random) -> Result<Secret> {
        match &self.volume_key_file {
            Some(file) => passphrase::volume_key(file, self.key_bits as usize / 8),
            None => Ok(create::random_volume_key(self.key_bits, rng)?),
        }
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
    args.number32(&shared::SECTOR_SIZE).map_or(Ok(()), |bytes| create::check_sector_size(bytes, version))?;
    if let Some(option) = LUKS2_ONLY.iter().find(|o| version == 1 && args.given(o)) {
        return Err(refusal(&format!("--{} needs LUKS2; omit it or use --type luks2.", option.long)));
    }
    check_keyslot_encryption(args)
}

/// `--key-size`, or the cipher's default; checked against the cipher.
fn key_bits(args: &Args, version: u8, cipher: &str) -> Result<u32> {
    let spec = CipherSpec::parse(cipher).map_err(Error::from)?;
    if let Some(size) = args.number32(&shared::SECTOR_SIZE) {
        let size = SectorSize::new(size).map_err(Error::from)?;
        spec.check_sector_size(size).map_err(Error::from)?;
    }
    let bits = args.number32(&shared::KEY_SIZE).unwrap_or_else(|| create::default_key_bits(&spec));
    create::check_key_bits(&spec, bits, version).map_err(|error| match error {
        Error::Refused { kind: Refusal::NoVolumeKey, why } => {
            refusal(&format!("{why}; choose a cipher with a key, or give its size with --key-size."))
        }
        Error::Refused { kind: Refusal::OnlyLuks2, why } => refusal(&format!("{why}; use --type luks2.")),
        error => error.into(),
    })?;
    admission::check_new(WeakCiphers::from_args(args), &spec, bits as usize / 8).map(|()| bits)
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
