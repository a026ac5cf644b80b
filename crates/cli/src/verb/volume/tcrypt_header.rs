//! `tcryptHeaderBackup` and `tcryptHeaderRestore`: copy the headers of a TrueCrypt or VeraCrypt volume to a file and back.

use crate::args::risk::{Effect, Proof, risk};
use crate::args::rule::Rule;
use crate::args::{self, Args, Command, Example, Group, Kind, Opt, Request, groups, shared};
use crate::device::{self, content};
use crate::make::output_file;
use crate::make::replacing::Replacing;
use crate::output::failure::{Exit, Failure, Result};
use crate::output::manner::Manner;
use crate::output::question;
use crate::verb::volume::backup;
use crate::volume::kinds::tcrypt::{
    self,
    header_key::{self, HeaderKey},
};
use keyway::storage::Storage;
use keyway::{TcryptHeader, TcryptRestore};
use keyway_format::tcrypt::LARGEST_PIM;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// `keyway tcryptHeaderBackup`.
pub(crate) static BACKUP: Command = Command {
    name: "tcryptHeaderBackup",
    aliases: &[],
    group: Group::Containers,
    operands: &[shared::operands::DEVICE],
    about: "Copy a TrueCrypt or VeraCrypt volume's headers to a file.",
    man: "The file is in the format of VeraCrypt's external backups; it must not exist. The header in it \
          has a salt of its own. The second half is for the header of a hidden volume: with --tcrypt-hidden its passphrase is \
          asked for after the outer one's, and it is copied as well; else it is random, and does not show whether there is \
          a hidden volume.\n\nProtect the file as well as the volume: it opens with the passphrases, PIM and key files of \
          today, even after they are changed.",
    options: &[
        &[
            &shared::HEADER_BACKUP_FILE,
            &shared::MIXED_KEY_FILE,
            &shared::PASSWORD_COMMAND,
            &shared::CIPHER,
            &shared::HASH,
            &shared::VERACRYPT_PIM,
            &shared::VERACRYPT_QUERY_PIM,
            &shared::TCRYPT_BACKUP,
            &shared::TCRYPT_HIDDEN,
            &HIDDEN_KEY_FILE,
            &HIDDEN_PIM,
            &shared::TIMEOUT,
        ],
        groups::LIMITS,
    ],
    rules: &[
        Rule::needs(&HIDDEN_KEY_FILE, &shared::TCRYPT_HIDDEN).saying(OF_HIDDEN),
        Rule::needs(&HIDDEN_PIM, &shared::TCRYPT_HIDDEN).saying(OF_HIDDEN),
    ],
    examples: &[Example {
        line: "keyway tcryptHeaderBackup disk.hc --header-backup-file hc.header",
        does: "tcryptHeaderRestore puts it back.",
    }],
    risks: &[risk(
        "--header-backup-file FILE",
        Effect::Replaces,
        Proof::NewName,
        "tcryptHeaderBackup -q --password-command true VOLUME --header-backup-file TARGET",
    )],
    run: args::run::<Backup>,
};

/// `keyway tcryptHeaderRestore`.
pub(crate) static RESTORE: Command = Command {
    name: "tcryptHeaderRestore",
    aliases: &[],
    group: Group::Containers,
    operands: &[shared::operands::DEVICE],
    about: "Put a TrueCrypt or VeraCrypt volume's header back.",
    man: "With a backup file from tcryptHeaderBackup or VeraCrypt, both the header and its copy at the end \
          are written; without a file, the header is restored from that copy. With --tcrypt-hidden, this is \
          the header of the hidden volume. Give the passphrase from the time of the backup: before anything \
          is written, it must open the header in the backup, and the volume must fit on the device.\n\nThe \
          word YES confirms that the header on the device is replaced. Without a terminal, -q is needed if \
          that may be a mistake: if a header there belongs to another volume, which the backup would make \
          unreadable; if none there opens with this passphrase; if the device holds something else, or is \
          larger than the volume. A device that is in use is refused.",
    options: &[
        &[
            &shared::HEADER_BACKUP_FILE,
            &shared::MIXED_KEY_FILE,
            &shared::PASSWORD_COMMAND,
            &shared::CIPHER,
            &shared::HASH,
            &shared::VERACRYPT_PIM,
            &shared::VERACRYPT_QUERY_PIM,
            &shared::TCRYPT_HIDDEN,
            &shared::TIMEOUT,
        ],
        groups::LIMITS,
    ],
    rules: &[],
    examples: &[
        Example {
            line: "keyway tcryptHeaderRestore disk.hc --header-backup-file hc.header",
            does: "From a file; asks for the word YES first.",
        },
        Example { line: "keyway tcryptHeaderRestore disk.hc", does: "From the copy at the volume's end." },
    ],
    risks: &[risk(
        "DEVICE",
        Effect::Overwrites,
        Proof::Claim,
        "tcryptHeaderRestore -q --password-command true TARGET",
    )],
    run: args::run::<Restore>,
};

const OF_HIDDEN: &str = "Options --hidden-key-file and --hidden-pim need --tcrypt-hidden.";

static HIDDEN_KEY_FILE: Opt = Opt {
    long: "hidden-key-file",
    short: None,
    value: "FILE",
    kind: Kind::Path,
    help: shared::HIDDEN_KEY_FILE_HELP,
    man: shared::KEY_FILES,
};

