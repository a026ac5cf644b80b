//! `--estimate`: what the same command without it would do, and how long that takes. Nothing is written,
//! and nobody is asked for a key.

mod json;
mod text;

use super::{Asked, What, size};
use crate::args::{Args, shared};
use crate::device::{self, explain};
use crate::output::failure::{Exit, Failure, Result};
use crate::output::paint::Paint;
use crate::output::stdio;
use keyway::parts::{Error, Header, Luks, UnderWay};
use keyway::storage::Storage;
use keyway::{Access, Device, Key, Luks1Files, NewKdf};
use keyway_crypto::CipherSpec;
use keyway_format::interval::Interval;
use keyway_format::luks2::DigestId;
use keyway_volume::change::create;
use keyway_volume::device::storage::Topology;
use keyway_volume::header::seal::Seal;
use keyway_volume::reencrypt::{self, Amounts, Plan, Planned, Rates, Setting, Terms, luks1};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// `--estimate`, with the options that are of the plan.
pub(super) struct Estimating {
    json: bool,
    terms: Terms,
    sector_size: Option<u32>,
    keeps_key: bool,
}

impl Estimating {
    /// `None` without `--estimate`.
    pub(super) fn from_args(args: &Args) -> Result<Option<Self>> {
        let json = args.given(&shared::JSON);
        if !args.given(&shared::ESTIMATE) {
            return match json {
                true => Err(Failure::new(Exit::Parameters, "--json needs --estimate.")),
                false => Ok(None),
            };
        }
        let resilience = match args.text(&shared::RESILIENCE).unwrap_or_default() {
            "" | "datashift" | "datashift-checksum" => "checksum",
            "datashift-journal" => "journal",
            other => other,
        };
        let hash = args.text(&shared::RESILIENCE_HASH);
        let terms = Terms {
            resilience: resilience.to_owned(),
            data_len: args.number(&shared::DEVICE_SIZE),
            shift: args.number(&shared::REDUCE_DEVICE_SIZE).unwrap_or(0),
            zone: args.number(&shared::HOTZONE_SIZE),
            hash: hash.map_or_else(|| Terms::default().hash, str::to_owned),
            ..Terms::default()
        };
        let sector_size = args.number32(&shared::SECTOR_SIZE);
        Ok(Some(Self { json, terms, sector_size, keeps_key: args.given(&shared::KEEP_KEY) }))
    }
}

/// What is shown.
struct Estimate {
    device: String,
    is_under_way: bool,
    plan: Plan,
    amounts: Amounts,
    /// The hot zones that are likely, in bytes.
    zone: u64,
    rates: Rates,
    seconds: Interval,
    limit: Option<u64>,
    backup: Option<Backup>,
    /// `--device-size`, and how many bytes behind it are given up.
    given_up: Option<(u64, u64)>,
}

/// The header backup that would be made.
struct Backup {
    file: PathBuf,
    bytes: u64,
    /// Room where it would go, in bytes; `None` if that is not known.
    free: Option<u64>,
    exists: bool,
}

impl Backup {
    fn fits(&self) -> bool {
        !self.exists && self.free.is_some_and(|free| free >= self.bytes)
    }
}

/// A header, and what is planned with it.
struct Subject {
    luks: Luks,
    what: Kind,
    terms: Terms,
    /// Lengths of both volume keys in bits.
    bits: (u32, u32),
    backup: Option<Backup>,
}

enum Kind {
    Reencrypt { cipher: String, sector_size: u32, slots: usize },
    Encrypt { moves: bool, offset: u64 },
    Decrypt,
    Resume,
}

