//! `--estimate`: what the same command without it would do, and how long that takes. Nothing is written,
//! and nobody is asked for a key.

mod conversion;
mod json;
mod text;

use super::{Asked, What};
use crate::args::{Args, shared};
use crate::device::{self, explain};
use crate::output::failure::{Exit, Failure, Result};
use crate::output::paint::Paint;
use crate::output::stdio;
use keyway::estimate::{Estimate as Measured, Planned};
use keyway::parts::{Error, Header, Luks, UnderWay};
use keyway::storage::Storage;
use keyway::{Access, Create, Device, Key, Luks1Files, NewKdf, Reencrypt, Version, trust};
use keyway_crypto::CipherSpec;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// `--estimate`, with the options that are of the plan alone.
pub(in crate::verb) struct Estimating {
    json: bool,
    keeps_key: bool,
}

impl Estimating {
    /// `None` without `--estimate`.
    pub(in crate::verb) fn from_args(args: &Args) -> Result<Option<Self>> {
        let json = args.given(&shared::JSON);
        if !args.given(&shared::ESTIMATE) {
            return match json {
                true => Err(Failure::new(Exit::Parameters, "--json needs --estimate.")),
                false => Ok(None),
            };
        }
        Ok(Some(Self { json, keeps_key: args.given(&shared::KEEP_KEY) }))
    }

    fn show(&self, estimate: &Estimate) -> Result<()> {
        match self.json {
            true => json::print(estimate),
            false => stdio::print(&text::show(estimate, Paint::for_stdout())),
        }
    }
}

/// What is shown.
struct Estimate {
    device: String,
    is_under_way: bool,
    measured: Measured,
    limit: Option<u64>,
    backup: Option<NewFile>,
    /// The file of the header, where a volume of another kind becomes LUKS2.
    header: Option<NewFile>,
    /// `--device-size`, and how many bytes behind it are given up.
    given_up: Option<(u64, u64)>,
}

/// A file that would be made: a header, or the backup of one.
struct NewFile {
    path: PathBuf,
    bytes: u64,
    /// Room where it would go, in bytes; `None` if that is not known.
    free: Option<u64>,
    exists: bool,
}

impl NewFile {
    fn new(path: PathBuf, bytes: u64, exists: bool) -> Self {
        let directory = path.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let free = rustix::fs::statvfs(directory).ok().map(|it| it.f_bavail.saturating_mul(it.f_frsize));
        Self { bytes, free, exists, path }
    }

    fn fits(&self) -> bool {
        !self.exists && self.free.is_some_and(|free| free >= self.bytes)
    }
}

/// A header, and what is planned with it.
struct Subject {
    luks: Luks,
    /// The data device, and where its header is.
    device: Device,
    what: Planned,
    how: Reencrypt,
    backup: Option<NewFile>,
}

impl Asked {
    pub(super) fn estimate(&self, estimating: &Estimating) -> Result<()> {
        if self.target.device.as_os_str().is_empty() {
            return Err(device::no_device());
        }
        let data = device::storage(&self.target.device, Access::Probe)?;
        let subject = self.subject(estimating, &data)?;
        let Subject { luks, device, what, how, .. } = &subject;
        let measured = device.estimate_with(luks, *what, how, self.limit_rate);
        let measured = measured.map_err(|e| explain::placed(e.into(), Some(self.target.header_path())))?;
        let estimate = Estimate {
            device: self.target.device.display().to_string(),
            is_under_way: subject.what == Planned::Resume,
            measured,
            limit: self.limit_rate,
            given_up: self.given_up(&subject, data.len()),
            backup: subject.backup,
            header: None,
        };
        estimating.show(&estimate)
    }

    /// The part of the volume that is all of it afterwards, where that is less than what there is now, and the rest.
    fn given_up(&self, subject: &Subject, device_len: u64) -> Option<(u64, u64)> {
        let len = subject.luks.header().data_len_on(device_len);
        let whole = match subject.what {
            Planned::Encrypt { moves: true, offset } => device_len.saturating_sub(2 * offset),
            Planned::Encrypt { moves: false, offset } => device_len.saturating_sub(offset.max(self.offset)),
            Planned::Reencrypt { .. } => len.saturating_sub(self.reduce.unwrap_or(0)),
            Planned::Decrypt => len,
            _ => UnderWay::of(subject.luks.header()).ok()??.len_on(device_len)?,
        };
        self.part_of(whole).map(|part| (part, whole - part))
    }

