//! `resize`: an open mapping grows or shrinks; its content is left alone.

use crate::args::risk::{Effect, Proof, risk};
use crate::args::rule::Rule;
use crate::args::{self, Args, Command, Example, Group, Offers, Operand, Request, Topic, groups, shared};
use crate::device::explain;
use crate::mapping::{self, Mapping, Open, Reopening};
use crate::output::failure::{Exit, Failure, Result};
use crate::volume::kinds::plain::given;
use keyway::Access;
use keyway_attach::dm::crypt::{Key, Line};
use keyway_attach::dm::volume::KeyPlace;
use keyway_attach::dm::{self, DeviceNumber, Target, loopback};
use keyway_attach::session::Session;
use std::fs;

/// `keyway resize`.
pub(crate) static COMMAND: Command = Command {
    name: "resize",
    aliases: &[],
    group: Group::Cryptsetup(Topic::Volumes),
    operands: &[Operand {
        name: "NAME",
        required: true,
        help: "Name of the open volume.",
        offers: Offers::OpenVolumes,
    }],
    about: "Change the size of an open volume.",
    man: "Without a size, the volume extends to the current end of its device, or of the file behind its loop \
          device. The header is not changed: the next open uses all of the device. Shrink a file system on it \
          before, or grow it after.\n\nIf the volume key is in the kernel keyring, the passphrase is asked for, as \
          by cryptsetup. A volume opened with nbd, fuse or ublk needs none. An NBD client sees the new size when it \
          reconnects, and is refused what lies beyond a smaller one; a ublk device keeps the size that it was made \
          with.",
    options: &[
        &[&shared::SIZE, &shared::DEVICE_SIZE, &shared::KEY_DESCRIPTION],
        groups::KEY_INPUT,
        groups::KEY_AGAIN,
        groups::PROMPT,
        groups::LIMITS,
        groups::ADMISSION,
    ],
    rules: &[Rule::excludes(&shared::DEVICE_SIZE, &[&shared::SIZE])],
    examples: &[
        Example { line: "keyway resize home", does: "Use all of a device that has grown." },
        Example { line: "keyway resize --device-size 1G home", does: "Use one GiB of it." },
    ],
    risks: &[risk("NAME", Effect::Mounts, Proof::Mapping, "resize --size 8 TARGET")],
    run: args::run::<Resize>,
};

struct Resize {
    name: String,
    /// `--size`, in sectors.
    sectors: Option<u64>,
    /// `--device-size`.
    bytes: Option<u64>,
    reopening: Reopening,
    /// The key may be passed through the kernel's keyring.
    keyring: bool,
}

impl Request for Resize {
    fn from_args(args: &Args) -> Result<Self> {
        let (sectors, bytes) = (args.number(&shared::SIZE), args.number(&shared::DEVICE_SIZE));
        given::check_size(bytes, sectors)?;
        Ok(Self {
            name: mapping::name(args.operands().first())?,
            sectors,
            bytes,
            reopening: Reopening::from_args(args)?,
            keyring: !args.given(&shared::DISABLE_KEYRING),
        })
    }

    fn run(self) -> Result<()> {
        match mapping::find_active(&self.name)? {
            Open::Kernel(found) => {
                check_kind(found.kind().map_or("", |(kind, _)| kind))?;
                self.resize_mapping(&found)
            }
            Open::Session(session) => {
                check_kind(&session.facts().format)?;
                self.resize_session(&session)
            }
        }
    }
}

impl Resize {
    fn resize_mapping(&self, found: &Mapping) -> Result<()> {
        found.refuse_suspended()?;
        let unfit = || refused(format!("Device {} has a table that cannot be resized.", found.name()));
        let (target, line) = found.line(true)?.ok_or_else(unfit)?;
        let held = self.reload_key(found, &line)?;
        if loopback::backing_file(line.device).is_some() {
            loopback::update_size(line.device)
                .unwrap_or_else(|error| say!("Cannot resize loop device: {error}."));
        }
        let length = self.new_length(found, &line)?;
        if length == target.length {
            return Ok(());
        }
        let table = [Target::crypt(target.start, length, &line)];
        let flags = dm::Flags { read_only: found.info.read_only, ..dm::Flags::default() };
        found.replace_table(&table, flags)?;
        drop(held);
        Ok(())
    }

