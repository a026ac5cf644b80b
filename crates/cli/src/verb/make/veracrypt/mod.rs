//! `tcryptFormat`: makes a VeraCrypt volume, or hides one in another.

mod key;

use crate::args::risk::{Effect, Proof, risk};
use crate::args::rule::Rule;
use crate::args::{self, Args, Command, Example, Group, Kind, Opt, Request, groups, shared};
use crate::device::{self, explain};
use crate::make::output_file::{self, Creation};
use crate::make::replacing::Replacing;
use crate::output::failure::{Exit, Failure, Result};
use crate::output::manner::Manner;
use crate::output::progress::{self, Progress};
use crate::output::question;
use crate::output::transfer::cannot_write;
use crate::volume::kinds::tcrypt::header_key::{self, CostLimits};
use key::{NewKey, OuterKey};
use keyway::NewVeracrypt;
use keyway::storage::Storage;
use keyway_format::tcrypt::LARGEST_PIM;
use std::path::PathBuf;

/// `keyway tcryptFormat`.
pub(crate) static COMMAND: Command = Command {
    name: "tcryptFormat",
    aliases: &[],
    group: Group::Containers,
    operands: &[shared::operands::NEW_VOLUME],
    about: "Make a VeraCrypt volume, or hide one in another.",
    man: "Everything on the device is lost: the word YES confirms that or, without a terminal, --force or -q. \
          A device that is mounted, mapped or open in another program is refused. The header and its copy at \
          the end are written last, so an interrupted run leaves either random bytes or a complete \
          volume.\n\nThe default is VeraCrypt's: AES, SHA-512, and random bytes over the whole data area, so \
          that nothing shows which of it is used. The volume reads as noise until there is a file system in \
          it. VeraCrypt takes passphrases of at most 128 bytes, and a --veracrypt-pim below 485 (12 with \
          argon2id) only with 20 bytes or more. Passphrases to be typed in VeraCrypt should be ASCII. With \
          key files, the passphrase may be empty.\n\nWith --tcrypt-hidden, DEVICE is already a VeraCrypt \
          volume, whose passphrase is asked for first, and a volume of --size bytes is hidden at its end; \
          --hash, --cipher, --key-file and the PIM describe the hidden volume. The outer volume's data there \
          is lost, and so is any volume already hidden there, which only its own passphrase would reveal. \
          From then on, write to the outer volume only with --protect-hidden.",
    options: &[
        &[
            &shared::MIXED_KEY_FILE,
            &shared::PASSWORD_COMMAND,
            &SIZE,
            &CIPHER,
            &HASH,
            &QUICK,
            &shared::VERACRYPT_PIM,
            &shared::VERACRYPT_QUERY_PIM,
            &shared::TCRYPT_HIDDEN,
            &OUTER_KEY_FILE,
            &OUTER_PIM,
            &shared::FORCE,
            &shared::VERIFY_PASSPHRASE,
            &shared::TIMEOUT,
        ],
        groups::LIMITS,
        groups::PROGRESS,
    ],
    rules: &[
        Rule::needs(&shared::TCRYPT_HIDDEN, &SIZE).saying(SIZE_OF_HIDDEN),
        Rule::excludes(&QUICK, &[&shared::TCRYPT_HIDDEN])
            .saying("Option --quick cannot be combined with --tcrypt-hidden, which writes only headers."),
        Rule::needs(&OUTER_KEY_FILE, &shared::TCRYPT_HIDDEN).saying(OF_OUTER),
        Rule::needs(&OUTER_PIM, &shared::TCRYPT_HIDDEN).saying(OF_OUTER),
    ],
    examples: &[
        Example {
            line: "keyway tcryptFormat --size 256M new.hc",
            does: "A container, filled with random bytes.",
        },
        Example {
            line: "keyway tcryptFormat --tcrypt-hidden --size 64M --key-file key new.hc",
            does: "Another volume with a key file, hidden in its end.",
        },
    ],
    risks: &[
        risk(
            "DEVICE",
            Effect::Overwrites,
            Proof::Claim,
            "tcryptFormat -q --quick --password-command true TARGET",
        ),
        risk(
            "DEVICE",
            Effect::Replaces,
            Proof::NewName,
            "tcryptFormat -q --quick --force --size 1M --password-command true TARGET",
        ),
    ],
    run: args::run::<Make>,
};

const SIZE_OF_HIDDEN: &str = "Option --tcrypt-hidden needs --size, the size of the hidden volume.";
const OF_OUTER: &str = "Options --outer-key-file and --outer-pim need --tcrypt-hidden.";

static SIZE: Opt = Opt {
    long: "size",
    short: None,
    value: "SIZE",
    kind: Kind::Size,
    help: shared::NEW_SIZE_HELP,
    man: "256 KiB of it are not data. An existing file is replaced only with --force. With --tcrypt-hidden: how much data the \
          hidden volume holds, a multiple of 4096 bytes.",
};

static CIPHER: Opt = Opt {
    long: "cipher",
    short: Some('c'),
    value: "CHAIN",
    kind: Kind::Text,
    help: "Its ciphers (aes).",
    man: "In the order in which they encrypt: serpent-twofish-aes is what VeraCrypt calls AES-Twofish-Serpent.",
};

static HASH: Opt = Opt {
    long: "hash",
    short: Some('h'),
    value: "NAME",
    kind: Kind::Words(&["sha512", "sha256", "whirlpool", "blake2s", "streebog", "argon2id"]),
    help: "The hash of its key derivation (sha512).",
    man: "Versions of VeraCrypt before 1.26.29 may not open argon2id.",
};

