//! A header that was opened to be written again, with what encrypts it.

use super::headers::Headers;
use super::key_files::KeyFiles;
use super::seal::Sealing;
use super::{Place, Tcrypt, Unlocked};
use crate::{Error, Random, Refusal, Result, Storage, UnlockOptions};
use keyway_crypto::Secret;
use keyway_format::Bytes;
use keyway_format::tcrypt::{HEADER_LEN, Position};

/// A header, and the key that opened it.
pub struct Opened {
    /// The header.
    pub unlocked: Unlocked,
    /// Its passphrase, with its key files.
    pub(super) password: Secret,
    /// Its key files, as they were when it was opened.
    pub(super) key_files: KeyFiles,
    /// What the user said of it, but for the key files.
    of: Tcrypt,
}

impl Opened {
    /// Opens the header that `of` describes, which must be on `storage`.
    ///
    /// # Errors
    /// [`Error::WrongPassphrase`]; [`Error::Refused`]: it is a header that is not written again, named.
    pub fn open(
        storage: &dyn Storage,
        of: &Tcrypt,
        passphrase: &Secret,
        options: &UnlockOptions,
    ) -> Result<Self> {
        let opened = Self::find(storage, of, passphrase, options)?;
        opened.positions()?;
        Ok(opened)
    }

    /// The same, whatever header it is.
    pub(super) fn find(
        storage: &dyn Storage,
        of: &Tcrypt,
        passphrase: &Secret,
        options: &UnlockOptions,
    ) -> Result<Self> {
        let of = Tcrypt { header: None, protects: None, ..of.clone() };
        let locked = of.read(storage)?;
        let unlocked = locked.unlock(passphrase, options)?;
        let password = locked.key_files.with(passphrase)?;
        let of = Tcrypt { key_files: Vec::new(), ..of };
        Ok(Self { unlocked, password, key_files: locked.key_files, of })
    }

    /// The places of the header and of its copy.
    ///
    /// # Errors
    /// [`Error::Refused`]: it has no copy, or the data is where one of them would be.
    pub(super) fn positions(&self) -> Result<[Position; 2]> {
        let Unlocked { header, position, cipher, device_len, .. } = &self.unlocked;
        if header.is_of_system() || *position == Position::System {
            let why = "this header boots an encrypted system: change it in that system";
            return Err(Refusal::Unusable.because(why));
        }
        if !header.has_backup() || *position == Position::OldHidden {
            let why = "it was created by TrueCrypt 5 or earlier, which has no second header: a power cut \
                while writing the only one would lose the volume";
            return Err(Refusal::Unusable.because(why));
        }
        let area = header.data_area(*position, cipher.mode, Bytes(*device_len))?;
        let end = area.len.map(|len| area.offset.0.saturating_add(len.0)).unwrap_or(u64::MAX);
        let room = Position::Hidden.offset(*device_len).unwrap_or(0)..room_end(*device_len);
        if area.offset.0 <= room.start || end > room.end {
            return Err(Refusal::Geometry.because(format!(
                "its data is bytes {} to {end} of the device, and a device of {device_len} bytes has room for \
                 it only up to byte {}: the header belongs to another device",
                area.offset.0, room.end
            )));
        }
        Ok(match position.is_hidden() {
            true => [Position::Hidden, Position::HiddenBackup],
            false => [Position::Normal, Position::Backup],
        })
    }

    /// Whether it is the copy at the end.
    pub(super) fn is_copy(&self) -> bool {
        matches!(self.unlocked.position, Position::Backup | Position::HiddenBackup)
    }

    /// Whether its passphrase goes with key files.
    pub fn has_key_files(&self) -> bool {
        !self.key_files.is_empty()
    }

    /// What encrypts it.
    pub(super) fn sealing(&self) -> Sealing {
        Sealing { kdf: self.unlocked.kdf, pim: self.of.pim, cipher: self.unlocked.cipher }
    }

    /// The same header under a new salt.
    pub(super) fn sealed_again(&self, rng: &mut dyn Random) -> Result<[u8; HEADER_LEN]> {
        let positions = [self.unlocked.position];
        let sealed = Headers::seal(&self.unlocked.header, &self.sealing(), &self.password, &positions, rng)?;
        Ok(*sealed.copies().next().expect("one place, one copy"))
    }

    /// Looks at a place for a header that the same key opens.
    ///
    /// # Errors
    /// Whether one is there cannot be told: [`Error::Io`], or its KDF is over the limits.
    pub(super) fn another(
        &self,
        storage: &dyn Storage,
        place: Place,
        options: &UnlockOptions,
    ) -> Result<Option<Unlocked>> {
        let of = Tcrypt { place, ..self.of.clone() };
        match of.read_headers(storage)?.search(&self.password, options) {
            Err(Error::WrongPassphrase | Error::Format(_)) => Ok(None),
            found => found.map(Some),
        }
    }
}

/// Whether a password opens the volume in a place with any KDF. One that is over the limits does not count: whoever
/// opens it has them, too.
pub(super) fn opens_by_any_kdf(
    storage: &dyn Storage,
    place: Place,
    pim: Option<u32>,
    password: &Secret,
    options: &UnlockOptions,
) -> Result<bool> {
    let of = Tcrypt { place, pim, ..Tcrypt::default() };
    match of.read_headers(storage)?.search(password, options) {
        Err(Error::WrongPassphrase | Error::KdfMemory { .. } | Error::KdfTime { .. }) => Ok(false),
        found => found.map(|_| true),
    }
}

/// Where the data ends at the latest.
fn room_end(device_len: u64) -> u64 {
    Position::Backup.offset(device_len).unwrap_or(0)
}

/// How many bytes of data a device has room for behind `start`.
pub(super) fn room_behind(start: u64, device_len: u64) -> u64 {
    room_end(device_len).saturating_sub(start)
}
