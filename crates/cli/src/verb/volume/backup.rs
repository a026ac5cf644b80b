//! `luksHeaderBackup` and `luksHeaderRestore`: copy the header and keyslots to a file and back.

use crate::args::risk::{Effect, Proof, risk};
use crate::args::{self, Args, Command, Example, Group, Request, Topic, shared};
use crate::device::{self, Target, Versions, explain};
use crate::output::failure::{Exit, Failure, Result};
use crate::output::question;
use keyway::parts::Error;
use keyway::{Access, Restore, Unlock};
use std::error::Error as _;
use std::path::Path;
use std::path::PathBuf;

/// `keyway luksHeaderBackup`.
pub(crate) static BACKUP: Command = Command {
    name: "luksHeaderBackup",
    aliases: &[],
    group: Group::Cryptsetup(Topic::Headers),
    operands: &[shared::operands::DEVICE],
    about: "Copy header and keyslots to a file.",
    man: "The file must not exist. Protect it as well as the volume: it opens with every passphrase that \
          works today, even one that is later removed from the volume. If a header is damaged and there is no \
          backup, the data is lost.\n\nRefused in the middle of a reencryption (keyway-reencrypt(8)): only \
          the header on the device knows its progress, and a copy would be wrong as soon as it resumes. \
          Finish it first.",
    options: &[&[&shared::HEADER_BACKUP_FILE, &shared::HEADER, &shared::TYPE, &shared::TIMEOUT]],
    rules: &[],
    examples: &[Example {
        line: "keyway luksHeaderBackup disk.img --header-backup-file disk.header",
        does: "The file can be given to luksHeaderRestore, or to --header.",
    }],
    risks: &[risk(
        "--header-backup-file FILE",
        Effect::Replaces,
        Proof::NewName,
        "luksHeaderBackup VOLUME --header-backup-file TARGET",
    )],
    run: args::run::<Backup>,
};

/// `keyway luksHeaderRestore`.
pub(crate) static RESTORE: Command = Command {
    name: "luksHeaderRestore",
    aliases: &[],
    group: Group::Cryptsetup(Topic::Headers),
    operands: &[shared::operands::DEVICE],
    about: "Put a header backup back.",
    man: "The keyslots of the backup replace those of the volume. The differences are shown, and the word YES \
          is asked for. A device that is in use is refused, unless only mappings of the volume itself use \
          it.\n\nRefused in the middle of a reencryption (keyway-reencrypt(8)): a backup lacks the new key, \
          so the data already reencrypted would be lost. Only while no sector has changed is the earlier \
          header accepted: it cancels the reencryption. A backup made in the middle of one is refused. If the \
          volume has got another volume key since the backup, a warning says so: with the old header nothing \
          on it can be read.",
    options: &[&[&shared::HEADER_BACKUP_FILE, &shared::HEADER, &shared::TYPE]],
    rules: &[],
    examples: &[Example {
        line: "keyway luksHeaderRestore disk.img --header-backup-file disk.header",
        does: shared::examples::ASKS_YES,
    }],
    risks: &[risk(
        "DEVICE",
        Effect::Overwrites,
        Proof::Claim,
        "luksHeaderRestore -q TARGET --header-backup-file BACKUP",
    )],
    run: args::run::<RestoreRequest>,
};

struct Backup {
    target: Target,
    versions: Versions,
    file: PathBuf,
    /// The program was called as cryptsetup, which backs up any header.
    is_cryptsetup: bool,
}

impl Request for Backup {
    fn from_args(args: &Args) -> Result<Self> {
        let (file, target) = (backup_file(args)?, Target::from_args(args, 0)?);
        Ok(Self { target, versions: Versions::from_args(args)?, file, is_cryptsetup: args.is_cryptsetup() })
    }

    fn run(self) -> Result<()> {
        check_is_new(&self.file)?;
        let header = self.target.header(Access::Read, self.versions, &Unlock::new())?;
        if self.is_cryptsetup {
            return Ok(header.backup_midway(&self.file)?);
        }
        let path = self.target.header_path();
        header.backup(&self.file).map_err(|e| explain::placed(e.into(), Some(path)))
    }
}

struct RestoreRequest {
    target: Target,
    file: PathBuf,
    /// As cryptsetup: a re-encryption that is under way is a warning.
    is_cryptsetup: bool,
}

impl Request for RestoreRequest {
    fn from_args(args: &Args) -> Result<Self> {
        let (file, target) = (backup_file(args)?, Target::from_args(args, 0)?);
        Ok(Self { file, target, is_cryptsetup: args.is_cryptsetup() })
    }

    fn run(self) -> Result<()> {
        let path = self.target.header_path();
        let restore = self.prepare()?;
        if !restore.warnings().is_empty() {
            let warning = restore.warnings().join("\n");
            question::confirm(self.target.manner, &warning, "", Exit::Parameters)?;
        }
        let loses_seal = restore.loses_seal();
        if restore.loses_key() && !question::asks(self.target.manner) {
            let path = path.display();
            say!(
                "WARNING: Device {path} had another volume key: it was reencrypted or formatted since the backup was made, \
                 and nothing on it can be read with the backup's."
            );
        }
        restore.run()?;
        if loses_seal {
            let path = path.display();
            say!(
                "WARNING: Device {path}: its seal is gone, the backup had none: \"keyway seal {path}\" seals it again."
            );
        }
        Ok(())
    }
}

impl RestoreRequest {
    fn prepare(&self) -> Result<Restore> {
        let (file, path) = (&self.file, self.target.header_path());
        device::check_kind(file)?;
        let storage = self.target.storage(path, Access::Write)?;
        let device = self.target.header_device(storage, Access::Write);
        let prepared = match self.is_cryptsetup {
            true => device.restore_header_midway(file),
            false => device.restore_header(file),
        };
        prepared.map_err(|error| match error.into_volume_error() {
            Ok(Error::Format(_)) => {
                Failure::new(Exit::Parameters, "Header backup file does not contain compatible LUKS header.")
            }
            Ok(other) => other.into(),
            Err(error) => {
                let why = error.source().map_or_else(|| error.to_string(), ToString::to_string);
                let message = format!("Header backup file {} cannot be opened: {why}.", file.display());
                Failure::new(Exit::Parameters, message)
            }
        })
    }
}

/// The file of `--header-backup-file`, which is needed.
pub(super) fn backup_file(args: &Args) -> Result<PathBuf> {
    args.path(&shared::HEADER_BACKUP_FILE)
        .map(Path::to_owned)
        .ok_or_else(|| Failure::new(Exit::Parameters, "Option --header-backup-file is required."))
}

/// A backup replaces no file.
pub(super) fn check_is_new(file: &Path) -> Result<()> {
    if file.exists() {
        let message = format!("Requested header backup file {} already exists.", file.display());
        return Err(Failure::new(Exit::Parameters, message));
    }
    Ok(())
}
