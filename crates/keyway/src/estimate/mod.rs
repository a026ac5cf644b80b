//! What a re-encryption would do here, and how long it would take: nothing is written, and nobody is asked for a key.
//!
//! ```
//! # use keyway::*;
//! use keyway::estimate::Planned;
//! # let key = Key::passphrase("correct horse");
//! # let device = Create::luks2().kdf(NewKdf::pbkdf2(1000)).in_memory(1 << 20, &key)?;
//! let how = Reencrypt::new().cipher("serpent-xts-plain64", 512);
//! let estimate = device.estimate_reencryption(&device.header()?, Planned::Reencrypt { keyslots: 1 }, &how, None)?;
//! println!("{:.0} s likely, {:.0} s at most", estimate.seconds.likely, estimate.seconds.high);
//! assert_eq!((estimate.plan.progress(), estimate.amounts.left), ((0, 1 << 20), 1 << 20));
//! assert!(!device.header()?.is_in_reencryption()?);
//! # Ok::<(), keyway::Error>(())
//! ```

/// Bytes that are read and written: [`Estimate::amounts`].
pub use keyway_volume::reencrypt::Amounts;
/// What would be done, and in which pieces: [`Estimate::plan`].
pub use keyway_volume::reencrypt::Plan;
/// How fast the device and the ciphers are: [`Estimate::rates`].
pub use keyway_volume::reencrypt::Rates;

mod conversion;

use crate::error::At;
use crate::reencrypt::encryption_of;
use crate::{Device, Header, Reencrypt, Result};
use keyway_format::interval::Interval;
use keyway_format::luks2::DigestId;
use keyway_volume::device::storage::{Direct, File};
use keyway_volume::reencrypt::{self, Setting, Terms, UnderWay, luks1};
use keyway_volume::{Luks, Storage};
use std::sync::Arc;

/// The share of its reading rate at which a device is taken to write: nothing is written to try.
pub const WRITE_SHARE: Interval = reencrypt::WRITE;

/// What is to be estimated. See [`estimate`](self) for an example.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Planned {
    /// The volume gets another key, cipher or sector size.
    Reencrypt {
        /// How many keyslots the new volume key gets, unless the old key is kept.
        keyslots: usize,
    },
    /// Plaintext becomes the volume that the header describes.
    Encrypt {
        /// Whether the header is put in front of the data, which moves back.
        moves: bool,
        /// Where the volume's data is to begin, in bytes.
        offset: u64,
    },
    /// The volume becomes plaintext.
    Decrypt,
    /// What is under way goes on.
    Resume,
}

/// What a re-encryption would do here, and how long it would take: from [`Device::estimate_reencryption`]. See
/// [`estimate`](self) for an example.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Estimate {
    /// What would be done.
    pub plan: Plan,
    /// Bytes that would be read and written.
    pub amounts: Amounts,
    /// The hot zones that are likely, in bytes.
    pub zone: u64,
    /// What was measured.
    pub rates: Rates,
    /// How long it would take.
    pub seconds: Interval,
    /// How long the new file for the header would be, in bytes: of a conversion.
    pub header_len: Option<u64>,
}

impl Device {
    /// Plans what `how` says by the rules that begin it, and measures for a few seconds: samples of the device are read,
    /// ciphers and hashes are run. `limit` is in bytes a second. See [`estimate`](crate::estimate) for an example.
    ///
    /// # Errors
    /// What beginning refuses before it needs a key; the device cannot be read.
    pub fn estimate_reencryption(
        &self,
        header: &Header,
        what: Planned,
        how: &Reencrypt,
        limit: Option<u64>,
    ) -> Result<Estimate> {
        self.estimate(&header.luks, what, how, limit)
    }

    fn estimate(&self, luks: &Luks, what: Planned, how: &Reencrypt, limit: Option<u64>) -> Result<Estimate> {
        let place = self.header_place();
        let terms = self.terms_of_plan(luks, what, how).at(place)?;
        let (old_bits, new_bits) = key_bits_of(luks, what, how).at(place)?;
        let setting = Setting { old_bits, new_bits, limit };
        let plan = planned(luks, what, how, &terms, self.len()).at(place)?;
        self.measured(plan, &setting)
    }

