//! An unlocked volume.

use crate::error::At;
use crate::plaintext::Plaintext;
use crate::{Error, ErrorKind, Limits, Location, Result, Version};
use keyway_volume::Storage;
use keyway_volume::device::storage::{NewFile, Readers};
use keyway_volume::device::stream::{self, Holes, Options, Sink, Source};
use std::fmt;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// The plaintext of an unlocked volume.
///
/// Bytes are read and written at any offset and length, from any number of threads; or sequentially
/// through [`Read`], [`Write`] and [`Seek`]. A clone is the same volume with a position of its own.
/// The device is in use until the last clone is dropped; then the key is wiped. The length is
/// fixed: a write beyond the end is refused, and changes nothing.
///
/// When a write returns, the bytes are encrypted and handed to the device; when
/// [`flush`](Volume::flush) returns, they are on stable storage.
///
/// ```
/// # use keyway::*;
/// # let key = Key::passphrase("correct horse");
/// # let device = Create::luks2().kdf(NewKdf::pbkdf2(1000)).in_memory(1 << 20, &key)?;
/// use std::io::{Read, Seek, SeekFrom, Write};
///
/// let mut volume = device.unlock(&key)?;
/// volume.write_at(b"at an offset", 4094)?;
/// volume.write_all(b"in order")?;
/// volume.flush()?;
///
/// let mut bytes = [0; 12];
/// volume.read_at(&mut bytes, 4094)?;
/// assert_eq!(&bytes, b"at an offset");
/// volume.seek(SeekFrom::Start(3))?;
/// volume.read_exact(&mut bytes[..5])?;
/// assert_eq!(&bytes[..5], b"order");
/// # fn shared<T: Send + Sync + Clone>(_: &T) {}
/// # shared(&volume);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Volume {
    shared: Arc<Shared>,
    position: u64,
}

struct Shared {
    plaintext: Arc<Plaintext>,
    place: Location,
    identity: Identity,
}

/// What a volume's header says that it is.
#[derive(Default)]
pub(crate) struct Identity {
    pub(crate) version: Option<Version>,
    pub(crate) uuid: String,
    pub(crate) keyslot: Option<u32>,
}

impl Volume {
    pub(crate) fn new(plaintext: Plaintext, place: Location, identity: Identity) -> Self {
        let plaintext = Arc::new(plaintext);
        Self { shared: Arc::new(Shared { plaintext, place, identity }), position: 0 }
    }

    /// Its length in bytes. See [`Volume`] for an example.
    pub fn len(&self) -> u64 {
        self.plaintext().len()
    }

    /// Whether it has no bytes at all. See [`Volume::len`].
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether writes are refused. See [`Unlock`](crate::Unlock) for an example.
    pub fn is_read_only(&self) -> bool {
        self.plaintext().is_read_only()
    }

    /// The version of its header; `None` for a plain volume, which has none. See
    /// [`Header`](crate::Header) for an example.
    pub fn version(&self) -> Option<Version> {
        self.shared.identity.version
    }

    /// The UUID in its header; empty for a plain volume. See [`Header`](crate::Header) for an
    /// example.
    pub fn uuid(&self) -> &str {
        &self.shared.identity.uuid
    }

    /// The keyslot that opened it; `None` where the volume key was given.
    /// See [`Header`](crate::Header) for an example.
    pub fn keyslot(&self) -> Option<u32> {
        self.shared.identity.keyslot
    }

