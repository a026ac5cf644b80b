//! TrueCrypt (to 7.1a) and VeraCrypt, opened with a passphrase, key files or both.
//!
//! A [`Tcrypt`] is what the user says of the volume; [`Tcrypt::read`] reads the places where its
//! header may be, and its key files; [`Locked::unlock`] tries all that such a header may be
//! encrypted with; [`Unlocked`] is the volume: its [`Found`], and cryptsetup's text of its header.
//!
//! Backup headers are read only when they are asked for: a wrong passphrase would take twice as long.
//!
//! ```text
//! candidates   which KDFs and ciphers are tried, as far as the user narrows them
//! search       KDFs side by side, until one of them opens a header
//! known        what they cost, before a passphrase is known
//! key_files    files and folders into the pool
//! layout       the header's data area on the device
//! dump         the header as text
//! derive       what a KDF makes of a password
//! seal         a header, encrypted
//! headers      its copies, written one after the other
//! make         new volumes, hidden ones too
//! opened       a header that is to be written again, with its key
//! change       under another key
//! backup       to a file, and back
//! ```

mod backup;
mod candidates;
mod change;
mod derive;
mod dump;
mod headers;
mod key_files;
mod known;
mod layout;
mod make;
mod opened;
mod seal;
mod search;

pub use backup::Restore;
pub use change::NewKey;
pub use make::{NewVolume, Outer};
pub use opened::Opened;
pub use seal::Sealing;

use super::{Convertible, Found, Judged, Key, Kind, Known, Row, Subject};
use crate::{Error, Refusal, Result, Storage, UnlockOptions};
use candidates::Candidates;
use key_files::KeyFiles;
use keyway_crypto::Secret;
use keyway_format::tcrypt::{Cipher, HEADER_LEN, Header, Kdf, Position, check_pim};
use keyway_format::{Bytes, Sectors};
use search::Match;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

/// Its row.
pub const ROW: Row = Row { name: "tcrypt", title: "TCRYPT" };

/// A TrueCrypt or VeraCrypt volume as its user describes it.
#[derive(Clone, Default)]
pub struct Tcrypt {
    /// The device with the header, if it is not the data's.
    pub header: Option<Arc<dyn Storage>>,
    /// Which header.
    pub place: Place,
    /// Whose volumes.
    pub programs: Programs,
    /// Only KDFs whose name contains this: "sha512", "argon2id".
    pub hash: Option<String>,
    /// Only chains of ciphers whose name contains this: "serpent-twofish".
    pub cipher: Option<String>,
    /// VeraCrypt's personal iterations multiplier; TrueCrypt's headers are not tried then.
    pub pim: Option<u32>,
    /// Key files, and folders of them.
    pub key_files: Vec<PathBuf>,
    /// What opens the volume that is hidden in this one, which is kept from being written over.
    pub protects: Option<Protects>,
}

/// What opens a hidden volume.
#[derive(Clone)]
pub struct Protects {
    /// Its passphrase.
    pub passphrase: Arc<Secret>,
    /// Its PIM.
    pub pim: Option<u32>,
    /// Its key files, and folders of them.
    pub key_files: Vec<PathBuf>,
}

/// Which header is to be opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// A volume's.
    Volume {
        /// That of the hidden volume.
        hidden: bool,
        /// The copy at the end.
        backup: bool,
    },
    /// An encrypted system's, on its disk.
    System {
        /// The data's device is a partition of that disk, or a copy of one, which starts there;
        /// `None`: it is the disk.
        partition: Option<Sectors>,
    },
}

impl Default for Place {
    fn default() -> Self {
        Self::Volume { hidden: false, backup: false }
    }
}

/// Whose volumes are tried.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Programs {
    #[default]
    Both,
    TrueCrypt,
    VeraCrypt,
}

impl Tcrypt {
    /// Checks what the user says, and reads the headers and the key files.
    ///
    /// # Errors
    /// [`Error::Refused`]: no header could be as described, or the device has no room for one;
    /// [`Error::Format`]: the PIM; [`Error::Io`].
    pub fn read(&self, header: &dyn Storage) -> Result<Locked> {
        let locked = self.read_headers(header)?;
        Ok(Locked { key_files: KeyFiles::read(&self.key_files)?, ..locked })
    }

