//! The volume that a command works on: its data device, where its header is, and how the header is
//! locked.

use crate::args::{Args, shared};
use crate::device::{self, Inputs, explain, kind_hint, partitions};
use crate::output::failure::{Cause, Exit, Failure, Result};
use crate::output::manner::Manner;
use crate::output::stdio;
use crate::process::encoding::{Encoded, encoded};
use keyway::parts::{Header, Luks};
use keyway::storage::{Exclusive, Storage};
use keyway::trust::DataDevice;
use keyway::{Access, Device, DeviceOptions, Locking, Unlock, Version};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Which LUKS versions a command accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Versions {
    /// Either.
    Any,
    /// LUKS1 only.
    One,
    /// LUKS2 only.
    Two,
}

encoded!(Versions: Any, One, Two);

impl Versions {
    /// The versions that `--type` (or the command's old name) asks for.
    pub(crate) fn from_args(args: &Args) -> Result<Self> {
        match args.device_type().map(str::to_ascii_lowercase).as_deref() {
            None | Some("luks") => Ok(Self::Any),
            Some("luks1") => Ok(Self::One),
            Some("luks2") => Ok(Self::Two),
            Some(other) => Err(Failure::new(
                Exit::Parameters,
                format!("--type {other}: {} handles luks, luks1 and luks2.", args.command().name),
            )),
        }
    }

    /// The only version that is accepted, if there is one.
    pub(crate) fn only(self) -> Option<Version> {
        match self {
            Self::Any => None,
            Self::One => Some(Version::Luks1),
            Self::Two => Some(Version::Luks2),
        }
    }

    fn admits(self, version: u8) -> bool {
        match self {
            Self::Any => true,
            Self::One => version == 1,
            Self::Two => version == 2,
        }
    }
}

/// A volume, and how to reach its header.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    /// The data device; empty if only a header was named.
    pub(crate) device: PathBuf,
    /// Where the header is, if it is not on the data device (`--header`).
    pub(crate) header: Option<PathBuf>,
    /// Whether the header is locked.
    pub(crate) locking: Locking,
    /// How much is printed.
    pub(crate) manner: Manner,
    /// What the command line reads besides.
    pub(crate) inputs: Inputs,
}

encoded!(Target { device, header, locking, manner, inputs });

impl Encoded for Locking {
    fn put(&self, to: &mut Vec<u8>) {
        let wait = match self {
            Self::Wait(limit) => Some(*limit),
            Self::Disabled => None,
        };
        wait.put(to);
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        let wait: Option<_> = Encoded::take(from)?;
        Some(wait.map_or(Self::Disabled, Self::Wait))
    }
}

impl Target {
    /// The volume of the operand at `operand`, with `--header` and `--disable-locks`.
    pub(crate) fn from_args(args: &Args, operand: usize) -> Result<Self> {
        if args.operand(operand).is_none() && args.path(&shared::HEADER).is_none() {
            return Err(no_device());
        }
        Ok(Self::if_given(args, operand))
    }

    /// The same for commands that may find the device elsewhere: its path may be empty.
    pub(crate) fn if_given(args: &Args, operand: usize) -> Self {
        let device = args.operand(operand).map(device::resolve).unwrap_or_default();
        let header = args.path(&shared::HEADER).map(device::resolve);
        let inputs = Inputs::from_args(args, &[operand], &[&shared::HEADER]);
        Self { device, header, locking: locking(args), manner: args.manner(), inputs }
    }

    /// Where the header is.
    pub(crate) fn header_path(&self) -> &Path {
        self.header.as_deref().unwrap_or(&self.device)
    }

    /// Opens the header or the data, for changes in place where `access` says so: then it must not
    /// be anything else that the command line reads.
    pub(crate) fn storage(&self, path: &Path, access: Access) -> Result<Arc<dyn Storage>> {
        let storage = device::storage(path, access)?;
        if access == Access::Write {
            self.inputs.check_storage(&*storage, path)?;
        }
        Ok(storage)
    }

    /// As [`Target::storage`], and claims it.
    pub(crate) fn claimed(&self, path: &Path, access: Access) -> Result<Exclusive> {
        let storage = self.storage(path, access)?;
        Exclusive::claim(storage).map_err(|e| explain::on_device(path, &e))
    }

    /// Loads the header.
    pub(crate) fn load(&self, access: Access, versions: Versions) -> Result<Luks> {
        let path = self.header_path();
        let luks = Luks::open_with(self.storage(path, access)?, access, self.locking)
            .map_err(|e| explain::on_device(path, &e))?;
        if !versions.admits(luks.version()) {
            return Err(of_another_version(path, luks.version()));
        }
        self.debug_header(&luks, access)?;
        Ok(luks)
    }

