//! `luksConvertKey`: another key derivation for the same passphrase (LUKS2).

use crate::device::Versions;
use crate::door::{Args, Command, Example, Group, Operand, Topic, shared};
use crate::say::failure::Result;
use crate::say::output;
use crate::unlock::passphrase::PassphraseSource;
use crate::verb::key::keyslot;
use crate::{device, unlock};
use keyway_volume::edit::convert_key;
use keyway_volume::{Access, OsRandom, UnlockOptions};

/// `keyway luksConvertKey`.
pub(crate) static COMMAND: Command = Command {
    name: "luksConvertKey",
    aliases: &[],
    group: Group::Cryptsetup(Topic::Passphrases),
    operands: &[Operand { name: "DEVICE", required: true, help: "The volume." }],
    about: "Give a keyslot another key derivation.",
    man: "The passphrase stays; --pbkdf and its companions, or the defaults of this machine, give the new cost. A boot loader \
          that knows no Argon2 wants --pbkdf pbkdf2.",
    options: &[&[
        &shared::KEY_FILE,
        &shared::KEYFILE_OFFSET,
        &shared::KEYFILE_SIZE,
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
        &shared::TIMEOUT,
        &shared::WEAK_CIPHER,
        &shared::MEMORY_BUDGET,
        &shared::TIME_LIMIT,
    ]],
    examples: &[Example {
        line: "keyway luksConvertKey --pbkdf pbkdf2 --iter-time 500 disk.img",
        does: "A keyslot that GRUB opens in bearable time.",
    }],
    run,
};

fn run(args: &Args) -> Result<()> {
    let mut luks = device::load(args, 0, Access::Write, Versions::Two)?;
    let keyslot = args.number32(&shared::KEY_SLOT);
    if let Some(number) = keyslot {
        keyslot::check_active(&luks, number)?;
    }
    let options = keyslot::options(args, &luks)?;
    luks.check_requirements()?;
    let passphrase =
        PassphraseSource::existing(args, "Enter passphrase for keyslot to be converted: ")?.read()?;
    let unlock_options = UnlockOptions { keyslot, unbound_too: true, ..unlock::options(args) };
    let unlocked = keyway_volume::unlock(&luks, &passphrase, &unlock_options)?;
    let slot = convert_key(&mut luks, &unlocked, &passphrase, &options, &mut OsRandom)?;
    output::verbose(args.manner(), &format!("Key slot {slot} created."))
}
