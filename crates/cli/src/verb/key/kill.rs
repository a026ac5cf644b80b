//! `luksKillSlot`, `luksRemoveKey` and `erase`: keyslots are overwritten and removed.

use crate::args::risk::{Effect, Proof, risk};
use crate::args::rule::Rule;
use crate::args::{
    self, Alias, Args, Command, Example, Group, Offers, Operand, Request, Topic, groups, shared,
};
use crate::device::{Target, Versions};
use crate::output::failure::{Cause, Exit, Failure, Result};
use crate::output::manner::Manner;
use crate::output::{question, stdio};
use crate::process::sys;
use crate::unlock::{self, KeyOptions, admission};
use crate::verb::key::keyslot;
use keyway::{Access, Header, Key, LastKeyslot, Unlock};
use std::path::Path;
use std::path::PathBuf;

/// `keyway luksKillSlot`.
pub(crate) static KILL_SLOT: Command = Command {
    name: "luksKillSlot",
    aliases: &[],
    group: Group::Cryptsetup(Topic::Passphrases),
    operands: &[
        shared::operands::DEVICE,
        Operand {
            name: "SLOT",
            required: true,
            help: "The keyslot's number.",
            offers: Offers::Words(shared::KEYSLOTS),
        },
    ],
    about: "Remove a keyslot by its number.",
    man: "The key material is overwritten before the header drops it. A passphrase of another keyslot is \
          asked for, so that you do not lock yourself out; with --batch-mode and no key file nothing is \
          asked. Removing the last keyslot makes the data permanently unreadable. If the header does not \
          match its seal, a warning is printed and the keyslot is removed anyway.",
    options: &[groups::KEY_INPUT, groups::KEYSLOT_EDIT, groups::LIMITS],
    rules: &[Rule::line(
        |a| a.operand(1).and_then(Path::to_str).is_some_and(|slot| slot.starts_with('-')),
        args::NOT_A_KEYSLOT,
    )],
    examples: &[Example {
        line: "keyway luksKillSlot disk.img 0",
        does: "Asks for a passphrase of another keyslot.",
    }],
    risks: &[risk("DEVICE", Effect::Edits, Proof::Header, "luksKillSlot -q TARGET 0")],
    run: args::run::<KillSlot>,
};

/// `keyway luksRemoveKey`.
pub(crate) static REMOVE_KEY: Command = Command {
    name: "luksRemoveKey",
    aliases: &[],
    group: Group::Cryptsetup(Topic::Passphrases),
    operands: &[
        shared::operands::DEVICE,
        Operand {
            name: "KEY-FILE",
            required: false,
            help: "The passphrase to remove, in a file.",
            offers: Offers::Files,
        },
    ],
    about: "Remove a passphrase.",
    man: "Removes the keyslot that the passphrase opens. Removing the last one makes the data permanently unreadable.",
    options: &[groups::KEY_INPUT, groups::KEYSLOT_EDIT, groups::LIMITS],
    rules: &[],
    examples: &[Example {
        line: "keyway luksRemoveKey disk.img",
        does: "Asks for the passphrase to remove.",
    }],
    risks: &[risk("DEVICE", Effect::Edits, Proof::Header, "luksRemoveKey -q TARGET KEY")],
    run: args::run::<RemoveKey>,
};

/// `keyway erase`.
pub(crate) static ERASE: Command = Command {
    name: "erase",
    aliases: &[Alias { name: "luksErase", device_type: Some("luks") }],
    group: Group::Cryptsetup(Topic::Volumes),
    operands: &[shared::operands::DEVICE],
    about: "Remove every keyslot; the data is gone for good.",
    man: "No passphrase is needed. The header stays, so that a header backup, if there is one, can restore \
          the keys. The key material of every keyslot is overwritten, even if the keyslot opens no data, is \
          disabled or of an unknown kind; then the header is written. A place that cannot be overwritten does \
          not stop the rest: it is reported at the end, and the exit code is 1. Nothing in the header stops \
          it either: no seal, no unknown requirement, and no sequence id at its limit, after which the ids \
          begin again at 1.",
    options: &[&[&shared::HEADER, &shared::TYPE]],
    rules: &[],
    examples: &[Example { line: "keyway erase disk.img", does: shared::examples::ASKS_YES }],
    risks: &[risk("DEVICE", Effect::Edits, Proof::Header, "erase -q TARGET")],
    run: args::run::<Erase>,
};

const LAST_SLOT: &str = "This is the last keyslot. Device will become unusable after purging this key.";
const NOT_WIPED: &str = "Operation aborted, the keyslot was NOT wiped.";

struct KillSlot {
    target: Target,
    versions: Versions,
    key: KeyOptions,
    keyslot: u32,
}

impl Request for KillSlot {
    fn from_args(args: &Args) -> Result<Self> {
        let typed = args.operand(1).map(|o| o.to_string_lossy()).unwrap_or_default();
        let wrong =
            |_| Failure::new(Exit::Parameters, format!("Key slot is invalid: {typed} is not a number."));
        let keyslot = typed.parse().map_err(wrong)?;
        let (target, versions) = (Target::from_args(args, 0)?, Versions::from_args(args)?);
        Ok(Self { target, versions, key: KeyOptions::from_args(args)?, keyslot })
    }

