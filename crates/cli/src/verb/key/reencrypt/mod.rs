//! `reencrypt`: another volume key or cipher in place; plaintext to a volume and back.

mod begin;
mod command;
mod conflicts;
mod decrypt;
mod encrypt;
mod estimate;
mod header_backup;
mod kernel;
mod luks1;
mod marked;
mod online;
mod opened;
mod rate_limit;
mod run;
mod sectors;
mod size;
mod tokens;
mod unused;

use crate::args::{Args, Request, shared};
use crate::device::{self, Target, Versions, explain};
use crate::make::header::HeaderParams;
use crate::mapping::Open;
use crate::output::failure::{Exit, Failure, Result};
use crate::output::progress::Progress;
use crate::output::question;
use crate::unlock::{GivenKey, KeyOptions};
use crate::verb::key::keyslot::KeyslotOptions;
use crate::volume::kinds::plain::given::check_size;
pub(crate) use command::COMMAND;
pub(in crate::verb) use estimate::Estimating;
use header_backup::HeaderBackup;
use keyway::parts::Error;
use keyway::storage::Exclusive;
use keyway::{Access, Reencrypt, Resilience, Unlock, Unused, Version};
use opened::Opened;
pub(in crate::verb) use run::{Steps, to_end};

/// What is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    Reencrypt,
    Encrypt,
    Decrypt,
}

/// How far to go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Extent {
    /// To the end.
    Whole,
    /// `--init-only`.
    Begin,
    /// `--resume-only`.
    Resume,
}

struct Asked {
    target: Target,
    key: KeyOptions,
    /// An option of tokens was given.
    by_token: bool,
    what: What,
    extent: Extent,
    /// `--type`.
    versions: Versions,
    how: Reencrypt,
    /// `--resilience`.
    resilience: Option<String>,
    /// What becomes of unused blocks, if they are left out.
    unused: Option<Unused>,
    /// `--device-size` in bytes.
    data_len: Option<u64>,
    /// Where the data of a volume begins that is to be made, in bytes.
    offset: u64,
    /// Of the header that `--encrypt` makes.
    header: HeaderParams,
    keyslot: KeyslotOptions,
    /// `--reduce-device-size` in bytes.
    reduce: Option<u64>,
    /// `--cipher`.
    cipher: Option<String>,
    /// `--new-key-size`, in bits.
    new_key_bits: Option<u32>,
    /// `--new-volume-key-keyring` or `--new-volume-key-file`.
    new_key: Option<GivenKey>,
    no_keyslots: bool,
    /// `--uuid`.
    uuid: Option<String>,
    /// The program was called as cryptsetup.
    is_cryptsetup: bool,
    /// `--sector-size`, in bytes.
    new_sector_size: Option<u32>,
    progress: Progress,
    /// `--active-name`.
    active_name: Option<String>,
    /// `--force-offline-reencrypt`.
    offline: bool,
    /// `--hotzone-size`.
    zone: Option<u64>,
    /// `--without-flush`.
    without_flush: bool,
    /// `--limit-rate`, in bytes a second.
    limit_rate: Option<u64>,
    backup: HeaderBackup,
    /// `--estimate`.
    estimating: Option<Estimating>,
    /// `--if-marked`.
    if_marked: bool,
    /// The name under which it is opened once its encryption has begun.
    opened: Option<Opened>,
}