    /// The key that the table names in the keyring has been removed since: it must be added again
    /// before a new table can name it.
    fn reload_key(&self, found: &Mapping, line: &Line) -> Result<Option<KeyPlace<'static>>> {
        if !matches!(line.key, Key::InKeyring(_)) {
            return Ok(None);
        }
        if !self.keyring {
            return Err(refused(
                "Resize of active device requires volume key in keyring but --disable-keyring option is set."
                    .into(),
            ));
        }
        let luks = self
            .reopening
            .luks(found, line, Access::Read)?
            .ok_or_else(|| mapping::no_header(found.name()))?;
        let shown = self.reopening.header_path(found, line).unwrap_or_default();
        let opened = self.reopening.open_again(luks, line, &shown)?;
        mapping::hold_key(opened.volume_key(), opened.luks().uuid(), opened.digest()).map(Some)
    }

    /// The new length in sectors.
    fn new_length(&self, found: &Mapping, line: &Line) -> Result<u64> {
        let device =
            || mapping::device_path(&found.mapper, line.device).unwrap_or_default().display().to_string();
        let all = sysfs_number(line.device, "size").unwrap_or(0);
        let sector = u64::from(line.options.sector_size.unwrap_or(512)) / SECTOR;
        let Some(room) = all.checked_sub(line.offset).filter(|room| *room > 0) else {
            return Err(refused(format!("Requested offset is beyond real size of device {}.", device())));
        };
        // As with cryptsetup, 0 means the whole device.
        match self.bytes.map(|bytes| bytes / SECTOR).or(self.sectors).filter(|size| *size > 0) {
            None => Ok(room / sector * sector),
            Some(size) if size > room => Err(refused(format!("Device {} is too small.", device()))),
            Some(size) if size % sector != 0 => Err(refused(format!(
                "Device size is not aligned to requested sector size: {} bytes are no multiple of {}, {} are.",
                size * SECTOR,
                sector * SECTOR,
                size / sector * sector * SECTOR
            ))),
            Some(size) if size % (block_size(line.device) / SECTOR) != 0 => {
                Err(refused("Device size is not aligned to device logical block size.".into()))
            }
            Some(size) => Ok(size),
        }
    }

    fn resize_session(&self, session: &Session) -> Result<()> {
        if session.status().map_err(explain::session)?.suspended {
            return Err(mapping::suspended(&session.facts().name));
        }
        let sectors = self.sectors.map(|sectors| sectors.saturating_mul(SECTOR));
        session.resize(self.bytes.or(sectors).filter(|size| *size > 0)).map_err(explain::session)
    }
}

/// The size of other kinds is their header's: behind it lie a backup header, an outer volume's data, metadata.
fn check_kind(kind: &str) -> Result<()> {
    match ["", "LUKS1", "LUKS2", "PLAIN", "LOOPAES"].contains(&kind) {
        true => Ok(()),
        false => Err(refused(format!("Resize is not supported for device type {kind}."))),
    }
}

/// The device's logical block size in bytes; for a partition, that of its disk.
fn block_size(device: DeviceNumber) -> u64 {
    let own = sysfs_number(device, "queue/logical_block_size");
    own.or_else(|| sysfs_number(device, "../queue/logical_block_size")).unwrap_or(SECTOR).max(SECTOR)
}

fn sysfs_number(device: DeviceNumber, file: &str) -> Option<u64> {
    fs::read_to_string(format!("/sys/dev/block/{device}/{file}")).ok()?.trim().parse().ok()
}

fn refused(message: String) -> Failure {
    Failure::new(Exit::Parameters, message)
}

/// The unit of lengths in tables and in sysfs, in bytes.
const SECTOR: u64 = keyway_format::Sectors::SIZE;