impl Asked {
    pub(super) fn estimate(&self, estimating: &Estimating) -> Result<()> {
        if self.target.device.as_os_str().is_empty() {
            return Err(Failure::new(Exit::Parameters, "A device or file is missing."));
        }
        let data = device::storage(&self.target.device, Access::Probe)?;
        let subject = self.subject(estimating, &data)?;
        let planned = match &subject.what {
            Kind::Reencrypt { cipher, sector_size, slots } => {
                Planned::Reencrypt { cipher, sector_size: *sector_size, slots: *slots }
            }
            Kind::Encrypt { moves, offset } => Planned::Encrypt { moves: *moves, offset: *offset },
            Kind::Decrypt => Planned::Decrypt,
            Kind::Resume => Planned::Resume,
        };
        let failed = |error: &Error| explain::on_device(self.target.header_path(), error);
        let plan = Plan::new(&subject.luks, planned, &subject.terms, data.len()).map_err(|e| failed(&e))?;
        let setting = Setting { old_bits: subject.bits.0, new_bits: subject.bits.1, limit: self.limit_rate };
        // What the page cache has says nothing about the device.
        let direct = device::storage_direct(&self.target.device, Access::Probe).ok();
        let sampled = direct.as_ref().unwrap_or(&data);
        let rates = reencrypt::measure(&plan, &**sampled, &setting).map_err(|e| failed(&e))?;
        let zone = reencrypt::zone(&plan, &rates);
        let amounts = plan.amounts(zone);
        let estimate = Estimate {
            device: self.target.device.display().to_string(),
            is_under_way: matches!(subject.what, Kind::Resume),
            seconds: reencrypt::seconds(&amounts, &rates, &setting),
            plan,
            amounts,
            zone,
            rates,
            limit: self.limit_rate,
            given_up: self.given_up(&subject, data.len()),
            backup: subject.backup,
        };
        match estimating.json {
            true => json::print(&estimate),
            false => stdio::print(&text::show(&estimate, Paint::for_stdout())),
        }
    }

    /// The part of the volume that is all of it afterwards, where that is less than what there is now, and the rest.
    fn given_up(&self, subject: &Subject, device_len: u64) -> Option<(u64, u64)> {
        let len = size::len_of(subject.luks.header(), device_len);
        let whole = match subject.what {
            Kind::Encrypt { moves: true, offset } => device_len.saturating_sub(2 * offset),
            Kind::Encrypt { moves: false, offset } => device_len.saturating_sub(offset.max(self.offset)),
            Kind::Reencrypt { .. } => len.saturating_sub(subject.terms.shift),
            Kind::Decrypt => len,
            Kind::Resume => UnderWay::of(subject.luks.header()).ok()??.len_on(device_len)?,
        };
        self.part_of(whole).map(|part| (part, whole - part))
    }

