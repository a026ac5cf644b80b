//! `luksKillSlot`, `luksRemoveKey` and `erase`: keyslots overwritten and removed.

use crate::device::Versions;
use crate::door::{Alias, Args, Command, Example, Group, Kind, Operand, Opt, Topic, shared};
use crate::process::sys;
use crate::say::failure::{Exit, Failure, Result};
use crate::say::{output, question};
use crate::unlock::passphrase::PassphraseSource;
use crate::verb::key::keyslot;
use crate::{device, unlock};
use keyway_volume::edit::{kill_slot, prove_another_key};
use keyway_volume::{Access, Luks, OsRandom};

/// `keyway luksKillSlot`.
pub(crate) static KILL_SLOT: Command = Command {
    name: "luksKillSlot",
    aliases: &[],
    group: Group::Cryptsetup(Topic::Passphrases),
    operands: &[
        Operand { name: "DEVICE", required: true, help: "The volume." },
        Operand { name: "SLOT", required: true, help: "The keyslot's number." },
    ],
    about: "Remove a keyslot by its number.",
    man: "The key material is overwritten before the header forgets it. A passphrase of another keyslot is asked for, so \
          that nobody is locked out; with --batch-mode and no key file nothing is asked. Removing the last keyslot \
          makes the data unreadable for good.",
    options: &[&[
        &shared::KEY_FILE,
        &shared::KEYFILE_OFFSET,
        &shared::KEYFILE_SIZE,
        &shared::HEADER,
        &shared::TYPE,
        &shared::TIMEOUT,
        &shared::WEAK_CIPHER,
        &shared::MEMORY_BUDGET,
        &shared::TIME_LIMIT,
    ]],
    examples: &[Example {
        line: "keyway luksKillSlot disk.img 0",
        does: "Asks for a passphrase of another keyslot.",
    }],
    run: run_kill_slot,
};

/// `keyway luksRemoveKey`.
pub(crate) static REMOVE_KEY: Command = Command {
    name: "luksRemoveKey",
    aliases: &[],
    group: Group::Cryptsetup(Topic::Passphrases),
    operands: &[
        Operand { name: "DEVICE", required: true, help: "The volume." },
        Operand { name: "KEY-FILE", required: false, help: "The passphrase to remove, in a file." },
    ],
    about: "Remove a passphrase.",
    man: "Removes the keyslot that the passphrase opens. Removing the last one makes the data unreadable for good.",
    options: &[&[
        &shared::KEY_FILE,
        &shared::KEYFILE_OFFSET,
        &shared::KEYFILE_SIZE,
        &shared::HEADER,
        &shared::TYPE,
        &shared::TIMEOUT,
        &shared::WEAK_CIPHER,
        &shared::MEMORY_BUDGET,
        &shared::TIME_LIMIT,
    ]],
    examples: &[Example {
        line: "keyway luksRemoveKey disk.img",
        does: "Asks for the passphrase that shall go.",
    }],
    run: run_remove_key,
};

/// `keyway erase`.
pub(crate) static ERASE: Command = Command {
    name: "erase",
    aliases: &[Alias { name: "luksErase", device_type: Some("luks") }],
    group: Group::Cryptsetup(Topic::Volumes),
    operands: &[Operand { name: "DEVICE", required: true, help: "The volume." }],
    about: "Remove every keyslot; the data is gone for good.",
    man: "No passphrase is needed. The header stays, so that a header backup, if there is one, can bring the keys back.",
    options: &[&[&shared::HEADER, &shared::TYPE, &FACTORY_RESET]],
    examples: &[Example { line: "keyway erase disk.img", does: "Asks for the word YES first." }],
    run: run_erase,
};

static FACTORY_RESET: Opt = Opt {
    long: "hw-opal-factory-reset",
    short: None,
    value: "",
    kind: Kind::Flag,
    help: "Refused: no self-encrypting drives.",
    man: "",
};

const LAST_SLOT: &str = "This is the last keyslot. Device will become unusable after purging this key.";
const NOT_WIPED: &str = "Operation aborted, the keyslot was NOT wiped.";

