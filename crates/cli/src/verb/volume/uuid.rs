//! `luksUUID` and `isLuks`: whether a device is LUKS, and which volume it is.

use crate::args::risk::{Effect, Proof, risk};
use crate::args::{self, Args, Command, Example, Group, Offers, Operand, Request, Topic, groups, shared};
use crate::device::{self, Target, Versions};
use crate::output::document;
use crate::output::failure::{Cause, Exit, Failure, Result};
use crate::output::paint::printable;
use crate::output::{question, stdio};
use crate::unlock::{KeyOptions, admission};
use keyway::Access;

/// `keyway luksUUID`.
pub(crate) static UUID: Command = Command {
    name: "luksUUID",
    aliases: &[],
    group: Group::Cryptsetup(Topic::Questions),
    operands: &[shared::operands::DEVICE],
    about: "Show or set the UUID.",
    man: "Prints the UUID, or writes the one given with --uuid into the header. On a sealed volume it is part \
          of the seal: with a key (--key-file and the like), the same write renews it; without one, renew it \
          afterwards: keyway-seal(8).",
    options: &[
        &[&shared::UUID, &shared::HEADER, &shared::TYPE, &shared::TIMEOUT, &shared::JSON],
        groups::KEY_INPUT,
    ],
    rules: &[],
    examples: &[Example {
        line: "keyway luksUUID --uuid $(cat /proc/sys/kernel/random/uuid) disk.img",
        does: "A fresh UUID, after copying a volume.",
    }],
    risks: &[risk(
        "--uuid, DEVICE",
        Effect::Edits,
        Proof::Header,
        "luksUUID -q --uuid 6e2b0c27-4ef6-4bd4-b92e-a1ca1c1a6aa1 TARGET",
    )],
    run: args::run::<Uuid>,
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
        offers: Offers::Volumes,
    }],
    about: "Test for a LUKS volume: exit code 0 or 1.",
    man: "Prints nothing; the exit code is the answer. --type luks1 or luks2 tests for one version.",
    options: &[&[&shared::TYPE, &shared::HEADER, &shared::TIMEOUT]],
    rules: &[],
    examples: &[Example {
        line: "keyway isLuks disk.img && echo yes",
        does: "Prints yes for a LUKS volume.",
    }],
    risks: &[],
    run: args::run::<IsLuks>,
};

struct Uuid {
    target: Target,
    versions: Versions,
    /// If one is given, it renews the seal.
    key: KeyOptions,
    /// The new UUID.
    new: Option<String>,
    json: bool,
    is_cryptsetup: bool,
}

impl Request for Uuid {
    fn from_args(args: &Args) -> Result<Self> {
        Ok(Self {
            target: Target::from_args(args, 0)?,
            versions: Versions::from_args(args)?,
            key: KeyOptions::from_args(args)?,
            new: args.text(&shared::UUID).map(str::to_owned),
            json: args.given(&shared::JSON),
            is_cryptsetup: args.is_cryptsetup(),
        })
    }

    fn run(self) -> Result<()> {
        match self.show_or_set() {
            // cryptsetup's luksUUID says nothing then, with -v no more than the exit code: scripts
            // that collect its standard error know it so.
            Err(failure) if self.is_cryptsetup && failure.cause() == Cause::NotLuks => {
                Err(Failure::silent(failure.exit()))
            }
            done => done,
        }
    }
}

impl Uuid {
    fn show_or_set(&self) -> Result<()> {
        let Some(uuid) = &self.new else { return self.show() };
        let mut header = self.target.header(Access::Write, self.versions, &self.key.terms())?;
        header.check()?;
        let warning = "Do you really want to change UUID of device?";
        question::confirm(self.target.manner, warning, "Operation aborted.", Exit::Permission)?;
        self.key.renew_seal(&mut header)?;
        header.set_uuid(uuid)?;
        admission::warn_of_seal(header.luks(), self.target.header_path());
        Ok(())
    }

    fn show(&self) -> Result<()> {
        let luks = self.target.load(Access::Read, self.versions)?;
        if !self.json {
            return stdio::print(&format!("{}\n", printable(luks.uuid())));
        }
        let format = format!("luks{}", luks.version());
        document::print(document::document().with("format", format).with("uuid", luks.uuid()))
    }
}

struct IsLuks {
    target: Target,
    versions: Versions,
    is_cryptsetup: bool,
}

impl Request for IsLuks {
    fn from_args(args: &Args) -> Result<Self> {
        if args.operands().len() > 1 {
            let message = "Only one device argument for isLuks operation is supported.";
            return Err(Failure::new(Exit::Device, message));
        }
        let (target, versions) = (Target::from_args(args, 0)?, Versions::from_args(args)?);
        Ok(Self { target, versions, is_cryptsetup: args.is_cryptsetup() })
    }

    fn run(self) -> Result<()> {
        // A missing device gives an error message (exit status 4); a device that is not LUKS does
        // not.
        device::storage(self.target.header_path(), Access::Probe)?;
        match self.target.load(Access::Probe, self.versions) {
            Ok(_) => Ok(()),
            // cryptsetup's is silent with -v, too.
            Err(failure) if self.target.manner.verbose && !self.is_cryptsetup => Err(failure),
            Err(failure) => Err(Failure::silent(failure.exit())),
        }
    }
}
