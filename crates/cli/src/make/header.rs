//! The properties of a new header, from the command line, for `luksFormat`, `build` and `copy`.
//!
//! Invalid combinations are refused when this is created, before anything is asked, read or
//! written.

use crate::args::{Args, Group, Opt, shared};
use crate::make::calibration::Data;
use crate::make::kdf::KdfOptions;
#[cfg(feature = "tools")]
use crate::make::kernel;
use crate::make::label;
use crate::output::failure::{Exit, Failure, Result};
use crate::output::manner::Manner;
use crate::unlock::admission::{self, WeakCiphers};
use crate::unlock::{self, passphrase};
use keyway::kdf_cost::DEFAULT_HASH;
use keyway::parts::{Error, Refusal};
use keyway::{Create, Version};
use keyway_crypto::{CipherSpec, Secret, SectorSize};
use std::path::{Path, PathBuf};

/// The properties of a new header.
pub(crate) struct HeaderParams {
    /// In the library's words. A volume key from a file is not yet in it.
    create: Create,
    version: Version,
    cipher: String,
    key_bits: u32,
    sector_size: Option<u32>,
    hash: String,
    kdf: KdfOptions,
    volume_key_file: Option<PathBuf>,
    /// What is taken for cryptsetup's scripts and cannot be stored.
    ignored: Vec<&'static Opt>,
}

impl HeaderParams {
    /// From the format options.
    pub(crate) fn from_args(args: &Args, version: Version) -> Result<Self> {
        check_options(args, version)?;
        let cipher = args.text(&shared::CIPHER).unwrap_or(CipherSpec::DEFAULT).to_owned();
        let hash = args.text(&shared::HASH).unwrap_or(DEFAULT_HASH).to_owned();
        let key_bits = key_bits(args, version, &cipher)?;
        let kdf = KdfOptions::from_args(args)?;
        // What is permitted of new passphrases was judged when they were read.
        let create = Create::new(version).cipher(&cipher, key_bits).weak_cipher().allow_empty_passphrase();
        let create = create.hash(&hash);
        let ignored = NAMES.iter().copied().filter(|name| version == Version::Luks1 && args.given(name));
        let ignored: Vec<_> = ignored.collect();
        let create = optional(args, create, &ignored)?.kdf(kdf.choice(version.number(), &hash)?.into());
        let volume_key_file = unlock::volume_key_file(args).map(Path::to_owned);
        let sector_size = args.number32(&shared::SECTOR_SIZE);
        Ok(Self { create, version, cipher, key_bits, sector_size, hash, kdf, volume_key_file, ignored })
    }

    /// `--sector-size`, in bytes.
    pub(crate) fn sector_size(&self) -> Option<u32> {
        self.sector_size
    }

    /// A description for `--debug`.
    pub(crate) fn describe(&self) -> String {
        let Self { version, cipher, key_bits, hash, .. } = self;
        format!("{version}, {cipher}, {key_bits} bits, {hash}, {:?}", self.kdf)
    }

    /// Takes everything random from a seed: chooses a cost that does not differ from run to run,
    /// and refuses a cipher under which two volumes with the same key reveal information about each
    /// other.
    pub(crate) fn reproducible(mut self, seed: Secret) -> Result<Self> {
        let spec = CipherSpec::parse(&self.cipher).map_err(Error::from)?;
        Create::check_reproducible(&spec).map_err(|_| {
            refusal(&format!(
                "--reproducible gives the same key for the same seed, and {spec} then uses the same key stream: two such \
                 volumes reveal where and how their contents differ. Use a block mode, such as {}.",
                CipherSpec::DEFAULT
            ))
        })?;
        self.kdf = self.kdf.reproducible(self.version.number())?;
        let kdf = self.kdf.choice(self.version.number(), &self.hash)?;
        self.create = self.create.kdf(kdf.into()).seed(seed);
        Ok(self)
    }

    /// Before anything else is asked: says what is ignored; and a key derivation of more than a
    /// minute has to be wanted.
    pub(crate) fn agree(&self) -> Result<()> {
        for name in &self.ignored {
            say!("WARNING: LUKS1 has no {0}: --{0} is ignored.", name.long);
        }
        let data = Data { cipher: self.cipher.clone(), key_len: self.key_bits as usize / 8 };
        self.kdf.agreed(self.version.number(), &self.hash, Some(data)).map(drop)
    }

    /// Warns if this machine's kernel cannot map such a volume.
    pub(crate) fn warn_of_no_mapping(&self, manner: Manner) {
        #[cfg(feature = "tools")]
        kernel::warn_of_no_mapping(manner, &self.cipher);
        #[cfg(not(feature = "tools"))]
        let _ = manner;
    }

