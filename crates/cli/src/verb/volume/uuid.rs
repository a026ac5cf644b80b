//! `luksUUID` and `isLuks`: is it LUKS, and which volume is it?

use crate::device;
use crate::device::Versions;
use crate::door::{Args, Command, Example, Group, Operand, Topic, shared};
use crate::say::failure::{Exit, Failure, Result};
use crate::say::paint::printable;
use crate::say::{output, question};
use crate::unlock::admission;
use keyway_format::json::{Object, Value};
use keyway_volume::edit::set_uuid;
use keyway_volume::{Access, OsRandom};

/// `keyway luksUUID`.
pub(crate) static UUID: Command = Command {
    name: "luksUUID",
    aliases: &[],
    group: Group::Cryptsetup(Topic::Questions),
    operands: &[Operand { name: "DEVICE", required: true, help: "The volume." }],
    about: "Show or set the UUID.",
    man: "Prints the UUID, or writes the one given with --uuid into the header.",
    options: &[&[&shared::UUID, &shared::HEADER, &shared::TYPE, &shared::TIMEOUT, &shared::JSON]],
    examples: &[Example {
        line: "keyway luksUUID --uuid $(cat /proc/sys/kernel/random/uuid) disk.img",
        does: "A fresh UUID, after copying a volume.",
    }],
    run: run_uuid,
};

/// `keyway isLuks`.
pub(crate) static IS_LUKS: Command = Command {
    name: "isLuks",
    aliases: &[],
    group: Group::Cryptsetup(Topic::Questions),
    operands: &[Operand { name: "DEVICE", required: true, help: "The file or device." }],
    about: "Is it a LUKS volume? Exit status 0 or 1.",
    man: "Says nothing; scripts ask the exit status. --type luks1 or luks2 asks for one version.",
    options: &[&[&shared::TYPE, &shared::HEADER, &shared::TIMEOUT]],
    examples: &[Example {
        line: "keyway isLuks disk.img && echo yes",
        does: "Prints yes for a LUKS volume.",
    }],
    run: run_is_luks,
};

fn run_uuid(args: &Args) -> Result<()> {
    let versions = Versions::from_args(args)?;
    let Some(uuid) = args.text(&shared::UUID) else {
        let luks = device::load(args, 0, Access::Read, versions)?;
        if args.given(&shared::JSON) {
            let object = Object::new().with("version", u32::from(luks.version())).with("uuid", luks.uuid());
            return output::print(&format!("{}\n", Value::from(object).to_pretty()));
        }
        return output::print(&format!("{}\n", printable(luks.uuid())));
    };
    let mut luks = device::load(args, 0, Access::Write, versions)?;
    let warning = "Do you really want to change UUID of device?";
    question::confirm(args.manner(), warning, "Operation aborted.", Exit::Permission)?;
    set_uuid(&mut luks, Some(uuid), &mut OsRandom)?;
    admission::warn_of_seal(&luks, &device::header_path(args, 0)?);
    Ok(())
}

fn run_is_luks(args: &Args) -> Result<()> {
    if args.operands().len() > 1 {
        return Err(Failure::new(
            Exit::Device,
            "Only one device argument for isLuks operation is supported.",
        ));
    }
    let path = device::header_path(args, 0)?;
    // A missing device is worth a word (exit status 4); a device that is no LUKS volume is not.
    device::storage(&path, Access::Probe)?;
    match device::load(args, 0, Access::Probe, Versions::from_args(args)?) {
        Ok(_) => Ok(()),
        Err(failure) if args.manner().verbose => Err(failure),
        Err(failure) => Err(Failure::silent(failure.exit())),
    }
}
