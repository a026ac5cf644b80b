//! Header backups in VeraCrypt's file, and their way back.
//!
//! ```text
//! 0        header, under a salt of its own
//! 65536    header of the hidden volume, or random bytes
//! ```
//!
//! All that lies between and behind these is random, too: without a key the file does not show whether there is a
//! hidden volume.

use super::headers::Headers;
use super::opened::{Opened, room_behind};
use super::{Place, Tcrypt};
use crate::device::storage::{NewFile, Readers};
use crate::error::shared;
use crate::{Random, Refusal, Result, Storage, UnlockOptions};
use keyway_crypto::Secret;
use keyway_format::tcrypt::{BACKUP_FILE_LEN, HEADER_LEN, Position};
use std::path::Path;

impl Opened {
    /// Writes this header to `file`, which must not exist, and that of the volume hidden in it, if one was opened; mode
    /// 0400. The file appears complete or not at all.
    ///
    /// # Errors
    /// [`Refused`](crate::Error::Refused): it exists; [`Io`](crate::Error::Io).
    pub fn back_up(&self, hidden: Option<&Self>, file: &Path, rng: &mut dyn Random) -> Result<()> {
        let mut bytes = vec![0; BACKUP_FILE_LEN];
        rng.fill(&mut bytes)?;
        for (opened, at) in [(Some(self), Position::Normal), (hidden, Position::Hidden)] {
            let at = at.offset(BACKUP_FILE_LEN as u64).expect("the file has room for it") as usize;
            if let Some(opened) = opened {
                bytes[at..at + HEADER_LEN].copy_from_slice(&opened.sealed_again(rng)?);
            }
        }
        let io = |source| shared::backup_not_written(file, source);
        let new = NewFile::create(file, false).map_err(io)?.write_protected();
        new.file().write_at(&bytes, 0).map_err(io)?;
        new.complete(Readers::Owner).map_err(io)
    }
}

/// A header that was opened in a backup, to be put back; nothing is written yet.
pub struct Restore {
    opened: Opened,
    /// Where it goes, in this order.
    positions: Vec<Position>,
    /// A header or its copy on the device opens with the same key, and has another volume key.
    pub other_key: bool,
    /// A header or its copy on the device opens with the same key.
    pub opens_there: bool,
    /// How many bytes of data it describes, if the device has room for more.
    pub leaves_room: Option<(u64, u64)>,
}

impl Restore {
    /// Opens the header that `of` describes in a backup file, or in the copy at the end of `storage`, and compares it
    /// with what is there.
    ///
    /// # Errors
    /// [`WrongPassphrase`](crate::Error::WrongPassphrase); [`Refused`](crate::Error::Refused): the file is no backup, or
    /// the volume does not fit; whether what is there opens cannot be told: [`Io`](crate::Error::Io), or its KDF is over
    /// the limits.
    pub fn prepare(
        storage: &dyn Storage,
        backup: Option<&dyn Storage>,
        of: &Tcrypt,
        passphrase: &Secret,
        options: &UnlockOptions,
    ) -> Result<Self> {
        let Place::Volume { hidden, .. } = of.place else {
            return Err(Refusal::Unusable.because("an encrypted system has no header backup"));
        };
        let place = Place::Volume { hidden, backup: backup.is_none() };
        backup.map_or(Ok(()), |backup| check_len(backup.len()))?;
        let from = Tcrypt { place, ..of.clone() };
        let mut opened = Opened::find(backup.unwrap_or(storage), &from, passphrase, options)?;
        opened.unlocked.device_len = storage.len();
        let [first, copy] = opened.positions()?;
        let there = |backup| opened.another(storage, Place::Volume { hidden, backup }, options);
        let on_device = [there(false)?, if backup.is_some() { there(true)? } else { None }];
        let key = opened.unlocked.header.keys();
        let other_key = on_device.iter().flatten().any(|found| !found.header.keys().ct_eq(key.expose()));
        let opens_there = backup.is_none() || on_device.iter().any(Option::is_some);
        let positions = match (backup, &on_device[0]) {
            (None, _) => vec![first],
            // What opens stays until the other copy does.
            (Some(_), Some(_)) => vec![copy, first],
            (Some(_), None) => vec![first, copy],
        };
        let (start, len) = (opened.unlocked.header.area_offset.0, opened.unlocked.header.volume_size.0);
        let room = room_behind(start, storage.len());
        let leaves_room = (!hidden && len < room).then_some((len, room));
        Ok(Self { opened, positions, other_key, opens_there, leaves_room })
    }

    /// Puts it back under new salts: the header, and from a file its copy at the end, too. The caller has claimed the
    /// storage.
    ///
    /// # Errors
    /// [`Io`](crate::Error::Io).
    pub fn run(&self, storage: &dyn Storage, rng: &mut dyn Random) -> Result<()> {
        let Opened { unlocked, password, .. } = &self.opened;
        Headers::seal(&unlocked.header, &self.opened.sealing(), password, &self.positions, rng)?
            .write(storage)
    }
}

fn check_len(len: u64) -> Result<()> {
    match len {
        _ if len == BACKUP_FILE_LEN as u64 => Ok(()),
        OLD_LEN => Err(Refusal::Backup.because(
            "it is a header backup of TrueCrypt 5 or earlier, which has no second header: restore it with VeraCrypt",
        )),
        _ => Err(Refusal::Backup.because(format!(
            "it has {len} bytes, but header backups of TrueCrypt and VeraCrypt have {BACKUP_FILE_LEN}"
        ))),
    }
}

/// Bytes of a backup that has two headers and nothing else.
const OLD_LEN: u64 = 2 * HEADER_LEN as u64;