impl Request for Asked {
    fn from_args(args: &Args) -> Result<Self> {
        let what =
            match (args.given(&shared::ENCRYPT) || args.given(&shared::NEW), args.given(&shared::DECRYPT)) {
                (true, _) => What::Encrypt,
                (_, true) => What::Decrypt,
                _ => What::Reencrypt,
            };
        let extent = match (args.given(&shared::INIT_ONLY), args.given(&shared::RESUME_ONLY)) {
            (true, _) => Extent::Begin,
            (_, true) => Extent::Resume,
            _ => Extent::Whole,
        };
        let unused = unused::from_args(args);
        // As in cryptsetup, a key in the keyring goes before a file.
        let new_key =
            args.text(&shared::NEW_VOLUME_KEY_KEYRING).map(|name| GivenKey::Keyring(name.to_owned()));
        let new_key_file = args.path(&shared::NEW_VOLUME_KEY_FILE);
        let data_len = args.number(&shared::DEVICE_SIZE);
        check_size(data_len, None)?;
        Ok(Self {
            target: match args.text(&shared::ACTIVE_NAME) {
                Some(_) => Target::if_given(args, 0),
                None => Target::from_args(args, 0)?,
            },
            key: KeyOptions::from_args(args)?,
            by_token: tokens::OPTIONS.iter().any(|option| args.given(option)),
            what,
            extent,
            versions: Versions::from_args(args)?,
            how: unused::with(How::from_args(args)?.0, unused),
            resilience: args.text(&shared::RESILIENCE).map(str::to_owned),
            unused,
            data_len,
            offset: args.number(&shared::OFFSET).unwrap_or(0).saturating_mul(512),
            header: HeaderParams::from_args(args, Version::Luks2)?,
            keyslot: KeyslotOptions::from_args(args)?,
            reduce: args.number(&shared::REDUCE_DEVICE_SIZE),
            cipher: args.text(&shared::CIPHER).map(str::to_owned),
            new_key_bits: args.number32(&shared::NEW_KEY_SIZE),
            new_key: new_key.or(new_key_file.map(|file| GivenKey::File(file.to_owned()))),
            no_keyslots: args.given(&shared::FORCE_NO_KEYSLOTS),
            uuid: args.text(&shared::UUID).map(str::to_owned),
            is_cryptsetup: args.is_cryptsetup(),
            new_sector_size: args.number32(&shared::SECTOR_SIZE),
            progress: Progress { on_output: true, ..args.progress() },
            active_name: args.text(&shared::ACTIVE_NAME).map(str::to_owned),
            offline: args.given(&shared::FORCE_OFFLINE_REENCRYPT),
            zone: args.number(&shared::HOTZONE_SIZE),
            without_flush: args.given(&shared::WITHOUT_FLUSH),
            limit_rate: args.number(&shared::LIMIT_RATE),
            backup: HeaderBackup::from_args(args),
            estimating: Estimating::from_args(args)?,
            if_marked: args.given(&shared::IF_MARKED),
            opened: Opened::from_args(args, what)?,
        })
    }

    fn run(self) -> Result<()> {
        if let Some(estimating) = &self.estimating {
            return self.estimate(estimating);
        }
        match self.open_volume()? {
            Some(open) => self.run_open(&open),
            None => self.run_offline(),
        }
    }
}

impl Asked {
    fn run_open(self, open: &Open) -> Result<()> {
        match open {
            Open::Session(session) => self.run_online(session),
            Open::Kernel(found) => self.run_mapped(found),
        }
    }

    fn run_offline(self) -> Result<()> {
        let data = self.claim()?;
        if let Some(files) = self.luks1_under_way(&data)? {
            self.check_nothing_is_to_be_opened()?;
            self.check_version_of_luks1_under_way()?;
            self.check_unused(&State::Luks1, &data)?;
            return self.resume_luks1(&data, &files);
        }
        let state = self.state(&data)?;
        self.check_version(&state)?;
        if self.passes_by_device(&state, &data)? {
            return Ok(());
        }
        self.check_unused(&state, &data)?;
        match state {
            State::UnderWay => {
                self.check_nothing_is_to_be_opened()?;
                self.resume(&data)
            }
            State::Luks1 | State::Luks2 | State::NotLuks if self.extent == Extent::Resume => {
                Err(Failure::new(Exit::Parameters, NOT_IN_PROGRESS))
            }
            State::Luks1 | State::Luks2 if self.what == What::Encrypt => {
                let device = self.target.header_path().display();
                let message = format!("Device {device} is already LUKS device. Aborting operation.");
                Err(Failure::new(Exit::Parameters, message))
            }
            State::Luks1 if self.what == What::Decrypt => self.decrypt_luks1(&data),
            State::Luks1 => self.reencrypt_luks1(&data),
            State::Luks2 if self.what == What::Decrypt => self.decrypt(&data),
            State::Luks2 => self.reencrypt(&data),
            State::NotLuks if self.what == What::Encrypt && self.opened.is_some() => {
                self.encrypt_opened(data)
            }
            State::NotLuks if self.what == What::Encrypt => self.encrypt(&data),
            State::NotLuks if self.what == What::Decrypt && self.is_to_be_exported() => {
                self.export_and_decrypt(&data)
            }
            State::NotLuks => Err(device::not_luks(self.target.header_path())),
        }
    }
}

