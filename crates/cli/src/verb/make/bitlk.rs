//! `bitlkFormat`: makes a BitLocker volume.

use crate::args::risk::{Effect, Proof, risk};
use crate::args::rule::Rule;
use crate::args::{self, Args, Command, Example, Group, Kind, Offers, Operand, Opt, Request, groups, shared};
use crate::device::{self, explain};
use crate::make::output_file::{self, Creation};
use crate::make::replacing::Replacing;
use crate::output::failure::{Exit, Failure, Result};
use crate::output::manner::Manner;
use crate::output::progress::{self, Progress};
use crate::output::transfer::cannot_write;
use crate::unlock::{self, passphrase::PassphraseOptions};
use crate::volume::kinds::bitlk::{self, RECOVERY_PASSWORD};
use keyway::storage::Storage;
use keyway::{Key, NewBitlk, RecoveryPassword};
use std::path::{Path, PathBuf};

/// `keyway bitlkFormat`.
pub(crate) static COMMAND: Command = Command {
    name: "bitlkFormat",
    aliases: &[],
    group: Group::Containers,
    operands: &[
        shared::operands::NEW_VOLUME,
        Operand {
            name: "KEY-FILE",
            required: false,
            help: "The passphrase, in a file.",
            offers: Offers::Files,
        },
    ],
    about: "Make a BitLocker volume.",
    man: "Everything on the device is lost: the word YES confirms that or, without a terminal, --force or -q. \
          A device that is mounted, mapped or open in another program is refused. The first sector is written \
          last, so an interrupted run leaves either no volume or a complete one.\n\nThe volume is as Windows \
          makes it: AES-XTS with keys of 128 bits, three copies of its metadata, a passphrase of 8 to 256 \
          characters, with --recovery-password the 48 digits as well. Its data area is filled with random \
          bytes.\n\nThe volume has no file system yet. Make one through open or mount, no longer than the \
          last line says: the volume's metadata follow it, and nothing else can be written there. Windows \
          offers to format a volume without a file system that it knows; formatted, it is no longer a \
          BitLocker volume.",
    options: &[
        groups::KEY_INPUT,
        &[
            &RECOVERY_PASSWORD,
            &NO_PASSPHRASE,
            &SIZE,
            &KEY_SIZE,
            &SECTOR_SIZE,
            &LABEL,
            &QUICK,
            &shared::FORCE,
            &shared::VERIFY_PASSPHRASE,
            &shared::TIMEOUT,
        ],
        groups::PROGRESS,
    ],
    rules: &[
        Rule::needs(&NO_PASSPHRASE, &RECOVERY_PASSWORD)
            .saying("Option --no-passphrase needs --recovery-password: something has to open the volume."),
        Rule::excludes(&NO_PASSPHRASE, &[&shared::KEY_FILE, &shared::PASSWORD_COMMAND]),
        Rule::line(
            |args| args.given(&NO_PASSPHRASE) && args.operand(1).is_some(),
            "Option --no-passphrase makes a volume without a passphrase: omit the key file.",
        ),
    ],
    examples: &[
        Example {
            line: "keyway bitlkFormat --size 256M new.img",
            does: "A volume in a file, by passphrase.",
        },
        Example {
            line: "keyway bitlkFormat --size 256M --recovery-password --no-passphrase new.img",
            does: "Prints the 48 digits that open it.",
        },
    ],
    risks: &[
        risk(
            "DEVICE",
            Effect::Overwrites,
            Proof::Claim,
            "bitlkFormat -q --quick --password-command true TARGET",
        ),
        risk(
            "DEVICE",
            Effect::Replaces,
            Proof::NewName,
            "bitlkFormat -q --quick --force --size 2M --password-command true TARGET",
        ),
    ],
    run: args::run::<Make>,
};

static NO_PASSPHRASE: Opt = Opt {
    long: "no-passphrase",
    short: None,
    value: "",
    kind: Kind::Flag,
    help: "Only the recovery password opens it.",
    man: "",
};

static SIZE: Opt = Opt {
    long: "size",
    short: None,
    value: "SIZE",
    kind: Kind::Size,
    help: shared::NEW_SIZE_HELP,
    man: "At least 2 MiB; 1 MiB of it is not for data. An existing file is replaced only with --force.",
};

static KEY_SIZE: Opt = Opt {
    long: "key-size",
    short: Some('s'),
    value: "BITS",
    kind: Kind::Words(&["256", "512"]),
    help: "Size of the volume key (256).",
    man: "XTS uses two keys and this counts both: 256 is what Windows calls XTS-AES 128, 512 is XTS-AES 256.",
};

static SECTOR_SIZE: Opt = Opt {
    long: "sector-size",
    short: None,
    value: "BYTES",
    kind: Kind::Numbers(4096, &["512", "4096"]),
    help: "Encryption sector: 512 or 4096.",
    man: "The default is the sector size of the device, and 512 in a file. Windows opens a volume only if its \
          sectors have the size of the device's.",
};