    fn run(self) -> Result<()> {
        let (manner, keyslot) = (self.target.manner, self.keyslot);
        let mut header = self.target.header(Access::Write, self.versions, &self.key.terms_without_seal())?;
        keyslot::check_active(&header, keyslot)?;
        stdio::verbose(manner, &format!("Keyslot {keyslot} is selected for deletion."))?;
        header.check()?;
        admission::warn_of_unmatched_seal(header.luks(), self.target.header_path());
        let on_terminal = rustix::termios::isatty(rustix::stdio::stdin());
        if !manner.batch_mode || self.has_passphrase() || !on_terminal {
            self.ask_for_another_key(&header)?;
        }
        remove(manner, &mut header, keyslot)
    }
}

impl KillSlot {
    fn has_passphrase(&self) -> bool {
        self.key.passphrase.is_given()
    }

    /// Demands a passphrase that will still work afterwards or, for the last keyslot, the
    /// passphrase of that keyslot.
    fn ask_for_another_key(&self, header: &Header) -> Result<()> {
        let is_last = header.luks().bound_keyslots() == [self.keyslot];
        if is_last && !self.has_passphrase() {
            question::confirm(self.target.manner, LAST_SLOT, NOT_WIPED, Exit::Permission)?;
        }
        let source = self.key.passphrase.existing("Enter any remaining passphrase: ");
        if source.uses_stdin() && sys::stdin_was_closed() {
            return Err(Failure::new(Exit::Permission, format!("Standard input is closed. {NOT_WIPED}")));
        }
        // Nobody can be asked: cryptsetup takes an empty standard input as consent.
        let Some(passphrase) = source.read_if_any()? else { return Ok(()) };
        let opened = header.prove_another_key(self.keyslot, &Key::Passphrase(passphrase))?;
        unlock::note_unlocked(self.target.manner, opened)
    }
}

struct RemoveKey {
    target: Target,
    versions: Versions,
    key: KeyOptions,
    /// The operand that names a key file.
    key_file: Option<PathBuf>,
}

impl Request for RemoveKey {
    fn from_args(args: &Args) -> Result<Self> {
        let (target, versions) = (Target::from_args(args, 0)?, Versions::from_args(args)?);
        let key_file = args.operand(1).map(Path::to_owned);
        Ok(Self { target, versions, key: KeyOptions::from_args(args)?, key_file })
    }

    fn run(self) -> Result<()> {
        let (manner, key) = (self.target.manner, &self.key);
        if self.key_file.is_some() && key.passphrase.key_file.is_some() {
            unlock::note_option_wins();
        }
        let mut header = self.target.header(Access::Write, self.versions, &key.terms_without_seal())?;
        header.check()?;
        admission::warn_of_unmatched_seal(header.luks(), self.target.header_path());
        let source = key.passphrase.existing("Enter passphrase to be deleted: ");
        let source = source.or_key_file(self.key_file.as_deref());
        let found = header.try_key(&source.read_key()?)?;
        let Some(keyslot) = unlock::note_found(manner, &found)? else { return Ok(()) };
        stdio::verbose(manner, &format!("Keyslot {keyslot} is selected for deletion."))?;
        if header.luks().bound_keyslots() == [keyslot] {
            question::confirm(manner, LAST_SLOT, NOT_WIPED, Exit::Permission)?;
        }
        remove(manner, &mut header, keyslot)
    }
}

struct Erase {
    target: Target,
    versions: Versions,
}

impl Request for Erase {
    fn from_args(args: &Args) -> Result<Self> {
        if args.given(&shared::HW_OPAL_FACTORY_RESET) {
            let message =
                "--hw-opal-factory-reset: self-encrypting drives are not supported; nothing was changed.";
            return Err(Failure::new(Exit::Parameters, message));
        }
        Ok(Self { target: Target::from_args(args, 0)?, versions: Versions::from_args(args)? })
    }

    fn run(self) -> Result<()> {
        let (manner, device) = (self.target.manner, self.target.header_path());
        let unread = |failure: Failure| match (failure.exit(), failure.cause()) {
            (Exit::Parameters, Cause::Other) => failure.hinting(UNREADABLE),
            _ => failure,
        };
        let header = self.target.header(Access::Write, self.versions, &Unlock::new().ignore_seal());
        let mut header = header.map_err(unread)?;
        let warning = format!(
            "This operation will erase all keyslots on device {}.
Device will become unusable after this operation.",
            device.display()
        );
        let refusal = "Operation aborted, keyslots were NOT wiped.";
        question::confirm(manner, &warning, refusal, Exit::Permission)?;
        // In the middle of a reencryption both keys go. Nothing that the header says stops that.
        let midway = header.is_in_reencryption().unwrap_or(true);
        // As cryptsetup, no word of keyslots that open no data.
        let keyslots = header.luks().bound_keyslots();
        header.erase()?;
        if midway {
            return stdio::verbose(manner, "All key slots removed.");
        }
        let said = |slot: u32| stdio::verbose(manner, &format!("Key slot {slot} removed."));
        keyslots.into_iter().try_for_each(said)
    }
}

fn remove(manner: Manner, header: &mut Header, keyslot: u32) -> Result<()> {
    header.kill_keyslot(keyslot, LastKeyslot::Kill)?;
    stdio::verbose(manner, &format!("Key slot {keyslot} removed."))
}

const UNREADABLE: &str = "If a header does not say where its keys are, overwrite the start of the device up \
                          to its data: usually 16 MiB for LUKS2, 2 MiB for LUKS1.";
