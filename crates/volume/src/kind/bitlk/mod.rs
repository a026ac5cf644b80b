//! BitLocker volumes, of Windows Vista to 11 and BitLocker To Go.
//!
//! ```text
//! header     the boot sector and the best of three copies of the metadata
//! state      which volumes can be opened; what cannot is refused with its name
//! layout     where the plaintext is: moved boot sectors, hidden metadata, what is not encrypted
//! vista      where it is on volumes of Windows Vista, and what is asked of them
//! unlock     from a passphrase, a recovery password or a start-up key to the volume key
//! make       new volumes
//! change     other protectors
//! new_key    what a new protector asks for, and its entry in the metadata
//! time       times as Windows counts them
//! dump       what cryptsetup's bitlkDump prints
//! ```
//!
//! What the format is, says [`keyway_format::bitlk`]. Where cryptsetup maps a volume, its plaintext is the same; partly
//! encrypted volumes (for reading) and those with a key in the clear open here, too.

mod change;
pub mod dump;
mod header;
mod layout;
mod make;
mod new_key;
mod state;
mod time;
mod unlock;
mod vista;

use super::{Convertible, Found, Judged, Key, Kind, Known, Row, Subject, Takes, Way, WayCost};
use crate::error::{Finding, Rule};
use crate::{Error, Layout, Refusal, Result, Storage, UnlockOptions};
pub use change::Opened;
pub use header::{CopyState, Header};
use keyway_crypto::kdf::STRETCH_ROUNDS;
use keyway_crypto::{CipherSpec, SectorSize};
use keyway_format::bitlk::{Encryption, Protection, Protector};
pub use make::{NewBitlk, NewKeys};
pub use new_key::{NewKey, RecoveryKey};
use state::Extent;
use std::sync::Arc;
pub use unlock::Unlocked;

/// Its row.
pub const ROW: Row = Row { name: "bitlk", title: "BITLK" };

/// A BitLocker volume: all that is known of it is on the device.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Bitlk {
    /// One of Windows Vista is opened, for reading, though nothing vouches for its metadata.
    pub allows_vista: bool,
}

impl Kind for Bitlk {
    fn row(&self) -> &'static Row {
        &ROW
    }

    fn judge(&self, on: &Subject<'_>) -> Result<Box<dyn Judged>> {
        Ok(Box::new(self.judge_header(Header::read(&**on.data)?, on)?))
    }

    fn known(&self, data: &dyn Storage) -> Result<Known> {
        let Header { metadata, .. } = Header::read(data)?;
        let ways = metadata.protectors.iter().enumerate().map(|(number, it)| way(number, it)).collect();
        let ciphers = vec![format!("{}-{}", metadata.encryption.cipher(), metadata.encryption.mode())];
        Ok(Known { ways, ciphers })
    }

    fn convertible(&self, data: &Arc<dyn Storage>) -> Result<Convertible> {
        let on = Subject { data, device: "", writes: true, weak_ciphers: false };
        let judged = self.judge_header(Header::read(&**data)?, &on)?;
        judged.check_convertible()?;
        let key_len = judged.header.metadata.encryption.key_bits() / 8;
        Ok(Convertible { layouts: vec![judged.layout], key_len })
    }
}

/// A protector. What a TPM or a smart card is told is stretched as well or not: nobody can guess it elsewhere.
fn way(number: usize, protector: &Protector) -> Way {
    let stretched = WayCost::Stretching { rounds: STRETCH_ROUNDS };
    let (takes, cost) = match protector.protection {
        Protection::Passphrase => (Takes::Passphrase, stretched),
        Protection::RecoveryPassword => (Takes::RecoveryPassword, stretched),
        Protection::StartupKey => (Takes::KeyFile, WayCost::Nothing),
        Protection::ClearKey => (Takes::Nothing, WayCost::Nothing),
        Protection::Unknown(_) => (Takes::Unknown, WayCost::Nothing),
        other => (Takes::Hardware(other.name()), WayCost::Nothing),
    };
    Way { label: protector.name.clone(), ..Way::new(format!("protector {number}"), takes, cost) }
}

/// A BitLocker volume that can be opened.
pub struct JudgedBitlk {
    header: Header,
    extent: Extent,
    layout: Layout,
    device_len: u64,
    uuid: String,
}

