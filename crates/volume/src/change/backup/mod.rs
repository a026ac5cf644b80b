//! Header backup and restore, with the same files as cryptsetup. LUKS1: header and keyslots up to
//! the end of the last keyslot, in whole pages; LUKS2: both copies and the keyslots area.

mod midway;
mod warning;

pub use midway::{Midway, check_settled};
pub use warning::{Version, Warning};

use crate::device::lock::{HeaderLock, LockMode};
use crate::device::storage::{Exclusive, NewFile, Readers, extend_to, write_differing};
use crate::error::shared;
use crate::header::luks::{Header, read_header};
use crate::header::luks1_disk;
use crate::header::seal::Seal;
use crate::{Error, Locking, Luks, Refusal, Result, Storage};
use keyway_format::luks2::reencryption::is_requirement;
use keyway_format::{Sectors, luks1};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;

/// Writes header and keyslots area to `file`, which must not exist; mode 0400. The file appears
/// complete or not at all. A header in the middle of a re-encryption is backed up, too, as in
/// cryptsetup: [`check_settled`] refuses it.
pub fn backup(luks: &Luks, file: &Path) -> Result<()> {
    let bytes = content(luks)?;
    let io = |source| shared::backup_not_written(file, source);
    let new = NewFile::create(file, false).map_err(io)?.write_protected();
    new.file().write_at(&bytes, 0).map_err(io)?;
    // All current passphrases open the backup, even after they are changed or killed in the header.
    new.complete(Readers::Owner).map_err(io)
}

/// Whether `file` is what [`backup`] would make of the header as it is now: left by an attempt, say, that was cut off
/// before it changed anything. It belongs to this user, and is no link.
pub fn is_backup(luks: &Luks, file: &Path) -> Result<bool> {
    let bytes = content(luks)?;
    let user = rustix::process::geteuid().as_raw();
    let fits = |found: std::fs::Metadata| {
        found.is_file() && found.uid() == user && found.len() == bytes.len() as u64
    };
    Ok(std::fs::symlink_metadata(file).is_ok_and(fits)
        && std::fs::read(file).is_ok_and(|found| found == bytes))
}

/// The bytes of a backup.
fn content(luks: &Luks) -> Result<Vec<u8>> {
    let lock = luks.lock_shared()?;
    let mut bytes = vec![0; header_len(luks.header()) as usize];
    luks.storage()
        .read_at(&mut bytes, 0)
        .map_err(|source| Error::Io { what: "reading header and keyslots".into(), source })?;
    drop(lock);
    if let Header::Luks1(header) = luks.header() {
        bytes.resize(bytes.len().next_multiple_of(PAGE), 0);
        if header.slots[0].offset.0 * 512 == PAGE as u64 {
            // These bytes belong to the device's previous content.
            bytes[luks1::HEADER_LEN..PAGE].fill(0);
        }
    }
    Ok(bytes)
}

/// A checked backup and its target; nothing is written yet.
pub struct Restore {
    target: Exclusive,
    locking: Locking,
    header: Header,
    bytes: Vec<u8>,
    warnings: Vec<Warning>,
    loses_seal: bool,
    midway: Midway,
}

impl Restore {
    /// Reads `backup` and compares it with the content of `target`. Refused when data offset or key
    /// size differ between headers of the same version; between different versions, only the user
    /// knows which header the data belongs to. The target is claimed from here to the end of
    /// [`Restore::run`]; only mappings of the volume that was backed up may be using it. `midway` says what becomes of a
    /// re-encryption that is under way.
    pub fn prepare(
        target: Arc<dyn Storage>,
        backup: &dyn Storage,
        locking: Locking,
        midway: Midway,
    ) -> Result<Self> {
        let (header, bytes) = read_backup(backup)?;
        let target = Exclusive::claim_header(target, header.uuid())?;
        if target.len() < bytes.len() as u64 && !target.can_grow() {
            return Err(Refusal::NoRoom.because(format!(
                "Device is too small for the backup: it has {} bytes, header and keyslots take {}.",
                target.len(),
                bytes.len()
            )));
        }
        let lock = HeaderLock::acquire(&**target, LockMode::Shared, locking)?;
        let (mut warnings, device) = compare(&header, &**target, midway)?;
        let is_sealed = |header| !matches!(Seal::of(header), Ok(None));
        let loses_seal = device.as_ref().is_some_and(is_sealed) && !is_sealed(&header);
        if loses_seal {
            warnings.push(Warning::LosesSeal);
        }
        if Seal::check(&header, None).is_err() {
            warnings.push(Warning::UnmatchedSeal);
        }
        drop(lock);
        Ok(Self { target, locking, header, bytes, warnings, loses_seal, midway })
    }

    /// What the user should confirm.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// Whether the target's header is sealed and the backup is not: an attacker who forges headers
    /// could have removed the seal.
    pub fn loses_seal(&self) -> bool {
        self.loses_seal
    }

