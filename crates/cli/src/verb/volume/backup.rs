//! `luksHeaderBackup` and `luksHeaderRestore`: copy the header and keyslots to a file and back.

use crate::device::{self, Target, Versions};
use crate::door::{self, Args, Command, Example, Group, Offers, Operand, Request, Topic, shared};
use crate::say::failure::{Exit, Failure, Result};
use crate::say::question;
use keyway::{Restore, Unlock};
use keyway_volume::{Access, Error};
use std::error::Error as _;
use std::path::Path;
use std::path::PathBuf;

/// `keyway luksHeaderBackup`.
pub(crate) static BACKUP: Command = Command {
    name: "luksHeaderBackup",
    aliases: &[],
    group: Group::Cryptsetup(Topic::Headers),
    operands: &[Operand { name: "DEVICE", required: true, help: "The volume.", offers: Offers::Files }],
    about: "Copy header and keyslots to a file.",
    man: "The file must not exist. Protect it as well as the volume: it opens with every passphrase that works \
          today, even one that is later removed from the volume. If a header is damaged and there is no backup, the \
          data is lost.",
    options: &[&[&shared::HEADER_BACKUP_FILE, &shared::HEADER, &shared::TYPE, &shared::TIMEOUT]],
    examples: &[Example {
        line: "keyway luksHeaderBackup disk.img --header-backup-file disk.header",
        does: "The file can be given to luksHeaderRestore, or to --header.",
    }],
    run: door::run::<Backup>,
};

/// `keyway luksHeaderRestore`.
pub(crate) static RESTORE: Command = Command {
    name: "luksHeaderRestore",
    aliases: &[],
    group: Group::Cryptsetup(Topic::Headers),
    operands: &[Operand { name: "DEVICE", required: true, help: "The volume.", offers: Offers::Files }],
    about: "Put a header backup back.",
    man: "The keyslots of the backup replace those of the volume. What differs is shown, and the word YES asked \
          for. A device that is in use is refused, unless only mappings of the volume itself use it.",
    options: &[&[&shared::HEADER_BACKUP_FILE, &shared::HEADER, &shared::TYPE]],
    examples: &[Example {
        line: "keyway luksHeaderRestore disk.img --header-backup-file disk.header",
        does: "Asks for the word YES first.",
    }],
    run: door::run::<RestoreRequest>,
};

struct Backup {
    target: Target,
    versions: Versions,
    file: PathBuf,
}

impl Request for Backup {
    fn from_args(args: &Args) -> Result<Self> {
        let (file, target) = (backup_file(args)?, Target::from_args(args, 0)?);
        Ok(Self { target, versions: Versions::from_args(args)?, file })
    }

    fn run(self) -> Result<()> {
        if self.file.exists() {
            let message = format!("Requested header backup file {} already exists.", self.file.display());
            return Err(Failure::new(Exit::Parameters, message));
        }
        let header = self.target.header(Access::Read, self.versions, &Unlock::new())?;
        Ok(header.backup(&self.file)?)
    }
}

struct RestoreRequest {
    target: Target,
    file: PathBuf,
}

impl Request for RestoreRequest {
    fn from_args(args: &Args) -> Result<Self> {
        Ok(Self { file: backup_file(args)?, target: Target::from_args(args, 0)? })
    }

    fn run(self) -> Result<()> {
        let path = self.target.header_path();
        let restore = self.prepare()?;
        if !restore.warnings().is_empty() {
            let warning = restore.warnings().join("\n");
            question::confirm(self.target.manner, &warning, "", Exit::Parameters)?;
        }
        let loses_seal = restore.loses_seal();
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
        let storage = device::storage(path, Access::Write)?;
        let device = self.target.header_device(storage, Access::Write);
        device.restore_header(file).map_err(|error| match error.into_volume_error() {
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

fn backup_file(args: &Args) -> Result<PathBuf> {
    args.path(&shared::HEADER_BACKUP_FILE)
        .map(Path::to_owned)
        .ok_or_else(|| Failure::new(Exit::Parameters, "Option --header-backup-file is required."))
}
