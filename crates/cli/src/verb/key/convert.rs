//! `luksConvertKey`: another key derivation function for the same passphrase (LUKS2).

use crate::args::risk::{Effect, Proof, risk};
use crate::args::{self, Args, Command, Example, Group, Request, Topic, groups, shared};
use crate::device::{Target, Versions};
use crate::output::failure::Result;
use crate::unlock::KeyOptions;
use crate::unlock::admission::Demands;
use crate::verb::key::keyslot::{self, KeyslotOptions};
use keyway::Access;

/// `keyway luksConvertKey`.
pub(crate) static COMMAND: Command = Command {
    name: "luksConvertKey",
    aliases: &[],
    group: Group::Cryptsetup(Topic::Passphrases),
    operands: &[shared::operands::DEVICE],
    about: "Give a keyslot another key derivation.",
    man: "The passphrase stays the same; --pbkdf and its companions, or the defaults of this machine, set the \
          new cost. A boot loader without Argon2 needs --pbkdf pbkdf2.",
    options: &[
        groups::KEY_INPUT,
        &[&shared::KEY_SLOT],
        groups::KDF,
        groups::KEYSLOT,
        groups::KEYSLOT_EDIT,
        groups::LIMITS,
        groups::DEMANDS,
    ],
    rules: &[],
    examples: &[Example {
        line: "keyway luksConvertKey --pbkdf pbkdf2 --iter-time-for grub-2.12 disk.img",
        does: "A keyslot that GRUB opens in two seconds.",
    }],
    risks: &[risk("DEVICE", Effect::Edits, Proof::Header, "luksConvertKey -q -d KEY TARGET")],
    run: args::run::<ConvertKey>,
};

struct ConvertKey {
    target: Target,
    demands: Demands,
    key: KeyOptions,
    keyslot: KeyslotOptions,
}

impl Request for ConvertKey {
    fn from_args(args: &Args) -> Result<Self> {
        let target = Target::from_args(args, 0)?;
        let demands = Demands::from_args(args)?;
        Ok(Self {
            target,
            demands,
            key: KeyOptions::from_args(args)?,
            keyslot: KeyslotOptions::from_args(args)?,
        })
    }

    fn run(self) -> Result<()> {
        let Self { target, key, keyslot, .. } = &self;
        let mut header = target.header(Access::Write, Versions::Two, &key.terms_to_edit(&self.demands))?;
        if let Some(number) = key.keyslot {
            keyslot::check_active(&header, number)?;
        }
        let options = keyslot.for_header(&header)?;
        header.check()?;
        let existing = key.passphrase.existing("Enter passphrase for keyslot to be converted: ");
        let slot = header.convert_key(&existing.read_key()?, &options)?;
        keyslot::note_created(target.manner, slot)
    }
}
