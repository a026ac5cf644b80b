//! `bitlkAddKey` and `bitlkRemoveKey`: what opens a BitLocker volume.

use crate::args::risk::{Effect, Proof, risk};
use crate::args::rule::Rule;
use crate::args::{self, Args, Command, Example, Group, Kind, Offers, Operand, Opt, Request, groups, shared};
use crate::device;
use crate::make::output_file;
use crate::make::replacing::Replacing;
use crate::output::failure::{Exit, Failure, Result};
use crate::output::manner::Manner;
use crate::output::stdio;
use crate::unlock::{self, passphrase::PassphraseOptions};
use crate::volume::kinds::bitlk::{self, RECOVERY_PASSWORD};
use keyway::{BitlkProtectors, Key, Limits, RecoveryPassword};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// `keyway bitlkAddKey`.
pub(crate) static ADD: Command = Command {
    name: "bitlkAddKey",
    aliases: &[],
    group: Group::Containers,
    operands: &[DEVICE, shared::operands::NEW_KEY_FILE],
    about: "Add a passphrase or a recovery password to a BitLocker volume.",
    man: "Asks for a key that opens the volume, then for the new passphrase, of 8 to 256 characters. Windows \
          allows only one passphrase: --replace replaces it. With --recovery-password, 48 digits are \
          generated instead, and printed once. This works for volumes made by Windows and by bitlkFormat; the \
          data and its keys stay the same.\n\nThe three copies of the metadata are written one after another: \
          if that is interrupted, the volume opens with the keys from before or after the change. The next \
          bitlkAddKey or bitlkRemoveKey then only makes the copies equal, and says so. A device in use is \
          refused, and so is a volume whose protection is suspended, that is only partly encrypted, or that \
          no passphrase, recovery password or start-up key opens.",
    options: &[
        groups::KEY_INPUT,
        &[&shared::NEW_KEYFILE],
        groups::NEW_KEY_INPUT,
        &[&RECOVERY_PASSWORD, &REPLACE, &shared::VERIFY_PASSPHRASE, &shared::TIMEOUT],
    ],
    rules: &[Rule::excludes(&RECOVERY_PASSWORD, &[&REPLACE, &shared::NEW_KEYFILE])],
    examples: &[
        Example {
            line: "keyway bitlkAddKey --recovery-password windows.img",
            does: "Asks for a key that opens it, prints 48 digits as another.",
        },
        Example { line: "keyway bitlkAddKey --replace windows.img", does: "Replaces the passphrase." },
    ],
    risks: &[risk("DEVICE", Effect::Overwrites, Proof::Claim, "bitlkAddKey -q -d KEY TARGET KEY")],
    run: args::run::<AddKey>,
};

/// `keyway bitlkRemoveKey`.
pub(crate) static REMOVE: Command = Command {
    name: "bitlkRemoveKey",
    aliases: &[],
    group: Group::Containers,
    operands: &[
        DEVICE,
        Operand {
            name: "KEY-FILE",
            required: false,
            help: "The passphrase to remove; with -S, one that opens the volume.",
            offers: Offers::Files,
        },
    ],
    about: "Remove a key of a BitLocker volume.",
    man: "Removes the protector that the given passphrase, recovery password or start-up key opens; with \
          --key-slot, the protector with that number (bitlkDump shows them), and any key that opens the \
          volume will do. The last protector that works without a TPM or smart card is kept, and so are those \
          for a TPM or smart card: Windows removes them.\n\nIf a change was interrupted, a removed protector \
          may be left in one copy of the metadata, and protectors may have other numbers: this command then \
          only makes the copies equal, with a key that still opens the volume. Check the result with \
          bitlkDump.\n\nAnyone with an older copy of the metadata (a backup, a snapshot, spare cells of a \
          flash disk) can still open the volume with the removed key: if that matters, copy the data to a new \
          volume.",
    options: &[groups::KEY_INPUT, &[&NUMBER, &shared::TIMEOUT]],
    rules: &[],
    examples: &[
        Example { line: "keyway bitlkRemoveKey windows.img", does: "Asks for the key to remove." },
        Example {
            line: "keyway bitlkRemoveKey -S 1 windows.img",
            does: "Asks for a key that opens it, and removes protector 1.",
        },
    ],
    risks: &[risk("DEVICE", Effect::Overwrites, Proof::Claim, "bitlkRemoveKey -q TARGET KEY")],
    run: args::run::<RemoveKey>,
};

const DEVICE: Operand = shared::operands::DEVICE;

static REPLACE: Opt = Opt {
    long: "replace",
    short: None,
    value: "",
    kind: Kind::Flag,
    help: "Replace the existing passphrase.",
    man: "The old passphrase no longer opens the volume. It can be the key given to open it now.",
};

