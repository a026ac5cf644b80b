//! `copy`: LUKS to raw, raw to LUKS, or LUKS to LUKS under a new key and cipher.

use crate::door::{Args, Command, Example, Group, Kind, Operand, Opt, groups, shared};
use crate::make::new_volume::{Content, Destination, FILL, ImageHoles, KEEP_HOLES, NewVolume, refuse_itself};
use crate::make::output_file;
use crate::make::output_file::Creation;
use crate::make::replacing::Replacing;
use crate::say::failure::{Exit, Failure, Result};
use crate::say::{progress, question};
use crate::unlock::passphrase::PassphraseSource;
use crate::volume::{Data, Plaintext, cannot_write};
use crate::{device, unlock, volume};
use keyway_volume::storage::Readers;
use keyway_volume::stream::{self, Holes, Options, Sink, Source};
use keyway_volume::{Access, Error, Luks, Storage};
use std::path::Path;

/// `keyway copy`.
pub(crate) static COMMAND: Command = Command {
    name: "copy",
    aliases: &[],
    group: Group::Rootless,
    operands: &[
        Operand { name: "SOURCE", required: true, help: "A LUKS volume, or a raw image or device." },
        Operand { name: "DESTINATION", required: true, help: "A new file, or a block device or export." },
    ],
    about: "Copy LUKS to raw, raw to LUKS, or LUKS to LUKS under a new key.",
    man: "Whether the source is LUKS shows in its header. The destination is LUKS2 unless --to says otherwise: plaintext \
          is only written when it is asked for by --to raw. A new volume gets a key of its own, and the cipher, sector \
          size and key derivation that the options say.\n\n\
          --key-file holds the passphrase of the source, --new-keyfile that of the destination. Without them a terminal \
          is asked for both; otherwise they are two lines on standard input. A raw source needs the new one only.\n\n\
          The copy is exactly as long as the plaintext. Holes of a LUKS volume are what nobody ever wrote: they stay \
          holes, unless --fill copies them as what they read as. Holes of a raw image are treated as \"keyway build\" \
          treats them.\n\n\
          A file appears under its name when it is complete; an existing one is replaced with --force alone.",
    options: &[
        &[
            &TO,
            &FILL,
            &KEEP_HOLES,
            &shared::FORCE,
            &shared::KEY_FILE,
            &shared::KEYFILE_OFFSET,
            &shared::KEYFILE_SIZE,
            &shared::NEW_KEYFILE,
            &shared::NEW_KEYFILE_OFFSET,
            &shared::NEW_KEYFILE_SIZE,
            &shared::HEADER,
            &shared::MEMORY_BUDGET,
            &shared::TIME_LIMIT,
            &shared::TRIES,
            &shared::DISABLE_LOCKS,
        ],
        groups::ADMISSION_TO_READ,
        groups::NEW_VOLUME,
        groups::PROGRESS,
    ],
    examples: &[
        Example { line: "keyway copy --to raw disk.luks disk.img", does: "decrypt; holes stay holes" },
        Example {
            line: "keyway copy old.luks new.luks --cipher aes-xts-plain64 --sector-size 4096",
            does: "encrypt anew, under a new key",
        },
    ],
    run,
};

static TO: Opt = Opt {
    long: "to",
    short: None,
    value: "FORMAT",
    kind: Kind::Choice(&["luks2", "luks1", "raw"]),
    help: "What to make: luks2 (default), luks1 or raw.",
    man: "",
};

fn run(args: &Args) -> Result<()> {
    let (Some(from), Some(to)) = (args.operand(0), args.operand(1)) else {
        return Err(Failure::silent(Exit::Parameters));
    };
    let holes = ImageHoles::from_args(args)?;
    let new = match args.text(&TO) {
        Some("raw") => return to_raw(args, from, to, holes.in_transfer()),
        Some("luks1") => NewVolume::from_args(args, 1, None)?,
        _ => NewVolume::from_args(args, 2, None)?,
    };
    if is_luks(args, from)? {
        let plain = volume::open(args, 0, Data::Read, false)?;
        let name = plain.device.display().to_string();
        let passphrase = new_passphrase(args, to)?;
        let destination = Destination::open(args.manner(), &Replacing::from_args(args), to, from)?;
        new.make(args, destination, whole(&plain.volume, name, holes.in_transfer()), &passphrase)?;
    } else {
        let raw = device::storage(&device::resolve(from), Access::Probe)?;
        let passphrase = match args.path(&shared::NEW_KEYFILE) {
            Some(_) => new_passphrase(args, to)?,
            None => PassphraseSource::first(args, unlock::prompt_for(to), None)?.read()?,
        };
        let destination = Destination::open(args.manner(), &Replacing::from_args(args), to, from)?;
        let name = from.display().to_string();
        let view = holes.view(&*raw, &name)?;
        let image: &dyn Storage = view.as_ref().map_or(&*raw, |view| view);
        new.make(args, destination, whole(image, name, holes.in_transfer()), &passphrase)?;
    }
    Ok(())
}

