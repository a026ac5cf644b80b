//! What is on the device: the header, the first label that is valid, and the newest metadata of both copies.

use crate::{Error, Refusal, Result, Storage};
use keyway_crypto::{AesXts, Cpu};
use keyway_format::Bytes;
use keyway_format::fvault2::{Block, LogicalVolume, MetadataPlaces, Newest, VolumeHeader};

/// A volume's header.
#[derive(Debug)]
pub struct Header {
    /// The physical volume's.
    pub physical: VolumeHeader,
    /// The logical volume's.
    pub logical: LogicalVolume,
    troubles: Vec<String>,
}

impl Header {
    /// What its users should know, a sentence each; nothing is usual.
    pub fn troubles(&self) -> &[String] {
        &self.troubles
    }

    /// Reads what is at the start of `storage` (or the copy at its end), and the metadata.
    ///
    /// # Errors
    /// It is no volume of Core Storage; its metadata are damaged; it has none or several logical volumes; the storage
    /// fails.
    pub fn read(storage: &dyn Storage) -> Result<Self> {
        let (physical, troubles) = physical(storage)?;
        let places = places(storage, &physical)?;
        let mut newest = Newest::default();
        for at in places.at.into_iter().flatten() {
            take_metadata(storage, &physical, at, places.len, &mut newest)?;
        }
        let mut volumes = newest.volumes(&physical)?;
        match (volumes.pop(), volumes.len()) {
            (Some(logical), 0) => Ok(Self { physical, logical, troubles }),
            (None, _) => {
                Err(Refusal::Unusable.because("the metadata of Core Storage describe no logical volume"))
            }
            (Some(_), others) => {
                let why = format!(
                    "Core Storage has {} logical volumes here, but only one is supported",
                    others + 1
                );
                Err(Refusal::Unusable.because(why))
            }
        }
    }
}

/// The header, from the end of the device where its start is damaged.
fn physical(storage: &dyn Storage) -> Result<(VolumeHeader, Vec<String>)> {
    let at_start = header_at(storage, 0);
    let Err(error) = at_start else { return Ok((at_start?, Vec::new())) };
    let copy = (storage.len() / 512).checked_sub(1).map(|sector| header_at(storage, sector * 512));
    match copy {
        Some(Ok(copy)) => {
            let trouble =
                format!("The header of Core Storage is damaged ({error}): its copy at the end is used.");
            Ok((copy, vec![trouble]))
        }
        _ => Err(error),
    }
}

fn header_at(storage: &dyn Storage, at: u64) -> Result<VolumeHeader> {
    let mut bytes = vec![0; (VolumeHeader::LEN as u64).min(storage.len() - at) as usize];
    read(storage, &mut bytes, at, "the header")?;
    Ok(VolumeHeader::parse(&bytes)?)
}

/// From the first label that is valid.
fn places(storage: &dyn Storage, physical: &VolumeHeader) -> Result<MetadataPlaces> {
    let mut why = Refusal::Unusable.because("the header of Core Storage names no label");
    for at in physical.labels.into_iter().flatten() {
        match label(storage, physical, at) {
            Ok(places) => return Ok(places),
            Err(error) => why = error,
        }
    }
    Err(why)
}

fn label(storage: &dyn Storage, physical: &VolumeHeader, at: Bytes) -> Result<MetadataPlaces> {
    let mut bytes = [0; Block::LEN];
    read(storage, &mut bytes, at.0, "a label")?;
    let damaged =
        || Refusal::Unusable.because(format!("the label of Core Storage at byte {} is damaged", at.0));
    let label = Block::parse(&bytes).ok_or_else(damaged)?;
    let offset = at.0.saturating_add(MetadataPlaces::offset(&label, physical)?.0);
    let mut places = [0; MetadataPlaces::LEN];
    read(storage, &mut places, offset, "a label")?;
    Ok(MetadataPlaces::parse(&places, physical)?)
}

/// Decrypts the metadata at `at` a piece at a time; blocks that were never written are zeros.
fn take_metadata(
    storage: &dyn Storage,
    physical: &VolumeHeader,
    at: Bytes,
    len: Bytes,
    newest: &mut Newest,
) -> Result<()> {
    let cipher = physical.metadata_cipher(Cpu::detect());
    let mut piece = vec![0; PIECE];
    let whole = len.0 / Block::LEN as u64 * Block::LEN as u64;
    for start in (0..whole).step_by(PIECE) {
        let bytes = &mut piece[..(whole - start).min(PIECE as u64) as usize];
        read(storage, bytes, at.0.saturating_add(start), "the metadata")?;
        let blocks = bytes.as_chunks_mut::<{ Block::LEN }>().0;
        for (number, block) in (start / Block::LEN as u64..).zip(blocks) {
            take_block(&cipher, number, block, newest);
        }
    }
    Ok(())
}

fn take_block(cipher: &AesXts, number: u64, block: &mut [u8; Block::LEN], newest: &mut Newest) {
    if block.iter().any(|byte| *byte != 0) {
        cipher.decrypt_unit(number, block);
        if let Some(block) = Block::parse(block) {
            newest.take(&block);
        }
    }
}

fn read(storage: &dyn Storage, bytes: &mut [u8], at: u64, what: &str) -> Result<()> {
    let len = storage.len();
    if at.checked_add(bytes.len() as u64).is_none_or(|end| end > len) {
        let why = format!("{what} of Core Storage would be at byte {at}, and the device ends at byte {len}");
        return Err(Refusal::Geometry.because(why));
    }
    storage
        .read_at(bytes, at)
        .map_err(|source| Error::Io { what: format!("reading {what} of Core Storage at byte {at}"), source })
}

/// What is read at a time.
const PIECE: usize = 1 << 20;
