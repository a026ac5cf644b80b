//! `luksUUID` and `isLuks`: whether a device is LUKS, and which volume it is.

use crate::device::{self, Target, Versions};
use crate::door::{self, Args, Command, Example, Group, Offers, Operand, Request, Topic, shared};
use crate::say::failure::{Exit, Failure, Result};
use crate::say::paint::printable;
use crate::say::{output, question};
use crate::unlock::admission;
use keyway::Unlock;
use keyway_format::json::{Object, Value};
use keyway_volume::Access;

/// `keyway luksUUID`.
pub(crate) static UUID: Command = Command {
    name: "luksUUID",
    aliases: &[],
    group: Group::Cryptsetup(Topic::Questions),
    operands: &[Operand { name: "DEVICE", required: true, help: "The volume.", offers: Offers::Files }],
    about: "Show or set the UUID.",
    man: "Prints the UUID, or writes the one given with --uuid into the header.",
    options: &[&[&shared::UUID, &shared::HEADER, &shared::TYPE, &shared::TIMEOUT, &shared::JSON]],
    examples: &[Example {
        line: "keyway luksUUID --uuid $(cat /proc/sys/kernel/random/uuid) disk.img",
        does: "A fresh UUID, after copying a volume.",
    }],
    run: door::run::<Uuid>,
};

/// `keyway isLuks`.
pub(crate) static IS_LUKS: Command = Command {
    name: "isLuks",
    aliases: &[],
    group: Group::Cryptsetup(Topic::Questions),
    operands: &[Operand {
        name: "DEVICE",
        required: true,
        help: "The file or device.",
        offers: Offers::Files,
    }],
    about: "Test for a LUKS volume: exit code 0 or 1.",
    man: "Prints nothing; the exit code is the answer. --type luks1 or luks2 tests for one version.",
    options: &[&[&shared::TYPE, &shared::HEADER, &shared::TIMEOUT]],
    examples: &[Example {
        line: "keyway isLuks disk.img && echo yes",
        does: "Prints yes for a LUKS volume.",
    }],
    run: door::run::<IsLuks>,
};

struct Uuid {
    target: Target,
    versions: Versions,
    /// The new UUID.
    new: Option<String>,
    json: bool,
}

impl Request for Uuid {
    fn from_args(args: &Args) -> Result<Self> {
        Ok(Self {
            target: Target::from_args(args, 0)?,
            versions: Versions::from_args(args)?,
            new: args.text(&shared::UUID).map(str::to_owned),
            json: args.given(&shared::JSON),
        })
    }

    fn run(self) -> Result<()> {
        let Some(uuid) = &self.new else { return self.show() };
        let mut header = self.target.header(Access::Write, self.versions, &Unlock::new())?;
        let warning = "Do you really want to change UUID of device?";
        question::confirm(self.target.manner, warning, "Operation aborted.", Exit::Permission)?;
        header.set_uuid(uuid)?;
        admission::warn_of_seal(header.luks(), self.target.header_path());
        Ok(())
    }
}

impl Uuid {
    fn show(&self) -> Result<()> {
        let luks = self.target.load(Access::Read, self.versions)?;
        if !self.json {
            return output::print(&format!("{}\n", printable(luks.uuid())));
        }
        let object = Object::new().with("version", u32::from(luks.version())).with("uuid", luks.uuid());
        output::print(&format!("{}\n", Value::from(object).to_pretty()))
    }
}

struct IsLuks {
    target: Target,
    versions: Versions,
}

impl Request for IsLuks {
    fn from_args(args: &Args) -> Result<Self> {
        if args.operands().len() > 1 {
            let message = "Only one device argument for isLuks operation is supported.";
            return Err(Failure::new(Exit::Device, message));
        }
        Ok(Self { target: Target::from_args(args, 0)?, versions: Versions::from_args(args)? })
    }

    fn run(self) -> Result<()> {
        // A missing device gives an error message (exit status 4); a device that is not LUKS does
        // not.
        device::storage(self.target.header_path(), Access::Probe)?;
        match self.target.load(Access::Probe, self.versions) {
            Ok(_) => Ok(()),
            Err(failure) if self.target.manner.verbose => Err(failure),
            Err(failure) => Err(Failure::silent(failure.exit())),
        }
    }
}