/// LUKS to raw.
fn to_raw(args: &Args, from: &Path, to: &Path, holes: Holes) -> Result<()> {
    if !is_luks(args, from)? {
        let message =
            format!("{} is no LUKS volume, and --to raw would only copy it; use cp.", from.display());
        return Err(Failure::new(Exit::Parameters, message));
    }
    let plain = volume::open(args, 0, Data::Read, false)?;
    if device::is_given(to) {
        return to_raw_device(args, &plain, to);
    }
    let creation = Creation::start(&Replacing::from_args(args).reading(from), to)?;
    let file = creation.file();
    move_all(args, &plain, &**file, holes, to)?;
    file.set_len(plain.volume.len()).map_err(|e| cannot_write(&to.display(), None, &e))?;
    // Plaintext of an encrypted volume is nobody else's business.
    creation.complete(Readers::Owner)
}

/// A device has no holes to leave: everything is written.
fn to_raw_device(args: &Args, plain: &Plaintext, to: &Path) -> Result<()> {
    let device = output_file::overwrite(&Replacing::from_args(args), to)?;
    refuse_itself(&plain.device, to)?;
    if plain.volume.len() > device.len() {
        let (has, needs) = (device.len(), plain.volume.len());
        let message = format!("{} has {has} bytes, {needs} are needed.", to.display());
        return Err(Failure::new(Exit::Parameters, message));
    }
    let warning = format!("This will overwrite data on {} irrevocably, with plaintext.", to.display());
    question::confirm(args.manner(), &warning, "Operation aborted.", Exit::Parameters)?;
    move_all(args, plain, &**device, Holes::Fill, to)?;
    device.flush().map_err(|e| cannot_write(&to.display(), None, &e))
}

fn move_all(args: &Args, plain: &Plaintext, sink: &dyn Storage, holes: Holes, to: &Path) -> Result<()> {
    let options = Options { holes, ..Options::default() };
    let len = plain.volume.len();
    let source = Source::Storage(&plain.volume, 0..len);
    progress::watch(args.progress(), &plain.device, Some(len), |meter| {
        stream::transfer(source, Sink::Storage(sink, 0), &options, meter)
    })
    .map_err(|e| volume::failed(e, &plain.device.display(), &to.display()))?;
    Ok(())
}

fn whole(storage: &dyn Storage, name: String, holes: Holes) -> Content<'_> {
    let len = storage.len();
    let source = Source::Storage(storage, 0..len);
    Content { source, name, len: Some(len), holes, extend_to: 0, headroom: 0, limit: None }
}

fn new_passphrase(args: &Args, to: &Path) -> Result<keyway_crypto::Secret> {
    let prompt = format!("Enter new passphrase for {}: ", to.display());
    PassphraseSource::replacement(args, prompt, args.path(&shared::NEW_KEYFILE))?.read()
}

/// Whether the source carries a LUKS header, or has a detached one. A
/// header that is damaged is no raw image.
fn is_luks(args: &Args, from: &Path) -> Result<bool> {
    if args.given(&shared::HEADER) {
        return Ok(true);
    }
    let storage = device::storage(&device::resolve(from), Access::Probe)?;
    if storage.len() < SMALLEST_HEADER {
        return Ok(false);
    }
    match Luks::open(storage, Access::Probe) {
        Ok(_) => Ok(true),
        Err(Error::Format(keyway_format::Error::NotLuks)) => Ok(false),
        Err(error) => Err(crate::say::explain::on_device(from, &error)),
    }
}

/// A LUKS1 header with its keyslots, or one copy of a LUKS2 header, is longer.
const SMALLEST_HEADER: u64 = 4096;
