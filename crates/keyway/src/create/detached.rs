//! New volumes whose header is in a file of its own.

use super::{Create, Found, claim, no_size};
use crate::error::At;
use crate::{Error, ErrorKind, Key, Location, NewKdf, Result, Version};
use keyway_crypto::Secret;
use keyway_volume::Storage;
use keyway_volume::device::storage::{Memory, NewFile, Readers};
use std::path::Path;
use std::sync::Arc;

impl Create {
    /// Puts the header elsewhere. The data is claimed until the header is written, and is not
    /// touched.
    pub(super) fn detached(&self, data: &Location, header: &Location, key: &Key) -> Result<()> {
        let Found::Nothing(header_path) = self.find(header)? else {
            return Err(Error::new(ErrorKind::Exists).at(header));
        };
        let claimed = match self.find(data)? {
            Found::Something => {
                self.refuse_size().at(data)?;
                Some(claim(data).at(data)?)
            }
            Found::Nothing(_) => None,
        };
        let new_size = || self.size.ok_or_else(no_size);
        let size = claimed.as_ref().map_or_else(new_size, |data| Ok(data.len())).at(data)?;
        let planned = self.plan(size, key).at(header)?;
        let data_len = claimed.as_ref().map_or(planned.data_len, |data| data.len());
        if claimed.is_none() {
            let new = NewFile::create(data.path().unwrap_or(header_path), false).at(data)?;
            new.file().set_len(data_len).and_then(|()| new.complete(Readers::Owner)).at(data)?;
        }
        let new = NewFile::create(header_path, false).at(header)?;
        new.file().set_len(planned.plan.header_end).at(header)?;
        planned.write_to_new(Arc::clone(new.file()) as Arc<dyn Storage>, data_len).at(header)?;
        new.complete(Readers::Owner).at(header)
    }

    /// Where the header goes, if that is elsewhere.
    pub(crate) fn header_location(&self) -> Option<&Location> {
        self.header.as_ref()
    }

    /// The header of a LUKS2 volume whose data is on `data_len` bytes, in a file that has no name yet, and its volume
    /// key. Its sectors have 512 bytes unless that was said: what is in the volume already may be in such blocks.
    pub(crate) fn unnamed_header(&self, data_len: u64, key: &Key) -> Result<(NewFile, Secret)> {
        let (path, create) = (self.path_of_new_header()?, self.of_what_is_there());
        let planned = create.plan(data_len, key)?;
        let (file, volume_key) = (NewFile::create(path, false)?, planned.volume_key());
        file.file().set_len(planned.plan.header_end)?;
        planned.write_to_new(Arc::clone(file.file()) as Arc<dyn Storage>, data_len)?;
        Ok((file, volume_key))
    }

    /// The same in memory, for a plan: no file is made, and nobody's passphrase opens it.
    pub(crate) fn header_in_memory(&self, data_len: u64) -> Result<Arc<dyn Storage>> {
        self.path_of_new_header()?;
        let create = self.of_what_is_there().kdf(NewKdf::pbkdf2(1000));
        let planned = create.plan(data_len, &Key::passphrase("estimate"))?;
        let len = usize::try_from(planned.plan.header_end);
        let len = len.map_err(|_| Error::too_large_for_memory())?;
        let memory: Arc<dyn Storage> = Arc::new(Memory::zeroed(len));
        planned.write_to_new(Arc::clone(&memory), data_len)?;
        Ok(memory)
    }

    fn path_of_new_header(&self) -> Result<&Path> {
        match self.header.as_ref().map(|header| self.find(header)) {
            Some(Ok(Found::Nothing(path))) if self.version == Version::Luks2 => Ok(path),
            Some(Ok(_)) => Err(Error::new(ErrorKind::Exists)),
            Some(Err(error)) => Err(error),
            None => Err(Error::refused("a file for the header is needed")),
        }
    }

    /// For a volume whose content is there already.
    fn of_what_is_there(&self) -> Self {
        Self { sector_size: self.sector_size.or(Some(512)), ..self.clone() }
    }
}