static QUICK: Opt = Opt {
    long: "quick",
    short: None,
    value: "",
    kind: Kind::Flag,
    help: shared::QUICK_HELP,
    man: "The volume then shows which parts are used, keeps the old data, and reveals a hidden volume.",
};

static OUTER_KEY_FILE: Opt = Opt {
    long: "outer-key-file",
    short: None,
    value: "FILE",
    kind: Kind::Path,
    help: "A key file of the outer volume.",
    man: shared::KEY_FILES,
};

static OUTER_PIM: Opt = Opt {
    long: "outer-pim",
    short: None,
    value: "N",
    kind: Kind::Number(LARGEST_PIM as u64),
    help: "The PIM of the outer volume.",
    man: "As --veracrypt-pim for the new volume.",
};

struct Make {
    new: NewVeracrypt,
    key: NewKey,
    place: Place,
    device: PathBuf,
    manner: Manner,
    progress: Progress,
    replacing: Replacing,
}

/// Where the volume goes.
enum Place {
    /// A new file of this length.
    File(u64),
    /// What is there.
    Whole,
    /// The end of this volume, so many bytes.
    Hidden(u64, OuterKey),
}

impl Request for Make {
    fn from_args(args: &Args) -> Result<Self> {
        let device = args.operand(0).ok_or_else(|| Failure::silent(Exit::Parameters))?;
        let place = Place::from_args(args)?;
        let new = args.text(&HASH).into_iter().fold(NewVeracrypt::new(), NewVeracrypt::hash);
        let new = args.text(&CIPHER).into_iter().fold(new, NewVeracrypt::cipher);
        let new = if args.given(&QUICK) { new.quick() } else { new };
        new.check()?;
        Ok(Self {
            new: new.limits(CostLimits::from_args(args).0),
            key: NewKey::from_args(args),
            place,
            device: device::resolve(device).to_path_buf(),
            manner: args.manner(),
            progress: args.progress(),
            replacing: Replacing::from_args(args, &[0], &[]),
        })
    }

    fn run(self) -> Result<()> {
        match &self.place {
            Place::File(size) => self.file(*size),
            Place::Whole => self.whole(),
            Place::Hidden(size, outer) => self.hidden(*size, outer),
        }
    }
}

impl Place {
    fn from_args(args: &Args) -> Result<Self> {
        match (args.number(&SIZE), args.given(&shared::TCRYPT_HIDDEN)) {
            // The command's rules have refused it.
            (None, true) => Err(Failure::new(Exit::Parameters, SIZE_OF_HIDDEN)),
            (Some(size), true) => Ok(Self::Hidden(size, OuterKey::from_args(args))),
            (Some(size), false) => Ok(Self::File(size)),
            (None, false) => Ok(Self::Whole),
        }
    }
}

impl Make {
    fn file(&self, size: u64) -> Result<()> {
        let creation = Creation::start(&self.replacing, &self.device)?;
        let file = creation.file();
        file.set_len(size).map_err(|error| cannot_write(&self.device.display(), None, &error))?;
        self.fill(&**file)?;
        creation.complete_for_owner()
    }

    fn whole(&self) -> Result<()> {
        device::check_exists(&self.device, output_file::BY_SIZE)?;
        let claimed = output_file::overwrite(&self.replacing, &self.device)?;
        self.new.fills(&**claimed).map_err(|error| self.failed(error))?;
        output_file::confirm(self.manner, &self.replacing, &claimed, &self.device, "")?;
        self.check_that_somebody_says_so()?;
        self.fill(&**claimed)
    }

    fn hidden(&self, size: u64, outer: &OuterKey) -> Result<()> {
        device::check_exists(&self.device, "; the outer volume is made first, without --tcrypt-hidden")?;
        let claimed = output_file::overwrite(&self.replacing, &self.device)?;
        let key = self.key.ask_outer(&self.device)?;
        let outer = self.new.open_outer(&**claimed, &outer.volume(), &key);
        let outer = outer.map_err(|error| header_key::failed(&self.device, error))?;
        outer.check_room(&**claimed, size).map_err(|error| self.failed(error))?;
        let lost = format!(
            "This will overwrite the last {size} bytes of the volume in {} irrevocably, and any volume \
             already hidden there.",
            self.device.display()
        );
        question::confirm(self.manner, &lost, "Operation aborted.", Exit::Parameters)?;
        let (new, key) = self.key.ask(&self.new, &self.device)?;
        outer.hide(&**claimed, &new.size(size), &key).map_err(|error| self.failed(error))
    }

    fn fill(&self, storage: &dyn Storage) -> Result<()> {
        let total = self.new.fills(storage).map_err(|error| self.failed(error))?;
        let (new, key) = self.key.ask(&self.new, &self.device)?;
        let made = progress::watch(self.progress, &self.device, Some(total), |meter| {
            new.create_on(storage, &key, meter)
        });
        made.map_err(|error| self.failed(error))
    }

    /// Volumes of VeraCrypt's cannot be told from noise: what is there may be one.
    fn check_that_somebody_says_so(&self) -> Result<()> {
        if question::asks(self.manner) || self.manner.batch_mode || self.replacing.force {
            return Ok(());
        }
        let message = format!(
            "{} would be lost, and there is no terminal to confirm it; --force replaces it.",
            self.device.display()
        );
        Err(Failure::new(Exit::Busy, message))
    }

    fn failed(&self, error: keyway::Error) -> Failure {
        explain::placed(error.into(), Some(&self.device))
    }
}
