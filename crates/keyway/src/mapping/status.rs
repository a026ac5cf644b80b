//! What the kernel says of a mapping.

use super::{Mapping, MappingFlag, device};
use crate::Result;
use crate::error::At;
use keyway_attach::dm::crypt::Key;
use keyway_attach::dm::{Mapper, uuid};
use std::path::PathBuf;

/// How a mapped volume is encrypted, and where it is (feature `dm`): from [`Mapping::status`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct MappingStatus {
    /// The cipher, as the kernel names it: "aes-xts-plain64"; of a chain, all of them.
    pub cipher: String,
    /// Where the kernel has the key from.
    pub key: MappedKey,
    /// The length of all keys in bytes.
    pub key_len: usize,
    /// The device below.
    pub device: PathBuf,
    /// The file behind it, if that is a loop device: "disk.img", "disk.img#2" for a partition.
    pub image: Option<PathBuf>,
    /// The size of the volume's sectors, in bytes.
    pub sector_size: u32,
    /// Where the volume's data begins on the device, in sectors of 512 bytes.
    pub offset: u64,
    /// How long the mapping is, in sectors of 512 bytes.
    pub len: u64,
    /// What is added to the number of a sector before it becomes an IV; in sectors of 512 bytes.
    pub iv_offset: u64,
    /// What authenticates each sector, if anything does: "aead", "hmac(sha256)".
    pub integrity: Option<String>,
    /// The flags that are set, in cryptsetup's order.
    pub flags: Vec<MappingFlag>,
    /// The lines of its table; in the middle of a re-encryption there are several.
    pub segments: usize,
}

/// Where the kernel has a mapping's key from (feature `dm`). See [`MappingStatus`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum MappedKey {
    /// There is none: the cipher encrypts nothing.
    Absent,
    /// From the table, where root can read it.
    Table,
    /// From the kernel's keyring.
    Keyring,
}

impl Mapping {
    /// How the volume is encrypted, and where it is; `None` if it is not dm-crypt's. See [`Mapping::all`] for an
    /// example.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`](crate::ErrorKind::NotFound) if it was removed meanwhile.
    pub fn status(&self) -> Result<Option<MappingStatus>> {
        let mapper = Mapper::open().at(&self.name())?;
        let table = mapper.table(self.name(), false).at(&self.name())?;
        if table.len() > 1 && self.kind() != Some("LUKS2") {
            return Ok(None);
        }
        let Some(line) = table.iter().find_map(|target| target.as_crypt().ok()) else { return Ok(None) };
        let through = mapper.through(&self.info, &line);
        let integrity = line.options.integrity.as_deref().and_then(|tag| tag.split_once(':'));
        Ok(Some(MappingStatus {
            key: MappedKey::of(&line.key),
            key_len: through.key_len,
            device: device::node_of(&mapper, through.device).unwrap_or_default(),
            image: device::image_behind(through.device),
            sector_size: line.options.sector_size.unwrap_or(512),
            offset: through.offset,
            len: table.iter().map(|target| target.length).sum(),
            iv_offset: line.iv_offset,
            integrity: integrity.map(|(_, integrity)| integrity.to_owned()),
            flags: MappingFlag::ALL.into_iter().filter(|flag| flag.is_in(&line.options)).collect(),
            segments: table.len(),
            cipher: through.cipher,
        }))
    }

    /// The device below, if the table uses one alone. See [`Mapping::kind`] for an example.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`](crate::ErrorKind::NotFound) if it was removed meanwhile.
    pub fn device(&self) -> Result<Option<PathBuf>> {
        let mapper = Mapper::open().at(&self.name())?;
        match mapper.deps(self.name()).at(&self.name())?[..] {
            [number] => Ok(device::node_of(&mapper, number)),
            _ => Ok(None),
        }
    }

    /// The kind of volume that it was made from, as cryptsetup names it: "LUKS2", "PLAIN". `None` if neither Keyway
    /// nor cryptsetup made it.
    ///
    /// ```no_run
    /// # use keyway::*;
    /// let mapping = Mapping::find("home")?;
    /// println!("{:?}, {:?}", mapping.kind(), mapping.volume_uuid());
    /// if mapping.is_suspended() || mapping.is_read_only() || mapping.is_removed_on_close() {
    ///     println!("nobody can write to it for long");
    /// }
    /// println!("on {:?}, open {} times", mapping.device()?, mapping.open_count());
    /// # Ok::<(), keyway::Error>(())
    /// ```
    pub fn kind(&self) -> Option<&str> {
        uuid::kind_and_volume(&self.info.uuid).map(|(kind, _)| kind)
    }

    /// The UUID of the volume that it was made from, if that has one. See [`Mapping::kind`] for an example.
    pub fn volume_uuid(&self) -> Option<String> {
        uuid::kind_and_volume(&self.info.uuid)?.1
    }

    /// Whether it was suspended, when it was found. See [`Mapping::kind`] for an example.
    pub fn is_suspended(&self) -> bool {
        self.info.suspended
    }

    /// Whether it refuses writes. See [`Mapping::kind`] for an example.
    pub fn is_read_only(&self) -> bool {
        self.info.read_only
    }

    /// How many times it was open when it was found: mounted, mapped by others, held open by programs. See
    /// [`Mapping::kind`] for an example.
    pub fn open_count(&self) -> u32 {
        self.info.open_count
    }

    /// Whether it is removed as soon as its last user closes it. See [`Mapping::kind`] for an example.
    pub fn is_removed_on_close(&self) -> bool {
        self.info.removed_on_close
    }
}

impl MappedKey {
    fn of(key: &Key) -> Self {
        match key {
            Key::Absent => Self::Absent,
            Key::Bytes(_) => Self::Table,
            Key::InKeyring(_) => Self::Keyring,
        }
    }
}