    fn subject(&self, estimating: &Estimating, data: &Arc<dyn Storage>) -> Result<Subject> {
        if let Some((state, place)) = self.luks1_state(data)? {
            let device = Device::options().header(place);
            let device = device.over(&self.target.device, Arc::clone(data), Arc::clone(state.storage()));
            return Ok(self.subject_of(state, device, Planned::Resume));
        }
        let path = self.target.header_path();
        let exported = self.what == What::Decrypt && self.is_to_be_exported();
        let storage = match &self.target.header {
            Some(header) if device::exists(header) => device::storage(header, Access::Probe)?,
            Some(_) if !exported => return self.plaintext(data),
            _ => Arc::clone(data),
        };
        let luks = match Luks::open_with(storage, Access::Probe, self.target.locking) {
            Ok(luks) => luks,
            Err(Error::Format(keyway_format::Error::NotLuks)) if self.what == What::Encrypt => {
                return self.plaintext(data);
            }
            Err(error) => return Err(explain::on_device(path, &error)),
        };
        if UnderWay::of(luks.header()).map_err(|e| explain::on_device(path, &e))?.is_some() {
            return Ok(self.planned(luks, data, Planned::Resume));
        }
        if self.extent == super::Extent::Resume {
            return Err(Failure::new(Exit::Parameters, super::NOT_IN_PROGRESS));
        }
        if trust::is_sealed(&luks) {
            return Err(self.sealed(&luks));
        }
        let backup = |asks: bool| self.backup_of(&luks, asks);
        match self.what {
            What::Encrypt => {
                let message =
                    format!("Device {} is already LUKS device. Aborting operation.", path.display());
                Err(Failure::new(Exit::Parameters, message))
            }
            What::Decrypt => {
                let backup = backup(luks.version() == 2);
                self.decrypting(luks, data, backup)
            }
            What::Reencrypt => {
                let backup = backup(luks.version() == 2);
                self.reencrypting(luks, estimating, data, backup)
            }
        }
    }

    fn reencrypting(
        &self,
        luks: Luks,
        estimating: &Estimating,
        data: &Arc<dyn Storage>,
        backup: Option<NewFile>,
    ) -> Result<Subject> {
        let (old, is_luks1) = match luks.header() {
            Header::Luks1(header) => (header.cipher(), true),
            Header::Luks2 { metadata, .. } => {
                let segment = metadata.segments.get(&0);
                let cipher = segment.and_then(cipher_of).ok_or_else(|| {
                    Failure::new(
                        Exit::Parameters,
                        "The volume is not encrypted in a way that can be reencrypted.",
                    )
                })?;
                (cipher, false)
            }
        };
        let is_null = CipherSpec::parse(&old).is_ok_and(|spec| spec.is_null());
        let cipher = self.cipher.clone().unwrap_or_else(|| match is_null {
            true => CipherSpec::DEFAULT.to_owned(),
            false => old.clone(),
        });
        if !is_luks1 {
            self.check_resilience_in_place()?;
        }
        if estimating.keeps_key && is_luks1 && cipher == old {
            let message = "With --keep-key only the header changes: there is nothing to estimate.";
            return Err(Failure::new(Exit::Parameters, message));
        }
        let spec = CipherSpec::parse(&cipher).map_err(Error::from)?;
        let old_bits = key_bits(&luks);
        let given = if is_luks1 { self.key.key_bits } else { self.new_key_bits };
        let kept = Some(old_bits).filter(|_| cipher == old);
        let bits = given.or(kept).unwrap_or_else(|| Create::default_key_bits(&spec));
        let version = if is_luks1 { Version::Luks1 } else { Version::Luks2 };
        version.check_key_bits(&spec, bits)?;
        let keyslots = match self.key.keyslot {
            Some(_) => 1,
            None => luks.bound_keyslots().len().max(1),
        };
        let subject = self.planned(luks, data, Planned::Reencrypt { keyslots });
        Ok(Subject { how: subject.how.cipher(&cipher, bits), backup, ..subject })
    }

    fn decrypting(&self, luks: Luks, data: &Arc<dyn Storage>, backup: Option<NewFile>) -> Result<Subject> {
        let (offset, is_luks1) = (luks.data_offset()?, luks.version() == 1);
        if !is_luks1 && self.target.header.is_none() {
            return Err(Failure::new(Exit::Parameters, super::decrypt::NEEDS_HEADER));
        }
        if !is_luks1 && !self.is_to_be_exported() && offset > 0 {
            return Err(Failure::new(Exit::Parameters, super::decrypt::NOT_DETACHED));
        }
        match (is_luks1, self.is_to_be_exported()) {
            (true, _) => {}
            (false, true) => self.check_resilience_of_shift()?,
            (false, false) => self.check_resilience_in_place()?,
        }
        Ok(Subject { backup, ..self.planned(luks, data, Planned::Decrypt) })
    }

