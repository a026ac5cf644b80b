//! The options of a plain dm-crypt volume as given on the command line or in a crypttab line. Which
//! of them are missing decides on defaults and warnings; for a LUKS volume none of them may be
//! given.

use crate::args::{Args, Release, shared};
use crate::output::failure::{Exit, Failure, Result};
use crate::process::encoding::encoded;
use keyway_crypto::{CipherSpec, SectorSize};
use keyway_format::{Bytes, Sectors};
use keyway_volume::PlainVolume;

/// The options as given, without defaults.
#[derive(Debug, Clone, Default)]
pub(crate) struct GivenPlain {
    /// `--cipher`.
    pub(crate) cipher: Option<String>,
    /// `--key-size`.
    pub(crate) key_bits: Option<u32>,
    /// `--hash`.
    pub(crate) hash: Option<String>,
    /// `--offset`, for commands that count it in sectors.
    pub(crate) offset: Option<u64>,
    /// `--device-offset`, in bytes.
    device_offset: Option<u64>,
    /// `--skip`, in sectors.
    pub(crate) skip: Option<u64>,
    /// `--size`, in sectors.
    pub(crate) size: Option<u64>,
    /// `--device-size`, in bytes.
    pub(crate) device_size: Option<u64>,
    /// `--sector-size`.
    pub(crate) sector_size: Option<u32>,
    /// `--iv-large-sectors`.
    pub(crate) iv_large_sectors: bool,
}

encoded!(GivenPlain {
    cipher,
    key_bits,
    hash,
    offset,
    device_offset,
    skip,
    size,
    device_size,
    sector_size,
    iv_large_sectors,
});

impl GivenPlain {
    /// For commands that open plain volumes too.
    pub(crate) fn from_args(args: &Args) -> Self {
        // In some commands --offset means something else.
        let own = |option| args.number(option).filter(|_| args.takes(option));
        Self {
            cipher: args.text(&shared::CIPHER).map(str::to_owned),
            key_bits: args.number32(&shared::KEY_SIZE),
            hash: args.text(&shared::HASH).map(str::to_owned),
            offset: own(&shared::OFFSET),
            device_offset: own(&shared::DEVICE_OFFSET),
            skip: args.number(&shared::SKIP),
            size: args.number(&shared::SIZE),
            device_size: args.number(&shared::DEVICE_SIZE),
            sector_size: args.number32(&shared::SECTOR_SIZE),
            iv_large_sectors: args.given(&shared::IV_LARGE_SECTORS),
        }
    }

    /// For commands that make a new volume of one: its own options begin with "source".
    pub(in crate::volume::kinds) fn of_source(args: &Args) -> Self {
        Self {
            cipher: args.text(&shared::SOURCE_CIPHER).map(str::to_owned),
            key_bits: args.number32(&shared::SOURCE_KEY_SIZE),
            hash: args.text(&shared::SOURCE_HASH).map(str::to_owned),
            device_offset: args.number(&shared::SOURCE_OFFSET),
            skip: args.number(&shared::SOURCE_SKIP),
            device_size: args.number(&shared::SOURCE_SIZE),
            sector_size: args.number32(&shared::SOURCE_SECTOR_SIZE),
            iv_large_sectors: args.given(&shared::SOURCE_IV_LARGE_SECTORS),
            ..Self::default()
        }
    }

    /// Refuses options that only plain volumes have.
    pub(in crate::volume::kinds) fn refuse(&self) -> Result<()> {
        if self.skip.is_some() {
            return Err(refusal(SKIP_OF_OTHERS));
        }
        if self.iv_large_sectors {
            return Err(refusal(IV_LARGE_SECTORS_ALONE));
        }
        if self.sector_size.is_some() {
            return Err(refusal(SECTOR_SIZE_OF_OTHERS));
        }
        let given = [(self.offset, &shared::OFFSET), (self.device_offset, &shared::DEVICE_OFFSET)];
        match given.into_iter().find(|(offset, _)| offset.is_some()) {
            Some((_, option)) => Err(refusal(format!(
                "Option --{} with open action is only supported for plain and loopaes devices.",
                option.long
            ))),
            None => Ok(()),
        }
    }