/// How, as far as the options say it.
struct How(Reencrypt);

impl How {
    fn from_args(args: &Args) -> Result<Self> {
        let mut how = Reencrypt::new().unlock(Unlock::new().unclaimed());
        how = match args.text(&shared::RESILIENCE) {
            None | Some("checksum" | "datashift" | "datashift-checksum") => how,
            Some("journal" | "datashift-journal") => how.resilience(Resilience::Journal),
            Some("none") => how.resilience(Resilience::None),
            Some(other) => {
                let message = format!("Unsupported resilience mode {other}");
                return Err(Failure::new(Exit::Parameters, message));
            }
        };
        if let Some(hash) = args.text(&shared::RESILIENCE_HASH) {
            how = how.checksum_hash(hash);
        }
        if let Some(bytes) = args.number(&shared::HOTZONE_SIZE) {
            how = how.hot_zone(bytes);
        }
        if let Some(bytes) = args.number(&shared::DEVICE_SIZE) {
            how = how.data_len(bytes);
        }
        if args.given(&shared::KEEP_KEY) {
            how = how.keep_key();
        }
        if args.given(&shared::WITHOUT_FLUSH) {
            how = how.without_flush();
        }
        Ok(Self(args.number32(&shared::SECTOR_SIZE).into_iter().fold(how, Reencrypt::sector_size)))
    }
}

/// What is there.
enum State {
    NotLuks,
    Luks1,
    Luks2,
    UnderWay,
}

impl Asked {
    /// Nobody else uses the data, from now to the end.
    fn claim(&self) -> Result<Exclusive> {
        if self.target.device.as_os_str().is_empty() {
            return Err(device::no_device());
        }
        let data = self.target.claimed(&self.target.device, Access::Write)?;
        if data.can_flush() || self.without_flush {
            return Ok(data);
        }
        let message = format!(
            "{} cannot be flushed (its NBD server offers no flush): a power failure might lose data. Nothing was \
             changed.",
            self.target.device.display()
        );
        Err(Failure::new(Exit::Parameters, message).hinting("--without-flush reencrypts it anyway."))
    }

    fn state(&self, data: &Exclusive) -> Result<State> {
        if self.target.header.as_ref().is_some_and(|header| !device::exists(header)) {
            return Ok(State::NotLuks);
        }
        let device = self.device(data, Access::Write)?;
        let header = match device.header() {
            Ok(header) => header,
            Err(error) => {
                return match error.into_volume_error() {
                    Ok(Error::Format(keyway_format::Error::NotLuks)) => Ok(State::NotLuks),
                    Ok(error) => Err(explain::on_device(self.target.header_path(), &error)),
                    Err(error) => Err(error.into()),
                };
            }
        };
        if header.version() == Version::Luks1 {
            return Ok(State::Luks1);
        }
        match header.is_in_reencryption()? {
            true => Ok(State::UnderWay),
            false => Ok(State::Luks2),
        }
    }

    /// The data that was claimed, with its header.
    fn device(&self, data: &Exclusive, access: Access) -> Result<keyway::Device> {
        let header = match &self.target.header {
            Some(path) => self.target.storage(path, access)?,
            None => std::sync::Arc::clone(data),
        };
        Ok(self.target.over(std::sync::Arc::clone(data), header, access == Access::Write))
    }

    fn confirm(&self, warning: &str) -> Result<()> {
        question::confirm(self.target.manner, warning, "Operation aborted.", Exit::Parameters)
    }
}

/// cryptsetup's words where there is nothing to resume.
const NOT_IN_PROGRESS: &str = "Device reencryption not in progress.";

/// cryptsetup's words where there is something to resume, and a beginning was asked for.
const ALREADY_BEGUN: &str = "LUKS2 reencryption already initialized. Aborting operation.";