fn run_kill_slot(args: &Args) -> Result<()> {
    let typed = args.operand(1).map(|o| o.to_string_lossy()).unwrap_or_default();
    let keyslot: u32 = typed
        .parse()
        .map_err(|_| Failure::new(Exit::Parameters, format!("Key slot is invalid: {typed} is no number.")))?;
    let mut luks = device::load(args, 0, Access::Write, Versions::from_args(args)?)?;
    keyslot::check_active(&luks, keyslot)?;
    output::verbose(args.manner(), &format!("Keyslot {keyslot} is selected for deletion."))?;
    luks.check_requirements()?;
    let on_terminal = rustix::termios::isatty(rustix::stdio::stdin());
    if !args.manner().batch_mode || args.given(&shared::KEY_FILE) || !on_terminal {
        ask_for_another_key(args, &luks, keyslot)?;
    }
    remove(args, &mut luks, keyslot)
}

/// Demands a passphrase that will still work afterwards; for the last keyslot, its own.
fn ask_for_another_key(args: &Args, luks: &Luks, keyslot: u32) -> Result<()> {
    let is_last = luks.bound_keyslots() == [keyslot];
    if is_last && !args.given(&shared::KEY_FILE) {
        question::confirm(args.manner(), LAST_SLOT, NOT_WIPED, Exit::Permission)?;
    }
    let request = PassphraseSource::existing(args, "Enter any remaining passphrase: ")?;
    if request.uses_stdin() && sys::stdin_was_closed() {
        return Err(Failure::new(Exit::Permission, format!("Standard input is closed. {NOT_WIPED}")));
    }
    let passphrase = match request.read() {
        Ok(passphrase) => passphrase,
        // Nobody to ask: cryptsetup takes an empty standard input as "do it".
        Err(failure) if request.nothing_to_read(&failure) => return Ok(()),
        Err(failure) => return Err(failure),
    };
    let opened = prove_another_key(luks, keyslot, &passphrase, &unlock::options(args))?;
    unlock::note_unlocked(args, opened)
}

fn run_remove_key(args: &Args) -> Result<()> {
    if args.operand(1).is_some() && args.given(&shared::KEY_FILE) {
        say!("Option --key-file takes precedence over specified key file argument.");
    }
    let mut luks = device::load(args, 0, Access::Write, Versions::from_args(args)?)?;
    luks.check_requirements()?;
    let request =
        PassphraseSource::existing(args, "Enter passphrase to be deleted: ")?.or_key_file(args.operand(1));
    let unlocked = keyway_volume::unlock(&luks, &request.read()?, &unlock::options(args))?;
    unlock::note_unlocked(args, unlocked.keyslot)?;
    output::verbose(args.manner(), &format!("Keyslot {} is selected for deletion.", unlocked.keyslot))?;
    if luks.bound_keyslots() == [unlocked.keyslot] {
        question::confirm(args.manner(), LAST_SLOT, NOT_WIPED, Exit::Permission)?;
    }
    remove(args, &mut luks, unlocked.keyslot)
}

fn run_erase(args: &Args) -> Result<()> {
    if args.given(&FACTORY_RESET) {
        let message =
            "--hw-opal-factory-reset: self-encrypting drives are not supported; nothing was changed.";
        return Err(Failure::new(Exit::Parameters, message));
    }
    let device = device::header_path(args, 0)?;
    let mut luks = device::load(args, 0, Access::Write, Versions::from_args(args)?)?;
    let warning = format!(
        "This operation will erase all keyslots on device {}.\nDevice will become unusable after this operation.",
        device.display()
    );
    question::confirm(
        args.manner(),
        &warning,
        "Operation aborted, keyslots were NOT wiped.",
        Exit::Permission,
    )?;
    luks.check_requirements()?;
    for keyslot in luks.bound_keyslots() {
        remove(args, &mut luks, keyslot)?;
    }
    Ok(())
}

fn remove(args: &Args, luks: &mut Luks, keyslot: u32) -> Result<()> {
    kill_slot(luks, keyslot, &mut OsRandom)?;
    output::verbose(args.manner(), &format!("Key slot {keyslot} removed."))
}
