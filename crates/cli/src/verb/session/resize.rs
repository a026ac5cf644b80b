//! `resize`: an open mapping grows or shrinks; its content is left alone.

use crate::args::risk::{Effect, Proof, risk};
use crate::args::rule::Rule;
use crate::args::{self, Args, Command, Example, Group, Request, Topic, groups, shared};
use crate::device::explain;
use crate::mapping::{self, Open, Reopening};
use crate::output::failure::{Failure, Result};
use crate::volume::kinds::plain::given;
use keyway::{Access, Mapping, Reopened, Unchanged, WatchMapping};
use keyway_attach::session::Session;

/// `keyway resize`.
pub(crate) static COMMAND: Command = Command {
    name: "resize",
    aliases: &[],
    group: Group::Cryptsetup(Topic::Volumes),
    operands: &[shared::operands::OPEN_VOLUME],
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
                check_kind(found.kind().unwrap_or_default())?;
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
        let needs_key = found.resize_needs_key().map_err(|error| explain_mapping(found, &error))?;
        let volume = if needs_key { Some(self.reopen(found)?) } else { None };
        let resized = found.resize(self.len(), volume.as_ref(), &mut Said);
        resized.map_err(|error| explain_mapping(found, &error))
    }

    /// The key that the table names in the keyring has been removed since: it must be added again
    /// before a new table can name it.
    fn reopen(&self, found: &Mapping) -> Result<Reopened> {
        if !self.keyring {
            return Err(mapping::refused(
                "Resize of active device requires volume key in keyring but --disable-keyring option is set."
                    .into(),
            ));
        }
        let (luks, path) = self.reopening.header_of(found, Access::Read)?;
        self.reopening.open_again(found, luks, &path)
    }

    /// The new length in bytes. As with cryptsetup, 0 means the whole device.
    fn len(&self) -> Option<u64> {
        let sectors = self.sectors.map(|sectors| sectors.saturating_mul(SECTOR));
        self.bytes.or(sectors).filter(|size| *size > 0)
    }

    fn resize_session(&self, session: &Session) -> Result<()> {
        if session.status().map_err(explain::session)?.suspended {
            return Err(mapping::suspended(&session.facts().name));
        }
        session.resize(self.len()).map_err(explain::session)
    }
}

fn check_kind(kind: &str) -> Result<()> {
    match Mapping::can_resize(kind) {
        true => Ok(()),
        false => Err(mapping::refused(format!("Resize is not supported for device type {kind}."))),
    }
}

/// What is said while a mapping is resized.
struct Said;

impl WatchMapping for Said {
    fn loop_device_stays(&mut self, why: &keyway::Error) -> keyway::Result<()> {
        say!("Cannot resize loop device: {why}.");
        Ok(())
    }
}

fn explain_mapping(found: &Mapping, error: &keyway::Error) -> Failure {
    mapping::refused(match mapping::why(error) {
        Some(Unchanged::Table) => format!("Device {} has a table that cannot be resized.", found.name()),
        Some(Unchanged::Beyond { device }) => {
            format!("Requested offset is beyond real size of device {}.", device.display())
        }
        Some(Unchanged::TooSmall { device }) => format!("Device {} is too small.", device.display()),
        Some(Unchanged::Unaligned { len, sector_size }) => format!(
            "Device size is not aligned to requested sector size: {len} bytes are not a multiple of \
             {sector_size}, {} are.",
            len / sector_size * sector_size
        ),
        Some(Unchanged::UnalignedBlocks) => {
            "Device size is not aligned to device logical block size.".to_owned()
        }
        _ => return mapping::explain(found.name(), error),
    })
}

/// The unit of `--size`, in bytes.
const SECTOR: u64 = keyway_format::Sectors::SIZE;