    /// The same without the key files.
    fn read_headers(&self, header: &dyn Storage) -> Result<Locked> {
        if let Some(pim) = self.pim {
            check_pim(pim, self.is_system())?;
        }
        let candidates = Candidates::new(self)?;
        let headers = self.positions().iter().map(|position| read_header(header, *position));
        let mut found = Vec::new();
        let mut trouble = None;
        for header in headers {
            match header {
                Ok(header) => found.push(header),
                Err(error) => trouble = Some(error),
            }
        }
        if let (true, Some(error)) = (found.is_empty(), trouble) {
            return Err(error);
        }
        let (device_len, key_files) = (header.len(), KeyFiles::default());
        Ok(Locked { device_len, headers: found, candidates, key_files, place: self.place })
    }

    /// The volume that is hidden in this one, and its passphrase.
    fn hidden(&self) -> Option<(Self, Arc<Secret>)> {
        let Protects { passphrase, pim, key_files } = self.protects.clone()?;
        let Place::Volume { backup, .. } = self.place else { return None };
        let place = Place::Volume { hidden: true, backup };
        let hidden = Self { place, programs: self.programs, pim, key_files, ..Self::default() };
        Some((hidden, passphrase))
    }

    fn is_system(&self) -> bool {
        matches!(self.place, Place::System { .. })
    }

    fn positions(&self) -> &'static [Position] {
        match self.place {
            Place::System { .. } => &[Position::System],
            Place::Volume { hidden: false, backup: false } => &[Position::Normal],
            Place::Volume { hidden: false, backup: true } => &[Position::Backup],
            Place::Volume { hidden: true, backup: false } => &[Position::OldHidden, Position::Hidden],
            Place::Volume { hidden: true, backup: true } => &[Position::HiddenBackup],
        }
    }
}

impl Kind for Tcrypt {
    fn row(&self) -> &'static Row {
        &ROW
    }

    fn judge(&self, on: &Subject<'_>) -> Result<Box<dyn Judged>> {
        let header = self.header.as_deref().unwrap_or(&**on.data);
        let hidden = self.hidden().map(|(hidden, key)| hidden.read(header).map(|locked| (locked, key)));
        let (locked, hidden) = (self.read(header)?, hidden.transpose()?);
        Ok(Box::new(JudgedTcrypt { locked, hidden, data_len: on.data.len() }))
    }

    fn known(&self, data: &dyn Storage) -> Result<Known> {
        Ok(self.read_headers(self.header.as_deref().unwrap_or(data))?.known())
    }

    fn convertible(&self, data: &Arc<dyn Storage>) -> Result<Convertible> {
        match self.place {
            Place::Volume { hidden: false, .. } => known::convertible(&Candidates::new(self)?, data.len()),
            _ => Err(Refusal::NotConvertible
                .because("Neither a hidden volume nor an encrypted system becomes LUKS2 in place.")),
        }
    }
}

impl fmt::Debug for Tcrypt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { header, place, programs, hash, cipher, pim: _, key_files, protects } = self;
        f.debug_struct("Tcrypt")
            .field("header", &header.is_some())
            .field("place", place)
            .field("programs", programs)
            .field("hash", hash)
            .field("cipher", cipher)
            .field("key_files", key_files)
            .field("protects", &protects.is_some())
            .finish_non_exhaustive()
    }
}

/// Headers that are still encrypted, with all that is needed to open one but the passphrase.
pub struct Locked {
    headers: Vec<Encrypted>,
    /// The length of the device that they are on.
    device_len: u64,
    candidates: Candidates,
    key_files: KeyFiles,
    place: Place,
}

/// The bytes of what may be a header.
struct Encrypted {
    position: Position,
    bytes: [u8; HEADER_LEN],
}

impl Locked {
    /// Opens a header with the passphrase and the key files, or either.
    ///
    /// # Errors
    /// [`Error::WrongPassphrase`]: nothing that was tried opens it, whatever is wrong;
    /// [`Error::Format`]: it opens but is damaged, or the passphrase is too long;
    /// [`Error::KdfMemory`], [`Error::KdfTime`]: nothing that was tried opens it, and some were not tried.
    pub fn unlock(&self, passphrase: &Secret, options: &UnlockOptions) -> Result<Unlocked> {
        self.candidates.latest().check_passphrase(passphrase)?;
        self.search(&self.key_files.with(passphrase)?, options)
    }

