//! `luksChangeKey`: another passphrase instead of an existing one.

use crate::device::Versions;
use crate::door::{Args, Command, Example, Group, Operand, Topic, groups, shared};
use crate::say::failure::Result;
use crate::say::output;
use crate::unlock::admission;
use crate::unlock::passphrase::PassphraseSource;
use crate::verb::key::keyslot;
use crate::{device, unlock};
use keyway_volume::edit::change_key;
use keyway_volume::{Access, OsRandom, UnlockOptions};

/// `keyway luksChangeKey`.
pub(crate) static COMMAND: Command = Command {
    name: "luksChangeKey",
    aliases: &[],
    group: Group::Cryptsetup(Topic::Passphrases),
    operands: &[
        Operand { name: "DEVICE", required: true, help: "The volume." },
        Operand { name: "NEW-KEY-FILE", required: false, help: "The new passphrase, in a file." },
    ],
    about: "Change a passphrase.",
    man: "The keyslot that the existing passphrase opens gets the new one. A crash in between leaves the old or the new \
          passphrase working, never neither. So the new key material needs room beside the old one: where no area (LUKS2) \
          or keyslot (LUKS1) is free, remove a keyslot that is no longer needed first.",
    options: &[
        &[
            &shared::KEY_FILE,
            &shared::KEYFILE_OFFSET,
            &shared::KEYFILE_SIZE,
            &shared::NEW_KEYFILE_OFFSET,
            &shared::NEW_KEYFILE_SIZE,
            &shared::KEY_SLOT,
            &shared::PBKDF,
            &shared::ITER_TIME,
            &shared::PBKDF_MEMORY,
            &shared::PBKDF_PARALLEL,
            &shared::PBKDF_FORCE_ITERATIONS,
            &shared::HASH,
            &shared::KEYSLOT_CIPHER,
            &shared::KEYSLOT_KEY_SIZE,
            &shared::HEADER,
            &shared::TYPE,
            &shared::VERIFY_PASSPHRASE,
            &shared::TIMEOUT,
            &shared::WEAK_CIPHER,
            &shared::MEMORY_BUDGET,
            &shared::TIME_LIMIT,
        ],
        groups::DEMANDS,
    ],
    examples: &[Example {
        line: "keyway luksChangeKey disk.img",
        does: "Asks for the old one, then for the new one twice.",
    }],
    run,
};

fn run(args: &Args) -> Result<()> {
    let mut luks = device::load(args, 0, Access::Write, Versions::from_args(args)?)?;
    let device = device::header_path(args, 0)?;
    admission::check_header(args, &luks, &device)?;
    let options = keyslot::options(args, &luks)?;
    let unlock_options = UnlockOptions {
        keyslot: args.number32(&shared::KEY_SLOT),
        unbound_too: true,
        ..unlock::options(args)
    };
    luks.check_requirements()?;
    let existing = PassphraseSource::existing(args, "Enter passphrase to be changed: ")?;
    let unlocked = keyway_volume::unlock(&luks, &existing.read()?, &unlock_options)?;
    admission::check_key(args, &luks, &device, None, &unlocked.volume_key, unlocked.digest)?;
    unlock::note_unlocked(args, unlocked.keyslot)?;
    let new = PassphraseSource::replacement(args, "Enter new passphrase: ", args.operand(1))?.read()?;
    let slot = change_key(&mut luks, &unlocked, &new, &options, &mut OsRandom)?;
    output::verbose(args.manner(), &format!("Key slot {slot} created."))
}
