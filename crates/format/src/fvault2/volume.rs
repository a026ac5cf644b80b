//! What blocks say of a logical volume.
//!
//! | type  | it holds                                                        |
//! |-------|-----------------------------------------------------------------|
//! | 0x019 | its family: who opens it, its wrapped key; a property list          |
//! | 0x01a | the volume: UUIDs, size; a property list                            |
//! | 0x305 | where its data are, in blocks of the physical volume                |
//!
//! At 64 and 72 a block of type 0x1a names the objects that its family's and its places' blocks describe.

use super::header::place;
use super::keys::{User, WrappedVolumeKey};
use super::{Block, Uuid, Value, VolumeHeader};
use crate::le::{le32, le64};
use crate::{Bytes, Error};
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// A logical volume.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogicalVolume {
    /// Its UUID.
    pub uuid: Uuid,
    /// The UUID of its family.
    pub family: Uuid,
    /// Its name.
    pub name: String,
    /// Its length.
    pub size: Bytes,
    /// Where its data are.
    pub extents: Vec<Extent>,
    /// Whether all of it is encrypted: as its metadata say it ("Complete", "Converting").
    pub conversion: String,
    /// Who can open it.
    pub users: Vec<User>,
    /// Its key, wrapped.
    pub keys: Vec<WrappedVolumeKey>,
}

/// A run of a logical volume's data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// Where it is in the logical volume.
    pub start: Bytes,
    /// Its length.
    pub len: Bytes,
    /// Where it is in the physical volume; `None`: in another one.
    pub at: Option<Bytes>,
}

/// The newest blocks of each kind.
#[derive(Default)]
pub struct Newest {
    blocks: Vec<(u16, u64, u64, Box<[u8; Block::LEN]>)>,
}

impl Newest {
    /// Takes a block, if it is of a kind that says something of a logical volume and none newer has been taken.
    pub fn take(&mut self, block: &Block<'_>) {
        if !matches!(block.kind, FAMILY | VOLUME | PLACES) {
            return;
        }
        let taken = (block.kind, block.object, block.transaction, Box::new(*block.bytes));
        match self.blocks.iter_mut().find(|known| (known.0, known.1) == (block.kind, block.object)) {
            Some(known) if known.2 < block.transaction => *known = taken,
            Some(_) => {}
            None => self.blocks.push(taken),
        }
    }

    /// The logical volumes that they describe.
    ///
    /// # Errors
    /// [`Error::Invalid`] with what is wrong.
    pub fn volumes(&self, header: &VolumeHeader) -> Result<Vec<LogicalVolume>, Error> {
        let of = |kind: u16| self.blocks.iter().filter(move |block| block.0 == kind);
        of(VOLUME).map(|block| self.volume(&block.3, header)).collect()
    }

    fn volume(&self, block: &[u8; Block::LEN], header: &VolumeHeader) -> Result<LogicalVolume, Error> {
        let list = list(block, 128)?;
        let uuid = |of: &str| {
            let text = list.text(&format!("com.apple.corestorage.lv.{of}")).unwrap_or_default();
            Uuid::parse(text).ok_or_else(|| Error::invalid(format!("logical volume: {of}"), text))
        };
        let size = list.number("com.apple.corestorage.lv.size");
        let size = size.ok_or_else(|| Error::invalid("logical volume: size", "there is none"))?;
        let family = self.family(le64(block, 64))?;
        let name = list.text("com.apple.corestorage.lv.name").unwrap_or_default();
        Ok(LogicalVolume {
            uuid: uuid("uuid")?,
            family: uuid("familyUUID")?,
            name: name.into(),
            size: Bytes(size),
            extents: self.extents(le64(block, 72), header)?,
            conversion: family.conversion,
            users: family.users,
            keys: family.keys,
        })
    }

    fn described(&self, kind: u16, object: u64, what: &str) -> Result<&[u8; Block::LEN], Error> {
        let found = self.blocks.iter().find(|block| (block.0, block.1) == (kind, object));
        found.map(|block| &*block.3).ok_or_else(|| {
            Error::invalid(what, format!("no valid block of type {kind:#x} describes object {object}"))
        })
    }

    fn family(&self, object: u64) -> Result<Family, Error> {
        let list = list(self.described(FAMILY, object, "logical volume family")?, 112)?;
        let context = list.get("com.apple.corestorage.lvf.encryption.context");
        let Some(context) = context else { return Ok(Family::default()) };
        let items = |key: &str| context.get(key).map(Value::items).unwrap_or_default().iter();
        let key_of = |item: &Value| String::from(item.text("KeyEncryptingKeyIdent").unwrap_or_default());
        let users = items("CryptoUsers").filter_map(|user| {
            user.text("PassphraseWrappedKEKStruct").map(|text| User::parse(text, &key_of(user)))
        });
        let keys = items("WrappedVolumeKeys").filter(|key| key.text("BlockAlgorithm") == Some("AES-XTS"));
        let keys = keys.filter_map(|key| {
            key.text("KEKWrappedVolumeKeyStruct").map(|text| WrappedVolumeKey::parse(text, &key_of(key)))
        });
        let conversion = context.get("ConversionInfo").and_then(|info| info.text("ConversionStatus"));
        Ok(Family {
            users: users.collect::<Result<_, _>>()?,
            keys: keys.collect::<Result<_, _>>()?,
            conversion: conversion.unwrap_or_default().into(),
        })
    }

    fn extents(&self, object: u64, header: &VolumeHeader) -> Result<Vec<Extent>, Error> {
        let block = self.described(PLACES, object, "places of a logical volume")?;
        let count = le32(block, 64) as usize;
        if count > (Block::LEN - 72) / EXTENT {
            return Err(Error::invalid("places of a logical volume", format!("{count} are more than fit")));
        }
        let bytes = |blocks: u64| place(blocks, header.block_size).map(|at| at.unwrap_or_default());
        let extent = |number: usize| {
            let at = 72 + number * EXTENT;
            // The upper half of the length's word holds flags.
            let (start, len) = (bytes(le64(block, at + 8))?, bytes(le32(block, at + 16).into())?);
            Ok(Extent { start, len, at: place(le64(block, at + 32), header.block_size)? })
        };
        (0..count).map(extent).collect()
    }
}

#[derive(Default)]
struct Family {
    users: Vec<User>,
    keys: Vec<WrappedVolumeKey>,
    conversion: String,
}

/// The property list of a block: at `at` are its place in the block and its length.
fn list(block: &[u8; Block::LEN], at: usize) -> Result<Value, Error> {
    let (start, len) = (le32(block, at) as usize, le32(block, at + 4) as usize);
    let stored = start.checked_add(len).and_then(|end| block.get(start..end));
    let stored = stored.ok_or_else(|| {
        Error::invalid("property list", format!("bytes {start} + {len} are beyond its block"))
    })?;
    // Before its place: how long it is packed, and unpacked.
    let (packed, whole) = (le32(block, at - 8) as usize, le32(block, at - 4) as usize);
    if packed != whole || len < whole {
        let why = format!(
            "it is packed or goes on in another block ({len} of {packed} bytes, {whole} unpacked), which is \
             not supported"
        );
        return Err(Error::invalid("property list", why));
    }
    Value::parse(stored)
}

const FAMILY: u16 = 0x19;
const VOLUME: u16 = 0x1a;
const PLACES: u16 = 0x305;
/// The bytes of an extent: 0, where it is in the volume, its length, 0, where it is in the physical volume.
const EXTENT: usize = 40;