    /// What is on the device becomes a volume: planned with a header in memory.
    fn plaintext(&self, data: &Arc<dyn Storage>) -> Result<Subject> {
        if self.what != What::Encrypt {
            return Err(device::not_luks(self.target.header_path()));
        }
        let is_luks1 = self.versions == device::Versions::One;
        if !is_luks1 {
            self.check_resilience_in_place()?;
        }
        let reduce = self.reduce.unwrap_or(0);
        let (moves, offset) = match (&self.target.header, self.reduce) {
            (Some(_), Some(_)) if !is_luks1 => {
                return Err(Failure::new(Exit::Parameters, super::encrypt::REDUCES_DETACHED));
            }
            (None, None) => return Err(Failure::new(Exit::Parameters, super::encrypt::NO_ROOM_FOR_HEADER)),
            (None, Some(reduce)) if !is_luks1 => {
                self.check_reduction(data.len(), reduce)?;
                (true, reduce / 2)
            }
            _ => (false, reduce),
        };
        let mut header = self.create()?.kdf(NewKdf::pbkdf2(1000));
        if moves {
            header = header.data_offset(offset / 512);
        }
        let made = header.in_memory(1 << 20, &Key::passphrase("estimate"))?;
        let luks =
            Luks::open_with(made.header()?.luks().storage().clone(), Access::Probe, self.target.locking)?;
        Ok(self.planned(luks, data, Planned::Encrypt { moves, offset }))
    }

    /// What is planned with the header of the volume on `data`.
    fn planned(&self, luks: Luks, data: &Arc<dyn Storage>, what: Planned) -> Subject {
        let device = self.target.over(Arc::clone(data), Arc::clone(luks.storage()), false);
        self.subject_of(luks, device, what)
    }

    fn subject_of(&self, luks: Luks, device: Device, what: Planned) -> Subject {
        let how = self.how.clone().data_shift(self.reduce.unwrap_or(0));
        Subject { luks, device, what, how, backup: None }
    }

    /// The state of a LUKS1 re-encryption that is under way, from its file.
    fn luks1_state(&self, data: &Arc<dyn Storage>) -> Result<Option<(Luks, PathBuf)>> {
        let storage = match &self.target.header {
            Some(header) if device::exists(header) => device::storage(header, Access::Probe)?,
            Some(_) => return Ok(None),
            None => Arc::clone(data),
        };
        let device = self.target.over(Arc::clone(data), Arc::clone(&storage), false);
        let marked = device.luks1_in_reencryption().ok().flatten();
        let luks = Luks::open_with(storage, Access::Probe, self.target.locking).ok();
        let uuid =
            marked.clone().or_else(|| luks.filter(|it| it.version() == 1).map(|it| it.uuid().to_owned()));
        let files = match (uuid, self.what, &self.uuid) {
            (Some(uuid), ..) => Luks1Files::new("", &uuid),
            (None, What::Decrypt, Some(uuid)) => Luks1Files::new("", uuid),
            (None, What::Encrypt, _) => Luks1Files::of_plaintext(""),
            _ => return Ok(None),
        };
        match device::storage(&files.state(), Access::Probe) {
            Ok(state) => {
                let state = Luks::open_with(state, Access::Probe, self.target.locking)?;
                Ok(Some((state, files.state())))
            }
            Err(_) if marked.is_some() => Err(self.without_state(&files)),
            Err(_) => Ok(None),
        }
    }

    /// The header backup that would be made of this header; by itself, or only where one is named.
    fn backup_of(&self, luks: &Luks, by_itself: bool) -> Option<NewFile> {
        let file = self.backup.path(luks.uuid()).filter(|_| by_itself || self.backup.is_named())?;
        let own =
            || Device::options().over(&self.target.device, luks.storage().clone(), luks.storage().clone());
        let is_left = || own().header().is_ok_and(|header| self.is_left(&header, &file));
        let exists = std::fs::symlink_metadata(&file).is_ok() && !is_left();
        Some(NewFile::new(file, luks.header().backup_len(), exists))
    }
}

fn cipher_of(segment: &keyway_format::luks2::Segment) -> Option<String> {
    match &segment.kind {
        keyway_format::luks2::SegmentKind::Crypt { encryption, .. } => Some(encryption.clone()),
        _ => None,
    }
}

fn key_bits(luks: &Luks) -> u32 {
    luks.header().volume_key_len().map_or(512, |bytes| bytes as u32 * 8)
}
