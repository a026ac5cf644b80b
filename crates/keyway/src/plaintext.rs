//! A volume's plaintext, with the permitted operations.

use keyway_volume::{Rights, Storage};
use std::io;
use std::ops::Range;

/// The plaintext, with the permitted operations.
pub(crate) struct Plaintext {
    pub(crate) volume: keyway_volume::Volume,
    pub(crate) rights: Rights,
}

impl Plaintext {
    fn writable(&self) -> io::Result<&keyway_volume::Volume> {
        match self.is_read_only() {
            true => Err(io::ErrorKind::ReadOnlyFilesystem.into()),
            false => Ok(&self.volume),
        }
    }
}

impl Storage for Plaintext {
    fn len(&self) -> u64 {
        self.volume.len()
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        self.volume.read_at(buf, offset)
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        self.writable()?.write_at(buf, offset)
    }

    fn write_from(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        self.writable()?.write_from(buf, offset)
    }

    fn flush(&self) -> io::Result<()> {
        self.volume.flush()
    }

    /// As in dm-crypt: where discards are not allowed, the request is accepted and ignored.
    fn discard(&self, range: Range<u64>) -> io::Result<()> {
        let volume = self.writable()?;
        if self.rights.discards { volume.discard(range) } else { Ok(()) }
    }

    fn is_read_only(&self) -> bool {
        self.rights.read_only || self.volume.is_read_only()
    }

    fn is_distant(&self) -> bool {
        self.volume.is_distant()
    }

    fn next_data(&self, offset: u64) -> io::Result<Option<Range<u64>>> {
        self.volume.next_data(offset)
    }

    fn unit(&self) -> u64 {
        self.volume.unit()
    }
}
