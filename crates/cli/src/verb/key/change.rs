//! `luksChangeKey`: replaces an existing passphrase.

use crate::args::risk::{Effect, Proof, risk};
use crate::args::{self, Args, Command, Example, Group, Kind, Opt, Request, Topic, groups, shared};
use crate::device::{Target, Versions, explain};
use crate::output::failure::Result;
use crate::unlock::admission::Demands;
use crate::unlock::{self, KeyOptions};
use crate::verb::key::keyslot::{self, KeyslotOptions};
use keyway::Access;
use std::path::Path;
use std::path::PathBuf;

/// `keyway luksChangeKey`.
pub(crate) static COMMAND: Command = Command {
    name: "luksChangeKey",
    aliases: &[],
    group: Group::Cryptsetup(Topic::Passphrases),
    operands: &[shared::operands::DEVICE, shared::operands::NEW_KEY_FILE],
    about: "Change a passphrase.",
    man: "The keyslot that the existing passphrase opens gets the new one. After a crash, either the old or \
          the new passphrase works. The new key material therefore needs room beside the old: if no area \
          (LUKS2) or keyslot (LUKS1) is free, first remove a keyslot that is no longer needed. --force then \
          overwrites the old one, as cryptsetup does: if that is interrupted, neither passphrase opens it. \
          Back up the header first (luksHeaderBackup). Called as cryptsetup, Keyway does so without the \
          option, and says so.",
    options: &[
        groups::KEY_INPUT,
        groups::NEW_KEY_INPUT,
        &[&FORCE, &shared::KEY_SLOT, &shared::VERIFY_PASSPHRASE, &shared::ALLOW_EMPTY_PASSPHRASE],
        groups::KDF,
        groups::KEYSLOT,
        groups::KEYSLOT_EDIT,
        groups::LIMITS,
        groups::DEMANDS,
    ],
    rules: &[],
    examples: &[Example { line: "keyway luksChangeKey disk.img", does: shared::examples::ASKS_OLD_THEN_NEW }],
    risks: &[risk("DEVICE", Effect::Edits, Proof::Header, "luksChangeKey -q -d KEY TARGET KEY")],
    run: args::run::<ChangeKey>,
};

static FORCE: Opt = Opt {
    long: "force",
    short: None,
    value: "",
    kind: Kind::Flag,
    help: "If there is no room, overwrite the old key.",
    man: "If that is interrupted, neither passphrase opens the keyslot, only a header backup does.",
};

struct ChangeKey {
    target: Target,
    versions: Versions,
    demands: Demands,
    key: KeyOptions,
    new_key_file: Option<PathBuf>,
    keyslot: KeyslotOptions,
    /// Without room beside the old key, its place is taken.
    in_place: bool,
}

impl Request for ChangeKey {
    fn from_args(args: &Args) -> Result<Self> {
        Ok(Self {
            target: Target::from_args(args, 0)?,
            versions: Versions::from_args(args)?,
            demands: Demands::from_args(args)?,
            key: KeyOptions::from_args(args)?,
            new_key_file: args.operand(1).map(Path::to_owned),
            keyslot: KeyslotOptions::from_args(args)?,
            in_place: args.is_cryptsetup() || args.given(&FORCE),
        })
    }

    fn run(self) -> Result<()> {
        let Self { target, key, demands, .. } = &self;
        let mut header = target.header(Access::Write, self.versions, &key.terms_to_edit(demands))?;
        let mut options = self.keyslot.for_header(&header)?;
        if let Some(number) = key.keyslot {
            options = options.number(number);
        }
        if self.in_place {
            options = options.in_place();
        }
        header.check()?;
        let path = target.header_path().display();
        let existing = key.passphrase.existing("Enter passphrase to be changed: ");
        let found = header.try_keyslot(&existing.read_key()?)?;
        unlock::note_found(target.manner, &found)?;
        let stays = key.keyslot.is_none() || key.keyslot == found.keyslot();
        let overwrites = stays && !header.has_room_to_change(&found);
        if overwrites && self.in_place {
            say!(
                "WARNING: {path} has no room for a key beside the old one, which is overwritten: if that is interrupted, \
                 neither passphrase opens it, only a header backup does."
            );
        }
        let new = key.passphrase.replacement(unlock::NEW_PROMPT, self.new_key_file.as_deref(), NEW_KEY_FILE);
        let changed = header.change_key_with(found, &new.read_key()?, &options);
        let slot = changed.map_err(|error| match overwrites && !self.in_place {
            true => explain::placed(error.into(), Some(target.header_path())).hinting(format!(
                "Or back up the header (keyway luksHeaderBackup {path} --header-backup-file FILE): --force then overwrites \
                 the old key."
            )),
            false => error.into(),
        })?;
        keyslot::note_created(target.manner, slot)
    }
}

/// How the new passphrase is given where nobody can be asked.
const NEW_KEY_FILE: &str =
    "Give the new passphrase in a file, named after DEVICE, or on standard input after the old one.";
