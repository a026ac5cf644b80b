//! `luksHeaderBackup` and `luksHeaderRestore`: header and keyslots to a file and back.

use crate::device;
use crate::device::Versions;
use crate::door::{Args, Command, Example, Group, Operand, Topic, shared};
use crate::say::failure::{Exit, Failure, Result};
use crate::say::{explain, question};
use keyway_volume::Access;
use keyway_volume::backup::{Restore, backup};
use std::path::Path;

/// `keyway luksHeaderBackup`.
pub(crate) static BACKUP: Command = Command {
    name: "luksHeaderBackup",
    aliases: &[],
    group: Group::Cryptsetup(Topic::Headers),
    operands: &[Operand { name: "DEVICE", required: true, help: "The volume." }],
    about: "Copy header and keyslots to a file.",
    man: "The file must not exist. Keep it as safe as the volume: it opens with every passphrase that works today, even after \
          that passphrase was removed from the volume. A damaged header without a backup is the end of the data.",
    options: &[&[&shared::HEADER_BACKUP_FILE, &shared::HEADER, &shared::TYPE, &shared::TIMEOUT]],
    examples: &[Example {
        line: "keyway luksHeaderBackup disk.img --header-backup-file disk.header",
        does: "The file can be given to luksHeaderRestore, or to --header.",
    }],
    run: run_backup,
};

/// `keyway luksHeaderRestore`.
pub(crate) static RESTORE: Command = Command {
    name: "luksHeaderRestore",
    aliases: &[],
    group: Group::Cryptsetup(Topic::Headers),
    operands: &[Operand { name: "DEVICE", required: true, help: "The volume." }],
    about: "Put a header backup back.",
    man: "The keyslots of the backup replace those of the volume. The word YES is asked for, with what differs. A device that \
          is in use is refused, unless only mappings of the volume itself have it.",
    options: &[&[&shared::HEADER_BACKUP_FILE, &shared::HEADER, &shared::TYPE]],
    examples: &[Example {
        line: "keyway luksHeaderRestore disk.img --header-backup-file disk.header",
        does: "Asks for the word YES first.",
    }],
    run: run_restore,
};

fn run_backup(args: &Args) -> Result<()> {
    let file = backup_file(args)?;
    if file.exists() {
        let message = format!("Requested header backup file {} already exists.", file.display());
        return Err(Failure::new(Exit::Parameters, message));
    }
    let luks = device::load(args, 0, Access::Read, Versions::from_args(args)?)?;
    Ok(backup(&luks, file)?)
}

fn run_restore(args: &Args) -> Result<()> {
    let file = backup_file(args)?;
    device::check_kind(file)?;
    let source = keyway_volume::storage::File::open(file).map_err(|e| {
        Failure::new(
            Exit::Parameters,
            format!("Header backup file {} cannot be opened: {e}.", file.display()),
        )
    })?;
    let path = device::header_path(args, 0)?;
    let target = device::storage(&path, Access::Write)?;
    let restore = Restore::prepare(target, &source, device::locking(args)).map_err(|e| match e {
        keyway_volume::Error::Format(_) => {
            Failure::new(Exit::Parameters, "Header backup file does not contain compatible LUKS header.")
        }
        other => explain::on_device(&path, &other),
    })?;
    if !restore.warnings().is_empty() {
        let named = |line: &String| line.replacen("Device ", &format!("Device {} ", path.display()), 1);
        let warning = restore.warnings().iter().map(named).collect::<Vec<_>>().join("\n");
        question::confirm(args.manner(), &warning, "", Exit::Parameters)?;
    }
    let loses_seal = restore.loses_seal();
    restore.run().map_err(|e| explain::on_device(&path, &e))?;
    if loses_seal {
        let path = path.display();
        say!(
            "WARNING: Device {path}: its seal is gone, the backup had none: \"keyway seal {path}\" seals it anew."
        );
    }
    Ok(())
}

fn backup_file(args: &Args) -> Result<&Path> {
    args.path(&shared::HEADER_BACKUP_FILE)
        .ok_or_else(|| Failure::new(Exit::Parameters, "Option --header-backup-file is required."))
}
