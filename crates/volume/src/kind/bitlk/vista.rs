//! Volumes of Windows Vista, which begin and end in the clear (dislocker, src/inouts/sectors.c; dissect.fve, bde.py).
//!
//! ```text
//! plaintext   first sector of NTFS │ as it is │ data …  │ zeros    │ data … │ the first sector again
//! device      boot sector          │ as it is │ data …  │ metadata │ data … │ boot sector again
//!             0                    512        8192                           behind NTFS's sectors
//! ```
//!
//! The boot sector is NTFS's but for its name and the cluster of the second MFT, which the metadata say. dissect.fve takes
//! NTFS's copy of it for encrypted: it is so only where it is not the same.
//!
//! Nothing vouches for these metadata, which have no digest. Whoever can write to the disk can have other clusters read as
//! zeros and choose the first 8 KiB, and can pass off a volume of Windows 7 in AES-CBC as one of these: the key in new
//! metadata is the true one. So these volumes are opened only by those who say that they are such, only for reading, only where all
//! is encrypted, and not by a bare volume key.

use super::layout::{self, Segments};
use super::{Header, cipher_spec};
use crate::{Layout, Mapping, Result};
use keyway_crypto::SectorSize;
use keyway_format::bitlk::BootSector;
use std::sync::Arc;

/// What its users should know, on a device of `device_len` bytes.
pub(super) fn notes(header: &Header, device_len: u64) -> Vec<String> {
    let mut notes = vec![NOTE.to_owned()];
    let Some(at) = header.boot.boot_copy.map(|at| at.0).filter(|_| boot_copy(header).is_none()) else {
        return notes;
    };
    notes.push(if at > device_len {
        format!("NTFS ends at byte {at}, but the device ends at byte {device_len}.")
    } else if device_len - at < SECTOR {
        format!("NTFS's copy of its boot sector, at byte {at}, is not on the device, which ends at byte {device_len}.")
    } else {
        format!("There is no copy of NTFS's boot sector at byte {at}: those bytes are taken for data.")
    });
    notes
}

/// Where NTFS's copy of the boot sector is, if it is one.
fn boot_copy(header: &Header) -> Option<u64> {
    header.boot_copy.filter(|at| *at >= IN_THE_CLEAR)
}

/// Where the plaintext is, on a device of `device_len` bytes.
///
/// # Errors
/// What its metadata say is not within the device, or overlaps.
pub(super) fn layout(header: &Header, device_len: u64) -> Result<Layout> {
    let end = device_len - device_len % SECTOR;
    let copy = boot_copy(header);
    let areas = areas(header)?;
    let hidden = layout::hidden(areas, IN_THE_CLEAR, SECTOR, copy.unwrap_or(end))?;
    let mapping = Mapping::Crypt {
        spec: cipher_spec(header)?,
        sector_size: SectorSize::S512,
        iv_tweak: 0,
        iv_large_sectors: false,
    };
    let boot_sector = of_ntfs(header);
    let mut segments = Segments::new(mapping, end);
    segments.push(0..SECTOR, 0, Mapping::Bytes(Arc::clone(&boot_sector)));
    segments.push(SECTOR..IN_THE_CLEAR, SECTOR, Mapping::Linear);
    segments.map_around(IN_THE_CLEAR, hidden, copy.unwrap_or(end));
    if let Some(at) = copy {
        segments.push(at..at + SECTOR, at, Mapping::Bytes(boot_sector));
        segments.map(at + SECTOR..end, at + SECTOR);
    }
    Ok(Layout::new(segments.into_list()))
}

/// Where the copies of the metadata are, which take whole clusters.
fn areas(header: &Header) -> Result<[(u64, u64, &'static str); 3]> {
    let len = METADATA_LEN.next_multiple_of(header.boot.cluster_size.0);
    let needs = header.metadata.to_bytes().len() as u64;
    if needs > len {
        let why = format!("its metadata need {needs} bytes, but their area has {len}");
        return Err(layout::refused(why));
    }
    Ok(layout::copies(header)?.map(|at| (at.0, len, "a copy of the metadata")))
}

/// The boot sector as NTFS has it.
fn of_ntfs(header: &Header) -> Arc<[u8]> {
    let mut sector = header.first_sector;
    sector[3..11].copy_from_slice(b"NTFS    ");
    sector[56..64].copy_from_slice(&header.metadata.second_mft().to_le_bytes());
    Arc::new(sector)
}

const SECTOR: u64 = BootSector::LEN as u64;
/// The start of the volume that is not encrypted.
const IN_THE_CLEAR: u64 = 8192;
/// An area of metadata, which takes whole clusters.
const METADATA_LEN: u64 = 16 << 10;
/// What its users should always know.
const NOTE: &str = "It is a BitLocker volume of Windows Vista: its metadata and its first 8 KiB are not \
    authenticated, and the latter are not encrypted either.";