    /// The same with an empty passphrase and one more key file, given by its content.
    ///
    /// # Errors
    /// As [`Locked::unlock`].
    pub(crate) fn unlock_by_file(&self, content: &Secret, options: &UnlockOptions) -> Result<Unlocked> {
        self.search(&self.key_files.with_file(content)?, options)
    }

    fn search(&self, password: &Secret, options: &UnlockOptions) -> Result<Unlocked> {
        let Match { position, kdf, cipher, header } =
            search::find(&self.headers, &self.candidates, password, options)?;
        Ok(Unlocked { position, kdf, cipher, header, place: self.place, device_len: self.device_len })
    }
}

/// A header that was opened.
pub struct Unlocked {
    /// Where it was.
    pub position: Position,
    /// What derived its key.
    pub kdf: &'static Kdf,
    /// What it and the data are encrypted with.
    pub cipher: &'static Cipher,
    /// What it says.
    pub header: Header,
    place: Place,
    device_len: u64,
}

impl Unlocked {
    /// The volume on a device of `data_len` bytes.
    ///
    /// # Errors
    /// [`Error::Format`]: no volume can be where the header says; [`Error::TooShort`]: the device
    /// ends before it; [`Error::Refused`]: the partition is not in the encrypted area.
    pub fn found(&self, data_len: u64) -> Result<Found> {
        let area = self.header.data_area(self.position, self.cipher.mode, Bytes(self.device_len))?;
        let layout = layout::layout(area, self.cipher, self.place, data_len)?;
        Ok(Found { layout, volume_key: layout::volume_key(&self.header, self.cipher)? })
    }

    /// The same, with the volume that is hidden in it kept from being written over.
    ///
    /// # Errors
    /// As [`Unlocked::found`]; [`Error::Refused`]: that one is not within this one.
    fn found_around(&self, hidden: &Self, data_len: u64) -> Result<Found> {
        let mut found = self.found(data_len)?;
        let area = hidden.header.data_area(hidden.position, hidden.cipher.mode, Bytes(self.device_len))?;
        found.layout.protected = Some(layout::hidden(&found.layout, area, hidden.position, data_len)?);
        Ok(found)
    }
}

/// Locked headers, and the length of the data's device.
struct JudgedTcrypt {
    locked: Locked,
    /// Those of the volume that is hidden in it, and its passphrase.
    hidden: Option<(Locked, Arc<Secret>)>,
    data_len: u64,
}

impl Judged for JudgedTcrypt {
    /// A key file that is given alone goes with an empty passphrase.
    fn open(&self, key: Key<'_>, options: &UnlockOptions) -> Result<Found> {
        let unlocked = match key {
            Key::Passphrase(passphrase) => self.locked.unlock(passphrase, options)?,
            Key::File(content) => self.locked.unlock_by_file(content, options)?,
            Key::Volume(_) => {
                let why = "a TCRYPT volume cannot be opened with its volume key: only its header says where \
                    its data is";
                return Err(Refusal::Unusable.because(why));
            }
        };
        let Some((hidden, passphrase)) = &self.hidden else { return unlocked.found(self.data_len) };
        match hidden.unlock(passphrase, options) {
            Ok(hidden) => unlocked.found_around(&hidden, self.data_len),
            Err(Error::WrongPassphrase) => {
                let why =
                    "no hidden volume opens with this passphrase, PIM and key files: none can be protected";
                Err(Refusal::Unusable.because(why))
            }
            Err(error) => Err(error),
        }
    }
}

fn read_header(storage: &dyn Storage, position: Position) -> Result<Encrypted> {
    let len = storage.len();
    let offset = position.offset(len).ok_or_else(|| {
        Refusal::NoRoom.because(format!("a device of {len} bytes has no room for the {position}"))
    })?;
    let mut bytes = [0; HEADER_LEN];
    let what = || format!("reading the {position} at byte {offset}");
    storage.read_at(&mut bytes, offset).map_err(|source| Error::Io { what: what(), source })?;
    Ok(Encrypted { position, bytes })
}