    /// Measures what the plan takes here.
    fn measured(&self, plan: Plan, setting: &Setting) -> Result<Estimate> {
        let direct = self.direct();
        let sampled = direct.as_ref().map_or_else(|| self.data(), Arc::clone);
        let rates = reencrypt::measure(&plan, &*sampled, setting).at(self.header_place())?;
        let zone = reencrypt::zone(&plan, &rates);
        let amounts = plan.amounts(zone);
        let seconds = reencrypt::seconds(&amounts, &rates, setting);
        Ok(Estimate { plan, amounts, zone, rates, seconds, header_len: None })
    }

    /// The device without the page cache: what that has says nothing about the device.
    fn direct(&self) -> Option<Arc<dyn Storage>> {
        let file = File::open(self.place().path()?).ok()?;
        let direct = Direct::new(Arc::new(file)).ok()?;
        Some(Arc::new(direct))
    }

    fn terms_of_plan(&self, luks: &Luks, what: Planned, how: &Reencrypt) -> Result<Terms> {
        let (on_device, is_luks1) = (self.data_device().holds_header, luks.version() == 1);
        let (holds_header, shift) = match what {
            Planned::Encrypt { moves, .. } => (moves, how.data_shift),
            // LUKS1's header goes, and its data moves to the device's start.
            Planned::Decrypt => (false, if is_luks1 { luks.data_offset()? } else { 0 }),
            Planned::Reencrypt { .. } | Planned::Resume => (on_device && !is_luks1, how.data_shift),
        };
        Ok(Terms { shift, ..self.terms(how, holds_header) })
    }
}

#[cfg(feature = "parts")]
impl Device {
    /// As [`Device::estimate_reencryption`], of a header that the caller has opened, to look at it alone. See
    /// [`estimate`](crate::estimate) for an example.
    ///
    /// # Errors
    /// Those of [`Device::estimate_reencryption`].
    pub fn estimate_with(
        &self,
        luks: &Luks,
        what: Planned,
        how: &Reencrypt,
        limit: Option<u64>,
    ) -> Result<Estimate> {
        self.estimate(luks, what, how, limit)
    }
}

fn planned(
    luks: &Luks,
    what: Planned,
    how: &Reencrypt,
    terms: &Terms,
    device_len: u64,
) -> keyway_volume::Result<Plan> {
    let (old, old_sector) = encryption_of(luks).unwrap_or_default();
    let cipher = how.cipher.as_ref().map_or(old, |(cipher, _)| cipher.clone());
    let planned = match what {
        Planned::Reencrypt { keyslots } => reencrypt::Planned::Reencrypt {
            cipher: &cipher,
            sector_size: how.sector_size.unwrap_or(old_sector),
            slots: if how.keep_key { 0 } else { keyslots },
        },
        Planned::Encrypt { moves, offset } => reencrypt::Planned::Encrypt { moves, offset },
        Planned::Decrypt => reencrypt::Planned::Decrypt,
        Planned::Resume => reencrypt::Planned::Resume,
    };
    match (luks.header(), what) {
        // LUKS1's own header cannot say how it is re-encrypted: one over the same data does.
        (keyway_volume::Header::Luks1(header), Planned::Reencrypt { .. } | Planned::Decrypt) => {
            Plan::new(&luks1::planned(header)?, planned, terms, device_len)
        }
        _ => Plan::new(luks, planned, terms, device_len),
    }
}

/// The lengths of the old volume key and of the new one, in bits.
fn key_bits_of(luks: &Luks, what: Planned, how: &Reencrypt) -> keyway_volume::Result<(u32, u32)> {
    let own = luks.header().volume_key_len().map_or(DEFAULT_KEY_BITS, |bytes| bytes as u32 * 8);
    let of = |digest: Option<DigestId>| digest_bits(luks, digest).unwrap_or(own);
    Ok(match what {
        Planned::Reencrypt { .. } => (own, how.cipher.as_ref().map_or(own, |(_, bits)| *bits)),
        Planned::Encrypt { .. } | Planned::Decrypt => (own, own),
        Planned::Resume => match UnderWay::of(luks.header())? {
            Some(found) => (of(found.what().old.digest), of(found.what().new.digest)),
            None => (own, own),
        },
    })
}

/// The length of the key that a digest verifies, in bits; `None` where no keyslot holds it.
fn digest_bits(luks: &Luks, digest: Option<DigestId>) -> Option<u32> {
    let keyway_volume::Header::Luks2 { metadata, .. } = luks.header() else { return None };
    let keyslot = metadata.digests.get(&digest?)?.keyslots.first()?;
    metadata.keyslots.get(keyslot).map(|slot| slot.key_size * 8)
}

/// Where no keyslot states it.
const DEFAULT_KEY_BITS: u32 = 512;