    /// The header in the library's words, to be edited on the terms and within the limits of
    /// `options`.
    pub(crate) fn header(
        &self,
        access: Access,
        versions: Versions,
        options: &Unlock,
    ) -> Result<keyway::Header> {
        let path = self.header_path();
        self.header_of(&self.header_device(self.storage(path, access)?, access), versions, options)
    }

    /// The header of this volume, opened as `device`.
    pub(crate) fn header_of(
        &self,
        device: &Device,
        versions: Versions,
        options: &Unlock,
    ) -> Result<keyway::Header> {
        let path = self.header_path();
        let header = device.header_with(options).map_err(|e| explain::placed(e.into(), Some(path)))?;
        if versions.only().is_some_and(|only| only != header.version()) {
            return Err(of_another_version(path, header.version().number()));
        }
        self.debug_header(header.luks(), header.luks().access())?;
        Ok(header)
    }

    /// What holds the header, opened as `storage`, when the data is not touched.
    pub(crate) fn header_device(&self, storage: Arc<dyn Storage>, access: Access) -> Device {
        let options = self.options().write(access == Access::Write);
        options.over(self.header_path(), Arc::clone(&storage), storage)
    }

    /// The volume in the library's words: `data` is its data device, opened.
    pub(crate) fn open(&self, data: Arc<dyn Storage>, write: bool) -> Result<Device> {
        let path = self.header_path();
        let header = device::storage(path, Access::Read)?;
        if self.header.is_none() && device::is_exchanged(&*data, &*header) {
            let message = format!("Device {} was replaced while it was being opened.", path.display());
            return Err(Failure::new(Exit::Device, message));
        }
        Ok(self.over(data, header, write))
    }

    /// The volume, of what the caller has opened.
    pub(crate) fn over(&self, data: Arc<dyn Storage>, header: Arc<dyn Storage>, write: bool) -> Device {
        let options = match &self.header {
            Some(header) => self.options().header(header),
            None => self.options(),
        };
        options.write(write).over(&self.device, data, header)
    }

    fn options(&self) -> DeviceOptions {
        match self.locking {
            Locking::Disabled => Device::options().without_header_lock(),
            Locking::Wait(_) => Device::options(),
        }
    }

    /// With `--debug`, which header was read; with `--debug-json`, all of it.
    pub(crate) fn debug_header(&self, luks: &Luks, access: Access) -> Result<()> {
        let (path, manner, version) = (self.header_path(), self.manner, luks.version());
        stdio::debug(manner, &format!("LUKS{version} header on {}, {access:?} access.", path.display()))?;
        if let (true, Header::Luks2 { metadata, .. }) = (manner.debug_json, luks.header()) {
            stdio::debug(manner, &metadata.to_pretty_json().replace('\n', "\n# "))?;
        }
        Ok(())
    }

    /// The data device, in the form in which the header is checked against it.
    pub(crate) fn data_device(&self, storage: &dyn Storage) -> DataDevice {
        let holds_header = self.header.as_ref().is_none_or(|header| device::is_same(header, &self.device));
        DataDevice { len: storage.len(), holds_header }
    }
}

/// Whether to lock the header, according to `--disable-locks`.
pub(crate) fn locking(args: &Args) -> Locking {
    if args.given(&shared::DISABLE_LOCKS) { Locking::Disabled } else { Locking::default() }
}

/// cryptsetup's message for a device without the requested header.
pub(crate) fn not_luks(path: &Path) -> Failure {
    let failure =
        Failure::new(Exit::Parameters, format!("Device {} is not a valid LUKS device.", path.display()))
            .because(Cause::NotLuks);
    let marked = Device::open(path).ok().and_then(|device| device.luks1_in_reencryption().ok().flatten());
    match marked {
        Some(uuid) => failure.hinting(format!(
            "It is LUKS1 in reencryption: resume with \"keyway reencrypt {}\" in the directory that has the \
             file LUKS-{uuid}.state (or cryptsetup's LUKS-{uuid}.log).",
            path.display()
        )),
        None => match partitions::instead_of(path) {
            Some(listed) => failure.hinting(listed),
            None => match kind_hint::of_another_kind(path) {
                Some(hint) => failure.hinting(hint),
                None => failure,
            },
        },
    }
}

/// cryptsetup's message for a LUKS header of the other version than the one that is needed or asked for.
fn of_another_version(path: &Path, version: u8) -> Failure {
    let (path, wanted) = (path.display(), 3 - version);
    let failure =
        Failure::new(Exit::Parameters, format!("Device {path} is not a valid LUKS{wanted} device."))
            .because(Cause::NotLuks);
    let way = if version == 1 { ", which convert --type luks2 makes LUKS2" } else { "" };
    failure.hinting(format!("Its header is LUKS{version}{way}."))
}

/// The failure of a command that needs a volume and was given none.
pub(crate) fn no_device() -> Failure {
    Failure::new(Exit::Parameters, "A device or file is missing.")
}
