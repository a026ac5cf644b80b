//! `luksConvertKey`: another key derivation function for the same passphrase (LUKS2).

use crate::device::{Target, Versions};
use crate::door::{self, Args, Command, Example, Group, Offers, Operand, Request, Topic, groups, shared};
use crate::say::failure::Result;
use crate::say::output;
use crate::unlock::KeyOptions;
use crate::verb::key::keyslot::{self, KeyslotOptions};
use keyway_volume::edit::convert_key;
use keyway_volume::{Access, OsRandom, UnlockOptions};

/// `keyway luksConvertKey`.
pub(crate) static COMMAND: Command = Command {
    name: "luksConvertKey",
    aliases: &[],
    group: Group::Cryptsetup(Topic::Passphrases),
    operands: &[Operand { name: "DEVICE", required: true, help: "The volume.", offers: Offers::Files }],
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
    ],
    examples: &[Example {
        line: "keyway luksConvertKey --pbkdf pbkdf2 --iter-time 500 disk.img",
        does: "A keyslot that GRUB opens in acceptable time.",
    }],
    run: door::run::<ConvertKey>,
};

struct ConvertKey {
    target: Target,
    key: KeyOptions,
    keyslot: KeyslotOptions,
}

impl Request for ConvertKey {
    fn from_args(args: &Args) -> Result<Self> {
        let target = Target::from_args(args, 0)?;
        Ok(Self { target, key: KeyOptions::from_args(args)?, keyslot: KeyslotOptions::from_args(args)? })
    }

    fn run(self) -> Result<()> {
        let Self { target, key, keyslot } = &self;
        let mut luks = target.load(Access::Write, Versions::Two)?;
        if let Some(number) = key.keyslot {
            keyslot::check_active(&luks, number)?;
        }
        let options = keyslot.for_header(&luks)?;
        luks.check_requirements()?;
        let existing = key.passphrase.existing("Enter passphrase for keyslot to be converted: ");
        let passphrase = existing.read()?;
        let unlock_options = UnlockOptions { unbound_too: true, ..key.of_keyslot() };
        let unlocked = keyway_volume::unlock(&luks, &passphrase, &unlock_options)?;
        let slot = convert_key(&mut luks, &unlocked, &passphrase, &options, &mut OsRandom)?;
        output::verbose(target.manner, &format!("Key slot {slot} created."))
    }
}