impl Bitlk {
    /// Judges a header that was read from `on`.
    ///
    /// # Errors
    /// As of [`Kind::judge`].
    pub fn judge_header(&self, header: Header, on: &Subject<'_>) -> Result<JudgedBitlk> {
        let (extent, device_len) = (state::encrypted(&header)?, on.data.len());
        if on.writes {
            state::check_writable(&header, extent)?;
        }
        let layout = match header.is_vistas() {
            true => vista::layout(&header, device_len)?,
            false => layout::layout(&header, extent, device_len)?,
        };
        if header.is_vistas() && !self.allows_vista {
            return Err(Error::NotAdmitted(Finding { segment: 0, rule: Rule::Unvouched }));
        }
        let uuid = header.metadata.guid.to_string();
        Ok(JudgedBitlk { header, extent, layout, device_len, uuid })
    }
}

impl JudgedBitlk {
    /// What the device says.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Where the plaintext is.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// What cryptsetup says where the partition was made smaller or larger, or an image cut off.
    fn size_note(&self) -> Option<String> {
        let sector = SectorSize::S512.bytes() as u64;
        let (recorded, device) = (self.header.metadata.state.encrypted.0, self.device_len / sector * sector);
        let is_recorded = self.extent == Extent::All && !self.header.is_vistas();
        (is_recorded && recorded != device).then(|| {
            format!(
                "WARNING: BitLocker volume size {recorded} does not match the underlying device size {device}"
            )
        })
    }

    fn found(&self, unlocked: Unlocked) -> Found {
        Found { layout: self.layout.clone(), volume_key: unlocked.volume_key }
    }
}

impl Judged for JudgedBitlk {
    fn uuid(&self) -> Option<&str> {
        Some(&self.uuid)
    }

    fn volume_key_len(&self) -> Option<usize> {
        Some(self.header.metadata.encryption.key_bits() / 8)
    }

    /// Nobody vouches for the boot sector, which says how long sectors are; the metadata say how many were moved.
    fn check_convertible(&self) -> Result<()> {
        let (sector, metadata) = (self.header.boot.sector_size.0, &self.header.metadata);
        let moved = metadata.boot_sectors.map_or(0, |moved| moved.len.0);
        if u64::from(metadata.moved_sectors()).checked_mul(sector) == Some(moved) {
            return Ok(());
        }
        Err(Refusal::NotConvertible.because(format!(
            "Its metadata say that {} sectors, {moved} bytes, were moved, but its sectors have {sector} bytes by its boot sector.",
            metadata.moved_sectors()
        )))
    }

    fn open(&self, key: Key<'_>, options: &UnlockOptions) -> Result<Found> {
        if let Key::Volume(_) = key {
            state::check_without_digest(&self.header, self.extent)?;
        }
        unlock::unlock(&self.header, key, options).map(|unlocked| self.found(unlocked))
    }

    /// While its protection is suspended, the header holds a key in the clear. What only a TPM or a smart card opens is
    /// refused here, before anybody is asked; a volume key opens it all the same.
    fn open_unprotected(&self) -> Option<Result<Found>> {
        let unlocked = unlock::without_secret(&self.header).transpose()?;
        Some(unlocked.map(|unlocked| self.found(unlocked)))
    }

    fn notes(&self) -> Vec<String> {
        let vista = self.header.is_vistas().then(|| vista::notes(&self.header, self.device_len));
        self.header.troubles().chain(self.size_note()).chain(vista.into_iter().flatten()).collect()
    }
}

/// BitLocker has no weak one: `no_method_is_weak`.
fn cipher_spec(header: &Header) -> Result<CipherSpec> {
    spec_of(header.metadata.encryption)
}

fn spec_of(encryption: Encryption) -> Result<CipherSpec> {
    Ok(CipherSpec::parse(&format!("{}-{}", encryption.cipher(), encryption.mode()))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_method_is_weak() {
        let methods: Vec<_> = (0..=u16::MAX).filter_map(|method| Encryption::of(method).ok()).collect();
        assert_eq!(methods.len(), 6);
        for method in methods {
            assert!(Rule::of_cipher(&spec_of(method).unwrap()).is_none(), "{method:?}");
        }
    }
}
