//! `convert`: the header in the other format.

use crate::args::risk::{Effect, Proof, risk};
use crate::args::{self, Args, Command, Example, Group, Request, Topic, shared};
use crate::device::{Target, Versions};
use crate::output::failure::{Exit, Failure, Result};
use crate::output::question;
use keyway::{Access, Unlock, Version};
use std::sync::Arc;

/// `keyway convert`.
pub(crate) static CONVERT: Command = Command {
    name: "convert",
    aliases: &[],
    group: Group::Cryptsetup(Topic::Volumes),
    operands: &[shared::operands::DEVICE],
    about: "Turn LUKS1 into LUKS2 or back.",
    man: "The data does not move. LUKS1 becomes LUKS2 if there is room before the data for the second header. \
          LUKS2 becomes LUKS1 only if LUKS1 can express the same: PBKDF2 keyslots 0 to 7, 512-byte sectors, no \
          tokens. A volume that is in use is refused. Make a header backup first.",
    options: &[&[&shared::TYPE, &shared::HEADER]],
    rules: &[],
    examples: &[Example { line: "keyway convert --type luks2 disk.img", does: shared::examples::ASKS_YES }],
    risks: &[risk("DEVICE", Effect::Overwrites, Proof::Claim, "convert -q --type luks2 TARGET")],
    run: args::run::<Conversion>,
};

struct Conversion {
    target: Target,
    to: Version,
}

impl Request for Conversion {
    fn from_args(args: &Args) -> Result<Self> {
        let to = match args.device_type() {
            Some("luks1") => Version::Luks1,
            Some("luks2") => Version::Luks2,
            _ => {
                let message = "Invalid LUKS type, only luks1 and luks2 are supported: name one with --type.";
                return Err(Failure::new(Exit::Parameters, message));
            }
        };
        Ok(Self { target: Target::from_args(args, 0)?, to })
    }

    fn run(self) -> Result<()> {
        let (path, to) = (self.target.header_path(), self.to);
        let alone = self.target.claimed(path, Access::Write)?;
        let device = self.target.header_device(Arc::clone(&alone), Access::Write);
        let mut header = self.target.header_of(&device, Versions::Any, &Unlock::new())?;
        if header.version() == to {
            return Err(Failure::new(Exit::Parameters, format!("Device is already {to} type.")));
        }
        header.luks().check_seal()?;
        let warning = format!("This operation will convert {} to {to} format.\n", path.display());
        let refusal = "Operation aborted, device was NOT converted.";
        question::confirm(self.target.manner, &warning, refusal, Exit::Permission)?;
        Ok(header.convert(to)?)
    }
}
