//! FileVault 2 volumes of macOS (Core Storage), on one disk, as `diskutil` encrypts external ones.
//!
//! ```text
//! header     the physical volume's header, its labels, the newest of its metadata
//! unlock     from a passphrase to the volume key
//! dump       what cryptsetup's fvault2Dump prints
//! ```
//!
//! What the format is, says [`keyway_format::fvault2`]. Where cryptsetup maps a volume, its plaintext is the same.
//! Nothing vouches for the metadata but their checksums, which anybody can compute: what has no other author than the
//! storage can say that the volume lies elsewhere on it.

pub mod dump;
mod header;
mod unlock;

use super::{Found, Judged, Key, Kind, Known, Row, Subject, Takes, Way, WayCost};
use crate::error::Rule;
use crate::{Error, Layout, MappedSegment, Mapping, Refusal, Result, Storage, UnlockOptions};
pub use header::Header;
use keyway_crypto::{CipherSpec, Hash, SectorSize};
use keyway_format::fvault2::{LogicalVolume, User};

/// Its row.
pub const ROW: Row = Row { name: "fvault2", title: "FVAULT2" };

/// A FileVault 2 volume: all that is known of it is on the device.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fvault2;

impl Kind for Fvault2 {
    fn row(&self) -> &'static Row {
        &ROW
    }

    fn judge(&self, on: &Subject<'_>) -> Result<Box<dyn Judged>> {
        Ok(Box::new(JudgedFvault2::new(Header::read(&**on.data)?, on)?))
    }

    fn known(&self, data: &dyn Storage) -> Result<Known> {
        let users = Header::read(data)?.logical.users;
        let way = |(number, user): (usize, &User)| {
            let (hash, derived) = (Hash::Sha256, unlock::DERIVED_LEN);
            let cost = WayCost::Pbkdf2 { hash, iterations: user.iterations, derived, telling: derived };
            Way::new(format!("user {number}"), Takes::Passphrase, cost)
        };
        let ways = users.iter().enumerate().map(way).collect();
        Ok(Known { ways, ciphers: vec![CIPHER.to_owned()] })
    }
}

/// A FileVault 2 volume that can be opened.
pub struct JudgedFvault2 {
    header: Header,
    layout: Layout,
    uuid: String,
}

impl JudgedFvault2 {
    /// Judges a header that was read from `on`.
    ///
    /// # Errors
    /// As of [`Kind::judge`].
    pub fn new(header: Header, on: &Subject<'_>) -> Result<Self> {
        check_encrypted(&header.logical)?;
        let layout = layout(&header.logical, on.data.len())?;
        let uuid = header.logical.family.to_string();
        Ok(Self { header, layout, uuid })
    }

    /// What the device says.
    pub fn header(&self) -> &Header {
        &self.header
    }

    fn found(&self, volume_key: keyway_crypto::Secret) -> Found {
        Found { layout: self.layout.clone(), volume_key }
    }
}

impl Judged for JudgedFvault2 {
    fn uuid(&self) -> Option<&str> {
        Some(&self.uuid)
    }

    fn volume_key_len(&self) -> Option<usize> {
        Some(VOLUME_KEY_LEN)
    }

    fn open(&self, key: Key<'_>, options: &UnlockOptions) -> Result<Found> {
        unlock::unlock(&self.header.logical, key, options).map(|key| self.found(key))
    }

    fn notes(&self) -> Vec<String> {
        self.header.troubles().to_vec()
    }
}

/// Refuses what no passphrase opens, and what is being encrypted or decrypted.
fn check_encrypted(logical: &LogicalVolume) -> Result<()> {
    if logical.users.is_empty() {
        return refuse(
            "its metadata list no user: it is not encrypted, or a system volume with its keys in \
             EncryptedRoot.plist.wipekey on its recovery partition",
        );
    }
    match &*logical.conversion {
        "Complete" | "NoConversion" => Ok(()),
        other => refuse(format!(
            "its conversion is \"{other}\", not complete: parts of it may be unencrypted; let macOS finish it \
             (diskutil cs list)"
        )),
    }
}

/// One segment: what numbers the sectors of further ones, no other program confirms.
fn layout(logical: &LogicalVolume, device_len: u64) -> Result<Layout> {
    let [extent] = logical.extents[..] else {
        return refuse(format!(
            "its data are in {} places, but only one is supported",
            logical.extents.len()
        ));
    };
    let Some(at) = extent.at else {
        return refuse("its data are on another disk (a Fusion Drive)");
    };
    let sector = SectorSize::S512.bytes() as u64;
    let size = logical.size.0;
    if extent.start.0 != 0 || size == 0 || !size.is_multiple_of(sector) || size > extent.len.0 {
        return refuse(format!(
            "its metadata give it {size} bytes, but its place on the disk has {} at byte {}",
            extent.len.0, extent.start.0
        ));
    }
    let mapping = Mapping::Crypt {
        spec: cipher_spec()?,
        sector_size: SectorSize::S512,
        iv_tweak: 0,
        iv_large_sectors: false,
    };
    let segment = MappedSegment {
        plaintext_start: 0,
        length: Some(size),
        storage_offset: at.0,
        mapping,
        second_key: false,
    };
    let layout = Layout::new(vec![segment]);
    layout.check_fits(device_len)?;
    Ok(layout)
}

fn cipher_spec() -> Result<CipherSpec> {
    let spec = CipherSpec::parse(CIPHER)?;
    debug_assert!(Rule::of_cipher(&spec).is_none());
    Ok(spec)
}

fn refuse<T>(why: impl Into<String>) -> Result<T> {
    let why: String = why.into();
    Err::<T, Error>(Refusal::Unusable.because(format!("the FileVault volume cannot be opened: {why}")))
}

/// The only one there is.
const CIPHER: &str = "aes-xts-plain64";
const VOLUME_KEY_LEN: usize = 32;