static LABEL: Opt = Opt {
    long: "label",
    short: None,
    value: "TEXT",
    kind: Kind::Text,
    help: "Its description (Keyway).",
    man: "Windows and bitlkDump show it: at most 255 characters. Windows puts the computer's name and the \
          date there.",
};

static QUICK: Opt = Opt {
    long: "quick",
    short: None,
    value: "",
    kind: Kind::Flag,
    help: shared::QUICK_HELP,
    man: "Old data can be read from the device until it is overwritten.",
};

struct Make {
    new: NewBitlk,
    /// `None`: only the recovery password opens it.
    passphrase: Option<PassphraseOptions>,
    key_file: Option<PathBuf>,
    makes_recovery_password: bool,
    size: Option<u64>,
    device: PathBuf,
    manner: Manner,
    progress: Progress,
    replacing: Replacing,
}

impl Request for Make {
    fn from_args(args: &Args) -> Result<Self> {
        let device = args.operand(0).ok_or_else(|| Failure::silent(Exit::Parameters))?;
        let new = key_bits(args.text(&KEY_SIZE))?.into_iter().fold(NewBitlk::new(), NewBitlk::key_bits);
        let new = args.number32(&SECTOR_SIZE).into_iter().fold(new, NewBitlk::sector_size);
        let new = args.text(&LABEL).into_iter().fold(new, NewBitlk::description);
        let new = if args.given(&QUICK) { new.quick() } else { new };
        new.check()?;
        Ok(Self {
            new,
            passphrase: (!args.given(&NO_PASSPHRASE)).then(|| PassphraseOptions::from_args(args)),
            key_file: args.operand(1).map(Path::to_owned),
            makes_recovery_password: args.given(&RECOVERY_PASSWORD),
            size: args.number(&SIZE),
            device: device::resolve(device).to_path_buf(),
            manner: args.manner(),
            progress: args.progress(),
            replacing: Replacing::from_args(args, &[0], &[]),
        })
    }

    fn run(self) -> Result<()> {
        match self.size {
            Some(size) => self.file(size),
            None => self.whole(),
        }
    }
}

/// Bits of each AES key: the option counts both.
fn key_bits(given: Option<&str>) -> Result<Option<u32>> {
    match given {
        None => Ok(None),
        Some("256") => Ok(Some(128)),
        Some("512") => Ok(Some(256)),
        Some(other) => {
            let message = format!("BitLocker's volume keys have 256 or 512 bits, not {other}.");
            Err(Failure::new(Exit::Parameters, message))
        }
    }
}

impl Make {
    fn file(&self, size: u64) -> Result<()> {
        self.new.room(size).map_err(|error| self.failed(error))?;
        let creation = Creation::start(&self.replacing, &self.device)?;
        let file = creation.file();
        file.set_len(size).map_err(|error| cannot_write(&self.device.display(), None, &error))?;
        self.fill(&**file)?;
        creation.complete_for_owner().map_err(|failure| self.in_vain(failure))?;
        self.say(size)
    }

    fn whole(&self) -> Result<()> {
        device::check_exists(&self.device, output_file::BY_SIZE)?;
        device::refuse_if_opened(&self.device)?;
        let claimed = output_file::overwrite(&self.replacing, &self.device)?;
        self.new.fills(&**claimed).map_err(|error| self.failed(error))?;
        output_file::confirm(self.manner, &self.replacing, &claimed, &self.device, "")?;
        self.fill(&**claimed)?;
        self.say(claimed.len())
    }

    /// Nothing is written before the recovery password was shown.
    fn fill(&self, storage: &dyn Storage) -> Result<()> {
        let total = self.new.fills(storage).map_err(|error| self.failed(error))?;
        let key = self.passphrase.as_ref().map(|options| self.ask(options)).transpose()?;
        let recovery = self.makes_recovery_password.then(RecoveryPassword::random).transpose()?;
        recovery.as_ref().map_or(Ok(()), bitlk::show)?;
        let new = recovery.iter().fold(self.new.clone(), NewBitlk::recovery_password);
        let made = progress::watch(self.progress, &self.device, Some(total), |meter| {
            new.create_on(storage, key.as_ref(), meter)
        });
        made.map_err(|error| self.in_vain(self.failed(error)))
    }

    fn ask(&self, options: &PassphraseOptions) -> Result<Key> {
        options.first(unlock::prompt_for(&self.device), self.key_file.as_deref()).read_key()
    }

    /// How long a file system may be.
    fn say(&self, len: u64) -> Result<()> {
        let room = self.new.room(len).map_err(|error| self.failed(error))?;
        if !self.manner.batch_mode {
            say!("A file system in it can have {room} bytes, {} sectors of 512.", room / 512);
        }
        Ok(())
    }

    /// A failure after the recovery password was shown.
    fn in_vain(&self, failure: Failure) -> Failure {
        match self.makes_recovery_password {
            true => failure.adding("The recovery password that was shown opens nothing."),
            false => failure,
        }
    }

    fn failed(&self, error: keyway::Error) -> Failure {
        explain::placed(error.into(), Some(&self.device))
    }
}