    fn subject(&self, estimating: &Estimating, data: &Arc<dyn Storage>) -> Result<Subject> {
        if let Some(state) = self.luks1_state(data)? {
            return self.resuming(state, self.terms(estimating, data, false));
        }
        let path = self.target.header_path();
        let exported = self.what == What::Decrypt && self.is_to_be_exported();
        let storage = match &self.target.header {
            Some(header) if device::exists(header) => device::storage(header, Access::Probe)?,
            Some(_) if !exported => return self.plaintext(estimating, data),
            _ => Arc::clone(data),
        };
        let luks = match Luks::open_with(storage, Access::Probe, self.target.locking) {
            Ok(luks) => luks,
            Err(Error::Format(keyway_format::Error::NotLuks)) if self.what == What::Encrypt => {
                return self.plaintext(estimating, data);
            }
            Err(error) => return Err(explain::on_device(path, &error)),
        };
        if UnderWay::of(luks.header()).map_err(|e| explain::on_device(path, &e))?.is_some() {
            let holds_header = self.target.header.is_none();
            return self.resuming(luks, self.terms(estimating, data, holds_header));
        }
        if self.extent == super::Extent::Resume {
            return Err(Failure::new(Exit::Parameters, "Device reencryption not in progress."));
        }
        if !matches!(Seal::of(luks.header()), Ok(None)) {
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
                self.decrypting(luks, estimating, data, backup)
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
        backup: Option<Backup>,
    ) -> Result<Subject> {
        let (old, old_sector, is_luks1) = match luks.header() {
            Header::Luks1(header) => (header.cipher(), 512, true),
            Header::Luks2 { metadata, .. } => {
                let segment = metadata.segments.get(&0);
                let (cipher, sector) = segment.and_then(crypt).ok_or_else(|| {
                    Failure::new(
                        Exit::Parameters,
                        "The volume is not encrypted in a way that can be reencrypted.",
                    )
                })?;
                (cipher, sector, false)
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
        let bits = given.or(kept).unwrap_or_else(|| create::default_key_bits(&spec));
        create::check_key_bits(&spec, bits, luks.version())?;
        let slots = match (estimating.keeps_key, self.key.keyslot) {
            (true, _) => 0,
            (false, Some(_)) => 1,
            (false, None) => luks.bound_keyslots().len().max(1),
        };
        let sector_size = estimating.sector_size.unwrap_or(old_sector);
        let terms = self.terms(estimating, data, self.target.header.is_none() && !is_luks1);
        let luks = state_of(luks)?;
        let what = Kind::Reencrypt { cipher, sector_size, slots };
        Ok(Subject { luks, what, terms, bits: (old_bits, bits), backup })
    }

    fn decrypting(
        &self,
        luks: Luks,
        estimating: &Estimating,
        data: &Arc<dyn Storage>,
        backup: Option<Backup>,
    ) -> Result<Subject> {
        let (offset, bits, is_luks1) = (luks.data_offset()?, key_bits(&luks), luks.version() == 1);
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
        let shift = if is_luks1 { offset } else { 0 };
        let terms = Terms { shift, ..self.terms(estimating, data, false) };
        Ok(Subject { luks: state_of(luks)?, what: Kind::Decrypt, terms, bits: (bits, bits), backup })
    }

    /// What is on the device becomes a volume: planned with a header in memory.
    fn plaintext(&self, estimating: &Estimating, data: &Arc<dyn Storage>) -> Result<Subject> {
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
        let terms = Terms { shift: reduce, ..self.terms(estimating, data, moves) };
        let bits = key_bits(&luks);
        Ok(Subject { luks, what: Kind::Encrypt { moves, offset }, terms, bits: (bits, bits), backup: None })
    }

    fn resuming(&self, luks: Luks, terms: Terms) -> Result<Subject> {
        let under_way = UnderWay::of(luks.header())?;
        let digests = under_way.as_ref().map(|found| (found.what().old.digest, found.what().new.digest));
        let (old, new) = digests.unwrap_or_default();
        let of = |digest: Option<DigestId>| digest_bits(&luks, digest).unwrap_or_else(|| key_bits(&luks));
        let bits = (of(old), of(new));
        Ok(Subject { luks, what: Kind::Resume, terms, bits, backup: None })
    }

    /// The state of a LUKS1 re-encryption that is under way, from its file.
    fn luks1_state(&self, data: &Arc<dyn Storage>) -> Result<Option<Luks>> {
        let storage = match &self.target.header {
            Some(header) if device::exists(header) => device::storage(header, Access::Probe)?,
            Some(_) => return Ok(None),
            None => Arc::clone(data),
        };
        let marked = luks1::marked(&*storage).ok().flatten();
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
            Ok(state) => Ok(Some(Luks::open_with(state, Access::Probe, self.target.locking)?)),
            Err(_) if marked.is_some() => Err(self.without_state(&files)),
            Err(_) => Ok(None),
        }
    }

    fn terms(&self, estimating: &Estimating, data: &Arc<dyn Storage>, holds_header: bool) -> Terms {
        Terms { block: Topology::of(&**data).sector_size, holds_header, ..estimating.terms.clone() }
    }

    /// The header backup that would be made of this header; by itself, or only where one is named.
    fn backup_of(&self, luks: &Luks, by_itself: bool) -> Option<Backup> {
        let file = self.backup.path(luks.uuid()).filter(|_| by_itself || self.backup.is_named())?;
        let directory = file.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let free = rustix::fs::statvfs(directory).ok().map(|it| it.f_bavail.saturating_mul(it.f_frsize));
        let own =
            || Device::options().over(&self.target.device, luks.storage().clone(), luks.storage().clone());
        let is_left = || own().header().is_ok_and(|header| self.is_left(&header, &file));
        let exists = std::fs::symlink_metadata(&file).is_ok() && !is_left();
        Some(Backup { bytes: luks.header().backup_len(), free, exists, file })
    }
}

/// A header over the same data that says of itself how it is re-encrypted: LUKS1's own cannot.
fn state_of(luks: Luks) -> Result<Luks> {
    match luks.header() {
        Header::Luks1(header) => Ok(luks1::planned(header)?),
        Header::Luks2 { .. } => Ok(luks),
    }
}

fn crypt(segment: &keyway_format::luks2::Segment) -> Option<(String, u32)> {
    match &segment.kind {
        keyway_format::luks2::SegmentKind::Crypt { encryption, sector_size, .. } => {
            Some((encryption.clone(), *sector_size))
        }
        _ => None,
    }
}

fn key_bits(luks: &Luks) -> u32 {
    luks.header().volume_key_len().map_or(512, |bytes| bytes as u32 * 8)
}

/// The length of the key that a digest verifies, in bits; `None` where no keyslot holds it.
fn digest_bits(luks: &Luks, digest: Option<DigestId>) -> Option<u32> {
    let Header::Luks2 { metadata, .. } = luks.header() else { return None };
    let keyslot = metadata.digests.get(&digest?)?.keyslots.first()?;
    metadata.keyslots.get(keyslot).map(|slot| slot.key_size * 8)
}
