//! The header of a mapped volume: at the start of its device, or where `--header` says.

use super::{refused, why};
use crate::args::{Args, shared};
use crate::device::{self, explain};
use crate::output::failure::{Exit, Failure, Result};
use crate::unlock::KeyOptions;
use crate::unlock::admission::{self, Demands};
use crate::volume::kinds::plain;
use keyway::parts::{Luks, Opened};
use keyway::{Access, Locking, Mapping, MappingStatus, Reopened, Unchanged};
use keyway_attach::session::Facts;
use keyway_crypto::Secret;
use std::path::{Path, PathBuf};

/// How to get the header and the key of an open volume again.
#[derive(Debug, Clone)]
pub(crate) struct Reopening {
    /// `--header`.
    pub(crate) header: Option<PathBuf>,
    /// Whether the header is locked.
    pub(crate) locking: Locking,
    /// Where the key comes from.
    pub(crate) key: KeyOptions,
    /// The demands that the header must meet.
    pub(crate) demands: Demands,
    /// `--hash`, for a plain volume.
    pub(crate) hash: Option<String>,
}

impl Reopening {
    pub(crate) fn from_args(args: &Args) -> Result<Self> {
        Ok(Self {
            header: args.path(&shared::HEADER).map(device::resolve),
            locking: device::locking(args),
            key: KeyOptions::from_args(args)?,
            demands: Demands::from_args(args)?,
            hash: args.text(&shared::HASH).map(str::to_owned),
        })
    }

    /// Where the header of the mapping should be.
    fn header_path(&self, status: &MappingStatus) -> PathBuf {
        self.header.clone().unwrap_or_else(|| status.device.clone())
    }

    /// The LUKS header that the mapping was made from; `None` if the volume is not LUKS, or its
    /// header is elsewhere.
    pub(crate) fn luks(
        &self,
        mapping: &Mapping,
        status: &MappingStatus,
        access: Access,
    ) -> Result<Option<Luks>> {
        if !matches!(mapping.kind(), Some("LUKS1" | "LUKS2")) {
            return Ok(None);
        }
        let path = self.header_path(status);
        let Ok(storage) = device::storage(&path, access) else { return Ok(None) };
        match Luks::open_with(storage, access, self.locking) {
            Ok(luks) => Ok(mapping.is_of(&luks).then_some(luks)),
            Err(keyway::parts::Error::Format(_)) => Ok(None),
            Err(error) => Err(explain::on_device(&path, &error)),
        }
    }

    /// The LUKS header that the mapping was made from, and its path; cryptsetup's message where there is none.
    pub(crate) fn header_of(&self, mapping: &Mapping, access: Access) -> Result<(Luks, PathBuf)> {
        let name = mapping.name();
        let status = mapping.status().map_err(|error| super::explain(name, &error))?;
        let status = status.filter(|status| status.segments == 1).ok_or_else(|| no_header(name))?;
        let luks = self.luks(mapping, &status, access)?.ok_or_else(|| no_header(name))?;
        Ok((luks, self.header_path(&status)))
    }

    /// Judges the header of the mapping's volume, and asks for a passphrase until one opens
    /// it. Messages show the path `shown`.
    pub(crate) fn open_again(&self, mapping: &Mapping, luks: Luks, shown: &Path) -> Result<Reopened> {
        let opened = self.open_header(luks, shown)?;
        mapping.reopen_with(opened).map_err(|error| match why(&error) {
            Some(Unchanged::OtherHeader) => refused(format!(
                "The header on {} is not the one that was opened: its data has another cipher or offset.",
                shown.display()
            )),
            _ => super::explain(mapping.name(), &error),
        })
    }

    fn open_header(&self, luks: Luks, shown: &Path) -> Result<Opened> {
        luks.check_requirements().map_err(|e| explain::on_device(shown, &e))?;
        let admitted = self.demands.judge(luks, shown, None)?;
        let (volume_key, digest) = self.key.volume_key(admitted.luks(), shown)?;
        admission::open(admitted, shown, volume_key, digest)
    }

    /// The volume key of a session's volume, from its passphrase.
    pub(crate) fn take_session_key(&self, facts: &Facts) -> Result<Secret> {
        match self.session_header(facts, Access::Read)? {
            Some((luks, path)) => self.open_header(luks, &path).map(|opened| opened.into_parts().2),
            None if facts.format != "PLAIN" => {
                let message =
                    format!("The key of {}, a {} volume, cannot be found again.", facts.name, facts.format);
                Err(Failure::new(Exit::Parameters, message))
            }
            None => {
                let (device, hash) = (Path::new(&facts.device), self.hash.as_deref());
                plain::key_again(&self.key, device, facts.key_bits, &facts.hash, hash)
            }
        }
    }

    /// The header of a session's volume, and its path; a plain volume has none.
    pub(crate) fn session_header(&self, facts: &Facts, access: Access) -> Result<Option<(Luks, PathBuf)>> {
        if !facts.format.starts_with("LUKS") {
            return Ok(None);
        }
        let path = if facts.header.is_empty() { &facts.device } else { &facts.header };
        let path = self.header.clone().unwrap_or_else(|| PathBuf::from(path));
        let luks = Luks::open_with(device::storage(&path, access)?, access, self.locking);
        let luks = luks.map_err(|e| explain::on_device(&path, &e))?;
        if luks.uuid() != facts.uuid {
            return Err(no_header(&facts.name));
        }
        Ok(Some((luks, path)))
    }
}

/// cryptsetup's message for a mapping that is not LUKS, or whose header is elsewhere.
pub(crate) fn no_header(name: &str) -> Failure {
    let message = format!("{name} is not active LUKS device name or header is missing.");
    Failure::new(Exit::Parameters, message)
}