    /// Refuses size options that are invalid.
    pub(crate) fn check_size(&self) -> Result<()> {
        check_size(self.device_size, self.size)
    }

    /// The cipher's name as written.
    pub(super) fn cipher(&self) -> &str {
        self.cipher.as_deref().unwrap_or(match Release::followed() {
            Release::V2_6 => "aes-cbc-essiv:sha256",
            Release::V2_8 => CipherSpec::DEFAULT,
        })
    }

    pub(super) fn volume(&self) -> Result<PlainVolume> {
        let spec = CipherSpec::parse(self.cipher()).map_err(keyway::parts::Error::from)?;
        let sector_size = SectorSize::new(self.sector_size.filter(|n| *n > 0).unwrap_or(512))
            .map_err(|_| refusal(shared::NOT_A_SECTOR))?;
        let iv_large_sectors = self.iv_large_sectors;
        if iv_large_sectors && sector_size == SectorSize::S512 {
            return Err(refusal(IV_LARGE_SECTORS_ALONE));
        }
        let skip = self.skip().unwrap_or_default();
        Ok(PlainVolume {
            spec,
            sector_size,
            iv_large_sectors,
            offset: self.offset()?,
            skip,
            size: self.size()?,
        })
    }

    /// Where the data starts.
    pub(in crate::volume::kinds) fn offset(&self) -> Result<Sectors> {
        match (self.offset, self.device_offset) {
            (Some(sectors), _) => Ok(Sectors(sectors)),
            (None, bytes) => whole_sectors(bytes.unwrap_or(0), "Device offset"),
        }
    }

    /// IV of the first sector.
    pub(in crate::volume::kinds) fn skip(&self) -> Option<Sectors> {
        self.skip.map(Sectors)
    }

    fn size(&self) -> Result<Option<Sectors>> {
        self.check_size()?;
        match self.device_size {
            Some(bytes) => whole_sectors(bytes, "Device size").map(Some),
            None => Ok(self.size.map(Sectors)),
        }
    }

    /// Whether an option says how the data is encrypted.
    pub(crate) fn describes_encryption(&self) -> bool {
        self.cipher.is_some() || self.key_bits.is_some() || self.hash.is_some()
    }

    /// The key's length in bytes.
    pub(in crate::volume::kinds) fn key_len(&self) -> Result<usize> {
        let bits = self.key_bits.filter(|bits| *bits > 0).unwrap_or(DEFAULT_KEY_BITS);
        if !bits.is_multiple_of(8) {
            return Err(refusal(shared::NOT_BYTES));
        }
        Ok(bits as usize / 8)
    }
}

/// Refuses size options that are invalid: `--device-size` in bytes, `--size` in sectors.
pub(crate) fn check_size(device_size: Option<u64>, size: Option<u64>) -> Result<()> {
    if device_size.is_some() && size.is_some() {
        return Err(refusal("Options --device-size and --size cannot be combined."));
    }
    device_size.map_or(Ok(()), |bytes| whole_sectors(bytes, "Device size").map(drop))
}

fn whole_sectors(bytes: u64, what: &str) -> Result<Sectors> {
    match bytes % Sectors::SIZE {
        0 => Ok(Bytes(bytes).sectors()),
        _ => Err(refusal(format!("{what} must be multiple of 512 bytes sector."))),
    }
}

fn refusal(message: impl Into<String>) -> Failure {
    Failure::new(Exit::Parameters, message)
}

const DEFAULT_KEY_BITS: u32 = CipherSpec::DEFAULT_CIPHER_KEY_BITS;

/// cryptsetup's messages about options of plain volumes.
pub(crate) const SKIP_OF_OTHERS: &str =
    "Option --skip is supported only for open of plain and loopaes devices.";
pub(crate) const SECTOR_SIZE_OF_OTHERS: &str =
    "Sector size option with open action is supported only for plain devices.";
pub(crate) const IV_LARGE_SECTORS_ALONE: &str = "Large IV sectors option is supported only for opening plain type \
                                                 device with sector size larger than 512 bytes.";