static HIDDEN_PIM: Opt = Opt {
    long: "hidden-pim",
    short: None,
    value: "N",
    kind: Kind::Number(LARGEST_PIM as u64),
    help: shared::HIDDEN_PIM_HELP,
    man: shared::HIDDEN_PIM_MAN,
};

struct Backup {
    file: PathBuf,
    key: HeaderKey,
    hidden_key_files: Vec<PathBuf>,
    hidden_pim: Option<u32>,
}

impl Request for Backup {
    fn from_args(args: &Args) -> Result<Self> {
        let file = backup::backup_file(args);
        let (stdin, hidden_key_files) = header_key::key_files(args.all(&HIDDEN_KEY_FILE));
        if stdin.is_some() {
            let message = "Option --hidden-key-file takes no standard input.";
            return Err(Failure::new(Exit::Parameters, message));
        }
        Ok(Self {
            file: file?,
            key: HeaderKey::from_args(args)?,
            hidden_key_files,
            hidden_pim: args.number32(&HIDDEN_PIM),
        })
    }

    fn run(self) -> Result<()> {
        let (file, key, device) = (&self.file, &self.key, &self.key.device);
        backup::check_is_new(file)?;
        device::check_exists(device, "")?;
        let storage = tcrypt::probed(device)?;
        let failed = |error| header_key::failed(device, error);
        let (of, passphrase) = key.ask(false)?;
        let header = TcryptHeader::on(Arc::clone(&storage), &of, &passphrase, &key.limits).map_err(failed)?;
        let hidden = key.is_hidden().then(|| {
            let prompt = tcrypt::hidden_prompt(device);
            let passphrase = key.passphrase.asked().existing(prompt).read_key()?;
            let of = header_key::described(self.hidden_pim, &self.hidden_key_files).hidden();
            let of = if key.is_backup() { of.backup() } else { of };
            TcryptHeader::on(Arc::clone(&storage), &of, &passphrase, &key.limits).map_err(failed)
        });
        let hidden = hidden.transpose()?;
        header.back_up(hidden.as_ref(), file).map_err(failed)
    }
}

struct Restore {
    file: Option<PathBuf>,
    key: HeaderKey,
    manner: Manner,
    replacing: Replacing,
}

impl Request for Restore {
    fn from_args(args: &Args) -> Result<Self> {
        Ok(Self {
            file: args.path(&shared::HEADER_BACKUP_FILE).map(Path::to_owned),
            key: HeaderKey::from_args(args)?,
            manner: args.manner(),
            replacing: Replacing::from_args(args, &[0], &[]),
        })
    }

    fn run(self) -> Result<()> {
        let (key, device) = (&self.key, &self.key.device);
        device::check_exists(device, "")?;
        if let Some(file) = &self.file {
            device::check_exists(file, "")?;
            device::check_kind(file)?;
        }
        let claimed = output_file::overwrite(&self.replacing, device)?;
        let (of, passphrase) = key.ask(key.is_hidden())?;
        let failed = |error| header_key::failed(self.file.as_deref().unwrap_or(device), error);
        let storage = Arc::clone(&claimed);
        let restore = TcryptRestore::on(storage, self.file.as_deref(), &of, &passphrase, &key.limits);
        let restore = restore.map_err(failed)?;
        self.confirm(&restore, &**claimed)?;
        restore.run().map_err(|error| header_key::failed(device, error))
    }
}

impl Restore {
    fn confirm(&self, restore: &TcryptRestore, storage: &dyn Storage) -> Result<()> {
        let device = self.key.device.display();
        let from = match &self.file {
            Some(file) => format!("the one in {}", file.display()),
            None => "its copy at the end".to_owned(),
        };
        let whose = if self.key.is_hidden() { "header of the hidden volume" } else { "header" };
        let reasons = self.reasons(restore, storage)?;
        if let (Some(first), false) = (reasons.first(), question::asks(self.manner) || self.manner.batch_mode)
        {
            let message = format!(
                "Device {device}: {first} There is no terminal to confirm it; -q replaces it anyway."
            );
            return Err(Failure::new(Exit::Busy, message));
        }
        let warning = format!("This will replace the {whose} on {device} with {from}.");
        let warning = reasons.iter().fold(warning, |warning, reason| format!("{warning}\n{reason}"));
        question::confirm(self.manner, &warning, "Operation aborted.", Exit::Parameters)
    }

    /// What speaks against it: another volume is lost, or it is another device's header.
    fn reasons(&self, restore: &TcryptRestore, storage: &dyn Storage) -> Result<Vec<String>> {
        let mut reasons = Vec::new();
        if restore.has_other_key() {
            reasons.push(OTHER_KEY.to_owned());
        }
        reasons.extend(content::found(storage, &self.key.device)?);
        if !restore.opens_there() {
            reasons.push(NOTHING_OPENS.to_owned());
        }
        if let Some((len, room)) = restore.leaves_room() {
            let why = "The backup is from a smaller volume";
            reasons.push(format!("{why}: {len} bytes of data, and there is room for {room}."));
        }
        Ok(reasons)
    }
}

const OTHER_KEY: &str =
    "The header on the device belongs to a different volume or was created after this backup.";

const NOTHING_OPENS: &str =
    "No header there opens with this passphrase: both are damaged, or it is another device's backup.";