static NUMBER: Opt = Opt {
    long: "key-slot",
    short: Some('S'),
    value: "N",
    kind: Kind::Numbers(31, shared::KEYSLOTS),
    help: "Remove this protector.",
    man: "By its number in bitlkDump.",
};

struct AddKey {
    volume: Volume,
    new: New,
    manner: Manner,
}

/// What is to open the volume.
enum New {
    Recovery,
    Passphrase { file: Option<PathBuf>, replaces: bool },
}

impl Request for AddKey {
    fn from_args(args: &Args) -> Result<Self> {
        let file = args.path(&shared::NEW_KEYFILE).or_else(|| args.operand(1)).map(Path::to_owned);
        let new = match (args.given(&RECOVERY_PASSWORD), &file) {
            (true, Some(_)) => {
                let message = "Option --recovery-password generates the key: omit the key file.";
                return Err(Failure::new(Exit::Parameters, message));
            }
            (true, None) => New::Recovery,
            (false, _) => New::Passphrase { file, replaces: args.given(&REPLACE) },
        };
        Ok(Self { volume: Volume::from_args(args, None)?, new, manner: args.manner() })
    }

    fn run(self) -> Result<()> {
        let opened = self.volume.open()?;
        let failed = |error| bitlk::failed(&self.volume.device, error);
        let number = match &self.new {
            New::Recovery => {
                let password = RecoveryPassword::random()?;
                bitlk::show(&password)?;
                opened.add_recovery_password(&password).map_err(|error| failed(error).adding(UNSURE))?
            }
            New::Passphrase { file, replaces } => {
                let source = self.volume.passphrase.replacement(
                    unlock::NEW_PROMPT,
                    file.as_deref(),
                    unlock::NEXT_LINE,
                );
                let key = source.read_key()?;
                match replaces {
                    true => opened.replace_passphrase(&key),
                    false => opened.add_passphrase(&key),
                }
                .map_err(failed)?
            }
        };
        stdio::verbose(self.manner, &format!("Protector {number} created."))
    }
}

struct RemoveKey {
    volume: Volume,
    number: Option<usize>,
    manner: Manner,
}

impl Request for RemoveKey {
    fn from_args(args: &Args) -> Result<Self> {
        let number = args.number32(&NUMBER).map(|number| number as usize);
        Ok(Self { volume: Volume::from_args(args, args.operand(1))?, number, manner: args.manner() })
    }

    fn run(self) -> Result<()> {
        let opened = self.volume.open()?;
        let number = self.number.unwrap_or(opened.opened_by());
        opened.remove(number).map_err(|error| bitlk::failed(&self.volume.device, error))?;
        stdio::verbose(self.manner, &format!("Protector {number} removed."))
    }
}

/// A volume, and what opens it.
struct Volume {
    device: PathBuf,
    passphrase: PassphraseOptions,
    key_file: Option<PathBuf>,
    replacing: Replacing,
}

impl Volume {
    fn from_args(args: &Args, key_file: Option<&Path>) -> Result<Self> {
        let device = args.operand(0).ok_or_else(|| Failure::silent(Exit::Parameters))?;
        Ok(Self {
            device: device::resolve(device).to_path_buf(),
            passphrase: PassphraseOptions::from_args(args),
            key_file: key_file.map(Path::to_owned),
            replacing: Replacing::from_args(args, &[0], &[]),
        })
    }

    /// Claims it, and asks for what opens it.
    fn open(&self) -> Result<BitlkProtectors> {
        device::check_exists(&self.device, "")?;
        device::refuse_if_opened(&self.device)?;
        let claimed = output_file::overwrite(&self.replacing, &self.device)?;
        let failed = |error| bitlk::failed(&self.device, error);
        BitlkProtectors::check(&**claimed).map_err(failed)?;
        let key = self.key()?;
        BitlkProtectors::on(Arc::clone(&claimed), &key, &Limits::new()).map_err(|error| {
            match BitlkProtectors::check(&**claimed) {
                Ok(false) => failed(error).hinting(CUT_OFF),
                _ => failed(error),
            }
        })
    }

    /// A key file is a start-up key, or holds a passphrase or a recovery password.
    fn key(&self) -> Result<Key> {
        let file = self.passphrase.key_file.clone().or_else(|| self.key_file.clone());
        let options = self.passphrase.by_file(file);
        let source = options.existing(unlock::prompt_for(&self.device));
        match options.as_key_file().filter(|_| !source.uses_stdin() && !source.is_printed()) {
            Some(file) => Ok(Key::KeyFile(file)),
            None => source.read_key(),
        }
    }
}

/// What was shown may be in some copies of the metadata.
const UNSURE: &str = "The recovery password that was shown may or may not open the volume.";

/// What to do where the key may be the one that was removed.
const CUT_OFF: &str = "A change of its protectors was interrupted, and a removed one may be left in a copy of \
                       the metadata. Run this again with a key that still opens the volume.";