    /// Fills `buf` from `offset`. See [`Volume`] for an example.
    ///
    /// # Errors
    /// The range goes beyond the end of the volume, or the device fails.
    pub fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        self.plaintext().read_at(buf, offset).at(&self.shared.place)
    }

    /// Writes all of `buf` at `offset`. See [`Volume`] for an example.
    ///
    /// # Errors
    /// [`ErrorKind::ReadOnly`]; the range goes beyond the end of the volume, or the device fails.
    pub fn write_at(&self, buf: &[u8], offset: u64) -> Result<()> {
        self.check_writable()?;
        self.plaintext().write_at(buf, offset).at(&self.shared.place)
    }

    /// Returns when all earlier writes are on stable storage. See [`Volume`] for an example.
    ///
    /// # Errors
    /// The device fails: writes since the last flush may be lost.
    pub fn flush(&self) -> Result<()> {
        self.plaintext().flush().at(&self.shared.place)
    }

    /// Tells the device that a range is no longer needed. The range then reads as noise.
    ///
    /// ```
    /// # use keyway::*;
    /// # let key = Key::passphrase("correct horse");
    /// # let device = Create::luks2().kdf(NewKdf::pbkdf2(1000)).in_memory(1 << 20, &key)?;
    /// let volume = device.unlock_with(&key, &Unlock::new().discards())?;
    /// volume.discard(0..1 << 19)?;
    /// # drop(volume);
    /// let usual = device.unlock(&key)?;
    /// assert!(matches!(usual.discard(0..1 << 19).unwrap_err().kind(), ErrorKind::Refused { .. }));
    /// # Ok::<(), keyway::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Unlock::discards`](crate::Unlock::discards) was not called; [`ErrorKind::ReadOnly`]; the
    /// device fails.
    pub fn discard(&self, range: Range<u64>) -> Result<()> {
        self.check_writable()?;
        if !self.plaintext().rights.discards {
            let why = "a discard shows which sectors are unused: Unlock::discards allows it";
            return Err(Error::refused(why).at(&self.shared.place));
        }
        self.plaintext().discard(range).at(&self.shared.place)
    }

    /// Copies everything from `reader` to the volume's start, on all cores, and flushes. Returns
    /// the number of bytes copied.
    ///
    /// ```
    /// # use keyway::*;
    /// # let key = Key::passphrase("correct horse");
    /// # let device = Create::luks2().kdf(NewKdf::pbkdf2(1000)).in_memory(1 << 20, &key)?;
    /// let volume = device.unlock(&key)?;
    /// assert_eq!(volume.copy_from(&mut &b"an image"[..])?, 8);
    /// let mut all = Vec::new();
    /// assert_eq!(volume.copy_to(&mut all)?, 1 << 20);
    /// assert_eq!(&all[..8], b"an image");
    /// # Ok::<(), keyway::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::ReadOnly`]; the reader delivers more than there is room for; the reader or the
    /// device fails. Bytes written until then stay written.
    pub fn copy_from(&self, reader: &mut (dyn Read + Send)) -> Result<u64> {
        self.copy_from_with(reader, &Limits::new())
    }

    /// As [`Volume::copy_from`], with progress and cancellation. See [`Progress`](crate::Progress)
    /// for an example.
    ///
    /// # Errors
    /// Those of [`Volume::copy_from`], and [`ErrorKind::Cancelled`].
    pub fn copy_from_with(&self, reader: &mut (dyn Read + Send), limits: &Limits) -> Result<u64> {
        self.check_writable()?;
        let options = Options { limit: Some(self.len()), ..limits.transfer() };
        let sink = Sink::Storage(self.plaintext(), 0);
        let moved = stream::transfer(Source::Pipe(reader), sink, &options, &limits.begin(None));
        let length = moved.at(&self.shared.place)?.length;
        self.flush()?;
        Ok(length)
    }

    /// Copies the whole plaintext to `writer`, on all cores. See
    /// [`Volume::copy_from`] for an example.
    ///
    /// # Errors
    /// The writer or the device fails.
    pub fn copy_to(&self, writer: &mut (dyn Write + Send)) -> Result<u64> {
        self.copy_to_with(writer, &Limits::new())
    }

    /// As [`Volume::copy_to`], with progress and cancellation. See [`Progress`](crate::Progress)
    /// for an example.
    ///
    /// # Errors
    /// Those of [`Volume::copy_to`], and [`ErrorKind::Cancelled`].
    pub fn copy_to_with(&self, writer: &mut (dyn Write + Send), limits: &Limits) -> Result<u64> {
        let source = Source::Storage(self.plaintext(), 0..self.len());
        let meter = limits.begin(Some(self.len()));
        let moved = stream::transfer(source, Sink::Pipe(writer), &limits.transfer(), &meter);
        Ok(moved.at(&self.shared.place)?.length)
    }

    /// Copies the whole plaintext into a new file. Areas that were never written become holes. The
    /// file appears only when it is complete, and only its owner may read it.
    ///
    /// ```
    /// # use keyway::*;
    /// # let path = std::env::temp_dir().join(format!("keyway-copied-{}", std::process::id()));
    /// # let key = Key::passphrase("correct horse");
    /// # let device = Create::luks2().kdf(NewKdf::pbkdf2(1000)).in_memory(1 << 20, &key)?;
    /// let volume = device.unlock(&key)?;
    /// volume.copy_to_file(&path, &Limits::new())?;
    /// assert_eq!(std::fs::metadata(&path)?.len(), 1 << 20);
    /// let again = volume.copy_to_file(&path, &Limits::new()).unwrap_err();
    /// assert_eq!(again.kind(), &ErrorKind::Exists);
    /// # std::fs::remove_file(&path)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Exists`], [`ErrorKind::Cancelled`]; reading or writing fails.
    pub fn copy_to_file(&self, path: impl AsRef<Path>, limits: &Limits) -> Result<()> {
        let path = path.as_ref();
        let new = NewFile::create(path, false).at(&path.display())?;
        let options = Options { holes: Holes::Keep, ..limits.transfer() };
        let source = Source::Storage(self.plaintext(), 0..self.len());
        let sink = Sink::Storage(&**new.file(), 0);
        stream::transfer(source, sink, &options, &limits.begin(Some(self.len()))).at(&self.shared.place)?;
        new.file().set_len(self.len()).and_then(|()| new.complete(Readers::Owner)).at(&path.display())
    }

    /// The plaintext as [`Storage`], for a file system or other code that works on it: read-only
    /// where the volume is, and discards do nothing unless they are allowed. See
    /// [`storage`](crate::storage) for an example.
    pub fn storage(&self) -> Arc<dyn Storage> {
        Arc::<Plaintext>::clone(&self.shared.plaintext)
    }

    #[cfg(any(feature = "nbd", feature = "fuse", feature = "ublk"))]
    pub(crate) fn place(&self) -> &Location {
        &self.shared.place
    }

    #[cfg(any(feature = "nbd", feature = "fuse", feature = "ublk"))]
    pub(crate) fn rights(&self) -> keyway_volume::Rights {
        keyway_volume::Rights { read_only: self.is_read_only(), ..self.plaintext().rights }
    }

    fn plaintext(&self) -> &Plaintext {
        &self.shared.plaintext
    }

    fn check_writable(&self) -> Result<()> {
        match self.is_read_only() {
            true => Err(Error::new(ErrorKind::ReadOnly).at(&self.shared.place)),
            false => Ok(()),
        }
    }

    /// How many of `len` bytes are left after the current position.
    fn left(&self, len: usize) -> usize {
        usize::try_from(self.len().saturating_sub(self.position)).map_or(len, |left| left.min(len))
    }
}

impl Read for Volume {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let len = self.left(buf.len());
        self.read_at(&mut buf[..len], self.position.min(self.len()))?;
        self.position += len as u64;
        Ok(len)
    }
}

impl Write for Volume {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        let len = self.left(buf.len());
        if len == 0 && !buf.is_empty() {
            return Err(io::Error::new(io::ErrorKind::StorageFull, "the volume ends here"));
        }
        self.write_at(&buf[..len], self.position.min(self.len()))?;
        self.position += len as u64;
        Ok(len)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(Self::flush(self)?)
    }
}

impl Seek for Volume {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let position = match to {
            SeekFrom::Start(position) => Some(position),
            SeekFrom::Current(by) => self.position.checked_add_signed(by),
            SeekFrom::End(by) => self.len().checked_add_signed(by),
        };
        let before = "a position before the start";
        self.position = position.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, before))?;
        Ok(self.position)
    }
}

impl fmt::Debug for Volume {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Volume");
        shown
            .field("place", &self.shared.place)
            .field("uuid", &self.shared.identity.uuid)
            .field("len", &self.len());
        shown.finish_non_exhaustive()
    }
}