    /// The volume to be created, with the volume key of `--volume-key-file`, which is read now.
    pub(crate) fn create(&self) -> Result<Create> {
        let create = self.create.clone();
        match &self.volume_key_file {
            Some(file) => Ok(create.volume_key(passphrase::volume_key(file, self.key_bits as usize / 8)?)),
            None => Ok(create),
        }
    }
}

/// Options that most volumes are created without; `ignored` ones are left out.
fn optional(args: &Args, mut create: Create, ignored: &[&Opt]) -> Result<Create> {
    type Of<T> = fn(Create, T) -> Create;
    type OfText = fn(Create, &str) -> Create;
    let numbers32: [(&Opt, Of<u32>); 2] =
        [(&shared::SECTOR_SIZE, Create::sector_size), (&shared::KEY_SLOT, Create::keyslot)];
    let numbers: [(&Opt, Of<u64>); 4] = [
        (&shared::ALIGN_PAYLOAD, Create::alignment),
        (&shared::OFFSET, Create::data_offset),
        (&shared::LUKS2_METADATA_SIZE, Create::metadata_size),
        (&shared::LUKS2_KEYSLOTS_SIZE, Create::keyslots_size),
    ];
    let labels: [(&Opt, OfText); 2] =
        [(&shared::LABEL, Create::label), (&shared::SUBSYSTEM, Create::subsystem)];
    for (option, set) in numbers32 {
        create = args.number32(option).into_iter().fold(create, set);
    }
    for (option, set) in numbers {
        create = args.number(option).into_iter().fold(create, set);
    }
    let is_ignored = |option: &Opt| ignored.iter().any(|it| std::ptr::eq(*it, option));
    for (option, set) in labels.into_iter().filter(|(option, _)| !is_ignored(option)) {
        create = label::from_args(args, option)?.iter().fold(create, |create, text| set(create, text));
    }
    create = args.text(&shared::UUID).into_iter().fold(create, Create::uuid);
    if let (Some(cipher), Some(bits)) =
        (args.text(&shared::KEYSLOT_CIPHER), args.number32(&shared::KEYSLOT_KEY_SIZE))
    {
        create = create.keyslot_cipher(cipher, bits);
    }
    Ok(if args.given(&shared::DISABLE_LOCKS) { create.without_header_lock() } else { create })
}

/// Refuses options that the format does not support.
fn check_options(args: &Args, version: Version) -> Result<()> {
    args.number32(&shared::SECTOR_SIZE).map_or(Ok(()), |bytes| version.check_sector_size(bytes))?;
    // cryptsetup's luksFormat takes names for LUKS1 and drops them.
    let takes_names = matches!(args.command().group, Group::Cryptsetup(_));
    let names = NAMES.iter().filter(|_| !takes_names);
    let luks2_only = LUKS2_ONLY.iter().chain(names);
    if let Some(option) = luks2_only.into_iter().find(|o| version == Version::Luks1 && args.given(o)) {
        return Err(refusal(&format!("--{} needs LUKS2; omit it or use --type luks2.", option.long)));
    }
    Ok(())
}

/// `--key-size`, or the cipher's default; checked against the cipher.
fn key_bits(args: &Args, version: Version, cipher: &str) -> Result<u32> {
    let spec = CipherSpec::parse(cipher).map_err(Error::from)?;
    if args.is_cryptsetup() && spec.names_driver() {
        return Err(refusal(NO_PATTERN));
    }
    if let Some(size) = args.number32(&shared::SECTOR_SIZE) {
        let size = SectorSize::new(size).map_err(Error::from)?;
        spec.check_sector_size(size).map_err(Error::from)?;
    }
    // Where a LUKS2 volume is reencrypted, it is the size of the key that it has, whatever its cipher.
    let is_new = args.command().name != "reencrypt"
        || version == Version::Luks1
        || args.given(&shared::ENCRYPT)
        || args.given(&shared::NEW);
    let given = args.number32(&shared::KEY_SIZE).filter(|_| is_new);
    let bits = given.unwrap_or_else(|| Create::default_key_bits(&spec));
    version.check_key_bits(&spec, bits).map_err(|error| match error.into_volume_error() {
        Ok(Error::Refused { kind: Refusal::NoVolumeKey, why }) => {
            refusal(&format!("{why}; choose a cipher with a key, or give its size with --key-size."))
        }
        Ok(Error::Refused { kind: Refusal::OnlyLuks2, why }) => refusal(&format!("{why}; use --type luks2.")),
        Ok(error) => error.into(),
        Err(error) => error.into(),
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
];

/// Names that LUKS1 has no place for.
static NAMES: &[&Opt] = &[&shared::LABEL, &shared::SUBSYSTEM];

/// cryptsetup's words for the name of a driver (capi:), which it does not take here.
pub(crate) const NO_PATTERN: &str = "No known cipher specification pattern detected.";