    /// Writes the backup to the target; may be run again after a failure. Only blocks that differ
    /// are written, keyslots first, so that passphrases that are valid in both headers work at any
    /// time.
    pub fn run(self) -> Result<()> {
        let lock = HeaderLock::acquire(&**self.target, LockMode::Exclusive, self.locking)?;
        // Another process may have begun a re-encryption meanwhile, or gone on with one.
        let now = read_header(&**self.target).ok().map(|(header, _)| header);
        midway::judge(&self.header, now.as_ref(), &**self.target, self.midway)?;
        let end = self.bytes.len() as u64;
        extend_to(&**self.target, end).map_err(io("making room for"))?;
        let pieces = match &self.header {
            Header::Luks1(_) => vec![SECTOR..end, 0..SECTOR],
            Header::Luks2 { binary, .. } => {
                let size = binary.size.bytes().0;
                vec![2 * size..end, size..2 * size, 0..size]
            }
        };
        for piece in pieces {
            let new = &self.bytes[piece.start as usize..piece.end as usize];
            write_differing(&**self.target, new, piece.start, SECTOR).map_err(io("writing"))?;
            self.target.flush().map_err(io("flushing"))?;
        }
        let (header, _) = read_header(&**self.target)?;
        if !header.is_same_state(&self.header) {
            return Err(io("reading back")(shared::other_than_written()));
        }
        drop(lock);
        Ok(())
    }
}

/// The backup's header, and its bytes up to the end of the keyslots.
fn read_backup(backup: &dyn Storage) -> Result<(Header, Vec<u8>)> {
    let (header, _) = read_header(backup).map_err(|error| match error {
        Error::Io { .. } => error,
        error => {
            Refusal::Backup.because(format!("Backup file does not contain valid LUKS header ({error})."))
        }
    })?;
    check_requirements(&header, "backup")?;
    let mut bytes = vec![0; header_len(&header) as usize];
    backup.read_at(&mut bytes, 0).map_err(io("reading the backup of"))?;
    Ok((header, bytes))
}

/// Compares a backup with the device's current content: gives the warnings, and the current header.
fn compare(backup: &Header, target: &dyn Storage, midway: Midway) -> Result<(Vec<Warning>, Option<Header>)> {
    let version = |header: &Header| Version(if matches!(header, Header::Luks1(_)) { 1 } else { 2 });
    let ours = version(backup);
    let device = read_header(target).ok().map(|(device, _)| device);
    let of_reencryption = midway::judge(backup, device.as_ref(), target, midway)?;
    let with = |first: Warning| std::iter::once(first).chain(of_reencryption.iter().copied()).collect();
    let Some(device) = device else { return Ok((with(Warning::NoHeader(ours)), None)) };
    check_requirements(&device, "device")?;
    if version(&device) != ours {
        let other = Warning::OtherVersion { device: version(&device), backup: ours };
        return Ok((with(other), Some(device)));
    }
    let other_key =
        key_bytes(&device).zip(key_bytes(backup)).is_some_and(|(device, backup)| device != backup);
    // A backup may have to rescue a LUKS2 volume that was formatted again with another key size:
    // cryptsetup refuses that for LUKS1 only.
    let both_luks2 = matches!((&device, backup), (Header::Luks2 { .. }, Header::Luks2 { .. }));
    if data_offset(&device) != data_offset(backup) || (other_key && !both_luks2) {
        return Err(
            Refusal::Backup.because("Data offset or key size differs on device and backup, restore failed.")
        );
    }
    match (&device, backup) {
        (Header::Luks2 { .. }, Header::Luks2 { .. }) if header_len(&device) != header_len(backup) => {
            return Err(Refusal::Backup
                .because("Header and keyslots area sizes differ on device and backup, restore failed."));
        }
        _ => {}
    }
    let mut warnings = vec![Warning::ReplacesKeyslots(ours)];
    if other_key && both_luks2 {
        warnings.push(Warning::OtherKeySize);
    }
    if device.uuid() != backup.uuid() {
        warnings.push(Warning::OtherUuid);
    }
    warnings.extend(of_reencryption);
    Ok((warnings, Some(device)))
}

fn check_requirements(header: &Header, place: &str) -> Result<()> {
    match header {
        Header::Luks2 { metadata, .. } => {
            match metadata.unmet_requirements().iter().find(|name| !is_requirement(name)) {
                Some(name) => Err(Refusal::Backup
                    .because(format!("Forbidden LUKS2 requirement \"{name}\" detected on {place}."))),
                None => Ok(()),
            }
        }
        Header::Luks1(_) => Ok(()),
    }
}

impl Header {
    /// The length of its backup in bytes.
    pub fn backup_len(&self) -> u64 {
        match self {
            Self::Luks1(_) => header_len(self).next_multiple_of(PAGE as u64),
            Self::Luks2 { .. } => header_len(self),
        }
    }
}

/// Bytes from the start to the end of the keyslots.
fn header_len(header: &Header) -> u64 {
    match header {
        Header::Luks1(header) => luks1_disk::areas_end(header),
        Header::Luks2 { metadata, .. } => metadata.header_and_keyslots_size().0,
    }
}

fn data_offset(header: &Header) -> u64 {
    match header {
        Header::Luks1(header) => header.payload_offset.0 * 512,
        Header::Luks2 { metadata, .. } => metadata.data_offset().0,
    }
}

/// Length of the volume key; `None` when no keyslot states it.
fn key_bytes(header: &Header) -> Option<u32> {
    match header {
        Header::Luks1(header) => Some(header.key_bytes),
        Header::Luks2 { metadata, .. } => {
            let bound = metadata.keyslots.iter().find(|(number, _)| !metadata.is_unbound(**number));
            bound.map(|(_, slot)| slot.key_size)
        }
    }
}

fn io(doing: &'static str) -> impl Fn(std::io::Error) -> Error {
    move |source| Error::Io { what: format!("{doing} the header"), source }
}

const PAGE: usize = 4096;
const SECTOR: u64 = Sectors::SIZE;

#[cfg(test)]
mod tests;
